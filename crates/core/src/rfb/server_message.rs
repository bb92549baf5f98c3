//! Messages of a server of the screen whose content is one picture.
//!
//! Invariants: the first rectangle of an update covers the whole screen, or tells its size or its name. Only a text has others.

use crate::rfb::letters::rectangles;
use crate::rfb::viewer_message::{DESKTOP_NAME, DESKTOP_SIZE};

/// Version of the server.
pub const VERSION: &[u8] = b"RFB 003.008\n";

/// Security types: only the one without authentication, because the credentials of the request count.
pub const SECURITY_TYPES: &[u8] = &[1, 1];

/// Result of the security type that was chosen.
pub const SECURITY_RESULT: &[u8] = &[0; 4];

/// Format of pixels with 32 bits: true color, with 8 bits each for red, green and blue.
const PIXEL_FORMAT: [u8; 16] = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0];

/// Encoding Tight.
const TIGHT: i32 = 7;

/// Form of Tight that is one color.
const FILL: u8 = 0x80;

/// Color of texts: red, green and blue.
const TEXT_COLOR: [u8; 3] = [0xc0; 3];

/// Form of Tight that is a JPEG.
const JPEG: u8 = 0x90;

/// Maximum length of a JPEG, in bytes: Tight has 22 bits for it.
const MAX_JPEG: usize = (1 << 22) - 1;

/// Returns `ServerInit` with the size and the name of the screen.
#[must_use]
pub fn server_init(size: (u16, u16), name: &str) -> Vec<u8> {
    let mut message = [size.0.to_be_bytes(), size.1.to_be_bytes()].concat();
    message.extend(PIXEL_FORMAT);
    message.extend(counted(name));
    message
}

/// Returns an update that shows a JPEG of this size, or `None` if it is longer than the protocol allows.
#[must_use]
pub fn jpeg_update(size: (u16, u16), jpeg: &[u8]) -> Option<Vec<u8>> {
    if jpeg.len() > MAX_JPEG {
        return None;
    }
    let mut message = update(size, TIGHT);
    message.push(JPEG);
    message.extend(compact_length(jpeg.len()));
    message.extend(jpeg);
    Some(message)
}

/// Returns an update that makes the whole screen black, with a text of small letters and spaces in its middle.
#[must_use]
pub fn text_update(size: (u16, u16), text: &str) -> Vec<u8> {
    let letters = rectangles(size, text);
    // The whole screen, and the rectangles of the letters.
    let Ok(count) = u16::try_from(1 + letters.len()) else { return text_update(size, "") };
    let mut message = [[0, 0], count.to_be_bytes()].concat();
    let screen = ([0, 0, size.0, size.1], [0; 3]);
    for (sides, color) in std::iter::once(screen).chain(letters.into_iter().map(|sides| (sides, TEXT_COLOR))) {
        message.extend(sides.into_iter().flat_map(u16::to_be_bytes));
        message.extend(TIGHT.to_be_bytes());
        message.push(FILL);
        message.extend(color);
    }
    message
}

/// Returns an update that gives the screen another size.
#[must_use]
pub fn size_update(size: (u16, u16)) -> Vec<u8> {
    update(size, DESKTOP_SIZE)
}

/// Returns an update that gives the screen another name.
#[must_use]
pub fn name_update(name: &str) -> Vec<u8> {
    let mut message = update((0, 0), DESKTOP_NAME);
    message.extend(counted(name));
    message
}

/// Returns the beginning of an update with one rectangle.
fn update((width, height): (u16, u16), encoding: i32) -> Vec<u8> {
    let mut message = vec![0, 0, 0, 1, 0, 0, 0, 0];
    message.extend(width.to_be_bytes());
    message.extend(height.to_be_bytes());
    message.extend(encoding.to_be_bytes());
    message
}

/// Returns a text behind its length.
fn counted(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or_default();
    length.to_be_bytes().into_iter().chain(text.bytes()).collect()
}

/// Returns a length as Tight writes it: seven bits in each byte but the third, the lowest first.
fn compact_length(length: usize) -> Vec<u8> {
    let bytes = length.to_le_bytes();
    let number = u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default());
    let bits = |shift: u32, mask: u32| (number >> shift & mask).to_le_bytes()[0];
    match number {
        0..=0x7f => vec![bits(0, 0x7f)],
        0x80..=0x3fff => vec![bits(0, 0x7f) | 0x80, bits(7, 0x7f)],
        _ => vec![bits(0, 0x7f) | 0x80, bits(7, 0x7f) | 0x80, bits(14, 0xff)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_tight_have_up_to_three_bytes() {
        for (length, expected) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (10_000, &[0x90, 0x4e]),
            (16_383, &[0xff, 0x7f]),
            (16_384, &[0x80, 0x80, 1]),
            (MAX_JPEG, &[0xff, 0xff, 0xff]),
        ] {
            assert_eq!(compact_length(length), expected, "{length}");
        }
    }

    #[test]
    fn updates_cover_the_whole_screen() {
        let head = |encoding: &[u8]| [&[0, 0, 0, 1, 0, 0, 0, 0, 5, 0, 3, 32][..], encoding].concat();
        let size = (1280, 800);
        assert_eq!(size_update(size), head(&[0xff, 0xff, 0xff, 0x21]));
        let black = [head(&[0, 0, 0, 7]), vec![0x80, 0, 0, 0]].concat();
        assert_eq!(text_update(size, ""), black);
        let text = text_update(size, "i");
        let points = usize::from(text[3]) - 1;
        assert_eq!((points, text.len()), (9, black.len() + 16 * points), "points of the letter");
        assert_eq!(text[4..20], black[4..20]);
        assert_eq!(text[28..36], [0, 0, 0, 7, 0x80, 0xc0, 0xc0, 0xc0]);
        assert_eq!(
            jpeg_update(size, b"abc").expect("short"),
            [head(&[0, 0, 0, 7]), vec![0x90, 3, b'a', b'b', b'c']].concat()
        );
        assert!(jpeg_update(size, &vec![0; MAX_JPEG]).is_some(), "control");
        assert_eq!(jpeg_update(size, &vec![0; MAX_JPEG + 1]), None);
        assert_eq!(name_update("ab")[12..], [0xff, 0xff, 0xfe, 0xcd, 0, 0, 0, 2, b'a', b'b']);
    }

    #[test]
    fn init_has_size_format_and_name() {
        let init = server_init((1280, 800), "x");
        assert_eq!(init[..4], [5, 0, 3, 32]);
        assert_eq!(init[4..20], PIXEL_FORMAT);
        assert_eq!(init[20..], [0, 0, 0, 1, b'x']);
    }
}
