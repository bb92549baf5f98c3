//! Sandbox of a session's agent-browser.
//!
//! A [`plan`] says as data which files, ports and limits a session gets. A [`backend`] enforces it. The first run of
//! agent-browser in a session starts its daemon, which inherits the confinement for as long as it lives. Some sandboxes have their
//! own network and end with their first program; [`container`] holds the helpers for those.
//!
//! Invariants: agent-browser never runs without a sandbox unless the audit line says so.
//!
//! Requirement 5.2.

pub mod backend;
mod bubblewrap;
pub mod confine;
pub mod container;
mod denied_files;
pub mod enforcement;
mod factory;
pub mod host;
mod interface;
mod landlock;
mod namespaces;
pub mod plan;
pub mod select;
mod session_sandbox;
mod srt;
mod srt_settings;
mod template;
mod view;

pub use factory::SandboxFactory;
pub use interface::{PendingSandbox, Sandbox, SandboxError};
