//! Supervisor of the Chromium that a server starts for itself.
//!
//! Invariants: no Chromium remains when the supervisor ends; none is started while its profile is behind a link.

mod ensure_running;
mod flood;
mod run;
mod start;
mod usage;

#[cfg(test)]
mod tests;

pub use run::{ChromiumSupervisor, RendererSandbox};
pub use start::profile_folder;
