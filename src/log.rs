//! Standard error, which somebody should read and nobody may.
//!
//! Decides how lines of the log and of the audit get there: through a queue with a thread of its own behind it, since a client
//! that started the server and never reads its standard error would otherwise stop every call as soon as the pipe is full. What
//! the queue cannot hold is dropped, counted, and the count reported. Must never make a call wait.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::MakeWriter;

/// Lines that wait for their reader.
const QUEUE: usize = 4096;

/// The way to standard error. Clones share the queue.
#[derive(Clone, Debug)]
pub struct Stderr {
    queue: NonBlocking,
    reported: Arc<AtomicUsize>,
}

/// Dropping this writes what is in the queue, if it is read within a second; lines after that are lost.
#[derive(Debug)]
#[must_use]
pub struct Flush(#[expect(dead_code, reason = "held for what dropping it does")] WorkerGuard);

impl Stderr {
    /// Starts the thread that writes.
    pub fn open() -> (Self, Flush) {
        Self::to(io::stderr())
    }

    fn to(writer: impl Write + Send + 'static) -> (Self, Flush) {
        let (queue, guard) =
            NonBlockingBuilder::default().buffered_lines_limit(QUEUE).lossy(true).thread_name("stderr").finish(writer);
        (Self { queue, reported: Arc::default() }, Flush(guard))
    }

    /// Queues one line, with its line break.
    ///
    /// # Errors
    ///
    /// Never in practice; what does not fit is counted instead.
    pub fn line(&self, line: &[u8]) -> io::Result<()> {
        self.queue.clone().write_all(line)
    }

    /// How many lines were dropped since this was last asked.
    #[must_use]
    pub fn lost(&self) -> usize {
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

    /// A place that takes nothing until it is unlocked.
    #[derive(Clone, Default)]
    struct Slow(Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("unlocked").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_nobody_reads_are_dropped_and_counted() {
        let slow = Slow::default();
        let (stderr, flush) = Stderr::to(slow.clone());
        let held = slow.0.lock().expect("unlocked");
        for number in 0..20_000 {
            stderr.line(format!("{number}\n").as_bytes()).expect("queued");
        }
        let lost = stderr.lost();
        assert!((20_000 - QUEUE - 2..20_000).contains(&lost), "{lost}");
        assert_eq!(stderr.lost(), 0, "each is reported once");
        drop(held);
        drop(flush);
        let text = String::from_utf8(slow.0.lock().expect("unlocked").clone()).expect("text");
        assert_eq!(text.lines().count(), 20_000 - lost, "the rest is written");
        assert!(text.starts_with("0\n1\n2\n"), "in order");
    }
}
