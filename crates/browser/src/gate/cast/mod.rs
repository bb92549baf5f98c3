//! Pages of sessions as pictures, for people who watch them where there is no display.
//!
//! Each viewer has a debugging session of its own on the page that it sees, so that a slow one holds up nobody else.
//! `docs/design/serve.md` explains why.
//!
//! Invariants: Chromium makes pictures of a page only while somebody watches it; at most one picture waits for a viewer; input
//! pastes nothing that another session has copied.

mod frames;
mod input;
mod page_cast;
mod selection;

pub use input::ViewerInput;
pub use page_cast::PageCast;
pub use selection::{Owners, SessionSelection};
