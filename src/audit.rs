//! The audit log: one JSON line a call (spec [1.14]), and one for each connection through the egress guard.
//!
//! Decides what a line holds. Must never hold a path or query of a URL, a text that was typed, or any other value of the
//! agent: the host, the session id and words of the grammar table are all that comes from outside. Must never make a call wait
//! for a reader: what standard error does not take is dropped, and the number of lines that were is a line of the log.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::decision::{Code, Decision};
use crate::log::Stderr;

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// When it ended.
    pub time: DateTime<Utc>,
    /// Its session, if it named a valid one.
    pub session: Option<&'a str>,
    /// Its subcommand, if that is a known word.
    pub subcommand: Option<&'a str>,
    /// What was decided.
    pub code: Code,
    /// The host of the URL it was about.
    pub host: Option<&'a str>,
    /// The way to agent-browser that it took, if it ran.
    pub transport: Option<&'a str>,
    /// What it ran in, such as `landlock:full`, `none` or `off`.
    pub sandbox: Option<&'a str>,
    /// The exit code of the reply.
    pub exit_code: i32,
    /// How long it took, waiting included.
    pub elapsed: Duration,
}

/// One connection of the browser through the egress guard, when it has ended.
#[derive(Clone, Debug)]
pub struct Connection {
    /// When it ended.
    pub time: DateTime<Utc>,
    /// What was decided, and by which rule: host and address are the decision's.
    pub decision: Decision,
    /// The port that was asked for.
    pub port: Option<u16>,
    /// Bytes from the browser, and to it.
    pub bytes: (u64, u64),
    /// What ended it.
    pub end: &'static str,
    /// The SHA-256 of the policy file that decided; there may be none.
    pub policy: Option<String>,
    /// How long it was open.
    pub elapsed: Duration,
}

/// Where lines go.
#[derive(Debug)]
pub struct AuditLog(Place);

#[derive(Debug)]
enum Place {
    File(Mutex<File>),
    Stderr(Stderr),
}

impl AuditLog {
    /// Opens a file to append to.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened: a server that cannot keep its log must not start.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        // Opening a pipe that nobody reads is an error, not something to wait for.
        let options = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().create(true).append(true).custom_flags(options).open(path)?;
        Ok(Self(Place::File(Mutex::new(file))))
    }

    /// Writes to standard error.
    #[must_use]
    pub const fn to_stderr(stderr: Stderr) -> Self {
        Self(Place::Stderr(stderr))
    }

    /// A log that keeps nothing, for commands that a person runs.
    ///
    /// # Errors
    ///
    /// When `/dev/null` is missing.
    pub fn discard() -> io::Result<Self> {
        Self::to_file(Path::new("/dev/null"))
    }

    /// Writes a line, in one piece.
    pub fn write(&self, entry: &Entry<'_>) {
        let line = json!({
            "time": entry.time.to_rfc3339_opts(SecondsFormat::Millis, true),
            "session": entry.session,
            "subcommand": entry.subcommand,
            "code": entry.code.as_str(),
            "host": entry.host,
            "transport": entry.transport,
            "sandbox": entry.sandbox,
            "exit_code": entry.exit_code,
            "ms": milliseconds(entry.elapsed),
        });
        self.write_line(&line);
    }

    /// Writes the line of a connection, in one piece.
    pub fn write_connection(&self, connection: &Connection) {
        let decision = &connection.decision;
        let line = json!({
            "time": connection.time.to_rfc3339_opts(SecondsFormat::Millis, true),
            "event": "connection",
            "code": decision.code.as_str(),
            "place": decision.place,
            "host": decision.host,
            "address": decision.address.map(|address| address.to_string()),
            "port": connection.port,
            "bytes_up": connection.bytes.0,
            "bytes_down": connection.bytes.1,
            "end": connection.end,
            "policy": connection.policy,
            "ms": milliseconds(connection.elapsed),
        });
        self.write_line(&line);
    }

    fn write_line(&self, line: &Value) {
        let line = format!("{line}\n");
        let written = match &self.0 {
            Place::File(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes()),
            Place::Stderr(stderr) => {
                let lost = stderr.lost();
                if lost > 0 {
                    tracing::error!(lost, "lines of the log were dropped, as nobody read standard error");
                }
                stderr.line(line.as_bytes())
            }
        };
        if let Err(error) = written {
            tracing::error!(%error, "the audit line could not be written");
        }
    }
}

fn milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
