//! Elements of a session's pages: found by reference or by selector, checked, marked for agent-browser, and used by the gate itself.
//!
//! Scripts run in a world of the gate's own, whose objects no page can change.
//!
//! Invariants: an element is only used in the document that it was found in; a mark lasts for one act.

mod announced;
mod drag;
mod drag_watch;
pub(super) mod error;
pub(super) mod find;
mod focus;
mod input;
pub(super) mod located;
mod mark;
mod own_act;
mod picture;
mod presence;
mod press;
pub(super) mod script;
mod target;

pub(crate) use announced::AnnouncedAct;
pub(crate) use drag_watch::DragWatch;
pub(crate) use error::ElementError;
pub(crate) use find::{Match, Matches};
pub(crate) use mark::MarkName;
pub(crate) use presence::Presence;
pub(crate) use target::{MarkResult, Sight, Target};
