//! State of a client: its sessions of the protocol, commands without an answer, and handles.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use browser_shell_core::gate::Level;

use browser_shell_browser::gate::page::Page;
use browser_shell_cdp::protocol::{DebugSessionId, TargetId};

/// Maximum number of sessions of the protocol that a client has.
pub(super) const MAX_SESSIONS: usize = 1024;

/// Maximum number of handles of `IO` that a client has.
pub(super) const MAX_STREAMS: usize = 64;

/// Maximum number of commands without an answer.
pub(super) const MAX_PENDING: usize = 1024;

/// State of a client.
#[derive(Default)]
pub(super) struct ClientState {
    /// Sessions of the protocol.
    pub(super) sessions: HashMap<DebugSessionId, Owned>,
    /// Commands that wait for Chromium's answer, by tag.
    pub(super) pending: HashMap<u64, Pending>,
    /// Handles of `IO`.
    pub(super) streams: HashSet<String>,
    /// Targets that the client is being attached to, once for each command.
    pub(super) attaching: Vec<TargetId>,
    /// True if the client is attached to each tab of its session.
    pub(super) attaches: bool,
    /// True if the client is told about each tab of its session.
    pub(super) discovers: bool,
}

/// Session of the protocol that belongs to the client.
#[derive(Clone)]
pub(super) struct Owned {
    /// Level.
    pub(super) level: Level,
    /// Tab.
    pub(super) page: Arc<Page>,
    /// Target of the tab, frame or worker.
    pub(super) target: TargetId,
    /// Session over which Chromium attached it; `None` for the browser itself.
    pub(super) parent: Option<DebugSessionId>,
}

/// Command that waits for Chromium's answer.
pub(super) struct Pending {
    /// Id that the client gave it.
    pub(super) id: u64,
    /// Session of the protocol.
    pub(super) session: Option<DebugSessionId>,
    /// True if the answer contains a handle.
    pub(super) opens_stream: bool,
    /// True if Chromium does not answer it while a dialog is open.
    pub(super) is_input: bool,
}

impl ClientState {
    /// Removes a session and those that were attached over it, which end with it. Returns all of them.
    pub(super) fn remove_session(&mut self, session: &DebugSessionId) -> Vec<(DebugSessionId, Owned)> {
        let mut removed = Vec::from_iter(self.sessions.remove_entry(session));
        let mut next = 0;
        while let Some((parent, _)) = removed.get(next) {
            let is_child = |owned: &Owned| owned.parent.as_ref() == Some(parent);
            let children = self.sessions.extract_if(|_, owned| is_child(owned)).collect::<Vec<_>>();
            removed.extend(children);
            next += 1;
        }
        removed
    }

    /// Returns true if the client is attached to a target, or is about to be.
    pub(super) fn is_attached(&self, target: &TargetId) -> bool {
        self.attaching.iter().any(|attaching| attaching == target)
            || self.sessions.values().any(|owned| owned.page.target == *target)
    }

    /// Returns true if the client may have another session.
    pub(super) fn has_room(&self) -> bool {
        self.sessions.len() + self.attaching.len() < MAX_SESSIONS
    }
}
