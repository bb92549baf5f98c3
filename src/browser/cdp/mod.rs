//! Client of the browser's debugging port, on loopback.
//!
//! All sessions share the browser. A page that keeps its renderer busy, or whose server never answers, would keep every new
//! daemon from connecting, so hung tabs are replaced: before a session's first call, and after a call that did not end by
//! itself. See `docs/design/hung-tabs.md`.
//!
//! Invariants: a tab that answers is never closed; nothing but the port on loopback is contacted.

mod browser;
mod connection;
mod error;

#[cfg(test)]
mod tests;

pub use browser::Browser;
pub(crate) use error::BrowserError;
