//! Commands that the program sends to Chromium and events that it reads, as types: one file for each part of the protocol.
//!
//! The types have only the members that are sent or read. `tests/it/cdp_types.rs` compares them with Chromium's own description of
//! the protocol. What a client of the gate sends is passed on as it is, and has no types here.

#![allow(clippy::enum_variant_names, clippy::struct_field_names, reason = "the names are those of the protocol")]

pub(crate) mod browser;
mod command;
pub(crate) mod dom;
mod events;
mod ids;
pub(crate) mod input;
pub(crate) mod network;
pub(crate) mod page;
pub(crate) mod runtime;
pub(crate) mod target;

pub use command::Described;
#[cfg(test)]
pub(crate) use command::Nothing;
pub(crate) use command::{CdpCommand, read_params};
pub(crate) use events::{BrowserEvent, CastEvent, TabEvent};
pub(crate) use ids::{
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
