//! Mapping of forms to actions of agent-browser's daemon.
//!
//! The names of actions and of fields are constants, so an argument can only become the value of a field.

/// Action of the daemon that a form maps to, in all known versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActionMapping {
    /// Daemon's name for the action.
    pub(crate) action: &'static str,
    /// Fields of the request.
    pub(crate) fields: &'static [ActionField],
    /// `true` if running the action again has no further effect, so that a request with an unknown outcome can be
    /// repeated.
    pub(crate) is_repeatable: bool,
    /// Name of a value, and the mapping that applies instead if the command does not have that value.
    pub(crate) if_absent: Option<(&'static str, &'static Self)>,
}

/// Field of a request.
///
/// In every variant, `value` is the name of a positional or of a flag's value, `flag` the name of a flag, and `key` the
/// daemon's name for the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionField {
    /// The value as text; no field if it is absent.
    Text { value: &'static str, key: &'static str },
    /// The value as text; `null` if it is absent.
    TextOrNull { value: &'static str, key: &'static str },
    /// The value as text; the default if it is absent.
    TextOr { value: &'static str, key: &'static str, default: &'static str },
    /// One value as text, several as a list of texts.
    Texts { value: &'static str, key: &'static str },
    /// The value as a number; no field if it is absent.
    Number { value: &'static str, key: &'static str },
    /// The position of the tab that the value names; no field if it is absent.
    Tab { value: &'static str, key: &'static str },
    /// The value as a number; the default if it is absent.
    NumberOr { value: &'static str, key: &'static str, default: u32 },
    /// The value in the field `number` if it parses as a number, else as text in the field `text`.
    NumberOrText { value: &'static str, number: &'static str, text: &'static str },
    /// `true` if the flag is present; else no field.
    Switch { flag: &'static str, key: &'static str },
    /// `true` if the flag is present, else `false`.
    Bool { flag: &'static str, key: &'static str },
    /// A fixed number.
    Constant { key: &'static str, value: i32 },
    /// A fixed text.
    ConstantText { key: &'static str, value: &'static str },
    /// A list of one object with these fields.
    ObjectList { key: &'static str, fields: &'static [Self] },
    /// A fixed `false`.
    False { key: &'static str },
}

impl ActionMapping {
    /// Creates a mapping to an action that can be repeated.
    pub(super) const fn repeatable(action: &'static str, fields: &'static [ActionField]) -> Self {
        Self { action, fields, is_repeatable: true, if_absent: None }
    }

    /// Creates a mapping to an action that must not be repeated.
    pub(super) const fn once(action: &'static str, fields: &'static [ActionField]) -> Self {
        Self { action, fields, is_repeatable: false, if_absent: None }
    }
}
