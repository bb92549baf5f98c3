//! Formulas of `MathML`, in one line of text as a person would type them: a fraction is `a/b`, a power is `x^2`.
//!
//! The signs are those that the page shows, in its order. What is put beside, above or below a part has the sign of that in front of it, and
//! brackets around it if it has several parts.

use super::capture::CapturedNode;
use super::item::{Item, NodeKey, collapse};
use super::nodes::Nodes;

/// Role of a formula.
const ROLE: &str = "math";

/// Maximum number of nodes of a formula that is read as one.
const MAX_NODES: usize = 2000;

/// Maximum number of levels of such a formula.
const MAX_LEVELS: usize = 40;

/// Text of a part of a formula.
#[derive(Clone, Debug, Default, PartialEq)]
struct Term {
    text: String,
    /// True if it is one sign, number or word, or has brackets around it.
    is_single: bool,
}

impl Term {
    fn single(text: String) -> Self {
        Self { text, is_single: true }
    }

    /// Returns the text, in brackets if it has several parts.
    fn bound(&self) -> String {
        if self.is_single || self.text.is_empty() { self.text.clone() } else { format!("({})", self.text) }
    }
}

impl Nodes<'_> {
    /// Returns the item of a formula that a person sees, unless something in it can be acted on or it is too large.
    pub(super) fn formula(&self, position: usize, key: NodeKey, children: &[Item]) -> Option<Item> {
        let is_formula = self.node(position).is_some_and(|node| node.is_element && node.tag == "math");
        if !is_formula || !self.facts(position).is_visible || children.iter().any(|child| child.has_reason(&|_| true)) {
            return None;
        }
        let below: Vec<_> = self.below(position).take(MAX_NODES + 1).collect();
        if below.len() > MAX_NODES {
            return None;
        }
        let mut levels = vec![0; below.len()];
        // The terms in each node, the last one first.
        let mut terms: Vec<Vec<Term>> = vec![Vec::new(); below.len() + 1];
        let place = |at: usize| at - position;
        for (number, (_, node)) in below.iter().enumerate() {
            let around = node.parent.map(place).and_then(|parent| levels.get(parent.checked_sub(1)?)).copied();
            let level = around.unwrap_or_default() + 1;
            if level > MAX_LEVELS {
                return None;
            }
            if let Some(own) = levels.get_mut(number) {
                *own = level;
            }
        }
        for (at, node) in below.iter().rev() {
            let mut inner = terms.get_mut(place(*at)).map(std::mem::take).unwrap_or_default();
            inner.reverse();
            let term = self.term(*at, node, &inner);
            if let Some(around) = node.parent.and_then(|parent| terms.get_mut(place(parent))) {
                around.extend(term);
            }
        }
        let mut inner = terms.first_mut().map(std::mem::take).unwrap_or_default();
        inner.reverse();
        let text = collapse(&joined(&inner).text);
        (!text.is_empty()).then(|| Item { origin: Some(key), ..Item::new(ROLE, &text) })
    }

    /// Returns the term of a node with these terms in it, if it is drawn.
    fn term(&self, position: usize, node: &CapturedNode, inner: &[Term]) -> Option<Term> {
        if node.is_text {
            let is_seen = node.layout.is_some() && self.facts(position).is_visible;
            // Chromium draws a letter by another character, in italics.
            return is_seen.then(|| Term::single(collapse(&node.content_text))).filter(|term| !term.text.is_empty());
        }
        if !node.is_element {
            return (!inner.is_empty()).then(|| joined(inner));
        }
        let (first, second, third) = (inner.first(), inner.get(1), inner.get(2));
        let bound = |term: Option<&Term>| term.map(Term::bound).unwrap_or_default();
        let text = |term: Option<&Term>| term.map(|term| term.text.clone()).unwrap_or_default();
        let of = |text: String| Term { text, ..Term::default() };
        let term = match (node.tag.as_str(), inner.len()) {
            ("mtd", _) => of(joined(inner).text),
            (_, 0) => return None,
            ("mi" | "mn" | "mo" | "ms", _) => Term::single(joined(inner).text),
            ("mtext", _) => Term { text: format!(" {} ", joined(inner).text), ..Term::default() },
            ("mfrac", 2) => of(format!("{}/{}", bound(first), bound(second))),
            ("msup" | "mover", 2) => of(format!("{}^{}", bound(first), bound(second))),
            ("msub" | "munder", 2) => of(format!("{}_{}", bound(first), bound(second))),
            ("msubsup" | "munderover", 3) => of(format!("{}_{}^{}", bound(first), bound(second), bound(third))),
            ("msqrt", _) => Term::single(format!("√({})", joined(inner).text)),
            ("mroot", 2) => Term::single(format!("√[{}]({})", text(second), text(first))),
            ("mtr" | "mlabeledtr", _) => of(inner.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(", ")),
            ("mtable", _) => {
                let rows: Vec<_> = inner.iter().map(|row| row.text.as_str()).collect();
                Term::single(format!("[{}]", rows.join("; ")))
            }
            _ => joined(inner),
        };
        Some(term)
    }
}

/// Returns the term of terms beside each other: with blanks around words, so that none runs into the next one.
fn joined(terms: &[Term]) -> Term {
    if let [one] = terms {
        return one.clone();
    }
    let mut text = String::new();
    let mut before: Option<&Term> = None;
    for term in terms {
        // A number or a name of several letters begins where another one ends.
        let is_run = |before: &Term| {
            let ends = before.text.chars().next_back().zip(term.text.chars().next());
            ends.is_some_and(|(last, next)| match (last.is_numeric(), next.is_numeric()) {
                (true, true) => true,
                (true, false) => false,
                _ if !last.is_alphanumeric() || !next.is_alphanumeric() => false,
                _ => is_long(before.text.chars().rev()) || is_long(term.text.chars()) || !before.is_single,
            })
        };
        if before.is_some_and(is_run) {
            text.push(' ');
        }
        text.push_str(&term.text);
        before = Some(term);
    }
    let has_brackets = text.starts_with('(') && text.ends_with(')') && is_closed_at_end(&text);
    Term { text, is_single: has_brackets }
}

/// Returns true for characters that begin with two of a number or a name.
fn is_long(characters: impl Iterator<Item = char>) -> bool {
    characters.take(2).filter(|character| character.is_alphanumeric()).count() == 2
}

/// Returns true if the bracket that a text begins with is closed by that at its end.
fn is_closed_at_end(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + character.len_utf8() == text.len();
        }
    }
    false
}
