//! Chromium that a server starts itself, with its egress guard: shared by `runtime` and `serve`.
//!
//! Invariants: Chromium runs only while its egress guard does.

mod error;
mod guard;
mod parts;
mod proxies;

pub(super) use guard::EgressGuard;
pub(super) use parts::{BrowserStart, OwnBrowser};
pub(super) use proxies::check_proxies;
