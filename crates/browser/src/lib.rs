//! Chromium: the launch and the supervisors of the one that a server starts and of its display, and the control gate over its tabs.

pub mod display;
pub mod gate;
pub mod health;
pub mod launch;
mod process;
pub mod supervisor;

pub use health::{BrowserGuard, EnsureBrowser, ExternalBrowser};
