//! Chromium: its debugging protocol, and the supervisors of the one that a server starts and of its display.

pub(crate) mod cdp;
pub(crate) mod display;
pub(crate) mod ensure;
pub(crate) mod health;
pub(crate) mod launch;
pub(crate) mod pipe;
mod process;
mod restart;
pub(crate) mod supervisor;

pub(crate) use ensure::{BrowserGuard, EnsureBrowser, ExternalBrowser};
