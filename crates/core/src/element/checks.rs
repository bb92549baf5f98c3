//! Checks of an element before an act, and the refusals of acts that cannot succeed.

use std::fmt;

use super::act::{Act, Verb};
use super::state::ElementState;
use crate::decision::{Code, Decision};
use crate::output::mask::{self, Literals};
use crate::output::{begin_in_words, collapse_blanks, quoted, word};

/// Maximum number of options that a refusal lists.
const MAX_OPTIONS: usize = 20;

/// Maximum length of a text of the page in a refusal, in characters.
const MAX_TEXT: usize = 80;

/// Another element that a refusal names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedElement {
    /// Role, or name of the element.
    pub role: String,
    /// Name that the page gives it.
    pub name: String,
    /// Number of its reference.
    pub number: Option<u32>,
}

impl fmt::Display for NamedElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", word(&shorten(&self.role, &Literals::default())))?;
        if !self.name.is_empty() {
            write!(f, " {}", quote(&self.name, &Literals::default()))?;
        }
        self.number.map_or(Ok(()), |number| write!(f, " [ref=e{number}]"))
    }
}

impl NamedElement {
    /// Masks secrets in its texts, before a refusal shortens them.
    #[must_use]
    pub fn masked(self, secrets: &Literals) -> Self {
        let mask = |text: &str| secrets.mask_text(text).into_owned();
        Self { role: mask(&self.role), name: mask(&self.name), ..self }
    }
}

/// Checks if an element takes an act now. The refusal has none of these secrets.
///
/// # Errors
///
/// The refusal of the act.
pub fn check_before(act: &Act, state: &ElementState, secrets: &Literals) -> Result<(), Decision> {
    let what = state.description();
    let refusal = |code, reason: String| Err(Decision::new(code, reason));
    if act.verb.is_input() && state.is_inert {
        let reason = format!("the `{what}` is disabled by its page, as what is behind a dialog");
        return refusal(Code::ElementDisabled, reason);
    }
    if act.verb.is_input() && state.is_disabled {
        return refusal(Code::ElementDisabled, format!("the `{what}` is disabled"));
    }
    let is_entry = act.verb == Verb::Select && state.suggests_options();
    if (matches!(act.verb, Verb::Fill | Verb::Type) || is_entry) && state.is_read_only {
        return refusal(Code::ElementReadOnly, format!("the `{what}` is read-only"));
    }
    if (matches!(act.verb, Verb::Fill | Verb::Type) || is_entry) && state.is_undisplayed {
        return refusal(Code::ElementHidden, format!("the `{what}` is not displayed, so it takes no keys"));
    }
    if act.verb == Verb::ScrollIntoView && state.is_undisplayed {
        return refusal(Code::ElementHidden, format!("the `{what}` is not displayed"));
    }
    if act.verb == Verb::Fill && !state.is_editable && !state.is_content_editable {
        let keys =
            if state.is_stepped { ": focus it, and press ArrowRight, ArrowLeft, Home or End" } else { state.advice() };
        return refusal(Code::ElementReadOnly, format!("a `{what}` takes no text{keys}"));
    }
    if act.verb == Verb::Select && state.is_unseen {
        return refusal(
            Code::ElementHidden,
            "nobody can see the select box: the page shows another control for it".to_owned(),
        );
    }
    if act.verb == Verb::Select {
        if state.tag != "select" && !is_entry {
            let instead = if state.tag == "input" { "fill it, or click it" } else { "click it" };
            return refusal(Code::OptionUnknown, format!("a `{what}` has no options; {instead} to see its choices"));
        }
        if is_entry && act.options.len() > 1 {
            return refusal(Code::OptionUnknown, format!("the `{what}` takes one of the options that it suggests"));
        }
        return act.options.iter().try_for_each(|wanted| match state.option(wanted) {
            Some(option) if option.is_disabled => {
                refusal(Code::ElementDisabled, format!("the option {} is disabled", quote(&option.label, secrets)))
            }
            Some(_) => Ok(()),
            None if is_entry => {
                let reason = format!("the `{what}` suggests {}; `fill` enters any text", options(state, secrets));
                refusal(Code::OptionUnknown, reason)
            }
            None => refusal(Code::OptionUnknown, format!("the select box has {}", options(state, secrets))),
        });
    }
    let is_checkbox = matches!(act.verb, Verb::Check | Verb::Uncheck);
    if is_checkbox && state.is_checked.is_none() {
        return refusal(Code::NoEffect, format!("a `{what}` is no checkbox, radio button or switch; click it"));
    }
    if act.verb == Verb::Uncheck && state.is_mixed {
        return refusal(
            Code::NoEffect,
            format!("the `{what}` is partly checked, and a press may check all: click it, and look at it again"),
        );
    }
    let needs_sight = act.verb.uses_pointer() || act.verb == Verb::SelectText;
    let has_stand_in = state.has_stand_in || (is_checkbox && state.has_visible_label);
    if needs_sight && !state.is_visible && !(act.verb.is_press() && has_stand_in) {
        return refusal(Code::ElementHidden, format!("the `{what}` is not visible"));
    }
    Ok(())
}

/// Returns the refusal of an act on an element that another one covers.
#[must_use]
pub fn covered(state: &ElementState, cover: &NamedElement) -> Decision {
    let what = state.description();
    let reason = if matches!(cover.role.as_str(), "body" | "html") {
        format!("the pointer passes through the `{what}` now, as while a list is open: choose in that, or press Escape")
    } else {
        format!("the `{what}` is covered by {cover}")
    };
    Decision::new(Code::ElementCovered, reason)
}

/// Returns the refusal of an act with which the browser did not send a form: its fields, and the browser's message for each, without these
/// secrets.
#[must_use]
pub fn not_sent(fields: &[NamedElement], messages: &[String], secrets: &Literals) -> Decision {
    let fields = fields.iter().zip(messages);
    // A field that a page has made has a message only for itself.
    let line = |(field, message): (&NamedElement, &String)| match message.as_str() {
        "" => field.to_string(),
        message => format!("{field}: {}", quote(message, secrets)),
    };
    let listed: Vec<_> = fields.map(line).collect();
    Decision::new(Code::NoEffect, format!("not sent: the browser refuses the form: {}", listed.join(", ")))
}

/// Returns the refusal of a reference whose element cannot be used.
#[must_use]
pub fn stale(number: u32, is_in_other_tab: bool) -> Decision {
    let reason = if is_in_other_tab { "belongs to another tab" } else { "is gone" };
    Decision::new(Code::StaleReference, format!("`@e{number}` {reason}"))
}

/// Returns the refusal of a selector that matches several elements, some of which are listed.
#[must_use]
pub fn ambiguous(count: u64, listed: &[NamedElement]) -> Decision {
    let list: Vec<_> = listed.iter().map(ToString::to_string).collect();
    let more = if count > listed.len() as u64 { ", ..." } else { "" };
    Decision::new(Code::ElementAmbiguous, format!("the selector matches {count} elements: {}{more}", list.join(", ")))
}

/// Returns the options of a select box as a refusal lists them.
fn options(state: &ElementState, secrets: &Literals) -> String {
    if state.options.is_empty() {
        return "no options".to_owned();
    }
    let listed = state.options.iter().take(MAX_OPTIONS).map(|option| quote(&option.label, secrets));
    let rest = state.options.len().saturating_sub(MAX_OPTIONS);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    format!("the options {}{more}", listed.collect::<Vec<_>>().join(", "))
}

/// Returns a text of the page in quotes, without secrets, on one line and of limited length.
pub(super) fn quote(text: &str, secrets: &Literals) -> String {
    quoted(&shorten(text, secrets))
}

fn shorten(text: &str, secrets: &Literals) -> String {
    // Before it is cut, and not in a word: a part of a secret is not recognized.
    let text = secrets.mask_text(text);
    let line = collapse_blanks(&mask::text(&text));
    begin_in_words(&line, MAX_TEXT).map(|begin| format!("{begin}...")).unwrap_or(line)
}
