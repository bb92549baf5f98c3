//! Encodings in which a text can contain a secret, decoded with the source of each byte.

/// An encoding that writes some characters as escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Strings of JSON, JavaScript and YAML.
    Json,
    /// Character references of HTML.
    Html,
    /// Percent-encoding of URLs.
    Percent,
    /// Percent-encoding of forms, with `+` for a blank.
    Form,
    /// Percent-encoding of forms and `escape` in pages that are not UTF-8: a byte is a character of windows-1252, and `%u20AC` is one of UTF-16.
    Latin,
    /// HTML, whose tags may stand between the letters of a text.
    Tags,
    /// White space in place of one blank: a line break, a blank that does not break, or several. It is decoded last.
    Blanks,
}

impl Encoding {
    /// All encodings that can be inside each other.
    pub(super) const ALL: [Self; 6] = [Self::Json, Self::Html, Self::Percent, Self::Form, Self::Latin, Self::Tags];

    /// Returns `true` if an escape can begin with a byte.
    const fn is_escape(self, byte: u8) -> bool {
        match self {
            Self::Json => byte == b'\\',
            Self::Html => byte == b'&',
            Self::Percent => byte == b'%',
            Self::Form | Self::Latin => matches!(byte, b'%' | b'+'),
            Self::Tags => byte == b'<',
            // Bytes with which white space begins in UTF-8.
            Self::Blanks => matches!(byte, b'\t'..=b'\r' | b' ' | 0xc2 | 0xe1..=0xe3),
        }
    }

    /// Decodes the escape at the beginning of a text. Returns its bytes and its length.
    fn escape(self, text: &[u8]) -> Option<(Bytes, usize)> {
        match self {
            Self::Json => json_escape(text),
            Self::Html => html_reference(text),
            Self::Blanks => blanks(text).map(|length| (Bytes::from(' '), length)),
            Self::Tags => tag(text).map(|length| (Bytes { buffer: [0; 4], length: 0 }, length)),
            Self::Form | Self::Latin if text.first() == Some(&b'+') => Some((Bytes::from(' '), 1)),
            Self::Latin => latin_escape(text),
            Self::Percent | Self::Form => hexadecimal(text.get(1..3)?).map(|value| (Bytes::byte(value), 3)),
        }
    }
}

/// The bytes of one character, or one byte of it.
struct Bytes {
    buffer: [u8; 4],
    length: usize,
}

impl Bytes {
    /// The byte with a value. A larger value has no byte.
    fn byte(value: u32) -> Self {
        let byte = u8::try_from(value).ok();
        Self { buffer: [byte.unwrap_or_default(), 0, 0, 0], length: usize::from(byte.is_some()) }
    }

    fn as_slice(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }
}

impl From<char> for Bytes {
    fn from(character: char) -> Self {
        let mut buffer = [0; 4];
        let length = character.encode_utf8(&mut buffer).len();
        Self { buffer, length }
    }
}

/// Decodes `\n`, `\"`, `\x41`, `\u0041` and the like.
fn json_escape(text: &[u8]) -> Option<(Bytes, usize)> {
    let character = match text.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'x' => return Some((char::from_u32(hexadecimal(text.get(2..4)?)?)?.into(), 4)),
        b'u' => return unicode_escape(text),
        byte @ (b'"' | b'\'' | b'\\' | b'/' | b'`') => char::from(*byte),
        _ => return None,
    };
    Some((character.into(), 2))
}

/// Decodes `%e4` as a character of windows-1252, and `%u20ac`.
fn latin_escape(text: &[u8]) -> Option<(Bytes, usize)> {
    if text.get(1) == Some(&b'u') {
        return unicode_escape(text);
    }
    let value = hexadecimal(text.get(1..3)?)?;
    let position = value.checked_sub(0x80).and_then(|position| usize::try_from(position).ok());
    let special = position.and_then(|position| WINDOWS_1252.get(position).copied());
    Some((special.or_else(|| char::from_u32(value))?.into(), 3))
}

/// Characters 0x80 to 0x9F of windows-1252. Source: <https://encoding.spec.whatwg.org/index-windows-1252.txt>.
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}',
    '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}',
    '\u{17e}', '\u{178}',
];

/// Returns true if a text has an escape that another percent-encoding decodes to another character.
fn has_latin(text: &[u8]) -> bool {
    let is_high = |byte: u8| matches!(byte, b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F' | b'u');
    text.windows(2).any(|pair| matches!(*pair, [b'%', byte] if is_high(byte)))
}

/// Decodes `\u0041` or `%u0041`, or two of them that are a surrogate pair.
fn unicode_escape(text: &[u8]) -> Option<(Bytes, usize)> {
    let first = hexadecimal(text.get(2..6)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character.into(), 6));
    }
    let second =
        text.get(6..12).filter(|rest| rest.get(..2) == text.get(..2)).and_then(|rest| hexadecimal(rest.get(2..)?))?;
    let (high, low) = (first.checked_sub(0xd800)?, second.checked_sub(0xdc00)?);
    let character = char::from_u32(0x10000 + (high << 10) + low).filter(|_| high < 0x400 && low < 0x400)?;
    Some((character.into(), 12))
}

/// Returns the length of a tag or a comment at the beginning of a text. No text is left of it.
fn tag(text: &[u8]) -> Option<usize> {
    let is_tag = text.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?'));
    let end = text.iter().take(MAX_TAG).position(|byte| *byte == b'>')?;
    is_tag.then_some(end + 1)
}

/// The longest tag that is read, in bytes.
const MAX_TAG: usize = 4096;

/// Returns the length of the white space at the beginning of a text, unless it is one blank or none.
fn blanks(text: &[u8]) -> Option<usize> {
    let mut length = 0;
    while let Some(blank) = text.get(length..).and_then(blank) {
        length += blank;
    }
    (length > 1 || length == 1 && text.first() != Some(&b' ')).then_some(length)
}

/// Returns the length of the character at the beginning of a text if it is white space, which has at most three bytes.
fn blank(text: &[u8]) -> Option<usize> {
    (1..=3).find(|length| {
        let character = text.get(..*length).and_then(|bytes| str::from_utf8(bytes).ok());
        character.is_some_and(|text| text.chars().all(char::is_whitespace))
    })
}

/// Decodes `&amp;`, `&#39;`, `&#x27;` and the like.
fn html_reference(text: &[u8]) -> Option<(Bytes, usize)> {
    const NAMES: [(&[u8], char); 8] = [
        (b"&amp", '&'),
        (b"&AMP", '&'),
        (b"&lt", '<'),
        (b"&gt", '>'),
        (b"&quot", '"'),
        (b"&QUOT", '"'),
        (b"&apos", '\''),
        (b"&nbsp", '\u{a0}'),
    ];
    let (character, length) = if let Some(digits) = text.strip_prefix(b"&#") {
        let (radix, prefix) = if matches!(digits.first(), Some(b'x' | b'X')) { (16, 3) } else { (10, 2) };
        let digits = text.get(prefix..)?.iter().take(MAX_DIGITS);
        let digits: Vec<u32> = digits.map_while(|byte| char::from(*byte).to_digit(radix)).collect();
        let value = digits.iter().try_fold(0_u32, |value, digit| value.checked_mul(radix)?.checked_add(*digit))?;
        (char::from_u32(value).filter(|_| !digits.is_empty())?, prefix + digits.len())
    } else {
        let (name, character) = NAMES.iter().find(|(name, _)| text.starts_with(name))?;
        (*character, name.len())
    };
    // The semicolon can be missing.
    Some((character.into(), length + usize::from(text.get(length) == Some(&b';'))))
}

/// The most digits of a character reference that are read.
const MAX_DIGITS: usize = 32;

/// Parses hexadecimal digits. At most eight fit.
fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |value, digit| value.checked_mul(16)?.checked_add(char::from(*digit).to_digit(16)?))
}

/// Bytes with the part of the original text that each of them comes from.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    spans: Vec<(u32, u32)>,
}

impl Decoded {
    /// Wraps a text that is not decoded. Returns `None` if it is 4 GiB long or longer.
    pub(super) fn new(text: &str) -> Option<Self> {
        let spans = (0..u32::try_from(text.len()).ok()?).map(|position| (position, position + 1)).collect();
        Some(Self { bytes: text.as_bytes().to_vec(), spans })
    }

    /// Decodes all escapes. Returns `None` if there is none.
    pub(super) fn decode(&self, encoding: Encoding) -> Option<Self> {
        let next = |from: usize| {
            let rest = self.bytes.get(from..)?;
            rest.iter().position(|byte| encoding.is_escape(*byte)).map(|distance| from + distance)
        };
        if encoding == Encoding::Latin && !has_latin(&self.bytes) {
            return None;
        }
        let mut position = next(0)?;
        let mut decoded =
            Self { bytes: Vec::with_capacity(self.bytes.len()), spans: Vec::with_capacity(self.spans.len()) };
        let (mut copied, mut has_escape) = (0, false);
        loop {
            let escape = self.bytes.get(position..).and_then(|rest| encoding.escape(rest));
            if let Some((bytes, length)) = escape {
                decoded.append(self, copied, position);
                decoded.bytes.extend_from_slice(bytes.as_slice());
                let span = self.span(position, position + length);
                decoded.spans.extend(bytes.as_slice().iter().map(|_| span));
                (copied, has_escape) = (position + length, true);
            }
            let from = escape_end(position, copied);
            match next(from) {
                Some(found) => position = found,
                None => break,
            }
        }
        decoded.append(self, copied, self.bytes.len());
        has_escape.then_some(decoded)
    }

    /// Returns the part of the original text that a range of bytes comes from.
    pub(super) fn source(&self, start: usize, end: usize) -> (usize, usize) {
        let (start, end) = self.span(start, end);
        (start as usize, end as usize)
    }

    fn span(&self, start: usize, end: usize) -> (u32, u32) {
        let spans = self.spans.get(start..end).unwrap_or_default();
        (spans.first().map_or(0, |span| span.0), spans.last().map_or(0, |span| span.1))
    }

    fn append(&mut self, from: &Self, start: usize, end: usize) {
        self.bytes.extend_from_slice(from.bytes.get(start..end).unwrap_or_default());
        self.spans.extend_from_slice(from.spans.get(start..end).unwrap_or_default());
    }
}

/// Returns the position behind an escape, or behind a byte that begins none.
const fn escape_end(position: usize, copied: usize) -> usize {
    if copied > position { copied } else { position + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_with_their_source() {
        for (encoding, text, expected) in [
            (Encoding::Json, r#"a\n\"\\\/\u00e9\ud83d\ude00\x41\q\u12"#, "a\n\"\\/\u{e9}\u{1f600}A\\q\\u12"),
            (Encoding::Json, r"\ud83d\u0041", r"\ud83dA"),
            (Encoding::Html, "&amp;&lt&#39;&#x27;&#233;&nope;&#;&", "&<''\u{e9}&nope;&#;&"),
            (Encoding::Percent, "%41+%c3%A9%zz%4", "A+\u{e9}%zz%4"),
            (Encoding::Form, "a+b%2B", "a b+"),
            (Encoding::Blanks, "\na \u{a0}b c\u{3000}d\u{e9}\u{201c}\r\n", " a b c d\u{e9}\u{201c} "),
            (Encoding::Latin, "p%E4+%2B%80%u20AC%ud83d%ude00%zz", "p\u{e4} +\u{20ac}\u{20ac}\u{1f600}%zz"),
        ] {
            let decoded = Decoded::new(text).expect("short").decode(encoding).expect("an escape");
            assert_eq!(String::from_utf8_lossy(&decoded.bytes), expected, "{text}");
            assert_eq!(decoded.bytes.len(), decoded.spans.len());
            assert_eq!(decoded.source(0, decoded.bytes.len()), (0, text.len()), "{text}");
        }
        let twice = Decoded::new("a%26amp%3Bb").and_then(|text| text.decode(Encoding::Percent)?.decode(Encoding::Html));
        let twice = twice.expect("escapes");
        assert_eq!((twice.bytes.as_slice(), twice.source(1, 2)), (b"a&b".as_slice(), (1, 10)));
        for (encoding, text) in [
            (Encoding::Json, r"\q"),
            (Encoding::Html, "& &x;"),
            (Encoding::Percent, "a+%"),
            // Decoded as that of forms already.
            (Encoding::Latin, "a+b%2B"),
            (Encoding::Blanks, "a b\u{e9}\u{201c}"),
        ] {
            assert!(Decoded::new(text).expect("short").decode(encoding).is_none(), "{text}");
        }
    }
}
