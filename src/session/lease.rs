//! Lease of a session: the right to run one call now, in one of the slots for calls that run at the same time.
//!
//! Invariant: no subject has more slots than its share.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::session::table::{Session, SessionState};
use browser_shell_agent_browser::TransportState;
use browser_shell_agent_browser::sandbox::Sandbox;
use browser_shell_browser::gate::GateSession;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::Engine;
use browser_shell_core::session_id::SessionId;
use browser_shell_core::shares::{Party, Share};
use browser_shell_system::os::processes::end_marked;
use browser_shell_system::paths::SessionPaths;

/// Right to run one call of an open session. Dropping it lets the next call of the session run.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(super) id: SessionId,
    pub(super) session: Arc<Session>,
    pub(super) state: OwnedMutexGuard<SessionState>,
    /// True for the session's first call in this process.
    pub(crate) is_first: bool,
    pub(super) _slot: CallSlot,
}

impl Lease {
    /// Returns the paths of the session.
    #[must_use]
    pub(crate) fn paths(&self) -> &SessionPaths {
        &self.session.paths
    }

    /// Returns the state that the transport keeps for the session.
    #[must_use]
    pub(crate) fn transport_state(&self) -> &TransportState {
        &self.session.transport_state
    }

    /// Returns the sandbox that agent-browser runs in.
    #[must_use]
    pub(crate) fn sandbox(&self) -> &dyn Sandbox {
        self.session.sandbox()
    }

    /// Returns the engine that carries out the session's calls.
    #[must_use]
    pub(crate) fn engine(&self) -> Engine {
        self.session.engine.get().copied().unwrap_or(Engine::AgentBrowser)
    }

    /// Returns the session's part of the browser.
    #[must_use]
    pub(crate) fn gate(&self) -> Option<&Arc<GateSession>> {
        self.session.gate.get()
    }

    /// Ends all processes of the session, its daemon too; the next call starts it again. This is for a call that did not end by
    /// itself: a daemon that is still busy with it would act later.
    pub(crate) async fn end_processes(&self) {
        if !end_marked(&self.session.paths.tmp()).await {
            tracing::error!(session = %self.id, "cannot end the session's processes");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.session.touch();
    }
}

/// Slots of a server.
#[derive(Debug)]
pub(crate) struct CallSlots {
    share: Share,
    all: Arc<Semaphore>,
    /// Slots of each subject that has a call.
    subjects: Mutex<Vec<(Party, Weak<Semaphore>)>>,
}

/// Slot of a call, until it is dropped.
#[derive(Debug)]
pub(super) struct CallSlot {
    _of_all: OwnedSemaphorePermit,
    _of_subject: Option<OwnedSemaphorePermit>,
}

impl CallSlots {
    /// Creates the slots for this number of calls.
    pub(super) fn new(concurrency: usize) -> Self {
        let all = Arc::new(Semaphore::new(concurrency));
        Self { share: Share::of_calls(concurrency), all, subjects: Mutex::default() }
    }

    /// Waits for a slot for a call of this party. One that waits for its own calls takes no slot that another could have.
    ///
    /// # Errors
    ///
    /// `busy` if there is none until then.
    pub(super) async fn wait(&self, party: &Party, until: Instant) -> Result<CallSlot, Decision> {
        let of_subject = match self.slots_of(party) {
            None => None,
            Some(slots) => Some(wait(slots, until, "all slots for calls of this subject were in use").await?),
        };
        let of_all = wait(self.all.clone(), until, "all slots for calls were in use").await?;
        Ok(CallSlot { _of_all: of_all, _of_subject: of_subject })
    }

    /// Takes a slot for the server itself, if one is free.
    pub(super) fn take(&self) -> Option<CallSlot> {
        Some(CallSlot { _of_all: self.all.clone().try_acquire_owned().ok()?, _of_subject: None })
    }

    fn slots_of(&self, party: &Party) -> Option<Arc<Semaphore>> {
        if *party == Party::Anyone {
            return None;
        }
        let mut subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        subjects.retain(|(_, slots)| slots.strong_count() > 0);
        let known = subjects.iter().find(|(other, _)| other == party);
        let known = known.and_then(|(_, slots)| slots.upgrade());
        Some(known.unwrap_or_else(|| {
            let slots = Arc::new(Semaphore::new(self.share.each));
            subjects.push((party.clone(), Arc::downgrade(&slots)));
            slots
        }))
    }
}

async fn wait(slots: Arc<Semaphore>, until: Instant, reason: &str) -> Result<OwnedSemaphorePermit, Decision> {
    let permit = tokio::time::timeout_at(until.into(), slots.acquire_owned()).await;
    let busy = |_| Decision::new(Code::Busy, format!("{reason} for as long as the call may take"));
    permit.map_err(busy)?.map_err(|_| Decision::new(Code::Busy, "the server is shutting down"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::auth::Subject;

    fn subject(name: &str) -> Party {
        Party::Subject(Subject::new(name))
    }

    async fn try_now(slots: &CallSlots, party: &Party) -> Result<CallSlot, Decision> {
        slots.wait(party, Instant::now()).await
    }

    #[tokio::test]
    async fn subject_does_not_use_up_all_slots_for_calls() {
        let slots = CallSlots::new(4);
        let (ada, bob) = (subject("ada"), subject("bob"));
        let [one, two, three] = [0; 3].map(|_| try_now(&slots, &ada));
        let first = [one.await.unwrap(), two.await.unwrap(), three.await.unwrap()];
        let refused = try_now(&slots, &ada).await.unwrap_err();
        assert!(refused.reason.contains("of this subject"), "{refused:?}");
        let other = try_now(&slots, &bob).await.unwrap();
        drop(first);
        try_now(&slots, &ada).await.unwrap();
        drop(other);
    }

    #[tokio::test]
    async fn clients_without_credentials_may_use_all_slots_for_calls() {
        let slots = CallSlots::new(2);
        let _both = [try_now(&slots, &Party::Anyone).await.unwrap(), slots.take().unwrap()];
        let refused = try_now(&slots, &Party::Anyone).await.unwrap_err();
        assert!(refused.reason.starts_with("all slots for calls were in use"), "{refused:?}");
        assert!(slots.take().is_none());
    }
}
