//! Chromium: the launch and the supervisors of the one that a server starts and of its display, and the control gate over its tabs.

#![cfg_attr(
    test,
    allow(
        clippy::needless_pass_by_value,
        clippy::too_many_lines,
        reason = "test helpers take values of json!, and tables of cases are long"
    )
)]

pub mod display;
pub mod gate;
pub mod health;
pub mod launch;
mod process;
pub mod supervisor;

pub use health::{BrowserGuard, EnsureBrowser, ExternalBrowser};
