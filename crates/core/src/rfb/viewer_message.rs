//! Messages of a viewer, as a server of the screen reads them.

use crate::rfb::error::RfbError;
use crate::rfb::messages::{Access, SET_ENCODINGS, rule};
use crate::rfb::parser::ViewerParser;

/// Tight, one of whose forms is a JPEG.
const TIGHT: i32 = 7;

/// Encodings by which a viewer asks for a JPEG quality. Without one, it takes no JPEG.
const JPEG_QUALITY: std::ops::RangeInclusive<i32> = -32..=-23;

/// Changes of the desktop's size.
pub(super) const DESKTOP_SIZE: i32 = -223;

/// Changes of the desktop's name.
pub(super) const DESKTOP_NAME: i32 = -307;

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
        5 => ViewerMessage::Pointer { buttons: byte(1), x: short(2), y: short(4) },
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
mod tests {
    use super::*;

    const HELLO: &[u8] = b"RFB 003.008\n\x01\x01";

    fn read(access: Access, bytes: &[u8]) -> (Vec<ViewerMessage>, Result<(), RfbError>) {
        let mut reader = ViewerReader::new(access);
        let mut messages = Vec::new();
        for byte in bytes.chunks(1) {
            if let Err(error) = reader.read(byte, &mut messages) {
                return (messages, Err(error));
            }
        }
        (messages, Ok(()))
    }

    /// Returns the messages after the handshake.
    fn after_handshake(access: Access, messages: &[u8]) -> (Vec<ViewerMessage>, Result<(), RfbError>) {
        let (mut read, result) = read(access, &[HELLO, messages].concat());
        assert_eq!(
            read.drain(..3).collect::<Vec<_>>(),
            [ViewerMessage::Version, ViewerMessage::SecurityType, ViewerMessage::Init]
        );
        (read, result)
    }

    #[test]
    fn input_is_read_from_viewers_with_control_only() {
        let sent = [&[4, 1, 0, 0, 0, 0, 0xff, 0x0d][..], &[5, 1, 1, 2, 0, 7], &[3, 1, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
        let input =
            [ViewerMessage::Key { is_down: true, symbol: 0xff0d }, ViewerMessage::Pointer { buttons: 1, x: 258, y: 7 }];
        let request = ViewerMessage::UpdateRequest { is_incremental: true };
        let all = [&input[..], &[request]].concat();
        assert_eq!(after_handshake(Access::Control, &sent), (all, Ok(())), "control");
        assert_eq!(after_handshake(Access::Watch, &sent), (vec![request], Ok(())));
    }

    #[test]
    fn middle_button_is_read_where_no_display_pastes() {
        let (read, result) = after_handshake(Access::Control, &[5, 7, 0, 1, 0, 2]);
        assert_eq!((read, result), (vec![ViewerMessage::Pointer { buttons: 7, x: 1, y: 2 }], Ok(())));
    }

    #[test]
    fn jpeg_needs_tight_and_a_quality() {
        let encodings = |numbers: &[i32]| {
            let count = u8::try_from(numbers.len()).expect("few");
            let list: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
            match after_handshake(Access::Watch, &[&[2, 0, 0, count][..], &list].concat()).0.as_slice() {
                [ViewerMessage::Encodings(encodings)] => *encodings,
                other => panic!("{other:?}"),
            }
        };
        let all = ViewerEncodings { has_jpeg: true, has_size: true, has_name: true };
        assert_eq!(encodings(&[0, 7, -26, -223, -307]), all);
        for incomplete in [&[0, 7][..], &[-26], &[0, 5, 16]] {
            assert_eq!(encodings(incomplete), ViewerEncodings::default(), "{incomplete:?}");
        }
    }

    #[test]
    fn other_versions_and_pixel_formats_end_the_connection() {
        assert_eq!(read(Access::Watch, b"RFB 003.003\n").1, Err(RfbError::Version));
        let format = |bits: u8, is_true: u8| [&[0, 0, 0, 0, bits, 24, 0, is_true][..], &[0; 12]].concat();
        assert_eq!(after_handshake(Access::Watch, &format(32, 1)), (vec![ViewerMessage::Other], Ok(())), "control");
        for format in [format(8, 1), format(32, 0)] {
            assert_eq!(after_handshake(Access::Watch, &format).1, Err(RfbError::PixelFormat));
        }
        let (messages, result) = after_handshake(Access::Control, &[4, 1, 0, 0, 0, 0, 0, 97, 255]);
        assert_eq!((messages.len(), result), (1, Err(RfbError::UnknownMessage(255))));
    }
}
