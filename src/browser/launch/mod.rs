//! Start of Chromium: its command line and environment, and the helpers that restrict themselves and become it.
//!
//! `docs/design/chromium.md` explains the rules. Requirement 5.1.

mod config;
pub(crate) mod external;
pub(in crate::browser) mod files;
mod flags;
pub(crate) mod helper;
pub(in crate::browser) mod rules;
mod running;
mod settings;

pub(crate) use config::{LaunchConfig, find};
pub(crate) use flags::is_fixed_flag;
pub(crate) use rules::{confines_files, is_enforced, missing};
pub(crate) use running::{program_of, runs_under_rules};
