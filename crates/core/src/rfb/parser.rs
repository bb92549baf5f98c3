//! Incremental parser of what a viewer sends.

use crate::rfb::encodings;
use crate::rfb::error::RfbError;
use crate::rfb::handshake::{Phase, SHARED, VERSION_LENGTH, after_version, check_security_type};
use crate::rfb::messages::{Access, MessageRule, Treatment, rule};

/// Bit of the middle button in a `PointerEvent`.
const MIDDLE_BUTTON: u8 = 2;

/// Parser of the bytes of one viewer. It holds at most one message.
#[derive(Debug)]
pub struct ViewerParser {
    access: Access,
    has_middle_button: bool,
    phase: Phase,
    /// Beginning of a message whose rest has not arrived.
    pending: Vec<u8>,
}

impl ViewerParser {
    /// Creates a parser for a viewer of a display with this access.
    #[must_use]
    pub const fn new(access: Access) -> Self {
        Self::with_buttons(access, false)
    }

    /// Creates a parser for a viewer of pictures. No display has a selection there, which the middle button would paste.
    pub(super) const fn of_pictures(access: Access) -> Self {
        Self::with_buttons(access, true)
    }

    const fn with_buttons(access: Access, has_middle_button: bool) -> Self {
        Self { access, has_middle_button, phase: Phase::Version, pending: Vec::new() }
    }

    /// Reads bytes of the viewer, and appends those that the screen gets to `passed`.
    ///
    /// # Errors
    ///
    /// Returns the reason to end the connection. The bytes in front of the error are in `passed`.
    pub fn read(&mut self, bytes: &[u8], passed: &mut Vec<u8>) -> Result<(), RfbError> {
        self.pending.extend_from_slice(bytes);
        let mut start = 0;
        let result = loop {
            let rest = self.pending.get(start..).unwrap_or_default();
            match self.next_part(rest, passed) {
                Ok(Some((length, phase))) => {
                    start += length;
                    self.phase = phase;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.pending.drain(..start);
        result
    }

    /// Reads the next message or part of the handshake. Returns its length and the phase after it, or `None` if more bytes are needed.
    fn next_part(&self, bytes: &[u8], passed: &mut Vec<u8>) -> Result<Option<(usize, Phase)>, RfbError> {
        let Some(first) = bytes.first().copied() else { return Ok(None) };
        match self.phase {
            Phase::Version => {
                let Some(version) = bytes.first_chunk::<VERSION_LENGTH>() else { return Ok(None) };
                let next = after_version(version)?;
                passed.extend_from_slice(version);
                Ok(Some((VERSION_LENGTH, next)))
            }
            Phase::SecurityType => {
                check_security_type(first)?;
                passed.push(first);
                Ok(Some((1, Phase::Init)))
            }
            Phase::Init => {
                passed.push(SHARED);
                Ok(Some((1, Phase::Messages)))
            }
            Phase::Messages => {
                let rule = rule(first).ok_or(RfbError::UnknownMessage(first))?;
                let length = rule.length.of(bytes).map_err(|_| RfbError::TooLong(first))?;
                let Some(message) = length.and_then(|length| bytes.get(..length)) else { return Ok(None) };
                self.pass(rule, message, passed);
                Ok(Some((message.len(), Phase::Messages)))
            }
        }
    }

    /// Appends a whole message, or what the access contains of it.
    fn pass(&self, rule: MessageRule, message: &[u8], passed: &mut Vec<u8>) {
        match (rule.treatment, message) {
            _ if self.access < rule.access => {}
            (Treatment::FilterEncodings, _) => passed.extend(encodings::filtered(message, self.access)),
            (Treatment::FilterButtons, [kind, buttons, point @ ..]) if !self.has_middle_button => {
                passed.extend([*kind, *buttons & !MIDDLE_BUTTON]);
                passed.extend_from_slice(point);
            }
            (Treatment::Pass | Treatment::FilterButtons, _) => passed.extend_from_slice(message),
        }
    }
}
