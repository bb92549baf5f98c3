//! Const constructors for the entries of the grammar tables.

use super::spec::{Availability, Carrier, Flag, Form, Occurrence, Positional, SubcommandSpec, ValueKind};

pub(super) const fn required(name: &'static str, kind: ValueKind) -> Positional {
    Positional { name, kind, presence: Occurrence::Required }
}

pub(super) const fn optional(name: &'static str, kind: ValueKind) -> Positional {
    Positional { name, kind, presence: Occurrence::Optional }
}

pub(super) const fn repeated(name: &'static str, kind: ValueKind) -> Positional {
    Positional { name, kind, presence: Occurrence::Repeated }
}

pub(super) const fn switch(name: &'static str, alias: &'static str) -> Flag {
    Flag { name, alias, value: None, is_required: false }
}

pub(super) const fn valued(name: &'static str, alias: &'static str, value: &'static str, kind: ValueKind) -> Flag {
    Flag { name, alias, value: Some((value, kind)), is_required: false }
}

pub(super) const fn required_flag(
    name: &'static str,
    alias: &'static str,
    value: &'static str,
    kind: ValueKind,
) -> Flag {
    Flag { name, alias, value: Some((value, kind)), is_required: true }
}

/// Creates a flag with a point of an element.
pub(super) const fn point(name: &'static str) -> Flag {
    required_flag(name, name, "X,Y", ValueKind::Offset)
}

pub(super) const fn required_switch(name: &'static str, alias: &'static str) -> Flag {
    Flag { name, alias, value: None, is_required: true }
}

pub(super) const fn plain(positionals: &'static [Positional], actions: &'static [&'static str]) -> Form {
    Form { word: None, positionals, flags: &[], carrier: Carrier::Both(actions), needs: None }
}

pub(super) const fn word(
    word: &'static str,
    positionals: &'static [Positional],
    actions: &'static [&'static str],
) -> Form {
    Form { word: Some(word), positionals, flags: &[], carrier: Carrier::Both(actions), needs: None }
}

/// Creates a form that is answered without agent-browser.
pub(super) const fn local(word: Option<&'static str>, positionals: &'static [Positional]) -> Form {
    Form { word, positionals, flags: &[], carrier: Carrier::Itself, needs: None }
}

/// Creates a form without a word that only our own engine carries out.
pub(super) const fn of_cdp(positionals: &'static [Positional]) -> Form {
    Form { carrier: Carrier::Cdp, ..local(None, positionals) }
}

/// Creates a form that the policy enables by a name of its own.
pub(super) const fn needing(name: &'static str, form: Form) -> Form {
    Form { needs: Some(name), ..form }
}

/// Creates a form that adds a flag to one that acts on one element. Our own engine carries it out, and the policy enables it by a name of
/// its own.
pub(super) const fn adding(name: &'static str, positionals: &'static [Positional], flags: &'static [Flag]) -> Form {
    needing(name, Form { flags, ..of_cdp(positionals) })
}

pub(super) const fn flagged(flags: &'static [Flag], actions: &'static [&'static str]) -> Form {
    Form { word: None, positionals: &[], flags, carrier: Carrier::Both(actions), needs: None }
}

/// Positionals of a form that acts on one element.
pub(super) const ELEMENT: &[Positional] = &[required("SELECTOR", ValueKind::Selector)];

/// Creates a form that takes one selector, with agent-browser's name for its action.
pub(super) const fn element_action(actions: &'static [&'static str]) -> Form {
    plain(ELEMENT, actions)
}

/// Creates a form that reads a property of one element.
pub(super) const fn element_property(name: &'static str, actions: &'static [&'static str]) -> Form {
    word(name, ELEMENT, actions)
}

pub(super) const fn on(
    name: &'static str,
    category: Option<&'static str>,
    forms: &'static [Form],
    reserved: &'static [&'static str],
    summary: &'static str,
) -> SubcommandSpec {
    SubcommandSpec { name, summary, availability: Availability::On, forms, reserved, category }
}

pub(super) const fn off(
    name: &'static str,
    category: Option<&'static str>,
    forms: &'static [Form],
    summary: &'static str,
) -> SubcommandSpec {
    SubcommandSpec { name, summary, availability: Availability::Optional, forms, reserved: &[], category }
}
