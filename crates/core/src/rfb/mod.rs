//! Client's side of RFB, the protocol by which a person sees and uses the screen (RFC 6143).
//!
//! The server of the screen accepts everything that the protocol has. [`ClientParser`] is in front of it: it reads what a viewer
//! sends and passes only the messages of a table on, each of which needs an [`Access`].
//!
//! Invariants: no byte reaches the screen that is not part of a known message; a message that the viewer's access does not
//! contain is read and left out; an unknown message ends the connection; memory is bounded.

mod encodings;
mod error;
mod handshake;
mod messages;
mod parser;
#[cfg(test)]
mod tests;

pub use error::RfbError;
pub use messages::Access;
pub use parser::ClientParser;
