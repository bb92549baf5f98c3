//! Sessions: one call at a time in each, several in parallel, closed when idle.
//!
//! Requirements: 1.10, 1.11.

mod engine;
mod idle;
mod lease;
mod lock;
pub(crate) mod reaper;
mod sessions;
mod slots;
mod state;
mod table;
mod ticket;

pub use engine::EngineChoice;
pub(crate) use lease::Lease;
pub use sessions::Sessions;
pub(crate) use ticket::Ticket;
