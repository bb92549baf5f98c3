//! Keys that type characters.

/// Key that types a character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStroke {
    /// Value of `KeyboardEvent.key`.
    pub key: String,
    /// Value of `KeyboardEvent.code`, empty if no key of a common keyboard types the character.
    pub code: String,
    /// Number of the key in older interfaces.
    pub key_code: u32,
    /// Text that the key types.
    pub text: String,
}

impl KeyStroke {
    /// Returns the key for a character, or `None` if no common key types it.
    #[must_use]
    pub fn of(character: char) -> Option<Self> {
        let stroke = |key: &str, code: String, key_code, text: &str| {
            Some(Self { key: key.to_owned(), code, key_code, text: text.to_owned() })
        };
        let text = character.to_string();
        match character {
            '\n' => stroke("Enter", "Enter".to_owned(), 13, "\r"),
            '\t' => stroke("Tab", "Tab".to_owned(), 9, ""),
            ' ' => stroke(" ", "Space".to_owned(), 32, " "),
            'a'..='z' | 'A'..='Z' => {
                let upper = character.to_ascii_uppercase();
                stroke(&text, format!("Key{upper}"), u32::from(upper), &text)
            }
            '0'..='9' => stroke(&text, format!("Digit{character}"), u32::from(character), &text),
            '!'..='~' => stroke(&text, String::new(), 0, &text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_characters_have_keys() {
        let codes: Vec<_> = "aZ5 \n\t".chars().filter_map(KeyStroke::of).map(|stroke| stroke.code).collect();
        assert_eq!(codes, ["KeyA", "KeyZ", "Digit5", "Space", "Enter", "Tab"]);
        assert_eq!(KeyStroke::of('.').map(|stroke| stroke.text).as_deref(), Some("."));
        for other in ['é', '漢', '\u{7}', '😀'] {
            assert_eq!(KeyStroke::of(other), None, "{other}");
        }
    }
}
