//! Policy file: from text to a valid [`Policy`](super::Policy), or to every problem in it.
//!
//! Each section is one function that visits its fields. With an object, the visit reads it; without one, it
//! returns the JSON Schema. So reader and schema cannot disagree. `docs/design/policy-file.md` has the alternatives.
//!
//! Invariants:
//! - Unknown keys, duplicate keys, wrong types and values out of range are problems, and all of them are reported at once.
//! - No invalid value becomes a default, and no policy is returned together with a problem.

mod browser;
mod document;
mod egress;
mod fields;
mod output;
mod paths;
mod sandbox;
mod srt_settings;
mod state_text;
mod subcommands;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use document::{DEFAULT_PATH, MAX_BYTES, parse, parse_for_home, schema};
pub use srt_settings::{SrtSettings, parse_srt_settings};
pub use subcommands::{optional_runtime_subcommands, optional_subcommands};
