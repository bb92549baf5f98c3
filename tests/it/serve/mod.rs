//! `browser-shell serve` as agents, viewers, attackers and operators use it.
//!
//! Requirement 8.1.
//!
//! `routes` and `tokens` need neither Chromium nor a display, as long as their tests are not ignored. The others use Debian's Chromium,
//! Xvnc and noVNC, in the test network; `cast` uses Chromium without a display, and `proxy` stand-ins behind nginx.

mod cast;
mod desktop;
mod monitoring;
mod novnc;
mod operate;
mod proxy;
mod real;
mod routes;
pub(crate) mod server;
mod tokens;
mod viewer;
