//! Keys of a keyboard, and what a page gets of them.
//!
//! A key has a place (`code`), a meaning (`key`) and mostly a text. The places are those of a keyboard with the layout of the United States;
//! letters and signs of other layouts have no place of it, and are keys all the same.
//!
//! Source: UI Events `KeyboardEvent` code and key values; the numbers are those that browsers report as `keyCode`.

mod chord;
mod key;
mod layout;

pub use chord::{Chord, Modifier, UnknownKey};
pub use key::Key;
