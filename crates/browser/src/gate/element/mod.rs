//! Elements of a session's pages: found by reference or by selector, checked, and used.
//!
//! Scripts run in a world of the gate's own, whose objects no page can change.
//!
//! Invariants: an element is only used in the document that it was found in.

mod drag;
mod drag_watch;
pub(super) mod error;
pub(super) mod find;
mod handle;
mod input;
pub(super) mod located;
mod own_act;
mod picture;
mod presence;
mod press;
pub(super) mod script;
mod scroll;
mod words;

pub use error::ElementError;
pub use find::{Match, Matches};
pub use handle::{ElementHandle, ElementView};
pub use presence::Presence;
