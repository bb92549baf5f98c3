//! Start of Chromium: its command line and environment, and the helpers that restrict themselves and become it.
//!
//! `docs/design/chromium.md` explains the rules. Requirement 5.1.

mod config;
pub mod external;
pub(crate) mod files;
mod flags;
pub mod helper;
pub(crate) mod rules;
mod running;
mod settings;

pub use config::{LaunchConfig, find};
pub use flags::is_fixed_flag;
pub use rules::{confines_files, is_enforced, missing};
pub use running::{program_of, runs_under_rules};
