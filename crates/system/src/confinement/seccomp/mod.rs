//! System call filters: refuse what a confined program does not need and Landlock does not cover.
//!
//! Landlock has no rules for changing modes, owners and times, for watching folders, for UDP and raw sockets, for other
//! processes' limits and memory, for System V objects and for new namespaces. The filter of a session refuses all of these. The
//! filter of Chromium refuses only connections past Landlock. `docs/design/sandbox.md` explains why the program is
//! compiled here.
//!
//! Invariants: a refused call cannot be made by another number.

mod compile;
mod filter;
#[cfg(test)]
mod interpreter;
mod network;
mod rules;
mod system_calls;

pub use compile::FilterError;
pub use filter::session_filter;
pub use network::network_filter;
