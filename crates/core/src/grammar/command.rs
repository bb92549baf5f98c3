//! Parsed commands, ready for agent-browser.

use super::compat::{HELP, SESSION, VERSION};
use super::spec::{Form, SubcommandSpec, ValueKind};
use super::table::DIALOG;
use super::value::{Tab, offset, tab};

/// Parsed `argv` that follows the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Subcommand.
    pub row: &'static SubcommandSpec,
    /// Form of the subcommand.
    pub form: &'static Form,
    pub(super) arguments: Vec<Argument>,
}

/// Argument of a command: a positional or a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// Flag in its canonical spelling; `None` for a positional.
    pub(super) flag: Option<&'static str>,
    /// Value; `None` for a flag without one.
    pub(super) value: Option<NamedValue>,
}

/// Value with the name of its positional, or its name in the usage line of its flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedValue {
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
    pub(super) text: String,
}

/// Answer of a command that runs without agent-browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAnswer {
    /// Version of agent-browser.
    Version,
    /// List of the commands.
    Help,
    /// Name of the caller's session.
    Session,
    /// List of the caller's sessions, which is its only one.
    Sessions,
    /// Answer to the dialog that the page has open.
    Dialog,
}

impl Command {
    /// Returns `true` if the command ends the session.
    #[must_use]
    pub fn is_close(&self) -> bool {
        self.row.name == "close"
    }

    /// Returns `true` if the command opens another page.
    #[must_use]
    pub fn is_navigation(&self) -> bool {
        self.row.category == Some("navigate")
    }

    /// Returns `true` if the command does nothing but read the page, so that it can be run again.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        matches!(self.row.name, "snapshot" | "get" | "is")
    }

    /// Returns `true` if the command opens a page, in the active tab or in a new one.
    #[must_use]
    pub fn opens_page(&self) -> bool {
        self.values().any(|(kind, _)| kind == ValueKind::Url) || self.form.word == Some("new")
    }

    /// Returns `true` if the command needs no page: it opens one, ends the session, or is about the whole browser.
    #[must_use]
    pub fn works_without_page(&self) -> bool {
        self.opens_page() || matches!(self.row.name, "close" | "cookies") || self.local_answer().is_some()
    }

    /// Returns the answer of a command that runs without agent-browser.
    #[must_use]
    pub fn local_answer(&self) -> Option<LocalAnswer> {
        match (self.row.name, self.form.word) {
            (VERSION, _) => Some(LocalAnswer::Version),
            (HELP, _) => Some(LocalAnswer::Help),
            (SESSION, None) => Some(LocalAnswer::Session),
            (SESSION, Some(_)) => Some(LocalAnswer::Sessions),
            (DIALOG, _) => Some(LocalAnswer::Dialog),
            _ => None,
        }
    }

    /// Returns the text that the command types into the page or one of its dialogs.
    #[must_use]
    pub fn typed_text(&self) -> Option<&str> {
        let is_dialog = self.row.name == DIALOG;
        self.value(|kind| kind == ValueKind::MultilineText || (is_dialog && kind == ValueKind::Text))
    }

    /// Returns true if the command lists all tabs.
    #[must_use]
    pub fn is_list_of_tabs(&self) -> bool {
        self.row.name == "tab" && self.tab().is_none() && matches!(self.form.word, None | Some("list"))
    }

    /// Returns true if the command opens a tab.
    #[must_use]
    pub fn is_new_tab(&self) -> bool {
        self.row.name == "tab" && self.form.word == Some("new")
    }

    /// Returns true if the command closes a tab.
    #[must_use]
    pub fn is_end_of_tab(&self) -> bool {
        self.row.name == "tab" && self.form.word == Some("close")
    }

    /// Returns the tab that the command names.
    #[must_use]
    pub fn tab(&self) -> Option<Tab> {
        let is_tab = self.row.name == "tab";
        let mut values = self.values().filter(|(kind, _)| matches!(kind, ValueKind::Tab | ValueKind::Number(..)));
        values.find_map(|(_, text)| tab(text)).filter(|_| is_tab)
    }

    /// Returns the elements for agent-browser: the subcommand, the word of its form, its positionals, its flags.
    #[must_use]
    pub fn to_argv(&self) -> Vec<String> {
        let mut argv = vec![self.row.name.to_owned()];
        argv.extend(self.form.word.map(str::to_owned));
        for argument in &self.arguments {
            argv.extend(argument.flag.map(str::to_owned));
            argv.extend(argument.value.iter().map(|value| value.text.clone()));
        }
        argv
    }

    /// Returns the first value whose kind matches.
    #[must_use]
    pub fn value(&self, matches: impl Fn(ValueKind) -> bool) -> Option<&str> {
        self.values().find(|(kind, _)| matches(*kind)).map(|(_, text)| text)
    }

    /// Returns all values with their kinds.
    pub fn values(&self) -> impl Iterator<Item = (ValueKind, &str)> {
        self.named_values().map(|value| (value.kind, value.text.as_str()))
    }

    /// Returns the values of the positional or flag value with a name.
    pub(super) fn values_named(&self, name: &str) -> impl Iterator<Item = &str> {
        self.named_values().filter(move |value| value.name == name).map(|value| value.text.as_str())
    }

    fn named_values(&self) -> impl Iterator<Item = &NamedValue> {
        self.arguments.iter().filter_map(|argument| argument.value.as_ref())
    }

    /// Returns `true` if a flag is present.
    #[must_use]
    pub fn has_flag(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument.flag == Some(flag))
    }

    /// Returns the selectors of the elements that the command acts on.
    pub fn selectors(&self) -> impl Iterator<Item = &str> {
        self.values().filter(|(kind, _)| *kind == ValueKind::Selector).map(|(_, text)| text)
    }

    /// Returns the value of a flag.
    pub(crate) fn flag_value(&self, flag: &str) -> Option<&str> {
        let argument = self.arguments.iter().find(|argument| argument.flag == Some(flag))?;
        argument.value.as_ref().map(|value| value.text.as_str())
    }

    /// Returns the distance from the left and the top of an element that a flag has, in CSS pixels.
    pub(crate) fn offset(&self, flag: &str) -> Option<(u32, u32)> {
        self.flag_value(flag).and_then(offset)
    }

    /// Replaces the value of the same kind, or appends one.
    ///
    /// The value must come from this program (a checked URL, a path in the session's folder), because it is not
    /// checked.
    pub fn set_value(&mut self, name: &'static str, kind: ValueKind, text: String) {
        let mut values = self.arguments.iter_mut().filter_map(|argument| argument.value.as_mut());
        match values.find(|value| value.kind == kind) {
            Some(value) => value.text = text,
            None => self.arguments.push(Argument { flag: None, value: Some(NamedValue { name, kind, text }) }),
        }
    }
}
