//! State of an element, as far as the answers of agent-browser tell it.
//!
//! agent-browser reads one property at a time, and some versions answer for elements that have none: an editor and a label have an
//! empty value, and a box that is none is not checked.
//!
//! Invariants: what the answers leave open is no failure of an act.

use super::act::{Act, Verb};
use super::checks::quote;
use super::effect::{Effect, effect};
use super::format::FieldFormat;
use super::state::{ElementState, OptionState, asks_for_secret};
use crate::decision::{Code, Decision};

/// Name of an element of unknown kind in messages.
const UNKNOWN: &str = "field";

/// Answers of agent-browser about an element after an act. A property that it does not have, or was not asked for, is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// `true` if agent-browser answers with a value for fields only.
    pub has_only_field_values: bool,
    /// Value.
    pub value: Option<String>,
    /// Text that a part of a date or time field shows, such as its day. Chromium builds such fields of parts.
    pub part: Option<String>,
    /// Text of an element that is edited as a part of the page.
    pub text: Option<String>,
    /// HTML of the content.
    pub html: Option<String>,
    /// State of a checkbox, or of what takes the place of one.
    pub is_checked: Option<bool>,
    /// Attribute `aria-checked`.
    pub aria_checked: Option<String>,
    /// Attribute `type`.
    pub kind: Option<String>,
    /// Attribute `autocomplete`.
    pub autocomplete: Option<String>,
    /// Attribute `readonly`.
    pub read_only: Option<String>,
    /// Attribute `disabled`.
    pub disabled: Option<String>,
    /// Attribute `maxlength`.
    pub max_length: Option<String>,
    /// Attributes `min`, `max` and `step`.
    pub limits: [Option<String>; 3],
}

/// Returns `true` if the value of an element shows by itself that a text was filled or typed.
#[must_use]
pub fn is_held(act: &Act, value: &str) -> bool {
    let text = act.text.replace("\r\n", "\n").replace('\r', "\n");
    match act.verb {
        // An editor has an empty value, whatever text it shows.
        Verb::Fill => !value.is_empty() && (value == text || value == text.replace('\n', "")),
        Verb::Type => value.contains(&text),
        _ => false,
    }
}

impl Answers {
    /// Returns the effect of an act, or `None` if the answers do not tell it.
    #[must_use]
    pub fn effect(&self, act: &Act) -> Option<Effect> {
        match act.verb {
            Verb::Fill | Verb::Type => self.effect_on_text(act),
            Verb::Check | Verb::Uncheck => {
                let is_box = matches!(self.kind.as_deref(), Some("checkbox" | "radio"));
                let is_checked = match &self.aria_checked {
                    Some(state) if !is_box => Some(state == "true"),
                    _ => self.is_checked,
                };
                let is_known = is_box || self.aria_checked.is_some();
                is_known.then(|| effect(act, &ElementState::default(), &ElementState { is_checked, ..self.state() }))
            }
            Verb::Select => self.effect_on_options(act),
            _ => None,
        }
    }

    fn effect_on_text(&self, act: &Act) -> Option<Effect> {
        let mut after = self.state();
        if let Some(part) = &self.part {
            return Some(effect_on_part(act, part));
        }
        if let Some(text) = &self.text {
            after.is_content_editable = true;
            after.value = Some(text.clone());
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (held, wanted) = (words(text), words(&act.text));
            let is_kept = act.verb == Verb::Fill && held != wanted && held.contains(&wanted);
            // The native version puts the text beside the old one.
            let before = if is_kept { after.clone() } else { ElementState::default() };
            let advice = "press `Control+a` in it, then `type` the text";
            return Some(with_advice(effect(act, &before, &after), is_kept.then_some(advice)));
        }
        if self.is_select() {
            "select".clone_into(&mut after.tag);
        }
        let value = self.value.as_deref()?;
        let is_field = self.has_only_field_values
            || !value.is_empty()
            || !after.kind.is_empty()
            || after.is_read_only
            || after.is_disabled
            || after.max_length.is_some()
            || self.autocomplete.is_some()
            || self.is_select();
        after.is_editable = true;
        after.value = Some(value.to_owned());
        // Nobody can have changed it.
        let is_kept = after.is_read_only || after.is_disabled;
        let before = if is_kept { after.clone() } else { ElementState::default() };
        let format = FieldFormat::of(&after).filter(|_| act.verb == Verb::Fill && !is_kept);
        let has_parts = !matches!(format, None | Some(FieldFormat::Color | FieldFormat::Range));
        let is_right = has_parts && format.and_then(|format| format.normalize(&act.text)).is_some();
        let advice = "agent-browser did not fill it: `type` into its parts, which a snapshot shows";
        is_field.then(|| with_advice(effect(act, &before, &after), is_right.then_some(advice)))
    }

    fn effect_on_options(&self, act: &Act) -> Option<Effect> {
        let value = self.value.as_deref()?;
        let options = options(self.html.as_deref()?);
        let mut state = ElementState { tag: "select".to_owned(), options, ..ElementState::default() };
        let wanted: Option<Vec<_>> = act.options.iter().map(|text| state.option(text)).collect();
        let wanted = wanted?;
        // Of several options that are chosen, the value is that of the first one.
        if wanted.is_empty() || wanted.iter().any(|option| option.value == value) {
            return Some(Effect::Done);
        }
        for option in &mut state.options {
            option.is_selected = option.value == value;
        }
        Some(effect(act, &state, &state))
    }

    fn is_select(&self) -> bool {
        self.html.as_deref().is_some_and(|html| {
            let html = html.trim_start();
            html.starts_with("<option") || html.starts_with("<optgroup")
        })
    }

    fn state(&self) -> ElementState {
        let kind = self.kind.as_deref().unwrap_or_default().to_ascii_lowercase();
        let asks_for_secret = self.autocomplete.as_deref().is_some_and(asks_for_secret);
        ElementState {
            tag: if kind.is_empty() { UNKNOWN } else { "input" }.to_owned(),
            is_read_only: self.read_only.is_some(),
            is_disabled: self.disabled.is_some(),
            is_secret: kind == "password" || asks_for_secret,
            max_length: self.max_length.as_deref().and_then(|length| length.trim().parse().ok()),
            limits: self.limits.clone().map(Option::unwrap_or_default),
            kind,
            ..ElementState::default()
        }
    }
}

fn effect_on_part(act: &Act, part: &str) -> Effect {
    let (shown, wanted) = (part.trim(), act.text.trim());
    // Typing goes on in the next part.
    let is_same = shown.trim_start_matches('0').eq_ignore_ascii_case(wanted.trim_start_matches('0'));
    if !shown.is_empty() && (act.verb == Verb::Type || is_same) {
        return Effect::Done;
    }
    let holds = if shown.is_empty() { "is empty after it".to_owned() } else { format!("holds {}", quote(shown)) };
    let reason = format!("the part of a date or time field {holds}");
    with_advice(Effect::None(Decision::new(Code::NoEffect, reason)), Some("`type` into it, such as `03`"))
}

/// Adds what to do to the reason of a failure.
fn with_advice(effect: Effect, advice: Option<&str>) -> Effect {
    match (effect, advice) {
        (Effect::None(decision), Some(advice)) => {
            Effect::None(Decision::new(decision.code, format!("{}; {advice}", decision.reason)))
        }
        (effect, _) => effect,
    }
}

/// Returns the options in the HTML of a select box, as a browser writes it.
fn options(html: &str) -> Vec<OptionState> {
    let elements = html.split("<option").skip(1).filter_map(|rest| {
        let mut attributes = Vec::new();
        let mut rest = rest;
        while let Some(next) = rest.strip_prefix(' ') {
            let (name, value) = next.split_once("=\"")?;
            let (value, end) = value.split_once('"')?;
            attributes.push((name, unescape(value)));
            rest = end;
        }
        let content = rest.strip_prefix('>')?.split("</option>").next()?;
        Some((attributes, unescape(&without_tags(content))))
    });
    let states = elements.map(|(attributes, text)| {
        let attribute = |name| attributes.iter().find(|(other, _)| *other == name).map(|(_, value)| value.clone());
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        OptionState {
            value: attribute("value").unwrap_or_else(|| text.clone()),
            label: attribute("label").filter(|label| !label.is_empty()).unwrap_or(text),
            is_selected: false,
            is_disabled: attribute("disabled").is_some(),
        }
    });
    states.collect()
}

fn without_tags(html: &str) -> String {
    let parts = html.split('<').enumerate();
    parts
        .map(|(index, part)| if index == 0 { part } else { part.split_once('>').map_or("", |(_, text)| text) })
        .collect()
}

/// Replaces the references that a browser writes in HTML.
fn unescape(text: &str) -> String {
    let references = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&nbsp;", "\u{a0}"), ("&amp;", "&")];
    references.iter().fold(text.to_owned(), |text, (reference, character)| text.replace(reference, character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Profile, parse};

    fn effect_of(argv: &[&str], answers: &Answers) -> Option<Effect> {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        let command = parse(Profile::Tool, &argv, |_| true).expect("accepted");
        answers.effect(&Act::from_command(&command).expect("an act"))
    }

    fn holding(value: &str) -> Answers {
        Answers { value: Some(value.to_owned()), ..Answers::default() }
    }

    #[allow(clippy::unnecessary_wraps, reason = "an answer that there is")]
    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[track_caller]
    fn reason(effect: Option<Effect>) -> String {
        let Some(Effect::None(decision)) = effect else { panic!("{effect:?}") };
        assert_eq!(decision.code, Code::NoEffect);
        decision.reason
    }

    #[test]
    fn empty_value_is_a_failure_of_fields_only() {
        let fill = ["fill", "@e1", "2011-03-21"];
        let date = Answers { kind: some("date"), ..holding("") };
        let text = reason(effect_of(&fill, &date));
        assert!(text.contains("`input type=date` is empty") && text.contains("such as `2011-03-21`"), "{text}");
        assert_eq!(effect_of(&fill, &holding("")), None, "a label, or an element of the page's own");
        assert!(reason(effect_of(&fill, &Answers { has_only_field_values: true, ..holding("") })).contains("empty"));
        let read_only = Answers { read_only: some(""), ..holding("") };
        assert!(reason(effect_of(&fill, &read_only)).ends_with("it is read-only"));
        let select = Answers { html: some("<option>A</option>"), ..holding("") };
        assert!(reason(effect_of(&fill, &select)).contains("`select` is empty"));
    }

    #[test]
    fn part_of_a_date_is_typed_and_not_filled() {
        let part = |text| Answers { part: some(text), ..holding("") };
        let text = reason(effect_of(&["fill", "@e1", "03"], &part("")));
        assert!(text.contains("part of a date or time field is empty") && text.contains("`type`"), "{text}");
        assert!(reason(effect_of(&["fill", "@e1", "03"], &part("04"))).contains("holds \"04\""));
        assert_eq!(effect_of(&["fill", "@e1", "3"], &part("03")), Some(Effect::Done));
        assert_eq!(effect_of(&["type", "@e1", "03212011"], &part("03")), Some(Effect::Done));
    }

    #[test]
    fn changed_text_is_an_effect_unless_it_cannot_be_changed() {
        let fill = ["fill", "@e1", "0171234"];
        assert_eq!(effect_of(&fill, &holding("017 1234")), Some(Effect::Holds("017 1234".to_owned())));
        let disabled = Answers { disabled: some(""), ..holding("old") };
        assert!(reason(effect_of(&["type", "@e1", "more"], &disabled)).ends_with("it is disabled"));
        let short = Answers { max_length: some("3"), ..holding("017") };
        assert!(reason(effect_of(&fill, &short)).contains("at most 3 characters"));
        for secret in [
            Answers { kind: some("password"), ..holding("kept-9Kx2") },
            Answers { autocomplete: some("section-a one-time-code"), ..holding("kept-9Kx2") },
        ] {
            assert!(!format!("{:?}", effect_of(&fill, &secret)).contains("kept"));
        }
    }

    #[test]
    fn editor_is_filled_if_it_holds_the_text_alone() {
        let editor = |text| Answers { text: some(text), ..holding("") };
        let fill = ["fill", "@e1", "new text"];
        assert_eq!(effect_of(&fill, &editor("new\u{a0}text\n")), Some(Effect::Done));
        assert!(reason(effect_of(&fill, &editor("new textold text"))).contains("holds \"new textold text\""));
        assert!(reason(effect_of(&fill, &editor(""))).contains("empty"));
        assert_eq!(effect_of(&fill, &editor("New Text")), Some(Effect::Holds("New Text".to_owned())));
        assert_eq!(effect_of(&["type", "@e1", "more"], &editor("old more")), Some(Effect::Done));
    }

    #[test]
    fn box_that_stays_as_it_was_is_a_failure() {
        let unchecked = Answers { is_checked: Some(false), ..Answers::default() };
        let check = ["check", "@e1"];
        assert_eq!(effect_of(&check, &unchecked), None, "no box");
        let real = Answers { kind: some("checkbox"), ..unchecked.clone() };
        assert!(reason(effect_of(&check, &real)).contains("`input type=checkbox` is still not checked"));
        assert_eq!(effect_of(&["uncheck", "@e1"], &real), Some(Effect::Done));
        let switch = |state| Answers { aria_checked: some(state), ..unchecked.clone() };
        assert!(reason(effect_of(&check, &switch("false"))).contains("still not checked"));
        assert_eq!(effect_of(&check, &switch("true")), Some(Effect::Done));
    }

    #[test]
    fn option_is_known_by_value_and_label() {
        let html = "<optgroup label=\"All\"><option value=\"s\">Small</option><option class=\"a&gt;b\" value=\"l\"> Large &amp; wide\n\
                    </option></optgroup><hr><option>Plain</option>";
        let chosen = |value: &str| Answers { html: some(html), ..holding(value) };
        for (wanted, value) in [("l", "l"), ("Large & wide", "l"), ("Plain", "Plain"), ("unknown", "s")] {
            let effect = effect_of(&["select", "@e1", wanted], &chosen(value));
            assert!(matches!(effect, None | Some(Effect::Done)), "{wanted}: {effect:?}");
        }
        let text = reason(effect_of(&["select", "@e1", "Large & wide"], &chosen("s")));
        assert!(text.contains("has chosen \"Small\""), "{text}");
        assert_eq!(effect_of(&["select", "@e1", "l", "Plain"], &chosen("l")), Some(Effect::Done));
        assert_eq!(effect_of(&["select", "@e1", "l"], &holding("s")), None, "the options are not known");
    }

    #[test]
    fn value_with_the_text_needs_no_other_answer() {
        let is_held = |argv: &[&str], value: &str| {
            let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
            let command = parse(Profile::Tool, &argv, |_| true).expect("accepted");
            is_held(&Act::from_command(&command).expect("an act"), value)
        };
        assert!(is_held(&["fill", "@e1", "one\ntwo"], "one\ntwo") && is_held(&["fill", "@e1", "one\ntwo"], "onetwo"));
        assert!(is_held(&["type", "@e1", "two"], "one two"));
        assert!(!is_held(&["fill", "@e1", "two"], "one two") && !is_held(&["fill", "@e1", ""], ""));
    }
}
