//! Control gate over the tabs of one Chromium.
//!
//! The gate holds the only connection to Chromium. Over debugging sessions of its own it decides on documents, finds and uses elements, reads
//! pages, answers dialogs, denies downloads and knows the values that no answer may contain. Who acts for a session does so over its
//! [`GateSession`]. See `docs/design/control-gate.md`.
//!
//! Invariants: a session reaches its own tabs and no others; what the gate cannot decide is refused.

pub mod browser;
mod cast;
mod control;
mod dialogs;
pub mod documents;
mod element;
mod loading;
mod notices;
pub mod page;
mod pdf;
mod reader;
mod requests;
pub mod scope;
mod secret_masks;
mod secret_values;
mod secrets;
mod session;
#[cfg(test)]
mod tests;

pub use browser::{GateError, WindowMode};
pub use cast::{Owners, PageCast, SessionSelection, ViewerInput};
pub use control::{ChromiumAddress, ControlGate, GateConfig, IsolationChoice};
pub use element::{ElementError, ElementHandle, ElementView, Match, Matches, Presence};
pub use loading::{HistoryMove, OpenError, OpenedPage};
pub use notices::Notice;
pub use page::Loss;
pub use reader::{ReadError, ReadPage, SnapshotRequest};
pub use secret_masks::SecretMasks;
pub use secrets::{Secrets, SecretsError};
pub use session::{ActiveCall, GateSession, SeenTab, problems_of_state};
