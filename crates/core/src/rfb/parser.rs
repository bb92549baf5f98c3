//! Incremental parser of what a viewer sends.

use crate::rfb::encodings;
use crate::rfb::error::RfbError;
use crate::rfb::handshake::{Phase, SHARED, VERSION_LENGTH, after_version, check_security_type};
use crate::rfb::messages::{Access, MessageRule, Treatment, rule};

/// Parser of the bytes of one viewer. It holds at most one message.
#[derive(Debug)]
pub struct ViewerParser {
    access: Access,
    phase: Phase,
    /// Beginning of a message whose rest has not arrived.
    pending: Vec<u8>,
}

impl ViewerParser {
    /// Creates a parser for a viewer with this access.
    #[must_use]
    pub const fn new(access: Access) -> Self {
        Self { access, phase: Phase::Version, pending: Vec::new() }
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
            match next_part(self.phase, self.access, rest, passed) {
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
}

/// Reads the next message or part of the handshake. Returns its length and the phase after it, or `None` if more bytes are needed.
fn next_part(
    phase: Phase,
    access: Access,
    bytes: &[u8],
    passed: &mut Vec<u8>,
) -> Result<Option<(usize, Phase)>, RfbError> {
    let Some(first) = bytes.first().copied() else { return Ok(None) };
    match phase {
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
            pass(rule, access, message, passed);
            Ok(Some((message.len(), Phase::Messages)))
        }
    }
}

/// Appends a whole message, or what the access contains of it.
fn pass(rule: MessageRule, access: Access, message: &[u8], passed: &mut Vec<u8>) {
    match rule.treatment {
        _ if access < rule.access => {}
        Treatment::Pass => passed.extend_from_slice(message),
        Treatment::FilterEncodings => passed.extend(encodings::filtered(message, access)),
    }
}
