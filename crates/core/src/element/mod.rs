//! Acts on elements that the control gate finds: what is checked before an act, who carries it out, and what it has to change.
//!
//! The effect of an act is judged by the state of the element before and after it. A page may change what is entered, such as the spaces
//! in a telephone number. That is an effect, and the answer says what the field holds. So is another value within the limits of a field that was
//! filled, or as much of the text as it takes; the answer says the limits, too. A field that holds what it held before, or nothing, was not
//! filled, and keys of which a field took the first only were not typed.
//!
//! A page may take what is dragged in any way, also without the browser's own drag. So a drag fails only if the events that a document saw
//! prove that nothing can have taken it. The caller makes sure that the page shows no change.
//!
//! Invariants: a reason never shows the content of a secret field; an act whose effect can be read and that has none is a failure.

mod act;
mod checks;
mod state;
mod words;

use serde::Deserialize;

use crate::decision::{Code, Decision};
use crate::output::mask::Literals;
use checks::quote;
use state::limits;

pub use act::{Act, Button, Edge, Press, Reading, Reference, Verb};
pub use checks::{NamedElement, ambiguous, check_before, covered, not_sent, stale};
pub use state::{ElementState, FieldFormat, OptionState, SECRET_WORDS, Taken, asks_for_secret};
pub use words::{Words, WordsFound};

/// Effect of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The act did what it was to do, as far as that can be read.
    Done,
    /// The page changed what was entered to this text.
    Holds(String),
    /// The act reached the page, and it is not known what came of it.
    Unclear(String),
    /// The act did not do what it was to do.
    None(Decision),
}

/// Returns the effect of an act. What it says of texts of the page has none of these secrets, but for a text that a field holds as a whole.
#[must_use]
pub fn effect(act: &Act, before: &ElementState, after: &ElementState, secrets: &Literals) -> Effect {
    match act.verb {
        Verb::Fill if after.is_editable || after.is_content_editable => match filled(act, before, after, secrets) {
            Effect::Done => suggested(&act.text, before, secrets).map_or(Effect::Done, Effect::Unclear),
            effect => effect,
        },
        Verb::Type if after.is_editable || after.is_content_editable => typed(act, before, after, secrets),
        Verb::Type => pressed_keys(before, after),
        Verb::Check | Verb::Uncheck => checked(act.verb == Verb::Check, before, after),
        Verb::Select => match act.as_entry(before) {
            Some(entry) => filled(&entry, before, after, secrets),
            None => selected(act, before, after, secrets),
        },
        Verb::Focus if !after.has_focus => none(format!("the `{}` does not take the focus", after.description())),
        _ => Effect::Done,
    }
}

fn none(reason: String) -> Effect {
    Effect::None(Decision::new(Code::NoEffect, reason))
}

fn filled(act: &Act, before: &ElementState, after: &ElementState, secrets: &Literals) -> Effect {
    let (wanted, held) = (sanitize(after, &act.text), held(after));
    if is_same(after, &held, &wanted) {
        return Effect::Done;
    }
    let is_unchanged = held == self::held(before) || held.is_empty();
    let is_limited = FieldFormat::of(after).is_some() || is_cut(after, &held, &wanted);
    if before.is_helper && is_taken(act.verb, after) {
        // Its editor selects what it shows by a key, and then takes the text.
        let added = "the editor may have added the text to what it showed";
        if after.taken.is_kept { Effect::Done } else { Effect::Unclear(added.to_owned()) }
    } else if is_limited && !is_unchanged {
        limited(after, &held, secrets)
    } else if is_cut(after, &held, &wanted) || (is_unchanged && !is_taken(act.verb, after)) {
        let why = reason(after, &held, secrets);
        let reads_keys = held.is_empty() && !after.is_secret && hint(after).is_empty();
        none(if reads_keys { format!("{why}; if its page reads keys, `type` enters the text") } else { why })
    } else if is_unchanged {
        unclear(after, &held, secrets)
    } else {
        Effect::Holds(shown(after, held))
    }
}

/// Returns the doubt about a text that is the label of an option which a field suggests for another value: a snapshot shows the labels.
fn suggested(text: &str, before: &ElementState, secrets: &Literals) -> Option<String> {
    let is_value = |option: &OptionState| option.value == text;
    let field = Some(before).filter(|field| field.suggests_options() && !field.options.iter().any(is_value));
    let option = field?.option(text)?;
    let value = quote(&option.value, secrets);
    Some(format!("the option of this name stands for {value}, which `select` enters"))
}

fn typed(act: &Act, before: &ElementState, after: &ElementState, secrets: &Literals) -> Effect {
    let (wanted, held, old) = (sanitize(after, &act.text), held(after), held(before));
    // A line break can send the text off, and the field is then empty again.
    let is_sent = act.text.contains(['\n', '\r']) && held.is_empty();
    if wanted.is_empty() || is_sent || is_same(after, &held, &format!("{old}{wanted}")) {
        return Effect::Done;
    }
    // Boxes for one character each pass the focus on, so the others have the rest.
    if !after.has_focus && !held.is_empty() && wanted.starts_with(&held) {
        return Effect::Holds(shown(after, held));
    }
    let is_unchanged = held == old || held.is_empty();
    if before.is_helper && is_taken(act.verb, after) {
        return Effect::Done;
    }
    if is_cut(after, &held, &format!("{old}{wanted}")) || (is_unchanged && !is_taken(act.verb, after)) {
        return none(reason(after, &held, secrets));
    }
    if is_unchanged {
        return unclear(after, &held, secrets);
    }
    if held.contains(&wanted) { Effect::Done } else { Effect::Holds(shown(after, held)) }
}

/// Returns the effect of keys on an element that holds no text, such as a grid.
fn pressed_keys(before: &ElementState, after: &ElementState) -> Effect {
    let taken = after.taken;
    let is_seen = taken.is_kept || taken.is_told || taken.has_changed_page || held(before) != held(after);
    // What is in these shows no change.
    let shows_none = matches!(after.tag.as_str(), "canvas" | "embed" | "iframe" | "object" | "video");
    if is_seen || shows_none || !after.has_focus {
        return Effect::Done;
    }
    Effect::Unclear(format!("a `{}` holds no text, and the page shows no change by the keys", after.description()))
}

/// Returns `true` if a page did something else with a text than to leave it in the field.
const fn is_taken(verb: Verb, after: &ElementState) -> bool {
    let taken = after.taken;
    let has_passed_on = matches!(verb, Verb::Type) && !after.has_focus;
    taken.is_kept || (taken.is_told && (taken.has_changed_page || has_passed_on))
}

/// Returns the effect of a text that a field does not hold, and that its page took.
fn unclear(after: &ElementState, held: &str, secrets: &Literals) -> Effect {
    let (has_focus, is_empty) = (after.has_focus, held.is_empty());
    let holds = match (after.is_secret, is_empty) {
        (true, _) => "the field does not hold it".to_owned(),
        (false, true) => "the field is empty after it".to_owned(),
        (false, false) => format!("the field holds {}", quote(held, secrets)),
    };
    let what = match (after.taken.is_kept, has_focus) {
        (true, _) => "the page handled the keys by itself",
        (false, true) => "the page changed",
        (false, false) => "the focus is on another element now",
    };
    Effect::Unclear(format!("{holds}, {what}"))
}

/// Returns the effect of a text of which a field holds what its limits allow.
fn limited(after: &ElementState, held: &str, secrets: &Literals) -> Effect {
    let holds = if after.is_secret {
        "the field does not hold all of it".to_owned()
    } else {
        format!("the field holds {}", quote(held, secrets))
    };
    let hint = hint(after);
    Effect::Unclear(if hint.is_empty() { holds } else { format!("{holds}; {hint}") })
}

fn checked(wanted: bool, before: &ElementState, after: &ElementState) -> Effect {
    match after.is_checked {
        Some(state) if state != wanted && before.look != after.look => {
            let state = if state { "checked" } else { "not checked" };
            Effect::Unclear(format!("the page changed it, and still calls it {state}"))
        }
        Some(state) if state != wanted => {
            let state = if state { "still checked" } else { "still not checked" };
            none(format!("the `{}` is {state}", after.description()))
        }
        _ => Effect::Done,
    }
}

fn selected(act: &Act, before: &ElementState, after: &ElementState, secrets: &Literals) -> Effect {
    let wanted = act.options.iter().filter_map(|text| before.option(text));
    let mut wanted: Vec<_> = wanted.map(OptionState::identity).collect();
    let mut chosen = after.selected();
    wanted.sort_unstable();
    wanted.dedup();
    chosen.sort_unstable();
    if wanted == chosen || after.tag != "select" {
        return Effect::Done;
    }
    let labels = after.options.iter().filter(|option| option.is_selected).map(|option| quote(&option.label, secrets));
    let labels: Vec<_> = labels.collect();
    let labels = if labels.is_empty() { "no option".to_owned() } else { labels.join(", ") };
    // A list of what can be added is as before when something was.
    if after.taken.has_changed_page {
        return Effect::Unclear(format!("the page changed, and the select box has chosen {labels}"));
    }
    none(format!("the select box has chosen {labels}"))
}

/// Returns a text as a field of this kind keeps it.
fn sanitize(state: &ElementState, text: &str) -> String {
    if let Some(format) = FieldFormat::of(state) {
        return format.normalize(text).unwrap_or_else(|| text.to_owned());
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    match (state.tag.as_str(), state.kind.as_str()) {
        ("input", "email" | "url" | "number") => text.replace('\n', "").trim().to_owned(),
        ("input", _) => text.replace('\n', ""),
        _ => text,
    }
}

/// Returns what a field holds.
fn held(state: &ElementState) -> String {
    state.value.clone().unwrap_or_default()
}

fn is_same(state: &ElementState, held: &str, wanted: &str) -> bool {
    if let Some(format) = FieldFormat::of(state) {
        return format.is_same(held, wanted);
    }
    if state.is_content_editable {
        // Its lines are elements, and its spaces may be of another kind.
        return held.split_whitespace().eq(wanted.split_whitespace());
    }
    let is_number = state.kind == "number";
    held == wanted || (is_number && held.parse::<f64>().is_ok_and(|held| wanted.parse() == Ok(held)))
}

/// Returns `true` if a field kept only the begin of a text.
fn is_cut(state: &ElementState, held: &str, wanted: &str) -> bool {
    let is_full = state.max_length.is_some_and(|length| held.encode_utf16().count() >= length);
    is_full && wanted.len() > held.len() && wanted.starts_with(held)
}

fn shown(state: &ElementState, held: String) -> String {
    if state.is_secret { String::new() } else { held }
}

/// Returns what a field holds and which format it wants.
fn reason(state: &ElementState, held: &str, secrets: &Literals) -> String {
    let what = state.description();
    let holds = match (state.is_secret, held.is_empty()) {
        (true, _) => format!("the `{what}` did not take the text"),
        (false, true) => format!("the `{what}` is empty after it"),
        (false, false) => format!("the `{what}` holds {}", quote(held, secrets)),
    };
    match hint(state) {
        hint if hint.is_empty() => holds,
        hint => format!("{holds}; {hint}"),
    }
}

fn hint(state: &ElementState) -> String {
    if state.is_disabled || state.is_read_only {
        return if state.is_disabled { "it is disabled" } else { "it is read-only" }.to_owned();
    }
    if let Some(format) = FieldFormat::of(state) {
        return format.hint(state);
    }
    match (state.kind.as_str(), state.max_length) {
        ("number", _) => format!("a number field wants a number such as `12.5`{}", limits(state)),
        (_, Some(length)) => format!("it takes at most {length} characters"),
        _ => String::new(),
    }
}

/// End of a drag by which the page shows no change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DragEnd {
    /// Nothing can have taken what was dragged.
    Failed(Decision),
    /// The page may have taken it: only the page knows what a drag by events of the pointer means.
    Unclear(&'static str),
}

/// Events of a drag in the document of the dragged element.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own that the gate reads")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DragEvents {
    /// `true` if the browser itself drags the element (`draggable="true"`).
    pub is_draggable: bool,
    /// `true` if the document got the press or the release of the button.
    pub is_reached: bool,
    /// `true` if the button was pressed, and the page left the press to the browser.
    pub is_pressed: bool,
    /// `true` if a drag of the browser began.
    pub is_begun: bool,
    /// `true` if the page prevented this drag, to drag by itself.
    pub is_prevented: bool,
    /// `true` if the button was released outside a drag of the browser.
    pub is_released: bool,
    /// `true` if the drag of the browser ended.
    pub is_ended: bool,
    /// `true` if it ended, and nothing had accepted what was dragged.
    pub is_rejected: bool,
    /// `true` if something was dropped.
    pub is_dropped: bool,
    /// `true` if a text was selected, a request sent, or the page paints by itself, so that an effect could not be seen.
    pub is_unclear: bool,
}

impl DragEvents {
    /// Returns `true` if the document of the dragged element was not told of the end of the drag.
    #[must_use]
    pub const fn is_unfinished(self) -> bool {
        self.is_begun && !self.is_prevented && !self.is_ended
    }

    /// Returns `true` if the browser is expected to begin a drag of the element, and has not yet.
    #[must_use]
    pub const fn is_expected(self) -> bool {
        self.is_draggable && self.is_pressed && !self.is_begun && !self.is_released
    }

    /// Returns the end of a drag by which the page shows no change: a failure if nothing can have taken it, a doubt if the page may have. `None`
    /// if something took it, or an effect could not be seen.
    #[must_use]
    pub fn end(self) -> Option<DragEnd> {
        let failed = |reason| Some(DragEnd::Failed(Decision::new(Code::NoEffect, reason)));
        let is_by_browser = self.is_begun && !self.is_prevented;
        // Without such an event it is not known how the press ended.
        let is_idle = !self.is_begun && self.is_draggable && self.is_pressed && self.is_released;
        if self.is_dropped || self.is_unclear {
            None
        } else if is_by_browser {
            if self.is_rejected { failed("nothing at the destination accepts what is dragged") } else { None }
        } else if !self.is_begun && !self.is_reached {
            failed("the page did not get the press of the button")
        } else if is_idle {
            failed("the browser did not begin to drag the element")
        } else {
            Some(DragEnd::Unclear("the page shows no change by the drag: nothing may have taken it"))
        }
    }
}

#[cfg(test)]
mod tests;
