//! RFB, the protocol by which a person sees and uses the screen (RFC 6143).
//!
//! The server of the screen accepts everything that the protocol has. [`ViewerParser`] is in front of it: it reads what a viewer
//! sends and passes only the messages of a table on, each of which needs an [`Access`]. Where this program is the server itself,
//! [`ViewerReader`] decodes what the parser passes on, and the messages of the server are pictures that are passed on as they are.
//!
//! Invariants: no byte reaches the screen that is not part of a known message; a message that the viewer's access does not
//! contain is read and left out; an unknown message ends the connection; memory is bounded.

mod input;
mod messages;
mod parser;
mod server_message;

use messages::{DESKTOP_NAME, DESKTOP_SIZE, POINTER_EVENT, SET_ENCODINGS, rule};

pub use input::{Pointer, PointerAct, PointerButton, PointerEvent, key_of_symbol};
pub use messages::Access;
pub use parser::{RfbError, ViewerParser};
pub use server_message::{
    SECURITY_RESULT, SECURITY_TYPES, VERSION, jpeg_size, jpeg_update, name_update, server_init, size_update,
    text_update,
};

/// Tight, one of whose forms is a JPEG.
const TIGHT: i32 = 7;

/// Encodings by which a viewer asks for a JPEG quality. Without one, it takes no JPEG.
const JPEG_QUALITY: std::ops::RangeInclusive<i32> = -32..=-23;

/// Encodings of a viewer that a screen of pictures uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewerEncodings {
    /// Pictures as JPEG.
    pub has_jpeg: bool,
    /// Changes of the size.
    pub has_size: bool,
    /// Changes of the name.
    pub has_name: bool,
}

/// Message of a viewer, or a part of its handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewerMessage {
    /// Version 3.8.
    Version,
    /// Choice of the only security type.
    SecurityType,
    /// End of the handshake.
    Init,
    /// Encodings that the viewer understands.
    Encodings(ViewerEncodings),
    /// Request for an update: for what has changed, or for everything.
    UpdateRequest {
        /// True if what has not changed may be left out.
        is_incremental: bool,
    },
    /// Key that was pressed or released.
    Key {
        /// True if it was pressed.
        is_down: bool,
        /// Symbol of the key, as X11 numbers them.
        symbol: u32,
    },
    /// Pointer.
    Pointer {
        /// Bits of the buttons that are pressed, those of the wheel among them.
        buttons: u8,
        /// Position from the left, in pixels of the screen.
        x: u16,
        /// Position from the top, in pixels of the screen.
        y: u16,
    },
    /// Message that has no effect on a screen of pictures.
    Other,
}

/// Reader of what one viewer sends to a server of this program's own. [`ViewerParser`] is in front of it, so it sees only messages
/// that the viewer's access contains.
#[derive(Debug)]
pub struct ViewerReader {
    parser: ViewerParser,
    /// Number of parts of the handshake that were read.
    handshake: usize,
}

/// Parts of the handshake, with their lengths.
const HANDSHAKE: [(ViewerMessage, usize); 3] =
    [(ViewerMessage::Version, 12), (ViewerMessage::SecurityType, 1), (ViewerMessage::Init, 1)];

impl ViewerReader {
    /// Creates a reader for a viewer with this access.
    #[must_use]
    pub const fn new(access: Access) -> Self {
        Self { parser: ViewerParser::of_pictures(access), handshake: 0 }
    }

    /// Reads bytes of the viewer, and appends the messages that are complete.
    ///
    /// # Errors
    ///
    /// Returns the reason to end the connection. The messages in front of the error are appended.
    pub fn read(&mut self, bytes: &[u8], messages: &mut Vec<ViewerMessage>) -> Result<(), RfbError> {
        let mut passed = Vec::new();
        let result = self.parser.read(bytes, &mut passed);
        let mut rest = passed.as_slice();
        while let Some(first) = rest.first().copied() {
            let part = HANDSHAKE.get(self.handshake).copied();
            let length = match part {
                Some((_, length)) => Some(length),
                None => rule(first).and_then(|rule| rule.length.of(rest).ok().flatten()),
            };
            // The parser passes on whole messages only.
            let Some((message, after)) = length.and_then(|length| rest.split_at_checked(length)) else { break };
            match part {
                // Older versions have another handshake.
                Some((ViewerMessage::Version, _)) if message != b"RFB 003.008\n" => return Err(RfbError::Version),
                Some((part, _)) => {
                    self.handshake += 1;
                    messages.push(part);
                }
                None => messages.push(decode(first, message)?),
            }
            rest = after;
        }
        result
    }
}

/// Decodes a whole message of a type.
fn decode(kind: u8, message: &[u8]) -> Result<ViewerMessage, RfbError> {
    let byte = |at: usize| message.get(at).copied().unwrap_or_default();
    let short = |at: usize| u16::from_be_bytes([byte(at), byte(at + 1)]);
    Ok(match kind {
        // Bits of a pixel, and true color.
        0 if (byte(4), byte(7) != 0) != (32, true) => return Err(RfbError::PixelFormat),
        SET_ENCODINGS => ViewerMessage::Encodings(encodings(message)),
        3 => ViewerMessage::UpdateRequest { is_incremental: byte(1) != 0 },
        4 => {
            let symbol = u32::from_be_bytes([byte(4), byte(5), byte(6), byte(7)]);
            ViewerMessage::Key { is_down: byte(1) != 0, symbol }
        }
        POINTER_EVENT => ViewerMessage::Pointer { buttons: byte(1), x: short(2), y: short(4) },
        _ => ViewerMessage::Other,
    })
}

fn encodings(message: &[u8]) -> ViewerEncodings {
    let numbers = message.get(4..).unwrap_or_default().as_chunks::<4>().0;
    let has = |wanted: &dyn Fn(i32) -> bool| numbers.iter().any(|bytes| wanted(i32::from_be_bytes(*bytes)));
    ViewerEncodings {
        has_jpeg: has(&|number| number == TIGHT) && has(&|number| JPEG_QUALITY.contains(&number)),
        has_size: has(&|number| number == DESKTOP_SIZE),
        has_name: has(&|number| number == DESKTOP_NAME),
    }
}

#[cfg(test)]
mod tests;
