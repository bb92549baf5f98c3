//! Sessions: one call at a time each, several side by side, closed when idle (spec [1.10], [1.11]).
//!
//! Decides who may run now and for how long a caller waits. Parallel first calls of one session would start several daemons,
//! so a session is also locked against other processes. Must never leave a process or a folder of a closed session behind.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex as Gate, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::decision::{Code, Decision};
use crate::keeper::Keeper;
use crate::mcp::order::Turn;
use crate::places::{PlaceError, Places, SessionPlaces};
use crate::processes::end_marked;
use crate::session_id::SessionId;

/// Calls that may wait at the same time. Beyond it a call is refused at once, so that a flood cannot fill memory.
const MAX_WAITING: usize = 256;

/// How often to try a lock that another process holds.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// The sessions of this process.
#[derive(Debug)]
pub struct Sessions {
    places: Places,
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
    last_used: Mutex<Instant>,
}

#[derive(Debug)]
enum State {
    /// Nothing has been made yet.
    New,
    /// Its folders are there; the lock is held.
    Open(#[expect(dead_code, reason = "held for its lock")] File),
    /// Closed; whoever waited for it starts over.
    Closed,
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

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the session is free and a place among the running calls is, at most for `patience`. The next call of the
    /// session gets its turn when this one has queued up.
    ///
    /// # Errors
    ///
    /// `busy`, `session-in-use`, `too-many-sessions`, `workspace-unavailable` or `cancelled`.
    pub async fn lease(
        &self,
        id: &SessionId,
        patience: Duration,
        cancel: &CancellationToken,
        turn: Option<Turn>,
    ) -> Result<Lease, Decision> {
        let _waiting = Waiting::enter(&self.waiting)?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Decision::new(Code::Cancelled, "cancelled while waiting")),
            lease = self.wait(id, Instant::now() + patience, turn) => lease,
        }
    }

    async fn wait(&self, id: &SessionId, deadline: Instant, mut turn: Option<Turn>) -> Result<Lease, Decision> {
        let until = tokio::time::Instant::from_std(deadline);
        let busy = |what: &str| Decision::new(Code::Busy, format!("{what} for as long as the call may take"));
        loop {
            let session = self.session(id)?;
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
            let mut lease = Lease { id: id.clone(), session, state, first: false, _permit: permit };
            match *lease.state {
                State::Closed => continue,
                State::Open(_) => return Ok(lease),
                State::New => {}
            }
            match self.make(&lease.session, deadline).await {
                Ok(lock) => {
                    *lease.state = State::Open(lock);
                    lease.first = true;
                    return Ok(lease);
                }
                Err(decision) => {
                    *lease.state = State::Closed;
                    self.forget(&lease);
                    return Err(decision);
                }
            }
        }
    }

    /// The session of this id, new if there is none.
    fn session(&self, id: &SessionId) -> Result<Arc<Session>, Decision> {
        let mut open = self.lock();
        if let Some(session) = open.get(id) {
            return Ok(session.clone());
        }
        if open.len() >= self.most {
            return Err(Decision::new(Code::TooManySessions, format!("{} sessions are open", self.most)));
        }
        let session = Arc::new(Session {
            places: self.places.session(id),
            gate: Arc::new(Gate::new(State::New)),
            last_used: Mutex::new(Instant::now()),
        });
        open.insert(id.clone(), session.clone());
        Ok(session)
    }

    /// Locks the session against other processes and makes its folders.
    async fn make(&self, session: &Session, deadline: Instant) -> Result<File, Decision> {
        let lock = lock_session(&self.places.lock_file(&session.places), deadline).await?;
        session.places.make()?;
        if !self.keep_open {
            self.keeper.add(&session.places);
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
        let places = lease.session.places.clone();
        if !end_marked(&places.tmp()).await {
            tracing::error!(session = %lease.id, "processes of the session could not be ended");
        }
        places.remove();
        self.keeper.remove(&places);
        // The lock goes last: whoever gets it next finds nothing left.
        *lease.state = State::Closed;
        self.forget(&lease);
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
                if session.idle_for() >= self.idle {
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
        let closing = sessions.into_iter().map(|(_, session)| async move {
            // A call that does not end does not keep the others from being closed; the keeper has it.
            if let Ok(mut state) = tokio::time::timeout(Duration::from_secs(3), session.gate.clone().lock_owned()).await
            {
                if matches!(*state, State::Open(_)) {
                    end_marked(&session.places.tmp()).await;
                    session.places.remove();
                    self.keeper.remove(&session.places);
                }
                *state = State::Closed;
            }
        });
        futures::future::join_all(closing).await;
    }
}

impl Session {
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

/// Takes the lock of a session, waiting for another process to let go of it.
async fn lock_session(path: &Path, deadline: Instant) -> Result<File, Decision> {
    let failed = |source| PlaceError::Io { path: path.to_owned(), source };
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error).into()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => tokio::time::sleep(LOCK_POLL).await,
            Err(TryLockError::WouldBlock) => {
                return Err(Decision::new(Code::SessionInUse, "another browser-shell process uses the session"));
            }
        }
    }
}
