//! Workspace: the folder that a session shares with its orchestrator's other containers.
//!
//! Other containers write to the folder too, and may put links into it at any moment. The kernel therefore resolves every path
//! below the folder (`openat2(2)`, `RESOLVE_BENEATH`).
//!
//! Invariants: no file is written outside of the workspace, and a file appears under its name complete or not at all.

mod delivery;
mod error;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use delivery::Workspace;
#[cfg(test)]
pub(crate) use error::WorkspaceError;
