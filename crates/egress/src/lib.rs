//! Egress guard: the forward proxy on loopback that every connection of the browser goes through.
//!
//! Each client connection carries one request. Its head is read whole and parsed strictly (`head`), the destination's name is
//! resolved once and the policy checks every address (`route`), and the guard dials only a checked address, so a name
//! cannot change its meaning between the check and the connection.
//!
//! A client that connects to an address of a session (`127.0.1.N`) belongs to the session that `paths::session_addresses`
//! names for it, and its connections are decided by the rules for that session.
//!
//! Invariants:
//! - The guard listens on loopback only.
//! - It forwards nothing while the policy file is invalid.
//! - It never connects to itself, at none of its addresses.
//! - It forwards nothing over an address of a session that has no session.
//!
//! Requirement 5.1.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables of test cases are long"))]

mod forward;
mod guard;
mod head;
mod limits;
mod response;
mod route;
mod server;
mod status;

pub use crate::server::{DEFAULT_ADDRESS, EgressError, Listeners, bind};
pub use route::decide;
pub use server::serve;
pub use status::{Status, query_status};
