//! Keys of a viewer as the debugging protocol names them.

use crate::keyboard::Key;

/// First symbol that is a Unicode character.
const UNICODE: u32 = 0x0100_0000;

/// Keys that type nothing, by symbol and place.
const NAMED: &[(u32, &str)] = &[
    (0xff08, "Backspace"),
    (0xff09, "Tab"),
    (0xfe20, "Tab"),
    (0xff1b, "Escape"),
    (0xff50, "Home"),
    (0xff51, "ArrowLeft"),
    (0xff52, "ArrowUp"),
    (0xff53, "ArrowRight"),
    (0xff54, "ArrowDown"),
    (0xff55, "PageUp"),
    (0xff56, "PageDown"),
    (0xff57, "End"),
    (0xff63, "Insert"),
    (0xffff, "Delete"),
    (0xffe1, "ShiftLeft"),
    (0xffe2, "ShiftRight"),
    (0xffe3, "ControlLeft"),
    (0xffe4, "ControlRight"),
    (0xffe9, "AltLeft"),
    (0xffea, "AltRight"),
    (0xffe7, "MetaLeft"),
    (0xffe8, "MetaRight"),
    (0xffeb, "MetaLeft"),
    (0xffec, "MetaRight"),
    (0xfe03, "AltGraph"),
];

/// First and last symbol of the function keys F1 to F12.
const FUNCTION_KEYS: std::ops::RangeInclusive<u32> = 0xffbe..=0xffc9;

/// Returns the key of a symbol of X11, or `None` if pages have no such key.
#[must_use]
pub fn key_of_symbol(symbol: u32) -> Option<Key> {
    if let Some((_, place)) = NAMED.iter().find(|(known, _)| *known == symbol) {
        return Key::at(place);
    }
    if FUNCTION_KEYS.contains(&symbol) {
        return Key::at(&format!("F{}", symbol - FUNCTION_KEYS.start() + 1));
    }
    let character = match symbol {
        0xff0d | 0xff8d => Some('\n'),
        0x20..=0x7e | 0xa0..=0xff => char::from_u32(symbol),
        // Digits and signs of the keypad.
        0xffaa..=0xffb9 => char::from_u32(symbol - 0xff80),
        _ => symbol.checked_sub(UNICODE).and_then(char::from_u32).filter(|character| !character.is_control()),
    }?;
    Some(Key::typing(character).unwrap_or_else(|| Key::of_other_layout(character)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_the_keys_of_pages() {
        let key = |symbol| key_of_symbol(symbol).map(|stroke| (stroke.key, stroke.text));
        for (symbol, name, text) in [
            (0x61, "a", "a"),
            (0x41, "A", "A"),
            (0xe9, "é", "é"),
            (UNICODE + 0x4e2d, "中", "中"),
            (0xff0d, "Enter", "\r"),
            (0xff8d, "Enter", "\r"),
            (0xffb7, "7", "7"),
            (0xffab, "+", "+"),
            (0xff08, "Backspace", ""),
            (0xffc9, "F12", ""),
            (0xffe3, "Control", ""),
        ] {
            assert_eq!(key(symbol), Some((name.to_owned(), text.to_owned())), "{symbol:x}");
        }
        for symbol in [0, 0x1f, 0x7f, 0xff7f, UNICODE, UNICODE + 7, UNICODE + 0xd800, u32::MAX] {
            assert_eq!(key(symbol), None, "{symbol:x}");
        }
    }
}
