//! System call filter: refuses what no agent-browser needs and Landlock does not cover.
//!
//! Landlock has no rules for changing modes and owners, for watching folders, for UDP and raw sockets, for other processes'
//! memory and for new namespaces. The filter refuses all of these. `docs/design/system-call-filter.md` explains why the program
//! is compiled here.
//!
//! Invariants: a refused call cannot be made by another number.

mod compile;
mod filter;
#[cfg(test)]
mod interpreter;
mod system_calls;

pub(super) use compile::FilterError;
pub(super) use filter::filter;
