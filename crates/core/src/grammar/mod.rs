//! Command grammar: from `argv` to a command that every version of agent-browser parses the same way.
//!
//! Requirements 1.3 and 1.4. [`GRAMMAR`] lists every subcommand with its forms, and [`parse`] accepts nothing else.
//!
//! ```
//! use browser_shell_core::decision::Code;
//! use browser_shell_core::grammar::{Profile, parse};
//!
//! let argv = |elements: &[&str]| elements.iter().map(|element| (*element).to_owned()).collect::<Vec<String>>();
//! // No optional subcommand is enabled.
//! let is_enabled = |_: &str| false;
//!
//! let command = parse(Profile::Tool, &argv(&["snapshot", "--interactive"]), is_enabled).expect("accepted");
//! assert_eq!(command.to_argv(), ["snapshot", "-i"]);
//!
//! let refusal = parse(Profile::Tool, &argv(&["fill", "@e1", "--cdp=9222"]), is_enabled).expect_err("refused");
//! assert_eq!(refusal.code, Code::FlagGlobal);
//! assert_eq!(refusal.location.as_deref(), Some("argv[2]"));
//! ```

mod arguments;
mod awaited;
mod command;
mod compat;
mod constructors;
mod find;
mod forbidden;
mod form_selection;
mod global_flags;
mod json_flag;
mod keys;
mod parser;
mod probe;
mod profile;
mod selector;
mod spec;
mod table;
mod tags;
mod value;
pub mod words;

pub use awaited::Awaited;
pub use command::{Command, LocalAnswer};
pub use compat::COMPAT;
pub use forbidden::FORBIDDEN_SUBCOMMANDS;
pub use global_flags::find_global_flag;
pub use json_flag::take_json_flag;
pub use parser::{MAX_CHARACTERS, MAX_ELEMENTS, parse};
pub use probe::compares_with_page;
pub use profile::Profile;
pub use spec::{Availability, Form, Positional, SubcommandSpec, ValueKind};
pub use table::GRAMMAR;
pub(crate) use table::{AT, BUTTON, EDGES, FIND, FROM, GONE, HOLD, MODIFIERS, TO};
pub use value::{Tab, WORKSPACE_PREFIX};

#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
