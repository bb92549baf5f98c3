//! Services that all calls of a process share.
//!
//! A browser that ended takes its pages with it, and the next one shows an empty page. A command about a page would then
//! succeed without a result, so it is refused until the session opens a page again.
//!
//! A small output is processed on the thread where it arrives. Larger ones are processed on a separate thread, and large ones one at a
//! time, so that a page that prints millions of values takes neither the time of other sessions nor a multiple of the memory.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use crate::session::Sessions;
use browser_shell_agent_browser::Transport;
use browser_shell_browser::EnsureBrowser;
use browser_shell_browser::gate::ControlGate;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_core::session_id::SessionId;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::metrics::{Gauges, Metrics};
use browser_shell_system::os::dns::Dns;
use browser_shell_system::policy_source::PolicySource;

/// Maximum number of sessions whose pages are known. Beyond it, the one that opened a page the longest ago is forgotten, and the loss of
/// its page is not noticed: a session that ends because it is idle is not removed.
const MAX_SESSIONS: usize = 4096;

/// Maximum number of closed sessions that are known to have been told that they have no page. An older one is told again.
const MAX_TOLD: usize = 256;

/// Size in bytes from which an output is large. Below it, all processing takes a few milliseconds.
const LARGE: usize = 256 * 1024;

/// Size in bytes from which an output is processed on a separate thread: a page that makes this slow must not take the time of others.
const APART: usize = 16 * 1024;

/// Services that all calls of a process share.
pub struct Services {
    /// Source of the policy.
    pub policy: PolicySource,
    /// Name resolution.
    pub dns: Dns,
    /// Sessions of this process.
    pub sessions: Sessions,
    /// Transport to agent-browser.
    pub transport: Arc<dyn Transport>,
    /// Control gate that the sessions' agent-browsers connect to.
    pub gate: Arc<ControlGate>,
    /// Starts Chromium when a call needs it; `None` where another program starts it.
    pub ensure_browser: Option<Arc<dyn EnsureBrowser>>,
    /// Pages that sessions have opened.
    pub pages: Pages,
    /// Audit log.
    pub audit: AuditLog,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Tasks that continue after a reply.
    pub background: TaskTracker,
    /// Worker for large outputs.
    pub output_worker: OutputWorker,
}

impl Services {
    /// Returns true if audit lines are written. Where the policy requires them, calls are refused unless there is room for the next ones.
    pub(crate) fn audit_is_writing(&self) -> bool {
        let is_required = self.policy.current().is_ok_and(|policy| policy.audit.require);
        if is_required { self.audit.reserve().is_ok() } else { self.audit.is_writing() }
    }

    /// Returns the text of `/metrics`, with the state of the browser, the number of its starts, and false while a file of keys cannot be used.
    pub(crate) fn metrics_text(
        &self,
        browser: BrowserHealth,
        browser_starts: u64,
        credentials_are_usable: bool,
    ) -> String {
        self.metrics.to_text(&Gauges {
            sessions: self.sessions.len(),
            subjects: self.sessions.by_subject(),
            contexts: self.gate.contexts(),
            browser_is_up: browser == BrowserHealth::Ready,
            browser_starts,
            gate_refusals: self.gate.refusals(),
            policy_is_in_force: self.policy.current().is_ok(),
            audit_is_writing: self.audit_is_writing(),
            audit_lines_lost: self.audit.lost(),
            credentials_are_usable,
        })
    }
}

/// Browser that shows the page of each session, and the closed sessions that were told that they have none.
#[derive(Debug, Default)]
pub struct Pages {
    shown: Mutex<ShownPages>,
    /// The oldest first.
    told: Mutex<VecDeque<SessionId>>,
}

/// Browsers that show the pages of sessions.
#[derive(Debug, Default)]
struct ShownPages {
    /// Browser of each session, with the turn at which the session opened its last page.
    browsers: HashMap<SessionId, (String, u64)>,
    /// The same sessions, the one that opened a page the longest ago first.
    turns: BTreeMap<u64, SessionId>,
    next_turn: u64,
}

impl ShownPages {
    fn insert(&mut self, session: &SessionId, browser: &str) {
        self.remove(session);
        while self.browsers.len() >= MAX_SESSIONS
            && let Some((_, oldest)) = self.turns.pop_first()
        {
            self.browsers.remove(&oldest);
        }
        let turn = self.next_turn;
        self.next_turn += 1;
        self.browsers.insert(session.clone(), (browser.to_owned(), turn));
        self.turns.insert(turn, session.clone());
    }

    fn remove(&mut self, session: &SessionId) {
        if let Some((_, turn)) = self.browsers.remove(session) {
            self.turns.remove(&turn);
        }
    }
}

impl Pages {
    fn lock(&self) -> MutexGuard<'_, ShownPages> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, VecDeque<SessionId>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a session was told that it has no page, and was closed.
    pub(crate) fn record_told(&self, session: &SessionId) {
        let mut told = self.told();
        told.retain(|other| other != session);
        if told.len() >= MAX_TOLD {
            told.pop_front();
        }
        told.push_back(session.clone());
    }

    /// Returns true if a session was told that it has no page, once for each time that it was told.
    pub(crate) fn take_told(&self, session: &SessionId) -> bool {
        let mut told = self.told();
        let position = told.iter().position(|other| other == session);
        position.is_some_and(|position| told.remove(position).is_some())
    }

    /// Records that a session has opened a page in a browser.
    pub(crate) fn record(&self, session: &SessionId, browser: &str) {
        self.lock().insert(session, browser);
    }

    /// Forgets the page of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
        self.told().retain(|other| other != session);
    }

    /// Returns true if a session has opened a page in another browser than the one that runs now.
    pub(crate) fn is_lost(&self, session: &SessionId, browser: &str) -> bool {
        self.lock().browsers.get(session).is_some_and(|(last, _)| last != browser)
    }
}

/// Worker that processes large outputs one at a time.
#[derive(Debug)]
pub struct OutputWorker(Arc<Semaphore>);

impl Default for OutputWorker {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// Permit to process one output, from parsing to truncation. Meanwhile the output takes many times its size in memory. The
/// default is the permit of a small output.
#[derive(Debug, Default)]
pub(super) struct OutputPermit {
    is_apart: bool,
    _large: Option<OwnedSemaphorePermit>,
}

impl OutputWorker {
    /// Waits until an output of this size can be processed.
    pub(super) async fn permit(&self, bytes: usize) -> OutputPermit {
        let large = async {
            // The semaphore is never closed.
            if bytes < LARGE { None } else { self.0.clone().acquire_owned().await.ok() }
        };
        OutputPermit { is_apart: bytes >= APART, _large: large.await }
    }
}

impl OutputPermit {
    /// Runs a part of the processing.
    ///
    /// # Panics
    ///
    /// If the work panics.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        if !self.is_apart {
            return work();
        }
        match tokio::task::spawn_blocking(work).await {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The process is ending, and this call with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn page_is_lost_only_in_another_browser() {
        let (pages, one, two) = (Pages::default(), SessionId::new("one"), SessionId::new("two"));
        let (one, two) = (one.expect("valid"), two.expect("valid"));
        assert!(!pages.is_lost(&one, "1"), "no page was opened");
        pages.record(&one, "1");
        assert!(!pages.is_lost(&one, "1"));
        assert!(pages.is_lost(&one, "2") && !pages.is_lost(&two, "2"));
        pages.record(&one, "2");
        assert!(!pages.is_lost(&one, "2"));
        pages.forget(&one);
        assert!(!pages.is_lost(&one, "3"));
    }

    #[test]
    fn page_opened_the_longest_ago_is_forgotten_first() {
        let id = |number: usize| SessionId::new(&format!("s{number}")).expect("valid");
        let pages = Pages::default();
        for number in 0..MAX_SESSIONS {
            pages.record(&id(number), "1");
        }
        // The first one opens another page, and one is closed.
        pages.record(&id(0), "1");
        pages.forget(&id(3));
        for number in MAX_SESSIONS..MAX_SESSIONS + 2 {
            pages.record(&id(number), "1");
        }
        let is_known = |number: usize| pages.is_lost(&id(number), "2");
        assert!(is_known(MAX_SESSIONS) && is_known(MAX_SESSIONS + 1), "new sessions are recorded");
        assert!(!is_known(1), "it opened its page the longest ago");
        assert!(is_known(0) && is_known(2), "only as many as needed are forgotten");
        let shown = pages.lock();
        assert_eq!((shown.browsers.len(), shown.turns.len()), (MAX_SESSIONS, MAX_SESSIONS));
    }

    #[test]
    fn session_is_told_once_that_it_has_no_page() {
        let (pages, one, two) = (Pages::default(), SessionId::new("one"), SessionId::new("two"));
        let (one, two) = (one.expect("valid"), two.expect("valid"));
        pages.record_told(&one);
        assert!(!pages.take_told(&two), "another session");
        assert!(pages.take_told(&one) && !pages.take_told(&one));
        pages.record_told(&one);
        pages.forget(&one);
        assert!(!pages.take_told(&one), "closed");
        for number in 0..=MAX_TOLD {
            pages.record_told(&SessionId::new(&format!("s{number}")).expect("valid"));
        }
        let has = |number: usize| pages.take_told(&SessionId::new(&format!("s{number}")).expect("valid"));
        assert!(!has(0) && has(1) && has(MAX_TOLD), "the oldest is gone");
    }

    #[tokio::test]
    async fn large_outputs_are_processed_serially_without_blocking_small() {
        let worker = OutputWorker::default();
        let (go, wait) = mpsc::channel::<()>();
        let work = async |bytes, work: Box<dyn FnOnce() -> usize + Send>| worker.permit(bytes).await.run(work).await;
        let blocked = work(LARGE, Box::new(move || usize::from(wait.recv().is_ok())));
        let running = Arc::new(AtomicUsize::new(0));
        let large = (0..3).map(|_| {
            let running = Arc::clone(&running);
            let count = move || {
                let others = running.fetch_add(1, SeqCst);
                std::thread::yield_now();
                running.fetch_sub(1, SeqCst);
                others
            };
            work(LARGE, Box::new(count))
        });
        let small = async {
            // Runs on the only thread of this test although the worker is in use.
            let small = work(LARGE - 1, Box::new(|| 7)).await;
            go.send(()).expect("the first large one waits");
            small
        };
        let (blocked, small, large) = tokio::join!(blocked, small, futures::future::join_all(large));
        assert_eq!((blocked, small, large), (1, 7, vec![0, 0, 0]));
    }

    #[tokio::test]
    async fn output_processing_panic_propagates_and_frees_slot() {
        let worker = Arc::new(OutputWorker::default());
        let panicking = tokio::spawn({
            let worker = Arc::clone(&worker);
            async move { worker.permit(LARGE).await.run(|| assert_eq!(1, 2)).await }
        });
        assert!(panicking.await.expect_err("it panics").is_panic());
        assert_eq!(worker.permit(LARGE).await.run(|| 1).await, 1, "the permit is free again");
    }
}
