//! RFB, the protocol by which a person sees and uses the screen (RFC 6143).
//!
//! The server of the screen accepts everything that the protocol has. [`ViewerParser`] is in front of it: it reads what a viewer
//! sends and passes only the messages of a table on, each of which needs an [`Access`]. Where this program is the server itself,
//! [`ViewerReader`] decodes what the parser passes on, and the messages of the server are pictures that are passed on as they are.
//!
//! Invariants: no byte reaches the screen that is not part of a known message; a message that the viewer's access does not
//! contain is read and left out; an unknown message ends the connection; memory is bounded.

mod encodings;
mod error;
mod handshake;
mod jpeg;
mod keys;
mod letters;
mod messages;
mod parser;
mod pointer;
mod server_message;
#[cfg(test)]
mod tests;
mod viewer_message;

pub use error::RfbError;
pub use jpeg::jpeg_size;
pub use keys::key_of_symbol;
pub use messages::Access;
pub use parser::ViewerParser;
pub use pointer::{Pointer, PointerAct, PointerButton, PointerEvent};
pub use server_message::{
    SECURITY_RESULT, SECURITY_TYPES, VERSION, jpeg_update, name_update, server_init, size_update, text_update,
};
pub use viewer_message::{ViewerEncodings, ViewerMessage, ViewerReader};
