//! Snapshots of pages: one tree of all frames, with a reference for each element that a person could act on.
//!
//! The captures of a page's processes are joined by the ids of their nodes with the accessibility trees, which know roles and
//! names. Wrappers are dropped, and what could be acted on never is.
//!
//! Invariants: nothing that a page chooses changes the form of a line; the value of a secret field is in no line; all views of
//! a page name the same nodes.

mod accessibility;
mod actionable;
mod alike;
mod build;
mod capture;
mod columns;
mod describe;
mod edited;
mod fields;
mod found;
mod groups;
mod item;
mod limits;
mod line;
mod listeners;
mod long_lists;
mod matching;
mod nodes;
mod page_text;
mod paint;
mod search;
mod view;
mod wrappers;

#[cfg(test)]
mod tests;

pub use accessibility::Accessibility;
pub use build::Part;
pub use capture::{CaptureError, Document, STYLES};
pub use found::Wanted;
pub use item::NodeKey;
pub use line::Line;
pub use listeners::PageListeners;
pub use search::{CssMatches, Finder, FoundElement, Reach};
pub use view::{Options, View};
