//! Incremental parser of what a viewer sends: the handshake with its version, its security type and its request to share the screen,
//! and the messages after it.

use thiserror::Error;

use crate::rfb::messages::{self, Access, MessageRule, POINTER_EVENT, Treatment, rule};

/// Reason to end the connection of a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RfbError {
    /// The version is none of RFB 3.3, 3.7 and 3.8.
    #[error("the viewer's version of RFB is not supported; use 3.8")]
    Version,
    /// The viewer chose a security type. The screen has none of its own.
    #[error("the viewer chose security type `{0}`; the screen has only `1`, without authentication of its own")]
    SecurityType(u8),
    /// The pixels have another format than those of the pictures.
    #[error("the viewer's pixel format is not supported; use true color with 32 bits")]
    PixelFormat,
    /// The message is in no row of the table.
    #[error("messages of type `{0}` are not passed on")]
    UnknownMessage(u8),
    /// The message is longer than its row allows.
    #[error("a message of type `{0}` is too long")]
    TooLong(u8),
}

/// Length of a version.
const VERSION_LENGTH: usize = 12;

/// Security type without authentication.
const NO_AUTHENTICATION: u8 = 1;

/// `ClientInit` of a viewer that shares the screen. One that does not would disconnect the others.
const SHARED: u8 = 1;

/// Next part of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Version, of [`VERSION_LENGTH`] bytes.
    Version,
    /// Security type, of one byte.
    SecurityType,
    /// `ClientInit`, of one byte.
    Init,
    /// The handshake is over.
    Messages,
}

/// Returns the phase after a version. With 3.3 the screen chooses the security type.
///
/// # Errors
///
/// Returns an error for another version.
fn after_version(version: &[u8]) -> Result<Phase, RfbError> {
    match version {
        b"RFB 003.008\n" | b"RFB 003.007\n" => Ok(Phase::SecurityType),
        b"RFB 003.003\n" => Ok(Phase::Init),
        _ => Err(RfbError::Version),
    }
}

/// Checks the security type.
///
/// # Errors
///
/// Returns an error for any but the one without authentication.
fn check_security_type(kind: u8) -> Result<(), RfbError> {
    if kind == NO_AUTHENTICATION { Ok(()) } else { Err(RfbError::SecurityType(kind)) }
}

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
    /// Point of the pointer, as the message has it, while a button is pressed.
    pressed_at: Option<[u8; 4]>,
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
        Self { access, has_middle_button, phase: Phase::Version, pending: Vec::new(), pressed_at: None }
    }

    /// Reads bytes of the viewer, and appends those that the screen gets to `passed`.
    ///
    /// # Errors
    ///
    /// Returns the reason to end the connection. The bytes in front of the error are in `passed`.
    pub fn read(&mut self, bytes: &[u8], passed: &mut Vec<u8>) -> Result<(), RfbError> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let mut start = 0;
        let result = loop {
            let rest = pending.get(start..).unwrap_or_default();
            match self.next_part(rest, passed) {
                Ok(Some((length, phase))) => {
                    start += length;
                    self.phase = phase;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        pending.drain(..start);
        self.pending = pending;
        result
    }

    /// Returns the `PointerEvent` that releases the buttons which the viewer has pressed, at the point where its pointer is; `None` if it
    /// has pressed none. Some displays do not release them when the viewer leaves.
    #[must_use]
    pub fn release(&self) -> Option<[u8; 6]> {
        let [x1, x2, y1, y2] = self.pressed_at?;
        Some([POINTER_EVENT, 0, x1, x2, y1, y2])
    }

    /// Reads the next message or part of the handshake. Returns its length and the phase after it, or `None` if more bytes are needed.
    fn next_part(&mut self, bytes: &[u8], passed: &mut Vec<u8>) -> Result<Option<(usize, Phase)>, RfbError> {
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
    fn pass(&mut self, rule: MessageRule, message: &[u8], passed: &mut Vec<u8>) {
        match (rule.treatment, message) {
            _ if self.access < rule.access => {}
            (Treatment::FilterEncodings, _) => passed.extend(messages::filter_encodings(message, self.access)),
            (Treatment::FilterButtons, [kind, buttons, point @ ..]) => {
                let buttons = if self.has_middle_button { *buttons } else { *buttons & !MIDDLE_BUTTON };
                passed.extend([*kind, buttons]);
                passed.extend_from_slice(point);
                self.pressed_at = point.first_chunk().copied().filter(|_| buttons != 0);
            }
            (Treatment::Pass | Treatment::FilterButtons, _) => passed.extend_from_slice(message),
        }
    }
}
