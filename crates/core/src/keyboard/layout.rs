//! Keyboard with the layout of the United States, and what a page gets of a key.

/// Key, with what a page gets of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Value of `KeyboardEvent.key`.
    pub key: String,
    /// Value of `KeyboardEvent.code`, empty for a letter or sign of another layout.
    pub code: &'static str,
    /// Number of the key in older interfaces, 0 for none.
    pub key_code: u32,
    /// Value of `KeyboardEvent.location`: 0 standard, 1 left, 2 right, 3 keypad.
    pub location: u32,
    /// Text that the key enters, empty for none.
    pub text: String,
}

/// Key of the keyboard: its place, what it means and what it means with Shift, its number, and where it is if there are several.
pub(super) struct Row(&'static str, &'static str, &'static str, u32, u32);

/// Left key of a modifier.
pub(super) const ALT: Row = Row("AltLeft", "Alt", "", 18, 1);
pub(super) const CONTROL: Row = Row("ControlLeft", "Control", "", 17, 1);
pub(super) const META: Row = Row("MetaLeft", "Meta", "", 91, 1);
pub(super) const SHIFT: Row = Row("ShiftLeft", "Shift", "", 16, 1);

/// All keys. A key that means a single character enters it.
const KEYS: &[Row] = &[
    Row("Escape", "Escape", "", 27, 0),
    Row("F1", "F1", "", 112, 0),
    Row("F2", "F2", "", 113, 0),
    Row("F3", "F3", "", 114, 0),
    Row("F4", "F4", "", 115, 0),
    Row("F5", "F5", "", 116, 0),
    Row("F6", "F6", "", 117, 0),
    Row("F7", "F7", "", 118, 0),
    Row("F8", "F8", "", 119, 0),
    Row("F9", "F9", "", 120, 0),
    Row("F10", "F10", "", 121, 0),
    Row("F11", "F11", "", 122, 0),
    Row("F12", "F12", "", 123, 0),
    Row("F13", "F13", "", 124, 0),
    Row("F14", "F14", "", 125, 0),
    Row("F15", "F15", "", 126, 0),
    Row("F16", "F16", "", 127, 0),
    Row("F17", "F17", "", 128, 0),
    Row("F18", "F18", "", 129, 0),
    Row("F19", "F19", "", 130, 0),
    Row("F20", "F20", "", 131, 0),
    Row("F21", "F21", "", 132, 0),
    Row("F22", "F22", "", 133, 0),
    Row("F23", "F23", "", 134, 0),
    Row("F24", "F24", "", 135, 0),
    Row("Backquote", "`", "~", 192, 0),
    Row("Digit1", "1", "!", 49, 0),
    Row("Digit2", "2", "@", 50, 0),
    Row("Digit3", "3", "#", 51, 0),
    Row("Digit4", "4", "$", 52, 0),
    Row("Digit5", "5", "%", 53, 0),
    Row("Digit6", "6", "^", 54, 0),
    Row("Digit7", "7", "&", 55, 0),
    Row("Digit8", "8", "*", 56, 0),
    Row("Digit9", "9", "(", 57, 0),
    Row("Digit0", "0", ")", 48, 0),
    Row("Minus", "-", "_", 189, 0),
    Row("Equal", "=", "+", 187, 0),
    Row("Backslash", "\\", "|", 220, 0),
    Row("Backspace", "Backspace", "", 8, 0),
    Row("Tab", "Tab", "", 9, 0),
    Row("KeyQ", "q", "Q", 81, 0),
    Row("KeyW", "w", "W", 87, 0),
    Row("KeyE", "e", "E", 69, 0),
    Row("KeyR", "r", "R", 82, 0),
    Row("KeyT", "t", "T", 84, 0),
    Row("KeyY", "y", "Y", 89, 0),
    Row("KeyU", "u", "U", 85, 0),
    Row("KeyI", "i", "I", 73, 0),
    Row("KeyO", "o", "O", 79, 0),
    Row("KeyP", "p", "P", 80, 0),
    Row("BracketLeft", "[", "{", 219, 0),
    Row("BracketRight", "]", "}", 221, 0),
    Row("CapsLock", "CapsLock", "", 20, 0),
    Row("KeyA", "a", "A", 65, 0),
    Row("KeyS", "s", "S", 83, 0),
    Row("KeyD", "d", "D", 68, 0),
    Row("KeyF", "f", "F", 70, 0),
    Row("KeyG", "g", "G", 71, 0),
    Row("KeyH", "h", "H", 72, 0),
    Row("KeyJ", "j", "J", 74, 0),
    Row("KeyK", "k", "K", 75, 0),
    Row("KeyL", "l", "L", 76, 0),
    Row("Semicolon", ";", ":", 186, 0),
    Row("Quote", "'", "\"", 222, 0),
    Row("Enter", "Enter", "", 13, 0),
    SHIFT,
    Row("KeyZ", "z", "Z", 90, 0),
    Row("KeyX", "x", "X", 88, 0),
    Row("KeyC", "c", "C", 67, 0),
    Row("KeyV", "v", "V", 86, 0),
    Row("KeyB", "b", "B", 66, 0),
    Row("KeyN", "n", "N", 78, 0),
    Row("KeyM", "m", "M", 77, 0),
    Row("Comma", ",", "<", 188, 0),
    Row("Period", ".", ">", 190, 0),
    Row("Slash", "/", "?", 191, 0),
    Row("ShiftRight", "Shift", "", 16, 2),
    CONTROL,
    META,
    ALT,
    Row("Space", " ", " ", 32, 0),
    Row("AltRight", "Alt", "", 18, 2),
    Row("AltGraph", "AltGraph", "", 225, 0),
    Row("MetaRight", "Meta", "", 92, 2),
    Row("ContextMenu", "ContextMenu", "", 93, 0),
    Row("ControlRight", "Control", "", 17, 2),
    Row("PrintScreen", "PrintScreen", "", 44, 0),
    Row("ScrollLock", "ScrollLock", "", 145, 0),
    Row("Pause", "Pause", "", 19, 0),
    Row("PageUp", "PageUp", "", 33, 0),
    Row("PageDown", "PageDown", "", 34, 0),
    Row("Insert", "Insert", "", 45, 0),
    Row("Delete", "Delete", "", 46, 0),
    Row("Home", "Home", "", 36, 0),
    Row("End", "End", "", 35, 0),
    Row("ArrowLeft", "ArrowLeft", "", 37, 0),
    Row("ArrowUp", "ArrowUp", "", 38, 0),
    Row("ArrowRight", "ArrowRight", "", 39, 0),
    Row("ArrowDown", "ArrowDown", "", 40, 0),
    Row("NumLock", "NumLock", "", 144, 0),
    Row("NumpadDivide", "/", "", 111, 3),
    Row("NumpadMultiply", "*", "", 106, 3),
    Row("NumpadSubtract", "-", "", 109, 3),
    Row("NumpadAdd", "+", "", 107, 3),
    Row("NumpadEnter", "Enter", "", 13, 3),
    Row("NumpadDecimal", ".", "", 110, 3),
    Row("NumpadEqual", "=", "", 187, 3),
    Row("Numpad0", "0", "", 96, 3),
    Row("Numpad1", "1", "", 97, 3),
    Row("Numpad2", "2", "", 98, 3),
    Row("Numpad3", "3", "", 99, 3),
    Row("Numpad4", "4", "", 100, 3),
    Row("Numpad5", "5", "", 101, 3),
    Row("Numpad6", "6", "", 102, 3),
    Row("Numpad7", "7", "", 103, 3),
    Row("Numpad8", "8", "", 104, 3),
    Row("Numpad9", "9", "", 105, 3),
];

/// Other names of keys, in lower case, with their place.
const NAMES: &[(&str, &str)] = &[
    ("alt", "AltLeft"),
    ("cmd", "MetaLeft"),
    ("command", "MetaLeft"),
    ("control", "ControlLeft"),
    ("ctrl", "ControlLeft"),
    ("del", "Delete"),
    ("down", "ArrowDown"),
    ("esc", "Escape"),
    ("ins", "Insert"),
    ("left", "ArrowLeft"),
    ("menu", "ContextMenu"),
    ("meta", "MetaLeft"),
    ("option", "AltLeft"),
    ("pgdn", "PageDown"),
    ("pgup", "PageUp"),
    ("return", "Enter"),
    ("right", "ArrowRight"),
    ("shift", "ShiftLeft"),
    ("spacebar", "Space"),
    ("super", "MetaLeft"),
    ("up", "ArrowUp"),
];

impl Row {
    pub(super) fn key(&self, is_shifted: bool) -> Key {
        let Self(code, plain, shifted, key_code, location) = *self;
        let key = if is_shifted && !shifted.is_empty() { shifted } else { plain };
        let text = match key {
            "Enter" => "\r",
            _ if key.chars().count() == 1 => key,
            _ => "",
        };
        Key { key: key.to_owned(), code, key_code, location, text: text.to_owned() }
    }
}

/// Returns the key that enters a character, with or without Shift.
pub(super) fn of_character(character: char) -> Option<Key> {
    let mut buffer = [0; 4];
    let text: &str = character.encode_utf8(&mut buffer);
    let on_main_part = || KEYS.iter().filter(|row| row.4 != 3);
    let plain = on_main_part().find(|row| row.1 == text).map(|row| row.key(false));
    plain.or_else(|| on_main_part().find(|row| row.2 == text).map(|row| row.key(true)))
}

/// Returns the key with a name, in any case: its place, what it means, or another name of it.
pub(super) fn named(name: &str, is_shifted: bool) -> Option<Key> {
    let is_it = |known: &str| known.eq_ignore_ascii_case(name);
    let place = NAMES.iter().find(|(other, _)| is_it(other)).map(|(_, place)| *place);
    let row = match place {
        Some(place) => KEYS.iter().find(|row| row.0 == place),
        None => KEYS.iter().find(|row| is_it(row.0)),
    };
    row.map(|row| row.key(is_shifted))
}

impl Key {
    /// Returns the key that enters a character as part of a text. `None` if no keyboard has one, so that an input method enters it: signs of
    /// Chinese or Japanese, emoji, control characters.
    ///
    /// ```
    /// use browser_shell_core::keyboard::Key;
    ///
    /// assert_eq!(Key::typing('?').map(|key| key.code), Some("Slash"));
    /// assert_eq!(Key::typing('é').map(|key| key.text).as_deref(), Some("é"));
    /// assert_eq!(Key::typing('漢'), None);
    /// ```
    #[must_use]
    pub fn typing(character: char) -> Option<Self> {
        let name = match character {
            '\n' => "Enter",
            '\t' => "Tab",
            _ => {
                let of_other_layout = || is_on_a_keyboard(character).then(|| Self::of_other_layout(character));
                return of_character(character).or_else(of_other_layout);
            }
        };
        named(name, false)
    }

    /// Returns the key at a place, such as `ArrowLeft`.
    #[must_use]
    pub fn at(code: &str) -> Option<Self> {
        named(code, false)
    }

    /// Returns a key without a place that enters a character.
    #[must_use]
    pub fn of_other_layout(character: char) -> Self {
        let text = character.to_string();
        Self { key: text.clone(), code: "", key_code: 0, location: 0, text }
    }
}

/// Returns true for letters and signs that keyboards of other layouts have: Latin, Greek, Cyrillic, Armenian, Hebrew and Arabic, and
/// currencies.
const fn is_on_a_keyboard(character: char) -> bool {
    matches!(character, '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{6ff}' | '\u{1e00}'..='\u{1fff}' | '\u{20a0}'..='\u{20bf}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_character_of_ascii_has_a_key_with_a_place() {
        for character in ' '..='~' {
            let key = Key::typing(character).expect("a key");
            assert_eq!(
                (key.text.as_str(), key.code.is_empty()),
                (character.to_string().as_str(), false),
                "{character}"
            );
        }
        for (character, code, key_code) in
            [('a', "KeyA", 65), ('Z', "KeyZ", 90), ('5', "Digit5", 53), (' ', "Space", 32), ('.', "Period", 190)]
        {
            let key = Key::typing(character).expect("a key");
            assert_eq!((key.code, key.key_code), (code, key_code), "{character}");
        }
        assert_eq!(Key::typing('\n').map(|key| (key.key, key.text)), Some(("Enter".to_owned(), "\r".to_owned())));
        assert_eq!(Key::typing('\t').map(|key| (key.key, key.text)), Some(("Tab".to_owned(), String::new())));
    }

    #[test]
    fn characters_of_no_keyboard_have_no_key() {
        for character in ['漢', 'か', '한', '😀', '\u{7}', '\u{ad}', '\u{200d}'] {
            assert_eq!(Key::typing(character), None, "{character:?}");
        }
        for character in ['é', 'ß', 'ñ', 'Ж', 'λ', '€', '§', 'ש'] {
            assert!(Key::typing(character).is_some(), "{character}");
        }
    }
}
