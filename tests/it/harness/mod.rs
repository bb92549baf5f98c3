//! Servers under test and their processes, for tests with and without a browser.

pub(crate) mod cpu;
pub(crate) mod engine;
mod env;
pub(crate) mod processes;
pub(crate) mod reply;
pub(crate) mod server;
#[path = "../../fake-chromium/tabs.rs"]
mod tabs;
