//! Chromium that a server starts itself, with its egress guard: shared by `runtime`, `serve` and `mcp --browser`.
//!
//! Invariants: Chromium runs only while its egress guard does.

mod error;
mod parts;
mod proxies;
mod running;

pub(super) use parts::{BrowserStart, OwnBrowser};
pub(super) use proxies::check_proxies;
pub(super) use running::RunningBrowser;
