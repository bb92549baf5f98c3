//! Sessions: one call at a time each, several side by side, closed when idle (spec [1.10], [1.11]).
//!
//! Decides who may run now and for how long a caller waits. Parallel first calls of one session would start several daemons,
//! so a session is also locked against other processes. Must never leave a process or a folder of a closed session behind.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex as Gate, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::decision::{Code, Decision};
use crate::keeper::Keeper;
use crate::mcp::order::Turn;
use crate::places::{PlaceError, Places, SessionPlaces};
use crate::policy::Policy;
use crate::policy_source::PolicyError;
use crate::processes::end_marked;
use crate::sandbox::{NoSandboxYet, Sandbox, Sandboxing};
use crate::session_id::SessionId;
use crate::session_lock::SessionLock;
use crate::transport::Link;

/// Calls that may wait at the same time. Beyond it a call is refused at once, so that a flood cannot fill memory.
const MAX_WAITING: usize = 256;

/// The sessions of this process.
#[derive(Debug)]
pub struct Sessions {
    places: Places,
    sandboxing: Sandboxing,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    most: usize,
    idle: Duration,
    keeper: Keeper,
    /// Whether sessions live on when this process ends (`browser-shell call`).
    keep_open: bool,
}

/// One session.
#[derive(Debug)]
struct Session {
    places: SessionPlaces,
    gate: Arc<Gate<State>>,
    link: Link,
    sandbox: OnceLock<Arc<dyn Sandbox>>,
    last_used: Mutex<Instant>,
}

#[derive(Debug)]
enum State {
    /// Nothing has been made yet, and what is there may be another process's.
    New,
    /// Its folders are there, and ours.
    Open(SessionLock),
    /// Closed; whoever waited for it starts over.
    Closed,
}

/// A session in the table, for one who waits for it.
///
/// Dropping it takes the session off the table if nobody has come to use it: a call that gave up takes no place.
struct Entry<'a> {
    sessions: &'a Sessions,
    id: SessionId,
    session: Option<Arc<Session>>,
}

impl<'a> Entry<'a> {
    fn new(sessions: &'a Sessions, id: &SessionId, session: &Arc<Session>) -> Self {
        Self { sessions, id: id.clone(), session: Some(session.clone()) }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        // All others who wait took their share under this lock, so the count is exact.
        let mut open = self.sessions.lock();
        let Some(session) = self.session.take() else { return };
        let is_there = open.get(&self.id).is_some_and(|there| Arc::ptr_eq(there, &session));
        let is_last = Arc::strong_count(&session) == 2;
        let is_unused = || session.gate.try_lock().is_ok_and(|state| !matches!(*state, State::Open(_)));
        if is_there && is_last && is_unused() {
            open.remove(&self.id);
        }
    }
}

/// The right to run one call of a session now.
#[derive(Debug)]
pub struct Lease {
    id: SessionId,
    session: Arc<Session>,
    state: OwnedMutexGuard<State>,
    first: bool,
    _permit: OwnedSemaphorePermit,
}

impl From<PlaceError> for Decision {
    fn from(error: PlaceError) -> Self {
        // Paths are the operator's business; the log has them.
        tracing::error!(%error, "a session's folder cannot be used");
        Self::new(Code::WorkspaceUnavailable, "the session's folder cannot be used")
    }
}

impl Sessions {
    /// No sessions yet. With `keep_open` they live on when this process ends.
    #[must_use]
    pub fn new(settings: &Settings, places: Places, keep_open: bool) -> Self {
        Self {
            sandboxing: Sandboxing::new(settings, &places),
            places,
            open: Mutex::default(),
            permits: Arc::new(Semaphore::new(settings.concurrency.into())),
            waiting: AtomicUsize::new(0),
            most: settings.max_sessions.into(),
            idle: settings.idle(),
            keeper: Keeper::default(),
            keep_open,
        }
    }

    /// Where sessions have their files.
    #[must_use]
    pub const fn places(&self) -> &Places {
        &self.places
    }

    /// How many sessions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is one of this id.
    #[must_use]
    pub fn is_open(&self, id: &SessionId) -> bool {
        self.lock().contains_key(id)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the session is free and a place among the running calls is, at most for `patience`. The next call of the
    /// session gets its turn when this one has queued up. A session that begins does so under the policy of the call.
    ///
    /// # Errors
    ///
    /// `busy`, `session-in-use`, `too-many-sessions`, `workspace-unavailable` or `cancelled`; where the session has to begin
    /// first, `policy-invalid` or `sandbox-unavailable` too.
    pub async fn lease(
        &self,
        id: &SessionId,
        patience: Duration,
        cancel: &CancellationToken,
        turn: Option<Turn>,
        policy: Result<Arc<Policy>, PolicyError>,
    ) -> Result<Lease, Decision> {
        let _waiting = Waiting::enter(&self.waiting)?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Decision::new(Code::Cancelled, "cancelled while waiting")),
            lease = self.wait(id, Instant::now() + patience, turn, policy) => lease,
        }
    }

    async fn wait(
        &self,
        id: &SessionId,
        deadline: Instant,
        mut turn: Option<Turn>,
        policy: Result<Arc<Policy>, PolicyError>,
    ) -> Result<Lease, Decision> {
        let until = tokio::time::Instant::from_std(deadline);
        let busy = |what: &str| Decision::new(Code::Busy, format!("{what} for as long as the call may take"));
        loop {
            // The entry comes first, so that it goes last: it looks whether anyone has come to use the session.
            let (_entry, session) = self.entry(id)?;
            let mut gate = Box::pin(session.gate.clone().lock_owned());
            // Asking once is queueing up, and the queue is fair: the next call cannot overtake any more.
            let state = match futures::poll!(&mut gate) {
                Poll::Ready(state) => state,
                Poll::Pending => {
                    drop(turn.take());
                    let waited = tokio::time::timeout_at(until, gate).await;
                    waited.map_err(|_| busy("another call of the session ran"))?
                }
            };
            drop(turn.take());
            // The session first, then the permit: a call that waits for its session takes no place from others.
            let permit = tokio::time::timeout_at(until, self.permits.clone().acquire_owned())
                .await
                .map_err(|_| busy("all places for calls were taken"))?
                .map_err(|_| Decision::new(Code::Busy, "the server is shutting down"))?;
            let mut lease = Lease { id: id.clone(), session: session.clone(), state, first: false, _permit: permit };
            match *lease.state {
                State::Closed => continue,
                State::Open(_) => return Ok(lease),
                State::New => {}
            }
            let lock = self.make(&lease.session, &*policy?, deadline).await?;
            *lease.state = State::Open(lock);
            lease.first = true;
            return Ok(lease);
        }
    }

    /// The session of this id, new if there is none.
    fn entry(&self, id: &SessionId) -> Result<(Entry<'_>, Arc<Session>), Decision> {
        let mut open = self.lock();
        if let Some(session) = open.get(id) {
            return Ok((Entry::new(self, id, session), session.clone()));
        }
        if open.len() >= self.most {
            return Err(Decision::new(Code::TooManySessions, format!("{} sessions are open", self.most)));
        }
        let session = Arc::new(Session {
            places: self.places.session(id),
            gate: Arc::new(Gate::new(State::New)),
            link: Link::default(),
            sandbox: OnceLock::new(),
            last_used: Mutex::new(Instant::now()),
        });
        open.insert(id.clone(), session.clone());
        Ok((Entry::new(self, id, &session), session))
    }

    /// Locks the session against other processes and makes its folders.
    async fn make(&self, session: &Session, policy: &Policy, deadline: Instant) -> Result<SessionLock, Decision> {
        let path = session.places.lock_file();
        let lock = SessionLock::take(&path, deadline).await.map_err(|source| PlaceError::Io { path, source })?;
        let in_use = || Decision::new(Code::SessionInUse, "another browser-shell process uses the session");
        let lock = lock.ok_or_else(in_use)?;
        let making = self.sandboxing.make(&policy.sandbox, &session.places);
        let sandbox = tokio::time::timeout_at(deadline.into(), making).await.map_err(|_| {
            let reason = "what makes the session's sandbox gave no answer for as long as the call may take";
            Decision::new(Code::SandboxUnavailable, reason)
        })??;
        session.places.make()?;
        sandbox.start()?;
        // A session is made once: whoever comes after its end gets another one.
        let _ = session.sandbox.set(sandbox);
        if !self.keep_open {
            self.keeper.add(&session.places, session.sandbox().keeps_workspace());
        }
        Ok(lock)
    }

    /// Takes a session off the table, if it is still the one there.
    fn forget(&self, lease: &Lease) {
        let mut open = self.lock();
        if open.get(&lease.id).is_some_and(|session| Arc::ptr_eq(session, &lease.session)) {
            open.remove(&lease.id);
        }
    }

    /// Ends a session: its processes, its folders, its place in the table.
    pub async fn close(&self, mut lease: Lease) {
        self.end(&lease.id, &lease.session, &mut lease.state).await;
        self.forget(&lease);
    }

    /// Ends what is ours of a session.
    async fn end(&self, id: &SessionId, session: &Session, state: &mut State) {
        let State::Open(lock) = std::mem::replace(state, State::Closed) else { return };
        if !session.sandbox().stop().await {
            tracing::error!(session = %id, "processes of the session could not be ended");
        }
        self.keeper.remove(&session.places);
        // The lock goes last: whoever gets it next finds nothing left.
        lock.remove();
    }

    /// Closes sessions that have been idle for too long, for ever.
    pub async fn close_idle(&self) {
        let tick = (self.idle / 4).clamp(Duration::from_millis(100), Duration::from_secs(30));
        loop {
            tokio::time::sleep(tick).await;
            let idle: Vec<_> = {
                let open = self.lock();
                open.iter()
                    .filter(|(_, session)| session.idle_for() >= self.idle)
                    .map(|(id, session)| (id.clone(), session.clone()))
                    .collect()
            };
            for (id, session) in idle {
                let Ok(state) = session.gate.clone().try_lock_owned() else { continue };
                let Ok(permit) = self.permits.clone().try_acquire_owned() else { continue };
                // Where somebody still waits for another process to let go of it, nothing is ours to close.
                if matches!(*state, State::Open(_)) && session.idle_for() >= self.idle {
                    tracing::info!(session = %id, "closing an idle session");
                    self.close(Lease { id, session, state, first: false, _permit: permit }).await;
                }
            }
        }
    }

    /// Closes everything; for the end of the process. Running calls must have been cancelled.
    pub async fn shutdown(&self) {
        if self.keep_open {
            return;
        }
        let sessions: Vec<_> = self.lock().drain().collect();
        let closing = sessions.into_iter().map(|(id, session)| async move {
            // A call that does not end does not keep the others from being closed; the keeper has it.
            if let Ok(mut state) = tokio::time::timeout(Duration::from_secs(3), session.gate.clone().lock_owned()).await
            {
                self.end(&id, &session, &mut state).await;
            }
        });
        futures::future::join_all(closing).await;
    }
}

impl Session {
    /// The sandbox; before the session is made there is none, and nothing can run.
    fn sandbox(&self) -> &dyn Sandbox {
        self.sandbox.get().map_or(&NoSandboxYet, |sandbox| &**sandbox)
    }

    fn idle_for(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl Lease {
    /// The session's places.
    #[must_use]
    pub fn places(&self) -> &SessionPlaces {
        &self.session.places
    }

    /// What the transport remembers of the session.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.session.link
    }

    /// What agent-browser runs in.
    #[must_use]
    pub fn sandbox(&self) -> &dyn Sandbox {
        self.session.sandbox()
    }

    /// Whether this is the session's first call in this process.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.first
    }

    /// Ends whatever the session has running, its daemon too; the next call starts it again. For a call that did not end by
    /// itself: a daemon that is still busy with it would do the action later, when nobody expects it.
    pub async fn end_processes(&self) {
        if !end_marked(&self.session.places.tmp()).await {
            tracing::error!(session = %self.id, "processes of the session could not be ended");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *self.session.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Counts a waiting call for as long as it is in scope.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(counter: &'a AtomicUsize) -> Result<Self, Decision> {
        let waiting = Self(counter);
        if counter.fetch_add(1, Ordering::Relaxed) < MAX_WAITING {
            Ok(waiting)
        } else {
            Err(Decision::new(Code::Busy, format!("{MAX_WAITING} calls are waiting already")))
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
