//! Client of an endpoint: one WebSocket connection of a session's agent-browser.
//!
//! A command is parsed, checked against the table of the core, and sent on with an id of the gate's own. Answers and events go
//! back to the client if they belong to a session that the gate gave to it.
//!
//! Invariants: the client reaches the targets of its session and no others; a client that does not read is disconnected; a
//! session of the protocol ends with the client that it was made for.

mod commands;
mod connection;
mod events;
mod targets;

#[cfg(test)]
mod tests;

pub(super) use connection::ClientConnection;
