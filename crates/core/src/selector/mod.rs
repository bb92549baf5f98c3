//! Selector chains: selectors of parts between `>>`, such as `#cart >> role=button[name="Buy"] >> nth=0`.
//!
//! No version of agent-browser understands all of them, so the control gate finds their elements. The parts mean what they mean
//! in Playwright. A selector with any other part, such as `xpath=`, is no chain.
//!
//! Invariants: a printed chain parses to an equal one; a plain CSS selector is no chain.

mod role;

use std::fmt;

pub use role::{NameMatch, NameOperator, RoleMatch, RoleState, StateMatch, StateValue};

/// Sign between two parts.
const SEPARATOR: &str = ">>";

/// Maximum number of parts of a chain, each of CSS counted. Each is searched in the whole page.
pub const MAX_PARTS: usize = 16;

/// Part with the input after it; `None` behind the last one.
type Read<'a> = (SelectorPart, Option<&'a str>);

/// Selector with parts besides one of CSS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorChain {
    parts: Vec<SelectorPart>,
}

/// Part of a chain. Each one is searched in the elements that the part before it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorPart {
    /// CSS selectors, each of which is searched below the elements of the one before it.
    Css(Vec<String>),
    /// Text.
    Text(TextMatch),
    /// Role, with a name and states.
    Role(RoleMatch),
    /// One of the elements by its position from 0, or from the end with -1.
    Nth(i32),
}

/// Text that an element has to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMatch {
    /// Any part of the text, in upper or lower case.
    Contains(String),
    /// A whole text between two elements.
    Exact(String),
}

impl SelectorChain {
    /// Parses a selector. Returns `None` if it is plain CSS, has a part of another form, or has more than [`MAX_PARTS`] parts.
    ///
    /// ```
    /// use browser_shell_core::selector::SelectorChain;
    ///
    /// assert!(SelectorChain::parse("#cart >> text=Buy >> nth=-1").is_some());
    /// assert!(SelectorChain::parse("role=button[name=\"Save\"]").is_some());
    /// assert!(SelectorChain::parse("#cart > a").is_none());
    /// assert!(SelectorChain::parse("xpath=//a >> nth=0").is_none());
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts: Vec<SelectorPart> = Vec::new();
        let mut rest = Some(text);
        let mut count = 0;
        while let Some(input) = rest {
            let (part, after) = read(trim_start(input))?;
            count += 1;
            if count > MAX_PARTS {
                return None;
            }
            match (parts.last_mut(), part) {
                (None, SelectorPart::Nth(_)) => return None,
                (Some(SelectorPart::Css(before)), SelectorPart::Css(mut part)) => before.append(&mut part),
                (_, part) => parts.push(part),
            }
            rest = after;
        }
        let is_css = matches!(parts.as_slice(), [SelectorPart::Css(selectors)] if selectors.len() == 1);
        (!is_css).then_some(Self { parts })
    }

    /// Returns `true` if a selector begins with more parts of a chain than one may have.
    ///
    /// ```
    /// use browser_shell_core::selector::{MAX_PARTS, SelectorChain};
    ///
    /// let chain = |parts| vec!["text=a"; parts].join(" >> ");
    /// assert!(SelectorChain::is_too_long(&chain(MAX_PARTS + 1)));
    /// assert!(!SelectorChain::is_too_long(&chain(MAX_PARTS)));
    /// ```
    #[must_use]
    pub fn is_too_long(text: &str) -> bool {
        let mut rest = text;
        for _ in 0..MAX_PARTS {
            match read(trim_start(rest)) {
                Some((_, Some(after))) => rest = after,
                _ => return false,
            }
        }
        true
    }

    /// Returns the chain of all elements that CSS matches.
    #[must_use]
    pub fn of_css(selector: &str) -> Self {
        Self { parts: vec![SelectorPart::Css(vec![selector.to_owned()])] }
    }

    /// Returns the parts.
    #[must_use]
    pub fn parts(&self) -> &[SelectorPart] {
        &self.parts
    }

    /// Returns the parts in front of the first position. There is at least one.
    #[must_use]
    pub fn parts_before_position(&self) -> &[SelectorPart] {
        self.parts.split(|part| matches!(part, SelectorPart::Nth(_))).next().unwrap_or_default()
    }
}

impl fmt::Display for SelectorChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, part) in self.parts.iter().enumerate() {
            if position > 0 {
                f.write_str(" >> ")?;
            }
            match part {
                SelectorPart::Css(selectors) => f.write_str(&selectors.join(" >> "))?,
                SelectorPart::Text(TextMatch::Contains(text)) => write!(f, "text={text}")?,
                SelectorPart::Text(TextMatch::Exact(text)) => {
                    f.write_str("text=")?;
                    role::write_quoted(text, f)?;
                }
                SelectorPart::Role(role) => write!(f, "{role}")?,
                SelectorPart::Nth(number) => write!(f, "nth={number}")?,
            }
        }
        Ok(())
    }
}

fn read(input: &str) -> Option<Read<'_>> {
    let body = |engine| input.strip_prefix(engine).and_then(|rest| trim_start(rest).strip_prefix('=')).map(trim_start);
    if let Some(body) = body("text") {
        return text(body);
    }
    if let Some(body) = body("role") {
        let (role, rest) = RoleMatch::read(body)?;
        return Some((SelectorPart::Role(role), after(rest)?));
    }
    if let Some(body) = body("nth") {
        let (number, rest) = until_separator(body);
        return Some((SelectorPart::Nth(number.trim().parse().ok()?), rest));
    }
    css(input)
}

fn text(body: &str) -> Option<Read<'_>> {
    // What only begins with a quote is a text as it is.
    if let Some((exact, rest)) = role::read_quoted(body)
        && let Some(rest) = after(rest)
    {
        return (!is_blank(&exact)).then_some((SelectorPart::Text(TextMatch::Exact(exact)), rest));
    }
    let (text, rest) = until_separator(body);
    let text = text.trim();
    let is_expression = text.starts_with('/') && text.rfind('/').is_some_and(|end| end > 0);
    let part = SelectorPart::Text(TextMatch::Contains(text.to_owned()));
    (!is_blank(text) && !is_expression).then_some((part, rest))
}

fn css(input: &str) -> Option<Read<'_>> {
    let (mut quote, mut is_escaped, mut end) = (None, false, None);
    for (position, character) in input.char_indices() {
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match (character, quote) {
            ('\\', _) => is_escaped = true,
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'' | '`', None) => quote = Some(character),
            ('>', None) if input.get(position..).is_some_and(|rest| rest.starts_with(SEPARATOR)) => {
                end = Some(position);
                break;
            }
            _ => {}
        }
    }
    if quote.is_some() {
        return None;
    }
    let (css, rest) = match end {
        Some(end) => (input.get(..end)?, Some(input.get(end + SEPARATOR.len()..)?)),
        None => (input, None),
    };
    let css = css.trim();
    // Without CSS, a quote begins a text, and these begin an XPath expression.
    let is_other = ["\"", "'", "/", "..", "(/", "@", "*="].iter().any(|begin| css.starts_with(begin));
    let is_plain = !is_blank(css) && !is_other && !has_engine(css) && !css.contains(":scope");
    is_plain.then(|| (SelectorPart::Css(vec![css.to_owned()]), rest))
}

/// Returns true if a part names an engine, such as `xpath=//a`.
fn has_engine(part: &str) -> bool {
    let is_name = |name: &str| {
        let name = name.trim();
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-+:*".contains(c))
    };
    part.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Returns the input behind a part that has ended: `None` within, if it is the last one.
#[expect(clippy::option_option, reason = "no end, and an end with nothing behind it, are two things")]
fn after(rest: &str) -> Option<Option<&str>> {
    let rest = trim_start(rest);
    if rest.is_empty() { Some(None) } else { rest.strip_prefix(SEPARATOR).map(Some) }
}

fn until_separator(input: &str) -> (&str, Option<&str>) {
    input.split_once(SEPARATOR).map_or((input, None), |(part, rest)| (part, Some(rest)))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Removes from the beginning what `String.prototype.trim` of JavaScript removes.
pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

#[cfg(test)]
mod tests;
