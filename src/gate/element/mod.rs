//! Elements of a session's pages: found by reference or by CSS, checked, marked for agent-browser, and used by the gate itself.
//!
//! Scripts run in a world of the gate's own, whose objects no page can change.
//!
//! Invariants: an element is only used in the document that it was found in; a mark lasts for one act.

mod drag;
mod error;
mod find;
mod input;
mod located;
mod mark;
mod own_act;
mod script;
mod target;

pub(crate) use error::ElementError;
pub(crate) use find::Matches;
pub(crate) use target::{Sight, Target};
