//! Table of the sessions of a process, and the state of each.
//!
//! Invariant: an entry stays as long as calls wait for its session or the session is open. A call that gives up does not keep
//! its session in the table.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;

use crate::session::lock::SessionLock;
use browser_shell_agent_browser::TransportState;
use browser_shell_agent_browser::sandbox::{PendingSandbox, Sandbox};
use browser_shell_browser::gate::GateSession;
use browser_shell_core::auth::Subject;
use browser_shell_core::policy::Engine;
use browser_shell_core::session_id::SessionId;
use browser_shell_core::shares::{Exceeded, Party, Share};
use browser_shell_system::paths::SessionPaths;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub paths: SessionPaths,
    /// State, locked by the call that runs. The lock is fair: waiting calls get it in their order.
    pub state: Arc<AsyncMutex<SessionState>>,
    pub transport_state: TransportState,
    /// Sandbox, set once when the session opens.
    pub sandbox: OnceLock<Arc<dyn Sandbox>>,
    /// Engine, set once when the session opens.
    pub engine: OnceLock<Engine>,
    /// The session's part of the browser, set once when the session opens.
    pub gate: OnceLock<Arc<GateSession>>,
    last_used: Mutex<Instant>,
}

/// State of a session.
#[derive(Debug)]
pub(super) enum SessionState {
    /// Nothing is created yet, and existing folders may belong to another process.
    New,
    /// The session's folders exist and belong to this process.
    Open(SessionLock),
    /// The session is closed. Waiting calls look it up again.
    Closed,
}

impl Session {
    /// Creates a session of which nothing exists yet.
    pub(super) fn new(paths: SessionPaths) -> Self {
        Self {
            paths,
            state: Arc::new(AsyncMutex::new(SessionState::New)),
            transport_state: TransportState::default(),
            sandbox: OnceLock::new(),
            engine: OnceLock::new(),
            gate: OnceLock::new(),
            last_used: Mutex::new(Instant::now()),
        }
    }

    /// Returns the sandbox. Nothing can run in the one of a session that is not open yet.
    pub(super) fn sandbox(&self) -> &dyn Sandbox {
        self.sandbox.get().map_or(&PendingSandbox, |sandbox| &**sandbox)
    }

    /// Returns the time since the last call.
    pub(super) fn idle_time(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Records the end of a call.
    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Table of sessions by their id.
#[derive(Debug, Default)]
pub(super) struct SessionTable(Mutex<HashMap<SessionId, Entry>>);

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    /// Party whose call began the session, and whose share it takes.
    party: Party,
    /// Number of calls that wait for the session.
    waiters: usize,
    /// True from the opening of the session to its close, which removes the entry.
    is_open: bool,
}

impl SessionTable {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns true if the table has a session with this id.
    pub(super) fn contains(&self, id: &SessionId) -> bool {
        self.lock().contains_key(id)
    }

    /// Returns the engine of a session that is open.
    pub(super) fn engine(&self, id: &SessionId) -> Option<Engine> {
        self.lock().get(id).and_then(|entry| entry.session.engine.get().copied())
    }

    /// Returns all sessions.
    pub(super) fn all(&self) -> Vec<(SessionId, Arc<Session>)> {
        self.lock().iter().map(|(id, entry)| (id.clone(), entry.session.clone())).collect()
    }

    /// Returns the sessions that these subjects began.
    pub(super) fn of(&self, subjects: &BTreeSet<Subject>) -> Vec<(SessionId, Arc<Session>)> {
        let is_of = |entry: &Entry| matches!(&entry.party, Party::Subject(Some(subject)) if subjects.contains(subject));
        let entries = self.lock();
        let found = entries.iter().filter(|(_, entry)| is_of(entry));
        found.map(|(id, entry)| (id.clone(), entry.session.clone())).collect()
    }

    /// Returns the number of sessions of each subject that began some.
    pub(super) fn by_subject(&self) -> BTreeMap<Subject, usize> {
        let mut counts = BTreeMap::new();
        for entry in self.lock().values() {
            if let Party::Subject(Some(subject)) = &entry.party {
                *counts.entry(subject.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// Counts a waiting call of a session, and adds the session with these paths if the table does not have it. The session
    /// takes a share of this party.
    ///
    /// # Errors
    ///
    /// The limit that is reached.
    pub(super) fn wait_for(
        &self,
        id: &SessionId,
        share: Share,
        party: &Party,
        paths: impl FnOnce() -> SessionPaths,
    ) -> Result<TicketWaiter<'_>, Exceeded> {
        let mut entries = self.lock();
        if !entries.contains_key(id) {
            share.admit_party(party, entries.values().map(|entry| &entry.party))?;
        }
        let entry = entries.entry(id.clone()).or_insert_with(|| {
            let session = Arc::new(Session::new(paths()));
            Entry { session, party: party.clone(), waiters: 0, is_open: false }
        });
        entry.waiters += 1;
        Ok(TicketWaiter { table: self, id: id.clone(), session: entry.session.clone() })
    }

    /// Removes a session, unless its entry is already that of a new session with the same id.
    pub(super) fn remove(&self, id: &SessionId, session: &Arc<Session>) {
        let mut entries = self.lock();
        if entry_of(&mut entries, id, session).is_some() {
            entries.remove(id);
        }
    }

    /// Removes and returns all sessions.
    pub(super) fn drain(&self) -> Vec<(SessionId, Arc<Session>)> {
        self.lock().drain().map(|(id, entry)| (id, entry.session)).collect()
    }
}

/// Call that waits for a session in the table. When it is dropped, the session is removed if it is not open and no other call
/// waits for it.
pub(super) struct TicketWaiter<'a> {
    table: &'a SessionTable,
    id: SessionId,
    pub(super) session: Arc<Session>,
}

impl TicketWaiter<'_> {
    /// Records that this call has opened the session.
    pub(super) fn set_open(&self) {
        if let Some(entry) = entry_of(&mut self.table.lock(), &self.id, &self.session) {
            entry.is_open = true;
        }
    }
}

impl Drop for TicketWaiter<'_> {
    fn drop(&mut self) {
        let mut entries = self.table.lock();
        let Some(entry) = entry_of(&mut entries, &self.id, &self.session) else { return };
        entry.waiters -= 1;
        if entry.waiters == 0 && !entry.is_open {
            entries.remove(&self.id);
        }
    }
}

/// Returns the entry of a session. After a close, there may be none or that of a new session with the same id.
fn entry_of<'a>(
    entries: &'a mut HashMap<SessionId, Entry>,
    id: &SessionId,
    session: &Arc<Session>,
) -> Option<&'a mut Entry> {
    entries.get_mut(id).filter(|entry| Arc::ptr_eq(&entry.session, session))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn wait_as<'a>(table: &'a SessionTable, id: &str, all: usize, party: &Party) -> Result<TicketWaiter<'a>, Exceeded> {
        let id = SessionId::new(id).expect("valid");
        table.wait_for(&id, Share::of_sessions(all), party, || SessionPaths::below(Path::new("/nonexistent")))
    }

    fn wait<'a>(table: &'a SessionTable, id: &str) -> Option<TicketWaiter<'a>> {
        wait_as(table, id, 2, &Party::Anyone).ok()
    }

    #[test]
    fn subject_does_not_use_up_all_sessions() {
        let table = SessionTable::default();
        let [ada, bob] = ["ada", "bob"].map(|name| Party::Subject(Subject::new(name)));
        let mut open = Vec::new();
        for id in ["a1", "a2"] {
            open.push(wait_as(&table, id, 4, &ada).expect("a share"));
        }
        assert_eq!(wait_as(&table, "a3", 4, &ada).err(), Some(Exceeded::Each(2)));
        assert!(wait_as(&table, "a1", 4, &ada).is_ok(), "control: a session that it has");
        for id in ["b1", "b2"] {
            open.push(wait_as(&table, id, 4, &bob).expect("control: another subject has its own share"));
        }
        assert_eq!(wait_as(&table, "c1", 4, &Party::Subject(None)).err(), Some(Exceeded::All(4)));
        open.clear();
        assert!(wait_as(&table, "a3", 4, &ada).is_ok(), "control");
    }

    #[test]
    fn the_last_call_that_gives_up_removes_an_unopened_session() {
        let table = SessionTable::default();
        let (first, second) = (wait(&table, "s").expect("room"), wait(&table, "s").expect("room"));
        // References that belong to no waiting call, such as those of the search for idle sessions.
        let all = table.all();
        drop(first);
        assert_eq!(table.len(), 1, "the second call waits");
        drop(second);
        assert_eq!((table.len(), all.len()), (0, 1));
    }

    #[test]
    fn an_open_session_stays_until_it_is_removed() {
        let table = SessionTable::default();
        let first = wait(&table, "s").expect("room");
        first.set_open();
        let session = first.session.clone();
        drop(first);
        assert_eq!(table.len(), 1);
        let second = wait(&table, "s").expect("room");
        table.remove(&SessionId::new("s").expect("valid"), &session);
        assert_eq!(table.len(), 0);
        let other = wait(&table, "s").expect("room");
        drop(second);
        assert_eq!(table.len(), 1, "a call that waited for the removed session does not remove the new one");
        table.remove(&SessionId::new("s").expect("valid"), &session);
        assert_eq!(table.len(), 1, "nor does a second removal");
        drop(other);
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn the_limit_counts_sessions_and_not_calls() {
        let table = SessionTable::default();
        let waiters: Vec<_> = ["a", "b", "a", "b"].map(|id| wait(&table, id).expect("room")).into();
        assert!(wait(&table, "c").is_none());
        drop(waiters);
        assert!(wait(&table, "c").is_some(), "control");
    }
}
