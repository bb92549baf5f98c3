//! Keys of a viewer as the debugging protocol names them.

use crate::element::KeyStroke;

/// First symbol that is a Unicode character.
const UNICODE: u32 = 0x0100_0000;

/// Keys that type nothing, with symbol, name, code and number.
const NAMED: &[(u32, &str, &str, u32)] = &[
    (0xff08, "Backspace", "Backspace", 8),
    (0xff09, "Tab", "Tab", 9),
    (0xfe20, "Tab", "Tab", 9),
    (0xff1b, "Escape", "Escape", 27),
    (0xff50, "Home", "Home", 36),
    (0xff51, "ArrowLeft", "ArrowLeft", 37),
    (0xff52, "ArrowUp", "ArrowUp", 38),
    (0xff53, "ArrowRight", "ArrowRight", 39),
    (0xff54, "ArrowDown", "ArrowDown", 40),
    (0xff55, "PageUp", "PageUp", 33),
    (0xff56, "PageDown", "PageDown", 34),
    (0xff57, "End", "End", 35),
    (0xff63, "Insert", "Insert", 45),
    (0xffff, "Delete", "Delete", 46),
    (0xffe1, "Shift", "ShiftLeft", 16),
    (0xffe2, "Shift", "ShiftRight", 16),
    (0xffe3, "Control", "ControlLeft", 17),
    (0xffe4, "Control", "ControlRight", 17),
    (0xffe9, "Alt", "AltLeft", 18),
    (0xffea, "Alt", "AltRight", 18),
    (0xffe7, "Meta", "MetaLeft", 91),
    (0xffe8, "Meta", "MetaRight", 92),
    (0xffeb, "Meta", "MetaLeft", 91),
    (0xffec, "Meta", "MetaRight", 92),
    (0xfe03, "AltGraph", "AltRight", 225),
];

/// First and last symbol of the function keys F1 to F12.
const FUNCTION_KEYS: std::ops::RangeInclusive<u32> = 0xffbe..=0xffc9;

/// Number of F1.
const F1: u32 = 112;

/// Returns the key of a symbol of X11, or `None` if pages have no such key.
#[must_use]
pub fn key_of_symbol(symbol: u32) -> Option<KeyStroke> {
    if let Some((_, key, code, key_code)) = NAMED.iter().find(|(known, ..)| *known == symbol) {
        let text = String::new();
        return Some(KeyStroke { key: (*key).to_owned(), code: (*code).to_owned(), key_code: *key_code, text });
    }
    if FUNCTION_KEYS.contains(&symbol) {
        let number = symbol - FUNCTION_KEYS.start();
        let key = format!("F{}", number + 1);
        return Some(KeyStroke { code: key.clone(), key, key_code: F1 + number, text: String::new() });
    }
    let character = match symbol {
        0xff0d | 0xff8d => Some('\n'),
        0x20..=0x7e | 0xa0..=0xff => char::from_u32(symbol),
        // Digits and signs of the keypad.
        0xffaa..=0xffb9 => char::from_u32(symbol - 0xff80),
        _ => symbol.checked_sub(UNICODE).and_then(char::from_u32).filter(|character| !character.is_control()),
    }?;
    let other = || {
        let text = character.to_string();
        KeyStroke { key: text.clone(), code: String::new(), key_code: 0, text }
    };
    Some(KeyStroke::of(character).unwrap_or_else(other))
}

/// Returns the bit of a modifier key in the protocol's events, or 0 for any other key.
#[must_use]
pub fn modifier_bit(key: &str) -> u8 {
    match key {
        "Alt" => 1,
        "Control" => 2,
        "Meta" => 4,
        "Shift" => 8,
        _ => 0,
    }
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
        assert_eq!(["Alt", "Control", "Meta", "Shift", "a"].map(modifier_bit), [1, 2, 4, 8, 0]);
    }
}
