//! Types of the grammar table: subcommands, their forms, positionals, flags and value kinds, with the constructors of its entries.

use std::iter;

use super::forbidden::find_global_flag;

/// Number of forms from which on a usage line shows only those with the same word.
const MANY_FORMS: usize = 10;

/// Availability of a subcommand without an entry in the policy file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Always available.
    On,
    /// Available only if the policy file enables it.
    Optional,
}

/// Kind of a value: the rule that its text must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An http or https URL or `about:blank`, which the policy evaluates.
    Url,
    /// A reference from a snapshot (`@e1`), a CSS selector or a Playwright selector.
    Selector,
    /// A selector or a whole number of milliseconds. agent-browser parses every number as milliseconds.
    SelectorOrMilliseconds,
    /// Text for the page. May contain line breaks and begin with a dash.
    MultilineText,
    /// Text on one line. May begin with a dash.
    Text,
    /// Text on one line that is not blank. May begin with a dash.
    Phrase,
    /// A key or a combination of keys, such as `Enter` or `Control+a`.
    Key,
    /// A pattern that matches URLs, such as `**/done`. No page is opened.
    UrlPattern,
    /// A whole number within a range.
    Number(u32, u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Distance from the upper left corner of an element, in CSS pixels: `X,Y`.
    Offset,
    /// Keys that are held, such as `Control` or `Control+Shift`.
    Modifiers,
    /// The name of an attribute.
    AttributeName,
    /// An ARIA role, such as `button`.
    Role,
    /// A name on one line: a label, a test id, the name of a cookie.
    Label,
    /// A CSS or Playwright selector, for an action that does not accept a reference.
    CssSelector,
    /// A tab: its position in the list (`1`), or agent-browser's name for it (`t1`).
    Tab,
    /// A file name with this ending: a plain name in the session's folder, or a path below the workspace if the profile
    /// allows paths.
    FileName(&'static str),
}

/// Number of times that a positional can occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occurrence {
    /// Exactly once.
    Required,
    /// At most once.
    Optional,
    /// Once or more. Only the last positional can be repeated.
    Repeated,
}

/// A positional argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positional {
    /// Name in usage lines and errors.
    pub name: &'static str,
    /// Kind of its value.
    pub kind: ValueKind,
    /// Number of times that it can occur.
    pub(crate) presence: Occurrence,
}

/// A flag of one form of a subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    /// Spelling that agent-browser receives.
    pub(crate) name: &'static str,
    /// Other accepted spelling.
    pub(crate) alias: &'static str,
    /// Name and kind of its value, if it takes one.
    pub(crate) value: Option<(&'static str, ValueKind)>,
    /// `true` if the form requires this flag. Such a flag can also select the form.
    pub(crate) is_required: bool,
}

/// Program that carries out a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Both engines. agent-browser does it by these of its actions, as its own action policy names them.
    Both(&'static [&'static str]),
    /// Our own engine only.
    Cdp,
    /// This program itself, whatever the engine.
    Itself,
}

/// Form of a subcommand: a word, positionals and flags that it accepts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Word that must follow the subcommand, if this form has one (`get text`). If several forms have the same word,
    /// their first positional of the kind [`ValueKind::Word`] distinguishes them (`find label Email fill x`).
    pub word: Option<&'static str>,
    /// Positionals, in order, after the word.
    pub positionals: &'static [Positional],
    /// Flags.
    pub(crate) flags: &'static [Flag],
    /// Program that carries it out.
    pub(crate) carrier: Carrier,
    /// Name by which the policy enables the form; `None` if the form comes with its subcommand.
    pub needs: Option<&'static str>,
}

/// One subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubcommandSpec {
    /// Name.
    pub name: &'static str,
    /// One-line description for help and documentation.
    pub summary: &'static str,
    /// Availability without an entry in the policy file.
    pub availability: Availability,
    /// Forms. A word or a required flag distinguishes them.
    pub forms: &'static [Form],
    /// Words that some version of agent-browser parses as a flag of this subcommand and that the grammar does not
    /// offer. No value may equal one of them.
    pub(crate) reserved: &'static [&'static str],
    /// Category in agent-browser's action policy; `None` for its internal actions.
    pub(crate) category: Option<&'static str>,
}

impl Flag {
    /// Returns `true` if an element is this flag.
    pub(super) fn matches(&self, element: &str) -> bool {
        self.name == element || self.alias == element
    }
}

impl Form {
    /// Returns `true` if only our own engine carries it out.
    #[must_use]
    pub fn is_of_cdp(&self) -> bool {
        self.carrier == Carrier::Cdp
    }

    /// Returns the usage line of the form, without the subcommand's name.
    #[must_use]
    pub fn usage(&self) -> String {
        self.usage_with(iter::empty())
    }

    /// Returns the usage line of the form with further flags, which are optional there.
    fn usage_with<'a>(&self, further: impl Iterator<Item = &'a Flag>) -> String {
        let mut parts: Vec<String> = self.word.iter().map(|word| (*word).to_owned()).collect();
        let own = self.flags.iter().map(|flag| (flag, flag.is_required));
        for (flag, is_required) in own.chain(further.map(|flag| (flag, false))) {
            let text = flag.value.map_or_else(|| flag.name.to_owned(), |(value, _)| format!("{} {value}", flag.name));
            parts.push(if is_required { text } else { format!("[{text}]") });
        }
        for positional in self.positionals {
            parts.push(match positional.presence {
                Occurrence::Required => positional.name.to_owned(),
                Occurrence::Optional => format!("[{}]", positional.name),
                Occurrence::Repeated => format!("{}...", positional.name),
            });
        }
        parts.join(" ")
    }

    /// Returns `true` if the form adds flags, by a name of its own, to a form that comes with its subcommand.
    pub(super) fn extends(&self, base: &Self) -> bool {
        let has_required = |form: &Self| form.flags.iter().any(|flag| flag.is_required);
        let is_same = (self.word, self.positionals) == (base.word, base.positionals);
        is_same && self.needs.is_some() && has_required(self) && base.needs.is_none() && !has_required(base)
    }

    /// Returns the flag that an element is.
    pub(super) fn flag(&self, element: &str) -> Option<&'static Flag> {
        self.flags.iter().find(|flag| flag.matches(element))
    }
}

impl SubcommandSpec {
    /// Returns one usage line with the forms that come with the subcommand.
    #[must_use]
    pub fn usage(&self) -> String {
        self.usage_with(|form| form.needs.is_none())
    }

    /// Returns one usage line with the forms that are offered.
    #[must_use]
    pub fn usage_with(&self, is_offered: impl Fn(&Form) -> bool) -> String {
        let offered: Vec<_> = self.forms.iter().filter(|form| is_offered(form)).collect();
        let usage = |form: &Form| {
            let further = offered.iter().filter(|other| other.extends(form)).flat_map(|other| other.flags);
            form.usage_with(further)
        };
        let is_shown = |form: &&&Form| !offered.iter().any(|base| form.extends(base));
        let forms: Vec<_> = offered.iter().filter(is_shown).map(|form| usage(form)).collect();
        format!("{} {}", self.name, forms.join(" | ")).trim_end().to_owned()
    }

    /// Returns `true` if two forms add flags to the same form, so that a command can have the flags of both.
    pub(super) fn combines(&self, one: &Form, other: &Form) -> bool {
        self.forms.iter().any(|base| one.extends(base) && other.extends(base))
    }

    /// Returns a usage line with the forms that are offered, or with those of the same word if there are many.
    pub(super) fn usage_of(&self, form: &Form, is_offered: impl Fn(&Form) -> bool) -> String {
        if self.forms.len() < MANY_FORMS {
            return self.usage_with(is_offered);
        }
        let same_word = self.forms.iter().filter(|other| other.word == form.word);
        same_word.map(|form| format!("{} {}", self.name, form.usage())).collect::<Vec<_>>().join(" | ")
    }

    /// Returns `true` if an element is a global flag of agent-browser that an offered form has too. Such a flag is
    /// passed on as the last element, or right before a path that this program adds, so that agent-browser cannot parse
    /// an argument as its value.
    pub(super) fn allows_global_flag(&self, element: &str, is_offered: impl Fn(&Form) -> bool) -> bool {
        find_global_flag(element).is_some()
            && self.forms.iter().any(|form| form.flag(element).is_some() && is_offered(form))
    }
}

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
