//! Tabs of one Chromium, as the gate sees them over one connection.
//!
//! The gate has a session of its own on each tab and on each frame with a process of its own. Over these it decides on every
//! document before Chromium requests it, and sees dialogs, downloads and file choosers. A tab starts only when that is set up.
//! Over the session on the browser itself it stops all documents that were not allowed there, also those of tabs that are closing.
//!
//! Invariants: a tab that cannot be set up is closed; tabs of contexts that the gate did not make are left alone, except those
//! of the default context.

mod contexts;
mod crashes;
mod dialogs;
mod documents;
mod events;
mod recovery;
mod setup;
mod state;
mod tabs;

pub(crate) use dialogs::is_safe_to_accept;
pub use setup::MAX_TABS;
pub use state::Browser;
