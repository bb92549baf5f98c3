//! Letters on an empty screen, so that it says why it is empty.

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
pub(super) type Rectangle = [u16; 4];

/// Returns the rectangles of a text of small letters and spaces in the middle of a screen; none if it does not fit.
pub(super) fn rectangles((width, height): (u16, u16), text: &str) -> Vec<Rectangle> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
