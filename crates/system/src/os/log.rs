//! Standard error as a sink for log and audit lines, and the fields of log lines.
//!
//! Lines go through a bounded queue to a writer thread: a client that never reads the server's standard error would otherwise
//! block every call once the pipe is full.
//!
//! Invariants: writing a line never blocks; lines that do not fit are dropped and counted; no field and no message, whoever has chosen
//! its text, adds a line or a control character.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use browser_shell_core::output::escape_for_log;
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

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
pub struct Flush(#[expect(dead_code, reason = "held for its Drop")] WorkerGuard);

impl Stderr {
    /// Starts the writer thread.
    pub fn open() -> (Self, Flush) {
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
    pub fn line(&self, line: &[u8]) -> io::Result<()> {
        self.queue.clone().write_all(line)
    }

    /// Returns the number of lines dropped since the last call.
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

/// Returns the layer that writes log lines.
pub fn log_lines<S>(
    writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static,
    has_color: bool,
) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(has_color)
        .with_target(false)
        .fmt_fields(EscapedFields)
}

/// Format of the fields of log lines: `MESSAGE NAME=VALUE`, escaped.
struct EscapedFields;

impl<'writer> FormatFields<'writer> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = FieldWriter { writer, is_first: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

/// Writer of fields.
struct FieldWriter<'writer> {
    writer: Writer<'writer>,
    is_first: bool,
    result: fmt::Result,
}

impl FieldWriter<'_> {
    fn write(&mut self, field: &Field, text: &str) {
        let space = if std::mem::take(&mut self.is_first) { "" } else { " " };
        let (name, equals) = if field.name() == "message" { ("", "") } else { (field.name(), "=") };
        let text = escape_for_log(text);
        self.result = self.result.and_then(|()| write!(self.writer, "{space}{name}{equals}{text}"));
    }
}

impl Visit for FieldWriter<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            return self.write(field, value);
        }
        // In quotes, so that no text can be taken for another field.
        self.write(field, &serde_json::Value::from(value).to_string());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.write(field, &value.to_string());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    use tracing_subscriber::layer::SubscriberExt;

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
    #[test]
    fn fields_and_messages_of_logs_remain_one_line() {
        let forged = "x\n2026-11-25T00:00:00Z  INFO forged\u{1b}[31m\u{9b}\u{202e}\u{2028}";
        let ordinary = "中文 é \u{1f468}\u{200d}\u{1f469}";
        let writer = LockedWriter::default();
        let (stderr, flush) = Stderr::to(writer.clone());
        let layer = log_lines(stderr, false);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let error = io::Error::other(forged);
            let _span = tracing::error_span!("span", text = forged).entered();
            tracing::error!(text = forged, %error, ?forged, shown = %forged, source = &error as &dyn Error, "{forged}");
            tracing::error!(text = ordinary, shown = %ordinary, number = 5, "{ordinary}");
        });
        drop(flush);
        let text = String::from_utf8(writer.0.lock().expect("unlocked").clone()).expect("text");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(
            !text.replace('\n', "").contains(|c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{2028}')),
            "{text}"
        );
        assert_eq!(text.matches("INFO forged").count(), 8, "control: {text}");
        assert!(
            text.ends_with(&format!("{ordinary} text=\"{ordinary}\" shown={ordinary} number=5\n")),
            "control: {text}"
        );
    }
}
