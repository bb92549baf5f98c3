//! Chromium: its debugging protocol, and the supervisor of the one that a runtime starts.

pub(crate) mod cdp;
pub(crate) mod ensure;
pub(crate) mod health;
pub(crate) mod launch;
pub(crate) mod pipe;
pub(crate) mod supervisor;

pub(crate) use ensure::{BrowserGuard, EnsureBrowser, ExternalBrowser};
