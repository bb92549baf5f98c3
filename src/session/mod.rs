//! Sessions: one call at a time in each, several in parallel, closed when idle.
//!
//! Parallel first calls of one session would start several daemons, so calls of a session run one at a time, and a lock file
//! keeps other processes out.
//!
//! Invariant: no process and no file of a closed session remains.
//!
//! Requirements: 1.10, 1.11.

mod lease;
mod lock;
pub(crate) mod reaper;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::session::lease::CallSlots;
use crate::session::lock::SessionLock;
use crate::session::reaper::Reaper;
use crate::session::table::{Session, SessionState, SessionTable, TicketWaiter};
use browser_shell_agent_browser::gateway::Endpoints;
use browser_shell_agent_browser::sandbox::SandboxFactory;
use browser_shell_core::auth::Subject;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::{Engine, Policy};
use browser_shell_core::session_id::SessionId;
use browser_shell_core::shares::{Exceeded, Party, Share};
use browser_shell_system::config::Settings;
use browser_shell_system::paths::{PathError, Paths};
use browser_shell_system::policy_source::PolicyError;

pub(crate) use lease::Lease;

/// Position of a call behind the one before it. Dropping it lets the next call proceed.
#[derive(Debug)]
pub struct Ticket {
    /// Closes when the ticket of the call before this one is dropped.
    pub(crate) before: Option<oneshot::Receiver<()>>,
    pub(crate) _done: oneshot::Sender<()>,
}

impl Ticket {
    /// Waits until the call before this one waits for its session, or has ended.
    pub async fn wait(&mut self) {
        if let Some(before) = self.before.take() {
            // Nothing is ever sent; the sender is dropped.
            let _ = before.await;
        }
    }
}

/// Choice of the engine of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// That of the policy, or this one if it names none.
    ByPolicy(Engine),
    /// This one, whatever the policy names.
    Always(Engine),
}

impl EngineChoice {
    /// Returns the engine of a session under its policy, `None` where there is no valid one.
    #[must_use]
    pub(crate) fn of(self, policy: Option<&Policy>) -> Engine {
        match self {
            Self::ByPolicy(default) => policy.and_then(Policy::engine).unwrap_or(default),
            Self::Always(engine) => engine,
        }
    }
}

/// Maximum number of waiting calls. Further calls are refused at once, so that a flood cannot fill the memory.
const MAX_WAITING: usize = 256;

/// Maximum time to wait for the running call of a session at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Sessions of this process.
#[derive(Debug)]
pub struct Sessions {
    paths: Paths,
    sandbox_factory: SandboxFactory,
    endpoints: Arc<Endpoints>,
    table: SessionTable,
    /// Slots for the calls that may run.
    slots: CallSlots,
    waiting: AtomicUsize,
    max_open: usize,
    idle_timeout: Duration,
    reaper: Reaper,
    engine: EngineChoice,
    /// True if sessions outlive this process (`browser-shell call`).
    keep_open: bool,
}

impl Sessions {
    /// Creates an empty table. With `keep_open`, sessions outlive this process.
    #[must_use]
    pub fn new(
        settings: &Settings,
        paths: Paths,
        endpoints: Arc<Endpoints>,
        engine: EngineChoice,
        keep_open: bool,
    ) -> Self {
        Self {
            sandbox_factory: SandboxFactory::new(settings, &paths),
            paths,
            endpoints,
            table: SessionTable::default(),
            slots: CallSlots::new(settings.concurrency.into()),
            waiting: AtomicUsize::new(0),
            max_open: settings.max_sessions.into(),
            idle_timeout: settings.idle(),
            reaper: Reaper::default(),
            engine,
            keep_open,
        }
    }

    /// Returns the paths below which sessions have their files.
    #[must_use]
    pub(crate) const fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Returns the endpoints of agent-browser.
    #[must_use]
    pub(crate) const fn endpoints(&self) -> &Arc<Endpoints> {
        &self.endpoints
    }

    /// Returns the engine of a session under a policy, which a session that is open keeps.
    #[must_use]
    pub(crate) fn engine(&self, id: &SessionId, policy: Option<&Policy>) -> Engine {
        self.table.engine(id).unwrap_or_else(|| self.engine.of(policy))
    }

    /// Returns the engine of sessions that begin under a policy.
    #[must_use]
    pub(crate) fn engine_under(&self, policy: &Policy) -> Engine {
        self.engine.of(Some(policy))
    }

    /// Returns the number of sessions.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns the number of sessions of each subject that has some.
    #[must_use]
    pub(crate) fn by_subject(&self) -> BTreeMap<Subject, usize> {
        self.table.by_subject()
    }

    /// Returns true if the table has a session with this id.
    #[must_use]
    pub(crate) fn is_open(&self, id: &SessionId) -> bool {
        self.table.contains(id)
    }

    /// Returns true if a session has nothing that a close would end: this process has none of this id, and no other one has left or
    /// holds its lock.
    #[must_use]
    pub(crate) fn has_nothing_of(&self, id: &SessionId) -> bool {
        !self.keep_open && !self.table.contains(id) && !self.paths.session(id).lock_file().exists()
    }

    /// Waits until the session and a slot for the call are free, at most for `timeout`. The ticket is dropped as soon as the
    /// call is in the session's queue. A session that has to be opened gets this policy, and takes a share of this party.
    ///
    /// # Errors
    ///
    /// `busy`, `session-in-use`, `too-many-sessions`, `workspace-unavailable` or `cancelled`; if the session has to be opened,
    /// also `policy-invalid`, `sandbox-unavailable` or another code of a sandbox error.
    pub(crate) async fn lease(
        &self,
        id: &SessionId,
        timeout: Duration,
        cancel: &CancellationToken,
        ticket: Option<Ticket>,
        policy: Result<Arc<Policy>, PolicyError>,
        party: &Party,
    ) -> Result<Lease, Decision> {
        let _waiting = WaitingCall::count(&self.waiting)?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Decision::new(Code::Cancelled, "canceled while waiting")),
            lease = self.wait(id, Instant::now() + timeout, ticket, policy, party) => lease,
        }
    }

    async fn wait(
        &self,
        id: &SessionId,
        deadline: Instant,
        mut ticket: Option<Ticket>,
        policy: Result<Arc<Policy>, PolicyError>,
        party: &Party,
    ) -> Result<Lease, Decision> {
        let until = tokio::time::Instant::from_std(deadline);
        let busy = |reason: &str| Decision::new(Code::Busy, format!("{reason} for as long as the call may take"));
        loop {
            let waiter = self.wait_for(id, party)?;
            let session = waiter.session.clone();
            let mut state = Box::pin(session.state.clone().lock_owned());
            // The first poll enters the fair queue, so the next call cannot overtake this one any more.
            let state = match futures::poll!(&mut state) {
                Poll::Ready(state) => state,
                Poll::Pending => {
                    drop(ticket.take());
                    let state = tokio::time::timeout_at(until, state).await;
                    state.map_err(|_| busy("another call of the session ran"))?
                }
            };
            drop(ticket.take());
            // After the session, so that a call that waits for its session holds no slot.
            let slot = self.slots.wait(party, deadline).await?;
            let mut lease = Lease { id: id.clone(), session, state, is_first: false, _slot: slot };
            match *lease.state {
                SessionState::Closed => continue,
                SessionState::Open(_) => return Ok(lease),
                SessionState::New => {}
            }
            let lock = self.open(id, &lease.session, &*policy?, deadline).await?;
            *lease.state = SessionState::Open(lock);
            waiter.set_open();
            lease.is_first = true;
            return Ok(lease);
        }
    }

    fn wait_for(&self, id: &SessionId, party: &Party) -> Result<TicketWaiter<'_>, Decision> {
        let waiter = self.table.wait_for(id, Share::of_sessions(self.max_open), party, || self.paths.session(id));
        waiter.map_err(|exceeded| {
            let reason = match exceeded {
                Exceeded::Each(limit) => format!("{limit} sessions of this subject are open"),
                Exceeded::All(limit) => format!("{limit} sessions are open"),
            };
            Decision::new(Code::TooManySessions, reason)
        })
    }

    /// Locks a session against other processes, creates its folders and prepares its sandbox.
    async fn open(
        &self,
        id: &SessionId,
        session: &Session,
        policy: &Policy,
        deadline: Instant,
    ) -> Result<SessionLock, Decision> {
        let path = session.paths.lock_file();
        let lock = SessionLock::take(&path, deadline).await.map_err(|source| PathError::Io { path, source })?;
        let in_use = || Decision::new(Code::SessionInUse, "another browser-shell process uses the session");
        let lock = lock.ok_or_else(in_use)?;
        let port_file = session.paths.port_file();
        let engine = self.engine.of(Some(policy));
        let preferred = read_port(&port_file).filter(|_| self.keep_open);
        let gate = match engine {
            Engine::Cdp => self.endpoints.gate().open(id, policy, None)?,
            Engine::AgentBrowser => {
                self.endpoints.open(id, policy, &session.paths.sockets, preferred, deadline).await?
            }
        };
        match gate.port() {
            None => session.paths.make()?,
            Some(port) => {
                let making = self.sandbox_factory.make(&policy.sandbox, &session.paths, port);
                let sandbox = tokio::time::timeout_at(deadline.into(), making).await.map_err(|_| {
                    let reason = "the sandbox's backend gave no answer for as long as the call may take";
                    Decision::new(Code::SandboxUnavailable, reason)
                })??;
                session.paths.make()?;
                if self.keep_open {
                    // The next process listens on the same port, so that the session's daemon finds it.
                    std::fs::write(&port_file, port.to_string())
                        .map_err(|source| PathError::Io { path: port_file, source })?;
                }
                sandbox.start()?;
                // A session is opened once; after its end its id gets a new one.
                let _ = session.sandbox.set(sandbox);
            }
        }
        let _ = session.engine.set(engine);
        let _ = session.gate.set(gate);
        if !self.keep_open {
            self.reaper.add(&session.paths, session.sandbox().keeps_workspace());
        }
        Ok(lock)
    }

    /// Closes a session: ends its processes, removes its folders, and removes it from the table.
    pub(crate) async fn close(&self, mut lease: Lease) {
        self.end(&lease.id, &lease.session, &mut lease.state).await;
        self.table.remove(&lease.id, &lease.session);
    }

    /// Closes a session whose first call ran nothing. Returns false for any other, and for those that outlive this process.
    pub(crate) async fn close_unused(&self, lease: Lease) -> bool {
        let is_unused = lease.is_first && !self.keep_open;
        if is_unused {
            self.close(lease).await;
        }
        is_unused
    }

    /// Ends the processes of an open session and removes its files.
    async fn end(&self, id: &SessionId, session: &Session, state: &mut SessionState) {
        let SessionState::Open(lock) = std::mem::replace(state, SessionState::Closed) else { return };
        if !session.sandbox().stop().await {
            tracing::error!(session = %id, "cannot end the session's processes");
        }
        if let Some(gate) = session.gate.get() {
            self.endpoints.gate().close(gate).await;
        }
        if session.sandbox.get().is_none() {
            session.paths.remove();
        }
        self.reaper.remove(&session.paths);
        // The lock is released last, so that its next holder finds nothing of this session.
        lock.remove();
    }

    /// Closes the sessions that these subjects began, each when its call has ended.
    pub(crate) async fn close_of(&self, subjects: &BTreeSet<Subject>) {
        let closing = self.table.of(subjects).into_iter().map(async |(id, session)| {
            let mut state = session.state.clone().lock_owned().await;
            tracing::info!(session = %id, "closing a session of a subject without a key");
            self.end(&id, &session, &mut state).await;
            self.table.remove(&id, &session);
        });
        futures::future::join_all(closing).await;
    }

    /// Closes idle sessions until the future is dropped.
    pub(crate) async fn close_idle(&self) {
        let interval = (self.idle_timeout / 4).clamp(Duration::from_millis(100), Duration::from_secs(30));
        loop {
            tokio::time::sleep(interval).await;
            for (id, session) in self.table.all() {
                if session.idle_time() < self.idle_timeout {
                    continue;
                }
                let Ok(state) = session.state.clone().try_lock_owned() else { continue };
                let Some(slot) = self.slots.take() else { continue };
                // A session that is not open may belong to another process. A call may have ended since the first check.
                if matches!(*state, SessionState::Open(_)) && session.idle_time() >= self.idle_timeout {
                    tracing::info!(session = %id, "closing an idle session");
                    self.close(Lease { id, session, state, is_first: false, _slot: slot }).await;
                }
            }
        }
    }

    /// Closes all sessions at the end of the process. Running calls must have been canceled.
    pub(crate) async fn shutdown(&self) {
        if self.keep_open {
            return;
        }
        let closing = self.table.drain().into_iter().map(|(id, session)| async move {
            // A call that does not end must not delay the others; the reaper cleans up after it.
            if let Ok(mut state) = tokio::time::timeout(SHUTDOWN_TIMEOUT, session.state.clone().lock_owned()).await {
                self.end(&id, &session, &mut state).await;
            }
        });
        futures::future::join_all(closing).await;
    }
}

/// Returns the port of the process that used the session last.
fn read_port(path: &std::path::Path) -> Option<u16> {
    std::fs::read_to_string(path).ok()?.parse().ok()
}

/// A call counted as waiting for as long as this value lives.
struct WaitingCall<'a>(&'a AtomicUsize);

impl<'a> WaitingCall<'a> {
    fn count(counter: &'a AtomicUsize) -> Result<Self, Decision> {
        let waiting = Self(counter);
        if counter.fetch_add(1, Ordering::Relaxed) < MAX_WAITING {
            Ok(waiting)
        } else {
            Err(Decision::new(Code::Busy, format!("{MAX_WAITING} calls are waiting already")))
        }
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use browser_shell_browser::gate::ControlGate;
    use browser_shell_core::agent_browser::AgentBrowser;
    use browser_shell_core::grammar::Profile;
    use browser_shell_system::policy_source::PolicySource;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        settings: Settings,
    }

    fn sessions(root: &std::path::Path) -> Sessions {
        let flags = [("--workspace", "w"), ("--runtime-dir", "r")];
        let arguments = flags.iter().flat_map(|(flag, name)| [(*flag).into(), root.join(name).into_os_string()]);
        let settings = Cli::parse_from(std::iter::once("test".into()).chain(arguments)).settings;
        let paths = Paths::open(&settings, Profile::Tool).expect("opened");
        let gate = ControlGate::without_browser(PolicySource::new(root.join("policy.json")));
        let endpoints = Arc::new(Endpoints::new(gate, AgentBrowser::Node, None));
        Sessions::new(&settings, paths, endpoints, EngineChoice::ByPolicy(Engine::AgentBrowser), true)
    }

    #[tokio::test]
    async fn a_closed_session_is_opened_again_by_the_next_call() {
        let root = tempfile::tempdir().expect("a folder");
        let sessions = sessions(root.path());
        let id = SessionId::new("s").expect("valid");
        let cancel = CancellationToken::new();
        let policy = r#"{"sandbox":{"enabled":false}}"#;
        let policy = Arc::new(browser_shell_core::policy::file::parse(policy).expect("valid"));
        let lease = || sessions.lease(&id, Duration::from_secs(5), &cancel, None, Ok(policy.clone()), &Party::Anyone);
        let first = lease().await.expect("free");
        assert!(first.is_first && sessions.is_open(&id));
        drop(first);
        assert!(sessions.is_open(&id));
        let second = lease().await.expect("free");
        assert!(!second.is_first);
        sessions.close(second).await;
        assert!(!sessions.is_open(&id));
        assert!(lease().await.expect("free").is_first, "a new session of the same id");
    }
}
