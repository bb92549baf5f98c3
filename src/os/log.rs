//! Standard error as a sink for log and audit lines.
//!
//! Lines go through a bounded queue to a writer thread: a client that never reads the server's standard error would otherwise
//! block every call once the pipe is full.
//!
//! Invariants: writing a line never blocks; lines that do not fit are dropped and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::MakeWriter;

/// Maximum number of lines in the queue.
const QUEUE_LINES: usize = 4096;

/// A writer to standard error. Clones share the queue.
#[derive(Clone, Debug)]
pub struct Stderr {
    queue: NonBlocking,
    reported: Arc<AtomicUsize>,
}

/// A guard that flushes the queue when it is dropped, for at most a second. Later lines are lost.
#[derive(Debug)]
#[must_use]
pub(crate) struct Flush(#[expect(dead_code, reason = "held for its Drop")] WorkerGuard);

impl Stderr {
    /// Starts the writer thread.
    pub(crate) fn open() -> (Self, Flush) {
        Self::to(io::stderr())
    }

    fn to(writer: impl Write + Send + 'static) -> (Self, Flush) {
        let (queue, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(QUEUE_LINES)
            .lossy(true)
            .thread_name("stderr")
            .finish(writer);
        (Self { queue, reported: Arc::default() }, Flush(guard))
    }

    /// Queues one line, with its line break.
    ///
    /// # Errors
    ///
    /// Never in practice: a line that does not fit is counted instead.
    pub(crate) fn line(&self, line: &[u8]) -> io::Result<()> {
        self.queue.clone().write_all(line)
    }

    /// Returns the number of lines dropped since the last call.
    #[must_use]
    pub(crate) fn lost(&self) -> usize {
        let lost = self.queue.error_counter().dropped_lines();
        lost - self.reported.swap(lost, Ordering::Relaxed).min(lost)
    }
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = NonBlocking;

    fn make_writer(&'a self) -> NonBlocking {
        self.queue.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A writer that blocks while it is locked.
    #[derive(Clone, Default)]
    struct LockedWriter(Arc<Mutex<Vec<u8>>>);

    impl Write for LockedWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("unlocked").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn unread_log_lines_are_dropped_and_counted() {
        let writer = LockedWriter::default();
        let (stderr, flush) = Stderr::to(writer.clone());
        let guard = writer.0.lock().expect("unlocked");
        for number in 0..20_000 {
            stderr.line(format!("{number}\n").as_bytes()).expect("queued");
        }
        let lost = stderr.lost();
        assert!((20_000 - QUEUE_LINES - 2..20_000).contains(&lost), "{lost}");
        assert_eq!(stderr.lost(), 0, "each line is reported once");
        drop(guard);
        drop(flush);
        let text = String::from_utf8(writer.0.lock().expect("unlocked").clone()).expect("text");
        assert_eq!(text.lines().count(), 20_000 - lost, "the rest is written");
        assert!(text.starts_with("0\n1\n2\n"), "in order");
    }
}
