//! Messages of a server of the screen whose content is one picture, or letters on an empty screen, so that it says why it is empty.
//!
//! Invariants: the first rectangle of an update covers the whole screen, or tells its size or its name. Only a text has others.

use crate::rfb::messages::{DESKTOP_NAME, DESKTOP_SIZE};

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

/// Width and height of a letter, in points.
const SIDES: (u16, u16) = (5, 7);

/// Distance from the beginning of one letter to that of the next, in points.
const ADVANCE: u16 = 6;

/// Maximum number of pixels on the side of a point.
const MAX_SCALE: u16 = 4;

/// Rows of the letters from `a` on, the highest first, with a bit for each point.
const LETTERS: [[u8; 7]; 26] = [
    [0, 0, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111],
    [0b10000, 0b10000, 0b10110, 0b11001, 0b10001, 0b10001, 0b11110],
    [0, 0, 0b01110, 0b10000, 0b10000, 0b10001, 0b01110],
    [0b00001, 0b00001, 0b01101, 0b10011, 0b10001, 0b10001, 0b01111],
    [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110],
    [0b00110, 0b01001, 0b01000, 0b11100, 0b01000, 0b01000, 0b01000],
    [0, 0b01111, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110],
    [0b10000, 0b10000, 0b10110, 0b11001, 0b10001, 0b10001, 0b10001],
    [0b00100, 0, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b00010, 0, 0b00110, 0b00010, 0b00010, 0b10010, 0b01100],
    [0b10000, 0b10000, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010],
    [0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0, 0, 0b11010, 0b10101, 0b10101, 0b10001, 0b10001],
    [0, 0, 0b10110, 0b11001, 0b10001, 0b10001, 0b10001],
    [0, 0, 0b01110, 0b10001, 0b10001, 0b10001, 0b01110],
    [0, 0, 0b11110, 0b10001, 0b11110, 0b10000, 0b10000],
    [0, 0, 0b01101, 0b10011, 0b01111, 0b00001, 0b00001],
    [0, 0, 0b10110, 0b11001, 0b10000, 0b10000, 0b10000],
    [0, 0, 0b01110, 0b10000, 0b01110, 0b00001, 0b11110],
    [0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01001, 0b00110],
    [0, 0, 0b10001, 0b10001, 0b10001, 0b10011, 0b01101],
    [0, 0, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100],
    [0, 0, 0b10001, 0b10001, 0b10101, 0b10101, 0b01010],
    [0, 0, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001],
    [0, 0, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110],
    [0, 0, 0b11111, 0b00010, 0b00100, 0b01000, 0b11111],
];

/// Rectangle of pixels: position from the left and from the top, width and height.
type Rectangle = [u16; 4];

/// Returns the rectangles of a text of small letters and spaces in the middle of a screen; none if it does not fit.
fn rectangles((width, height): (u16, u16), text: &str) -> Vec<Rectangle> {
    let Some(points) = u16::try_from(text.len()).ok().and_then(|count| count.checked_mul(ADVANCE)) else {
        return Vec::new();
    };
    let scale = (width / points.max(1)).min(height / SIDES.1).min(MAX_SCALE);
    if scale == 0 {
        return Vec::new();
    }
    let (left, top) = ((width - points * scale) / 2, (height - SIDES.1 * scale) / 2);
    let mut rectangles = Vec::new();
    for (position, letter) in (0..).zip(text.bytes()) {
        let rows = LETTERS.get(usize::from(letter.wrapping_sub(b'a'))).unwrap_or(&[0; 7]);
        for (row, bits) in (0..).zip(rows) {
            let points = (0..SIDES.0).filter(|point| bits >> (SIDES.0 - 1 - point) & 1 == 1);
            rectangles.extend(
                points.map(|point| [left + (position * ADVANCE + point) * scale, top + row * scale, scale, scale]),
            );
        }
    }
    rectangles
}

/// Returns the width and the height of a JPEG, or `None` if the bytes are not one (ITU-T T.81, annex B).
#[must_use]
pub fn jpeg_size(bytes: &[u8]) -> Option<(u16, u16)> {
    let mut rest = bytes.strip_prefix(&[0xff, 0xd8])?;
    loop {
        let ([0xff, marker, high, low], _) = rest.split_first_chunk::<4>()? else { return None };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let segment = rest.get(2..)?;
        // Frames, but neither tables nor the arithmetic conditioning that have numbers between them.
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            // Its length, the bits of a sample, the height and the width.
            let [_, _, _, high, low, left, right] = segment.first_chunk::<7>()?;
            let size = (u16::from_be_bytes([*left, *right]), u16::from_be_bytes([*high, *low]));
            return (size.0 > 0 && size.1 > 0).then_some(size);
        }
        // The length counts its own two bytes.
        rest = segment.get(length.max(2)..)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn letters_are_readable() {
        let drawn = |text: &str, size: (u16, u16)| {
            let found = rectangles(size, text);
            let line =
                |y| (0..size.0).map(|x| if found.contains(&[x, y, 1, 1]) { '#' } else { '.' }).collect::<String>();
            (0..size.1).map(line).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(drawn("abcdefghijklm", (78, 8)) + "\n" + &drawn("nopqrstuvwxyz", (78, 8)));
        assert_eq!(rectangles((78, 8), "  "), Vec::<Rectangle>::new());
    }

    proptest! {
        #[test]
        fn text_is_within_the_screen(width: u16, height: u16, text in "[ -~]{0,80}") {
            for [x, y, right, down] in rectangles((width, height), &text) {
                prop_assert!(u32::from(x) + u32::from(right) <= u32::from(width));
                prop_assert!(u32::from(y) + u32::from(down) <= u32::from(height));
            }
        }
    }

    #[test]
    fn size_is_in_the_frame_after_other_segments() {
        let start = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 9];
        let frame = [0xff, 0xc0, 0, 17, 8, 0x03, 0x20, 0x05, 0x00, 3];
        let jpeg = [&start[..], &frame].concat();
        assert_eq!(jpeg_size(&jpeg), Some((1280, 800)));
        for length in 0..jpeg.len() - 1 {
            assert_eq!(jpeg_size(&jpeg[..length]), None, "{length}");
        }
        for other in [&b"\x89PNG\r\n\x1a\n\0\0\0\0"[..], &[0xff, 0xd8, 0, 0, 0, 0], &[]] {
            assert_eq!(jpeg_size(other), None);
        }
    }
}
