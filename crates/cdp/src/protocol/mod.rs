//! Commands that the program sends to Chromium and events that it reads, as types: one file for each part of the protocol.
//!
//! The types have only the members that are sent or read. `tests/it/cdp_types.rs` compares them with Chromium's own description of
//! the protocol. What a client of the gate sends is passed on as it is, and has no types here.

#![allow(missing_docs, reason = "the protocol's own documentation describes its commands, types and members")]
#![allow(clippy::enum_variant_names, clippy::struct_field_names, reason = "the names are those of the protocol")]

pub mod browser;
mod command;
pub mod dom;
mod events;
mod ids;
pub mod input;
pub mod network;
pub mod page;
pub mod runtime;
pub mod target;

pub use command::Described;
#[cfg(test)]
pub use command::Nothing;
pub use command::{CdpCommand, read_params};
pub use events::{BrowserEvent, CastEvent, TabEvent};
pub use ids::{
    BackendNodeId, BrowserContextId, DebugSessionId, ExecutionContextId, FetchRequestId, FrameId, LoaderId,
    NetworkRequestId, NodeId, RemoteObjectId, TargetId, WindowId,
};

/// Returns all commands and events, for the comparison with Chromium.
#[must_use]
pub fn described() -> Vec<Described> {
    let domains = [
        browser::described(),
        dom::described(),
        input::described(),
        network::described(),
        page::described(),
        runtime::described(),
        target::described(),
        events::described(),
    ];
    domains.into_iter().flatten().collect()
}
