//! Optional subcommands: the lists that a policy file can enable.

use serde_json::Value;

use super::value::{Choice, FieldKind, InvalidValue};
use crate::grammar::Profile;

/// Returns the subcommands and forms that `subcommands.enable` can name.
pub fn optional_subcommands() -> impl Iterator<Item = &'static str> {
    optional(Profile::Tool)
}

/// Returns the subcommands of the runtime's compat profile that `runtime.enable` can name.
pub fn optional_runtime_subcommands() -> impl Iterator<Item = &'static str> {
    optional(Profile::Compat)
}

fn optional(profile: Profile) -> impl Iterator<Item = &'static str> {
    let rows = profile.rows().filter(move |row| profile.needs_enabling(row)).map(|row| row.name);
    rows.chain(profile.optional_forms())
}

/// The name of a subcommand that is off in a profile unless the policy enables it.
pub(super) struct OptionalSubcommand(pub(super) Profile);

impl OptionalSubcommand {
    fn choice(&self) -> Choice<&'static str> {
        Choice::new(optional(self.0).map(|name| (name, name)))
    }
}

impl FieldKind for OptionalSubcommand {
    type Output = &'static str;

    fn schema(&self) -> Value {
        self.choice().schema()
    }

    fn read(&self, value: &Value) -> Result<&'static str, InvalidValue> {
        let row = value.as_str().and_then(|name| self.0.row(name));
        match row.filter(|row| !self.0.needs_enabling(row)) {
            Some(row) => Err(InvalidValue::from_message(format!("`{}` is always on; remove it", row.name))),
            None => self.choice().read(value),
        }
    }
}
