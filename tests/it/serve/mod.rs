//! `browser-shell serve` as agents, viewers, attackers and operators use it.
//!
//! Requirement 8.1.
//!
//! `routes` needs neither Chromium nor a display. `real` uses Debian's Chromium and Xvnc, in the test network, and
//! `cast` Chromium without a display.

mod cast;
mod real;
mod routes;
mod server;
mod viewer;
