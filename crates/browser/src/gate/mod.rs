//! Control gate over the tabs of one Chromium.
//!
//! The gate holds the only connection to Chromium. Over debugging sessions of its own it decides on documents, finds and uses elements, reads
//! pages, answers dialogs, denies downloads and knows the values that no answer may contain. Who acts for a session does so over its
//! [`GateSession`]. See `docs/design/control-gate.md`.
//!
//! Invariants: a session reaches its own tabs and no others; what the gate cannot decide is refused.

pub mod browser;
mod cast;
mod clipboard;
mod control;
mod dialogs;
pub mod documents;
mod element;
pub mod endpoint_address;
mod error;
mod frames;
mod history;
mod loading;
mod notices;
mod owner;
pub mod page;
mod pdf;
mod reader;
mod references;
mod requests;
mod response;
pub mod scope;
mod secret_values;
mod secrets;
mod session;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod window;
mod world;

pub use cast::{Owners, PageCast, SessionSelection, ViewerInput};
pub use control::ControlGate;
pub use control::{ChromiumAddress, GateConfig, IsolationChoice};
pub use element::{ElementError, ElementHandle, ElementView, Match, Matches, Presence};
pub use error::GateError;
pub use history::HistoryMove;
pub use loading::{OpenError, OpenedPage};
pub use notices::Notice;
pub use page::Loss;
pub use reader::{ReadError, ReadPage, SnapshotRequest};
pub use response::SeenTab;
pub use secrets::{Secrets, SecretsError};
pub use session::{ActiveCall, GateSession};
pub use window::WindowMode;
