//! Limits of connections: how many are open, in total and for each session, and the bytes and the idle time of each.
//!
//! A meter ends a connection that was idle for too long or carried too many bytes. It counts bytes and does not inspect them.
//!
//! Invariants: no more than the limit are admitted, and no session gets more than half of them, so one session cannot keep
//! the others out. A refused connection does not count.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::EgressLimits;
use browser_shell_core::session_id::{SessionId, Subject};

/// Location of the limit in the policy file.
const LOCATION: &str = "egress.limits.max_connections";

/// Idle limit after the browser has closed its side, so that a page that was left does not hold connections.
const HALF_CLOSED_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which a host may take nothing of what waits for it. Until it does, the guard does not see that the browser has gone.
const STALLED_TIMEOUT: Duration = Duration::from_secs(30);

/// Count of open connections.
#[derive(Debug, Default)]
pub(super) struct OpenConnections(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    sessions: BTreeMap<SessionId, usize>,
    subjects: BTreeMap<Subject, usize>,
}

impl Counts {
    /// Counts one less of a map.
    fn remove<K: Ord>(map: &mut BTreeMap<K, usize>, key: &K) {
        let Some(count) = map.get_mut(key) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            map.remove(key);
        }
    }
}

/// Open connection, counted until it is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection<'a> {
    all: &'a OpenConnections,
    session: Option<SessionId>,
}

impl OpenConnections {
    /// Counts one more connection of a session, or of none.
    ///
    /// # Errors
    ///
    /// The refusal, if `limit` connections are open, half as many of the session, or three of four of the subject whose session it is.
    pub(super) fn admit(&self, session: Option<SessionId>, limit: usize) -> Result<OpenConnection<'_>, Decision> {
        let busy = |reason| Err(Decision::new(Code::Busy, reason).at(LOCATION));
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.total >= limit {
            return busy("too many connections are open");
        }
        if let Some(session) = &session {
            if counts.sessions.get(session).is_some_and(|count| *count >= (limit / 2).max(1)) {
                return busy("too many connections of this session are open");
            }
            if let Some(subject) = session.owner() {
                if counts.subjects.get(subject).is_some_and(|count| *count >= (limit - limit / 4).max(1)) {
                    return busy("too many connections of this subject's sessions are open");
                }
                *counts.subjects.entry(subject.clone()).or_default() += 1;
            }
            *counts.sessions.entry(session.clone()).or_default() += 1;
        }
        counts.total += 1;
        Ok(OpenConnection { all: self, session })
    }

    /// Returns the number of open connections.
    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).total
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        let mut counts = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.total = counts.total.saturating_sub(1);
        let Some(session) = &self.session else { return };
        Counts::remove(&mut counts.sessions, session);
        if let Some(subject) = session.owner() {
            Counts::remove(&mut counts.subjects, subject);
        }
    }
}

/// Counters and limits of one connection.
#[derive(Debug)]
pub(super) struct Meter {
    started: Instant,
    limits: EgressLimits,
    bytes_up: AtomicU64,
    bytes_down: AtomicU64,
    /// Time of the last activity, in milliseconds after the start.
    last_activity: AtomicU64,
    /// Set once the browser has closed its side.
    is_half_closed: AtomicBool,
    /// Set while the host takes nothing of what waits for it.
    is_stalled: AtomicBool,
    changed: Notify,
}

impl Meter {
    pub(super) fn new(limits: EgressLimits) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            limits,
            bytes_up: AtomicU64::default(),
            bytes_down: AtomicU64::default(),
            last_activity: AtomicU64::default(),
            is_half_closed: AtomicBool::default(),
            is_stalled: AtomicBool::default(),
            changed: Notify::new(),
        })
    }

    /// Returns the number of bytes from the browser, and to it.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.bytes_up.load(Ordering::Relaxed), self.bytes_down.load(Ordering::Relaxed))
    }

    /// Adds to a counter of this meter, and notes the time of the activity.
    fn record(&self, counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity.store(now, Ordering::Relaxed);
        if self.is_full() {
            self.changed.notify_one();
        }
    }

    /// Returns true once the connection has carried as many bytes as it may.
    pub(super) fn is_full(&self) -> bool {
        let (up, down) = self.bytes();
        self.limits.max_bytes.is_some_and(|max| up.saturating_add(down) >= max)
    }

    /// Returns the time for which nothing may happen now, and the reason for the audit line if nothing does.
    fn idle_limit(&self) -> (Duration, &'static str) {
        let idle_limit = Duration::from_secs(self.limits.idle_sec);
        if self.is_half_closed.load(Ordering::Relaxed) {
            (idle_limit.min(HALF_CLOSED_TIMEOUT), "idle")
        } else if self.is_stalled.load(Ordering::Relaxed) {
            (idle_limit.min(STALLED_TIMEOUT), "stalled")
        } else {
            (idle_limit, "idle")
        }
    }

    /// Waits until the connection must end, and returns the reason for the audit line.
    pub(super) async fn wait_for_limit(&self) -> &'static str {
        loop {
            let (idle_limit, end) = self.idle_limit();
            let last_activity = Duration::from_millis(self.last_activity.load(Ordering::Relaxed));
            let deadline = self.started + last_activity + idle_limit;
            if self.is_full() {
                return "too-many-bytes";
            }
            if Instant::now() >= deadline {
                return end;
            }
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {}
                () = self.changed.notified() => {}
            }
        }
    }
}

/// Remote stream of a connection, metered.
#[derive(Debug)]
pub(super) struct MeteredStream {
    stream: TcpStream,
    meter: Arc<Meter>,
}

impl MeteredStream {
    pub(super) const fn new(stream: TcpStream, meter: Arc<Meter>) -> Self {
        Self { stream, meter }
    }

    fn check_limit(&self) -> io::Result<()> {
        if self.meter.is_full() { Err(io::Error::other("the connection has reached its byte limit")) } else { Ok(()) }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check_limit()?;
        let before = buf.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        let count = buf.filled().len() - before;
        if count > 0 {
            self.meter.record(&self.meter.bytes_down, count);
        }
        result
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check_limit()?;
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        let was_stalled = self.meter.is_stalled.swap(result.is_pending(), Ordering::Relaxed);
        match result {
            Poll::Ready(Ok(count)) => self.meter.record(&self.meter.bytes_up, count),
            Poll::Pending if !was_stalled => self.meter.changed.notify_one(),
            _ => {}
        }
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.meter.is_half_closed.swap(true, Ordering::Relaxed) {
            self.meter.record(&self.meter.bytes_up, 0);
            self.meter.changed.notify_one();
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_gets_at_most_half_of_all_connections() {
        let open = OpenConnections::default();
        let (a, b) = (SessionId::new("a").expect("valid"), SessionId::new("b").expect("valid"));
        let held: Vec<_> = (0..2).map(|_| open.admit(Some(a.clone()), 5).expect("below half")).collect();
        let refusal = open.admit(Some(a.clone()), 5).expect_err("more than half");
        assert_eq!((refusal.code, refusal.location.as_deref()), (Code::Busy, Some(LOCATION)));
        // Control: there is room for another session and for connections of no session, up to the limit.
        let other = open.admit(Some(b), 5).expect("another session");
        let own = [open.admit(None, 5).expect("no session"), open.admit(None, 5).expect("no session")];
        assert_eq!(open.admit(None, 5).expect_err("the limit").code, Code::Busy);
        drop((held, other));
        drop(open.admit(Some(a.clone()), 5).expect("ended connections do not count"));
        drop(own);
        assert_eq!(open.count(), 0);
        assert!(open.0.lock().expect("not poisoned").sessions.is_empty(), "no session is kept");
        open.admit(Some(a.clone()), 1).expect("at least one");
    }

    #[test]
    fn subject_gets_three_of_four_connections_by_many_sessions() {
        let open = OpenConnections::default();
        let session = |name: &str, subject: &str| {
            Some(SessionId::new(name).expect("valid").owned_by(Subject::new(subject).expect("valid")))
        };
        let held: Vec<_> =
            (0..6).map(|number| open.admit(session(&format!("s{number}"), "ada"), 8).expect("below")).collect();
        assert_eq!(open.admit(session("s7", "ada"), 8).expect_err("more").code, Code::Busy);
        let other = open.admit(session("s1", "bob"), 8).expect("another subject");
        drop((held, other));
        assert!(open.0.lock().expect("not poisoned").subjects.is_empty(), "no subject is kept");
    }

    #[tokio::test]
    async fn host_that_takes_nothing_has_less_time() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
        let (mut host, _) = listener.accept().await.expect("a connection");
        let meter = Meter::new(EgressLimits::default());
        let mut stream = MeteredStream::new(stream, meter.clone());
        let chunk = [0; 8192];
        let mut sent = 0;
        let idle = (Duration::from_secs(EgressLimits::default().idle_sec), "idle");
        assert_eq!(meter.idle_limit(), idle);
        while meter.idle_limit() == idle {
            tokio::select! {
                biased;
                count = stream.write(&chunk) => sent += count.expect("the connection is open"),
                () = std::future::ready(()) => {}
            }
        }
        assert_eq!(meter.idle_limit(), (STALLED_TIMEOUT, "stalled"));
        let read = async {
            while sent > 0 {
                let count = host.read(&mut [0; 8192]).await.expect("the connection is open");
                sent = sent.saturating_sub(count);
            }
        };
        tokio::join!(read, async { stream.write(&chunk).await.expect("the connection is open") });
        assert_eq!(meter.idle_limit(), idle, "control");
    }
}
