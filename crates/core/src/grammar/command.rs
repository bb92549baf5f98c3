//! Parsed commands, ready for agent-browser.

use super::spec::{Form, SubcommandSpec, ValueKind};
use crate::decision::Decision;

/// Parsed `argv` that follows the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Subcommand.
    pub row: &'static SubcommandSpec,
    /// Form of the subcommand.
    pub form: &'static Form,
    pub(super) arguments: Vec<Argument>,
    /// Refusal of the command by the CLI, if only the daemon may receive it.
    pub(super) cli_refusal: Option<Decision>,
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

impl Command {
    /// Returns `true` if the command opens another page.
    #[must_use]
    pub fn is_navigation(&self) -> bool {
        self.row.category == Some("navigate")
    }

    /// Returns `true` if clients that expect text get this command's result as text: see
    /// [`Body::render_text`](crate::output::Body::render_text).
    #[must_use]
    pub fn has_text_result(&self) -> bool {
        matches!(self.row.name, "snapshot" | "get" | "is" | "find")
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

    /// Returns the refusal to use if this command would run through agent-browser's CLI, which would parse a text of it
    /// as a global flag. `None` for every result of [`parse`](super::parse).
    #[must_use]
    pub const fn cli_refusal(&self) -> Option<&Decision> {
        self.cli_refusal.as_ref()
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
    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument.flag == Some(flag))
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
