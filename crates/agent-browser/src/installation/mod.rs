//! Installed agent-browser: its location, its kind (a command line with a daemon in Node, or one native program) and its files.
//!
//! The kind follows from the file, not from the version.
//!
//! Invariants: the program is never run.

mod detect;
pub mod files;

pub use detect::{DAEMON, InstallationKind, find_agent_browser, package};
