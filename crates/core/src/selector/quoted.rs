//! Texts in quotes, in which a backslash stands in front of a quote or another backslash.

use std::fmt::{self, Write as _};

/// Reads the text in quotes that an input begins with. Returns it with the rest, or `None` if there is none that ends.
pub(super) fn read(input: &str) -> Option<(String, &str)> {
    let quote = input.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let mut text = String::new();
    let mut characters = input.char_indices().skip(1);
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            _ if character == quote => return Some((text, input.get(position + 1..)?)),
            _ => text.push(character),
        }
    }
    None
}

/// Writes a text in quotes.
pub(super) fn write(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(character)?;
    }
    f.write_char('"')
}
