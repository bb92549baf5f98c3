//! A session's part of the browser: its endpoint, its browser context, and what its pages did.

mod call;
mod context;
mod owner;
mod recovery;
mod scope;
mod state;
mod tabs;
mod used_tabs;

pub use call::ActiveCall;
pub use state::GateSession;
