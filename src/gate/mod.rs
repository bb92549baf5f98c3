//! Control gate: the gateway between agent-browser and Chromium's debugging interface.
//!
//! Each browser context has an endpoint of its own, which shows its tabs to its sessions and nothing else. The gate holds the only connection
//! to Chromium, and sends on what the table of methods in the core allows. Over sessions of its own it decides on documents,
//! answers dialogs, denies downloads and reads the values that no answer may contain. See `docs/design/control-gate.md`.
//!
//! Invariants: agent-browser never reaches Chromium's debugging interface; what the gate cannot decide is refused.

mod browser;
mod cast;
mod client;
mod clipboard;
mod control;
mod dialogs;
mod documents;
mod element;
mod endpoint;
mod endpoint_address;
mod error;
mod frames;
mod history;
mod loading;
mod notices;
mod owner;
mod page;
mod pdf;
mod peer;
mod reader;
mod references;
mod requests;
mod response;
mod scope;
mod secret_values;
mod secrets;
mod session;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod window;
mod world;

pub(crate) use cast::{Owners, PageCast, SessionSelection, ViewerInput};
pub use control::ControlGate;
pub(crate) use control::{ChromiumAddress, GateConfig, IsolationChoice};
pub(crate) use element::{ElementError, ElementHandle, ElementView, Match, Matches, Presence};
pub(crate) use error::GateError;
pub(crate) use history::HistoryMove;
pub(crate) use loading::{OpenError, OpenedPage};
pub(crate) use notices::Notice;
pub(crate) use page::Loss;
pub(crate) use reader::{ReadError, ReadPage, SnapshotRequest};
pub(crate) use response::SeenTab;
pub(crate) use secrets::{Secrets, SecretsError};
pub(crate) use session::{ActiveCall, GateSession};
pub(crate) use window::WindowMode;
