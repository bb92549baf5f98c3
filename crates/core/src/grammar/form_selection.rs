//! Selection of the form of a subcommand.

use super::spec::{Flag, Form, Occurrence, SubcommandSpec, ValueKind};
use crate::decision::{Code, Decision};

/// Selects one of the offered forms by its word, else by its required flag, else the first that has neither and has room
/// for all elements.
pub(super) fn select_form(
    row: &'static SubcommandSpec,
    rest: &[String],
    is_offered: &dyn Fn(&Form) -> bool,
) -> Result<&'static Form, Decision> {
    let first = rest.first().map(String::as_str);
    let forms = || row.forms.iter().filter(|form| is_offered(form));
    let mut by_word = forms().filter(|form| form.word.is_some() && form.word == first);
    match (by_word.next(), by_word.next()) {
        (Some(form), None) => return Ok(form),
        (Some(form), Some(_)) => return select_by_action(row, form, rest, is_offered),
        (None, _) => {}
    }
    let is_present = |flag: &Flag| rest.iter().any(|element| flag.matches(element));
    let mut by_flag = forms().filter(|form| form.flags.iter().any(|flag| flag.is_required && is_present(flag)));
    match (by_flag.next(), by_flag.next()) {
        (Some(form), None) => return Ok(form),
        (Some(form), Some(other)) if row.combines(form, other) && by_flag.all(|other| row.combines(form, other)) => {
            return Ok(form);
        }
        (Some(_), Some(_)) => {
            let reason = format!("these flags exclude each other; the usage is `{}`", row.usage_with(is_offered));
            return Err(Decision::new(Code::FlagConflict, reason).at("argv"));
        }
        (None, _) => {}
    }
    let plain = || forms().filter(|form| form.word.is_none() && form.flags.iter().all(|flag| !flag.is_required));
    plain().find(|form| has_room(form, rest)).or_else(|| plain().next()).ok_or_else(|| {
        let code = if first.is_some() { Code::ArgumentInvalid } else { Code::ArgumentMissing };
        Decision::new(code, format!("the usage is `{}`", row.usage_with(is_offered))).at_element(1)
    })
}

/// Returns `true` if a form has a positional for each element that is no flag, and no element stands where another word
/// has to.
fn has_room(form: &Form, rest: &[String]) -> bool {
    let is_repeated = form.positionals.last().is_some_and(|positional| positional.presence == Occurrence::Repeated);
    let is_known = |index: usize| match (form.positionals.get(index), find_positional(form, rest, index)) {
        (Some(positional), Some((_, text))) => {
            !matches!(positional.kind, ValueKind::Word(words) if !words.contains(&text))
        }
        (_, None) => true,
        (None, Some(_)) => is_repeated,
    };
    (0..=form.positionals.len()).all(is_known)
}

/// Selects one of several forms with the same word by its action, such as `fill` in `find label Email fill x`.
fn select_by_action(
    row: &'static SubcommandSpec,
    first: &'static Form,
    rest: &[String],
    is_offered: &dyn Fn(&Form) -> bool,
) -> Result<&'static Form, Decision> {
    let (mut actions, mut unknown): (Vec<&str>, _) = (Vec::new(), None);
    for form in row.forms.iter().filter(|form| form.word == first.word) {
        let mut kinds = form.positionals.iter().map(|positional| positional.kind).enumerate();
        let action =
            kinds.find_map(|(index, kind)| if let ValueKind::Word(words) = kind { Some((index, words)) } else { None });
        let Some((index, words)) = action else { return Ok(form) };
        match find_positional(form, rest, index) {
            Some((_, text)) if words.contains(&text) => return Ok(form),
            given => unknown = unknown.or(given.map(|(position, _)| position)),
        }
        actions.extend(words);
    }
    Err(if let Some(position) = unknown {
        let reason = format!("must be one of {}", actions.join(", "));
        Decision::new(Code::ArgumentInvalid, reason).at_element(position)
    } else {
        let reason = format!("the action is missing; the usage is `{}`", row.usage_of(first, is_offered));
        Decision::new(Code::ArgumentMissing, reason).at("argv")
    })
}

/// Returns the positional with this index after the word, with its position in `argv`.
fn find_positional<'a>(form: &Form, rest: &'a [String], index: usize) -> Option<(usize, &'a str)> {
    let mut elements = rest.iter().enumerate().skip(usize::from(form.word.is_some()));
    let mut seen = 0;
    while let Some((position, element)) = elements.next() {
        match form.flag(element) {
            Some(flag) if flag.value.is_some() => drop(elements.next()),
            Some(_) => {}
            None if seen == index => return Some((position + 1, element)),
            None => seen += 1,
        }
    }
    None
}
