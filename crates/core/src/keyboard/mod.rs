//! Keys of a keyboard with the modifiers that are held (`Control+Shift+k`), and what a page gets of them.
//!
//! A key has a place (`code`), a meaning (`key`) and mostly a text. The places are those of a keyboard with the layout of the United States;
//! letters and signs of other layouts have no place of it, and are keys all the same.
//!
//! Source: UI Events `KeyboardEvent` code and key values; the numbers are those that browsers report as `keyCode`.

mod layout;

pub use layout::Key;

/// Key that is held while another one is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Modifier {
    /// Alt, which Apple calls Option.
    Alt,
    /// Control.
    Control,
    /// Meta: the Windows key, or Command.
    Meta,
    /// Shift.
    Shift,
}

impl Modifier {
    /// All modifiers with their names, in lower case.
    const NAMES: &[(&str, Self)] = &[
        ("alt", Self::Alt),
        ("option", Self::Alt),
        ("control", Self::Control),
        ("ctrl", Self::Control),
        // The one of the platform: the browser runs on Linux.
        ("controlormeta", Self::Control),
        ("cmd", Self::Meta),
        ("command", Self::Meta),
        ("meta", Self::Meta),
        ("super", Self::Meta),
        ("shift", Self::Shift),
    ];

    /// Returns the modifier with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, modifier)| *modifier)
    }

    /// Returns the modifiers whose names a text has, with `+` between them, each once; `None` if it has others.
    #[must_use]
    pub fn list(text: &str) -> Option<Vec<Self>> {
        let mut modifiers = Vec::new();
        for name in text.split('+') {
            let modifier = Self::named(name)?;
            if !modifiers.contains(&modifier) {
                modifiers.push(modifier);
            }
        }
        Some(modifiers)
    }

    /// Returns its bit in the member `modifiers` of Chromium's input.
    #[must_use]
    pub const fn bit(self) -> u32 {
        match self {
            Self::Alt => 1,
            Self::Control => 2,
            Self::Meta => 4,
            Self::Shift => 8,
        }
    }

    /// Returns its key.
    #[must_use]
    pub fn key(self) -> Key {
        let row = match self {
            Self::Alt => layout::ALT,
            Self::Control => layout::CONTROL,
            Self::Meta => layout::META,
            Self::Shift => layout::SHIFT,
        };
        row.key(false)
    }
}

impl Key {
    /// Returns its bit in the member `modifiers` of Chromium's input, 0 unless it is a modifier.
    #[must_use]
    pub fn modifier_bit(&self) -> u32 {
        Modifier::named(&self.key).map_or(0, Modifier::bit)
    }
}

/// Text that names no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey;

/// Key with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chord {
    /// Modifiers, in the order in which they are pressed.
    pub modifiers: Vec<Modifier>,
    /// Key.
    pub key: Key,
}

impl Chord {
    /// Reads a chord: names of modifiers and a key, separated by `+`. A key is a character, the place of a key (`KeyA`, `NumpadAdd`) or its
    /// name (`Enter`, `F5`), in any case.
    ///
    /// ```
    /// use browser_shell_core::keyboard::Chord;
    ///
    /// let chord = Chord::parse("Control+Shift+k").expect("a chord");
    /// assert_eq!((chord.modifiers.len(), chord.key.key.as_str()), (2, "K"));
    /// assert!(Chord::parse("Control+Foo").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`UnknownKey`].
    pub fn parse(text: &str) -> Result<Self, UnknownKey> {
        // The last one may be the plus key.
        let (held, name) = match text.strip_suffix("++") {
            Some(held) => (Some(held), "+"),
            None if text == "+" => (None, text),
            None => text.rsplit_once('+').map_or((None, text), |(held, name)| (Some(held), name)),
        };
        let modifiers = held.map_or(Some(Vec::new()), Modifier::list).ok_or(UnknownKey)?;
        let is_shifted = modifiers.contains(&Modifier::Shift);
        let mut characters = name.chars();
        let mut key = match (characters.next(), characters.next()) {
            (Some(character), None) => character_key(character, is_shifted),
            _ => layout::named(name, is_shifted),
        }
        .ok_or(UnknownKey)?;
        // With one of these held, a key is a command and enters nothing.
        if modifiers.iter().any(|modifier| *modifier != Modifier::Shift) {
            key.text.clear();
        }
        Ok(Self { modifiers, key })
    }

    /// Returns true if a page, or the browser, may paste with it.
    #[must_use]
    pub fn may_paste(&self) -> bool {
        let holds = |modifier| self.modifiers.contains(&modifier);
        holds(Modifier::Control) || holds(Modifier::Meta) || self.key.key == "Insert" || self.key.key == "Paste"
    }

    /// Returns the member `modifiers` of Chromium's input.
    #[must_use]
    pub fn bits(&self) -> u32 {
        bits(&self.modifiers)
    }
}

/// Returns the member `modifiers` of Chromium's input while these are held.
fn bits(modifiers: &[Modifier]) -> u32 {
    modifiers.iter().fold(0, |bits, modifier| bits | modifier.bit())
}

/// Returns the key of a character, which Shift may turn into another one: `Shift+a` is `A`, and `Shift+1` is `!`.
fn character_key(character: char, is_shifted: bool) -> Option<Key> {
    let key = Key::typing(character).filter(|key| !key.key.is_empty())?;
    if is_shifted && !key.code.is_empty() {
        return layout::named(key.code, true);
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_what_browsers_report() {
        for (text, key, code, key_code, location, entered, bits) in [
            ("a", "a", "KeyA", 65, 0, "a", 0),
            ("A", "A", "KeyA", 65, 0, "A", 0),
            ("Shift+a", "A", "KeyA", 65, 0, "A", 8),
            ("Shift+1", "!", "Digit1", 49, 0, "!", 8),
            ("?", "?", "Slash", 191, 0, "?", 0),
            ("+", "+", "Equal", 187, 0, "+", 0),
            ("Control++", "+", "Equal", 187, 0, "", 2),
            ("-", "-", "Minus", 189, 0, "-", 0),
            ("Enter", "Enter", "Enter", 13, 0, "\r", 0),
            ("return", "Enter", "Enter", 13, 0, "\r", 0),
            ("Shift+Enter", "Enter", "Enter", 13, 0, "\r", 8),
            ("NumpadEnter", "Enter", "NumpadEnter", 13, 3, "\r", 0),
            ("NumpadAdd", "+", "NumpadAdd", 107, 3, "+", 0),
            ("Numpad7", "7", "Numpad7", 103, 3, "7", 0),
            ("F5", "F5", "F5", 116, 0, "", 0),
            ("f12", "F12", "F12", 123, 0, "", 0),
            ("Insert", "Insert", "Insert", 45, 0, "", 0),
            ("ContextMenu", "ContextMenu", "ContextMenu", 93, 0, "", 0),
            ("CapsLock", "CapsLock", "CapsLock", 20, 0, "", 0),
            ("Space", " ", "Space", 32, 0, " ", 0),
            ("Control+Space", " ", "Space", 32, 0, "", 2),
            ("PgDn", "PageDown", "PageDown", 34, 0, "", 0),
            ("Esc", "Escape", "Escape", 27, 0, "", 0),
            ("KeyA", "a", "KeyA", 65, 0, "a", 0),
            ("Shift+KeyA", "A", "KeyA", 65, 0, "A", 8),
            ("Control+a", "a", "KeyA", 65, 0, "", 2),
            ("ctrl+shift+K", "K", "KeyK", 75, 0, "", 10),
            ("Cmd+b", "b", "KeyB", 66, 0, "", 4),
            ("Option+x", "x", "KeyX", 88, 0, "", 1),
            ("Shift", "Shift", "ShiftLeft", 16, 1, "", 0),
            ("Control", "Control", "ControlLeft", 17, 1, "", 0),
            ("é", "é", "", 0, 0, "é", 0),
            ("Control+é", "é", "", 0, 0, "", 2),
        ] {
            let chord = Chord::parse(text).expect(text);
            let read = &chord.key;
            assert_eq!(
                (read.key.as_str(), read.code, read.key_code, read.location, read.text.as_str(), chord.bits()),
                (key, code, key_code, location, entered, bits),
                "{text}"
            );
        }
    }

    #[test]
    fn modifiers_have_bits() {
        let bit = |name| Chord::parse(name).expect("a key").key.modifier_bit();
        assert_eq!(["Alt", "Control", "Meta", "Shift", "a"].map(bit), [1, 2, 4, 8, 0]);
    }

    #[test]
    fn other_names_are_no_keys() {
        for text in ["Foo", "ab", "F0", "F25", "F+1", "Control+", "+a", "Foo+a", "\u{3000}", "漢", "", "Enter+a", "a+b"]
        {
            assert_eq!(Chord::parse(text), Err(UnknownKey), "{text}");
        }
    }
}
