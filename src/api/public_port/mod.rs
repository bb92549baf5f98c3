//! Public port of `browser-shell serve`: the tool, the viewer and its screen, and nothing else.
//!
//! Every connection carries one request, and the literal request line decides on its route
//! ([`Route`](browser_shell_core::route::Route)). The Host and Origin headers are checked next, then the credentials.
//!
//! Invariants: a request without a route is 403, whatever its credentials; no response names a file that was not listed when the
//! server started.

mod bridge;
mod cast;
mod headers;
mod responses;
mod screen;
mod serve;
mod viewer;
mod visitor;
mod websocket;

pub(crate) use screen::Screen;
pub(crate) use serve::{PublicPort, serve};
pub(crate) use viewer::{ViewerError, ViewerFiles};
