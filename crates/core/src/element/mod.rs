//! Acts on elements that the control gate finds: what is checked before an act, who carries it out, and what it has to change.
//!
//! Invariants: a reason never shows the content of a secret field; an act whose effect can be read and that has none is a failure.

mod act;
mod checks;
mod drag;
mod effect;
mod format;
mod reference;
mod state;
#[cfg(test)]
mod tests;
mod words;

pub use act::{Act, Button, Edge, Press, Reading, Verb};
pub use checks::{NamedElement, ambiguous, check_before, covered, not_sent, stale};
pub use drag::DragEvents;
pub use effect::{Effect, effect};
pub use format::FieldFormat;
pub use reference::Reference;
pub use state::{ElementState, OptionState, SECRET_WORDS, Taken, asks_for_secret};
pub use words::{Words, WordsFound};
