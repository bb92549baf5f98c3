//! Sandbox of a session's agent-browser.
//!
//! A [`plan`] says as data which files, ports and limits a session gets. A [`backend`] enforces it. The first run of
//! agent-browser in a session starts its daemon, which inherits the confinement for as long as it lives. Some sandboxes have their
//! own network and end with their first program; [`container`] holds the helpers for those.
//!
//! Invariants: agent-browser never runs without a sandbox unless the audit line says so.
//!
//! Requirement 5.2.

pub(crate) mod backend;
mod bubblewrap;
pub(crate) mod confine;
pub(crate) mod container;
mod denied_files;
pub(crate) mod enforcement;
mod factory;
pub(crate) mod host;
mod interface;
pub(crate) mod kernel;
mod landlock;
mod namespaces;
pub(crate) mod plan;
pub(crate) mod seccomp;
pub(crate) mod select;
mod session_sandbox;
mod srt;
mod srt_settings;
mod template;
mod view;

pub(crate) use factory::SandboxFactory;
pub(crate) use interface::{PendingSandbox, Sandbox, SandboxError};
