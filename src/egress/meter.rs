//! What goes over one connection: how much, and when last.
//!
//! Decides when a connection has been idle for too long or has carried too much. Must never see what it counts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::policy::EgressLimits;

/// How long the other end may be silent after the browser has said its last word. A page that is left must not keep places.
const AFTER_LAST_WORD: Duration = Duration::from_secs(10);

/// The count of one connection.
#[derive(Debug)]
pub(super) struct Meter {
    began: Instant,
    limits: EgressLimits,
    up: AtomicU64,
    down: AtomicU64,
    /// Milliseconds after the beginning.
    last: AtomicU64,
    /// Whether the browser has closed its side.
    ending: AtomicBool,
    changed: Notify,
}

impl Meter {
    pub(super) fn new(limits: EgressLimits) -> Arc<Self> {
        let zero = AtomicU64::default;
        let (ending, changed) = (AtomicBool::default(), Notify::new());
        Arc::new(Self { began: Instant::now(), limits, up: zero(), down: zero(), last: zero(), ending, changed })
    }

    /// Bytes from the browser, and to it.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.up.load(Ordering::Relaxed), self.down.load(Ordering::Relaxed))
    }

    fn add(&self, counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
        if self.is_full() {
            self.changed.notify_one();
        }
    }

    /// Whether the connection has carried as much as it may.
    pub(super) fn is_full(&self) -> bool {
        let (up, down) = self.bytes();
        self.limits.max_bytes.is_some_and(|most| up.saturating_add(down) >= most)
    }

    /// Waits until the connection must end, and says why.
    pub(super) async fn exceeded(&self) -> &'static str {
        loop {
            let most = Duration::from_secs(self.limits.idle_sec);
            let idle = if self.ending.load(Ordering::Relaxed) { most.min(AFTER_LAST_WORD) } else { most };
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let end = self.began + last + idle;
            if self.is_full() {
                return "too-many-bytes";
            }
            if Instant::now() >= end {
                return "idle";
            }
            tokio::select! {
                () = tokio::time::sleep_until(end) => {}
                () = self.changed.notified() => {}
            }
        }
    }
}

/// The far end of a connection, counted.
#[derive(Debug)]
pub(super) struct Metered {
    stream: TcpStream,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) const fn new(stream: TcpStream, meter: Arc<Meter>) -> Self {
        Self { stream, meter }
    }

    fn check(&self) -> io::Result<()> {
        if self.meter.is_full() {
            Err(io::Error::other("the connection has carried as much as it may"))
        } else {
            Ok(())
        }
    }
}

impl AsyncRead for Metered {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        let before = buf.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        let count = buf.filled().len() - before;
        if count > 0 {
            self.meter.add(&self.meter.down, count);
        }
        result
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(count)) = result {
            self.meter.add(&self.meter.up, count);
        }
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.meter.ending.swap(true, Ordering::Relaxed) {
            self.meter.add(&self.meter.up, 0);
            self.meter.changed.notify_one();
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
