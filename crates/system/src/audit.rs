//! Audit log: one JSON line for each call, and one for each connection through the egress guard.
//!
//! Invariants: a line contains no path or query of a URL, no typed text and no other value of the agent, only the host, the
//! session id and words of the grammar. Clients without a credential of the server, of whom anybody is one, get a limited number of lines a
//! minute, and one with the count of the others. A call never waits for a reader of the log: lines that standard error does not accept
//! are dropped. Lines that are lost are counted. A line is in the file whole or not at all, and begins on a line of its own,
//! whatever a failed write or a killed process left; lines go to the file that the path names, as long as that can be opened,
//! and each is in the old or the new one when the file is opened again.
//!
//! Requirement 1.14.

use std::fs::{File, Metadata, metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat, Utc};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::os::log::Stderr;
use browser_shell_core::auth::{Right, Subject};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::escape_json;
use browser_shell_core::session_id::SessionId;

/// Room that a check asks for, in bytes: the lines of the calls that can run at a time, and more.
const ROOM: u64 = 64 * 1024;

/// Maximum number of lines of unknown clients in each [`UNKNOWN_TIME`].
const MAX_UNKNOWN: u32 = 60;

/// Time in which the lines of unknown clients are counted.
const UNKNOWN_TIME: Duration = Duration::from_mins(1);

/// Record of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallRecord<'a> {
    /// Time of its end.
    pub time: DateTime<Utc>,
    /// Session, if the call named a valid one.
    pub session: Option<&'a str>,
    /// Subject of the caller, if its credential names one.
    pub subject: Option<&'a str>,
    /// Subcommand, if it is a known word.
    pub subcommand: Option<&'a str>,
    /// Code of the decision.
    pub code: Code,
    /// Host of the URL that the call was about.
    pub host: Option<&'a str>,
    /// Engine of the session, if the command ran.
    pub engine: Option<&'a str>,
    /// Sandbox and enforcement, such as `landlock:full`, `none` or `off`.
    pub sandbox: Option<&'a str>,
    /// Exit code of the reply.
    pub exit_code: i32,
    /// Duration, including all waits.
    pub elapsed: Duration,
}

/// Record of a connection through the egress guard that has ended.
#[derive(Clone, Debug)]
pub struct ConnectionRecord {
    /// Time of its end.
    pub time: DateTime<Utc>,
    /// Session whose browser context opened it, if it came over an address of a session.
    pub session: Option<SessionId>,
    /// Decision, with the host and the address.
    pub decision: Decision,
    /// Requested port.
    pub port: Option<u16>,
    /// Bytes from Chromium, and bytes to it.
    pub bytes: (u64, u64),
    /// Reason for its end.
    pub end: &'static str,
    /// SHA-256 of the policy file, if there is one.
    pub policy: Option<String>,
    /// Duration of the connection.
    pub elapsed: Duration,
}

/// Audit log. Clones write to the same output.
#[derive(Clone, Debug)]
pub struct AuditLog(Arc<Log>);

#[derive(Debug)]
struct Log {
    output: Output,
    /// Number of lines that were lost.
    lost: AtomicU64,
    /// True if the last line was lost.
    is_failing: AtomicBool,
    unknown: Mutex<UnknownClients>,
}

/// Kind of a refused request: the right that it needs and the code of the refusal. Both have few values.
type RefusalKind = (Right, Code);

/// Requests of clients without a credential of the server.
#[derive(Debug, Default)]
struct UnknownClients {
    /// Begin of the time in which lines are counted, and their number since then.
    counted: Option<(Instant, u32)>,
    /// Requests since then that have no line of their own.
    omitted: Vec<(RefusalKind, u64)>,
}

impl UnknownClients {
    /// Returns true if a request gets a line of its own. Else it is counted.
    fn has_line(&mut self, kind: RefusalKind, now: Instant) -> bool {
        let (_, lines) = self.counted.get_or_insert((now, 0));
        if *lines < MAX_UNKNOWN {
            *lines += 1;
            return true;
        }
        match self.omitted.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => self.omitted.push((kind, 1)),
        }
        false
    }

    /// Returns the requests without a line, and begins to count anew, if the time is over.
    fn take_ended(&mut self, now: Instant) -> Vec<(RefusalKind, u64)> {
        match self.counted {
            Some((begin, _)) if now.saturating_duration_since(begin) >= UNKNOWN_TIME => self.take(),
            _ => Vec::new(),
        }
    }

    /// Returns the requests without a line, and begins to count anew.
    fn take(&mut self) -> Vec<(RefusalKind, u64)> {
        self.counted = None;
        std::mem::take(&mut self.omitted)
    }
}

#[derive(Debug)]
enum Output {
    File(Mutex<AuditFile>),
    Stderr(Stderr),
}

impl AuditLog {
    /// Creates a log that appends to a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened. A server without its log must not start.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self::to(Output::File(Mutex::new(AuditFile::open(path)?))))
    }

    /// Creates a log that writes to standard error.
    #[must_use]
    pub fn to_stderr(stderr: Stderr) -> Self {
        Self::to(Output::Stderr(stderr))
    }

    fn to(output: Output) -> Self {
        let unknown = Mutex::default();
        Self(Arc::new(Log { output, lost: AtomicU64::new(0), is_failing: AtomicBool::new(false), unknown }))
    }

    /// Opens the file again, which may have been renamed. If that fails, the lines still go to the old one.
    pub fn reopen(&self) {
        match &self.0.output {
            Output::File(file) => file.lock().unwrap_or_else(PoisonError::into_inner).reopen(),
            Output::Stderr(_) => tracing::info!("the audit log is standard error, so there is no file to open again"),
        }
    }

    /// Reserves room for the lines of the next calls. An output without a size is expected to do what it did with the last line; the
    /// line of a refused call tries it again.
    ///
    /// # Errors
    ///
    /// If the lines could not be written.
    pub fn reserve(&self) -> io::Result<()> {
        if self.has_room()? || !self.is_failing() {
            Ok(())
        } else {
            Err(io::Error::other("the last line could not be written"))
        }
    }

    /// Returns the number of lines that were lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Returns true if lines can be written: the last one was, or there is room now. A server that gets no calls while it is not
    /// healthy writes no line that could show it.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        !self.is_failing() || self.has_room().unwrap_or(false)
    }

    fn is_failing(&self) -> bool {
        self.0.is_failing.load(Ordering::Relaxed)
    }

    /// Reserves room for the lines of the next calls. Returns false if the output is of a kind that has no such room.
    fn has_room(&self) -> io::Result<bool> {
        match &self.0.output {
            Output::File(file) => file.lock().unwrap_or_else(PoisonError::into_inner).reserve(),
            Output::Stderr(_) => Ok(false),
        }
    }

    /// Creates a log that discards its lines, for commands that a person runs.
    ///
    /// # Errors
    ///
    /// If `/dev/null` cannot be opened.
    pub fn discard() -> io::Result<Self> {
        Self::to_file(Path::new("/dev/null"))
    }

    /// Writes the line of a call, in one piece.
    pub fn write(&self, record: &CallRecord<'_>) {
        let line = json!({
            "time": record.time.to_rfc3339_opts(SecondsFormat::Millis, true),
            "session": record.session,
            "subject": record.subject,
            "subcommand": record.subcommand,
            "code": record.code.as_str(),
            "host": record.host,
            "engine": record.engine,
            "sandbox": record.sandbox,
            "exit_code": record.exit_code,
            "ms": milliseconds(record.elapsed),
        });
        self.write_line(&line);
    }

    /// Writes the line of a request whose credentials were checked, in one piece. The line of a call says the same for a call.
    pub fn write_access(&self, time: DateTime<Utc>, right: Right, subject: Option<&Subject>, code: Code) {
        self.write_line(&access_line(time, right, subject, code));
    }

    /// Writes the line of a refused request of an unknown client, or counts it if there are too many.
    pub fn write_unknown_access(&self, time: DateTime<Utc>, right: Right, code: Code) {
        let now = Instant::now();
        let mut unknown = self.0.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let omitted = unknown.take_ended(now);
        let has_line = unknown.has_line((right, code), now);
        drop(unknown);
        self.write_counts(time, &omitted);
        if has_line {
            self.write_access(time, right, None, code);
        }
    }

    /// Writes the counts of the requests of unknown clients that got no line, once their time is over. Call it again and again.
    pub fn write_omitted(&self, time: DateTime<Utc>) {
        let omitted = self.0.unknown.lock().unwrap_or_else(PoisonError::into_inner).take_ended(Instant::now());
        self.write_counts(time, &omitted);
    }

    /// Writes the same at once, at the end of a server.
    pub fn write_all_omitted(&self, time: DateTime<Utc>) {
        let omitted = self.0.unknown.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.write_counts(time, &omitted);
    }

    fn write_counts(&self, time: DateTime<Utc>, omitted: &[(RefusalKind, u64)]) {
        for ((right, code), count) in omitted {
            let mut line = access_line(time, *right, None, *code);
            if let Some(members) = line.as_object_mut() {
                members.insert("omitted".to_owned(), (*count).into());
            }
            self.write_line(&line);
        }
    }

    /// Writes the line of a connection, in one piece.
    pub fn write_connection(&self, connection: &ConnectionRecord) {
        let decision = &connection.decision;
        let line = json!({
            "time": connection.time.to_rfc3339_opts(SecondsFormat::Millis, true),
            "event": "connection",
            "session": connection.session.as_ref().map(SessionId::as_str),
            "subject": connection.session.as_ref().and_then(SessionId::owner).map(Subject::as_str),
            "code": decision.code.as_str(),
            "place": decision.location,
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
        let line = format!("{}\n", escape_json(&line.to_string()));
        let result = match &self.0.output {
            Output::File(file) => {
                file.lock().unwrap_or_else(PoisonError::into_inner).write(&line).map_err(|error| (1, error))
            }
            Output::Stderr(stderr) => {
                let written = stderr.line(line.as_bytes());
                match stderr.lost() {
                    0 => written.map_err(|error| (1, error)),
                    lost => Err((lost as u64, io::Error::other("standard error was not read"))),
                }
            }
        };
        let was_failing = self.0.is_failing.swap(result.is_err(), Ordering::Relaxed);
        match result {
            Ok(()) if was_failing => tracing::info!(lost = self.lost(), "audit lines are written again"),
            Ok(()) => {}
            Err((lost, error)) => {
                self.0.lost.fetch_add(lost, Ordering::Relaxed);
                if !was_failing {
                    tracing::error!(lost = self.lost(), %error, "cannot write an audit line, so lines are lost");
                }
            }
        }
    }
}

/// Returns a duration in whole milliseconds, for JSON.
#[must_use]
pub fn milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Open file of the audit log.
#[derive(Debug)]
struct AuditFile {
    path: PathBuf,
    file: File,
    identity: Identity,
    /// True if the file may end with a part of a line.
    has_half_line: bool,
    /// True after the path could not be opened again.
    is_detached: bool,
}

/// Device and inode.
type Identity = (u64, u64);

/// Returns the line of a refused request.
fn access_line(time: DateTime<Utc>, right: Right, subject: Option<&Subject>, code: Code) -> Value {
    json!({
        "time": time.to_rfc3339_opts(SecondsFormat::Millis, true),
        "event": "access",
        "right": right.as_str(),
        "subject": subject.map(Subject::as_str),
        "code": code.as_str(),
    })
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn open_to_append(path: &Path) -> io::Result<(File, Metadata)> {
    // Opening a pipe without a reader fails instead of waiting.
    let options = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().create(true).append(true).custom_flags(options).open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Returns true if a regular file ends with a part of a line. One that cannot be read is taken to end with a whole line.
fn ends_with_half_line(path: &Path, metadata: &Metadata) -> bool {
    let last = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last).map(|()| last)
    };
    metadata.is_file() && metadata.len() > 0 && last().is_ok_and(|last: [u8; 1]| last != *b"\n")
}

impl AuditFile {
    /// Opens the file of a path, and creates it if there is none.
    fn open(path: &Path) -> io::Result<Self> {
        let (file, metadata) = open_to_append(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            identity: identity(&metadata),
            has_half_line: ends_with_half_line(path, &metadata),
            is_detached: false,
        })
    }

    /// Opens the path again. If that fails, lines still go to the old file.
    fn reopen(&mut self) {
        if let Err(error) = self.try_reopen() {
            self.is_detached = true;
            let path = self.path.display();
            tracing::error!(%path, %error, "cannot open the audit file again, so lines still go to the old one");
        }
    }

    fn try_reopen(&mut self) -> io::Result<()> {
        *self = Self::open(&self.path)?;
        tracing::info!(path = %self.path.display(), "the audit file was opened again");
        Ok(())
    }

    /// Opens the path again if it names another file, or none.
    fn follow_path(&mut self) {
        if metadata(&self.path).is_ok_and(|named| identity(&named) == self.identity) {
            return;
        }
        if self.is_detached {
            // That it fails was said.
            let _ = self.try_reopen();
        } else {
            self.reopen();
        }
    }

    /// Appends a line, with its line break.
    ///
    /// # Errors
    ///
    /// If the whole line could not be written. Then nothing of it is left in the file, or the next line begins after a line break.
    fn write(&mut self, line: &str) -> io::Result<()> {
        self.follow_path();
        let text = format!("{}{line}", if self.has_half_line { "\n" } else { "" });
        let written = loop {
            match self.file.write(text.as_bytes()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if written == text.len() {
            self.has_half_line = false;
            return Ok(());
        }
        self.has_half_line |= !self.remove_last(written as u64).unwrap_or(false);
        Err(io::Error::new(ErrorKind::StorageFull, "there was room for a part of the line only"))
    }

    /// Removes the bytes that were written last, unless another process has written behind them. Returns true if they are gone.
    fn remove_last(&mut self, written: u64) -> io::Result<bool> {
        let end = self.file.stream_position()?;
        if self.file.metadata()?.len() != end {
            return Ok(false);
        }
        self.file.set_len(end.saturating_sub(written))?;
        Ok(true)
    }

    /// Reserves room for the lines of the next calls, behind the end of the file. Returns false if the file is of a kind that has
    /// no such room.
    ///
    /// # Errors
    ///
    /// If there is no room.
    fn reserve(&mut self) -> io::Result<bool> {
        self.follow_path();
        let end = self.file.metadata()?.len();
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, end, ROOM) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NODEV | Errno::SPIPE | Errno::INVAL) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_line_is_lost_while_the_file_is_rotated() {
        const LINES: usize = 2000;
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("audit.jsonl");
        let log = AuditLog::to_file(&path).expect("opened");
        let writers: Vec<_> = std::iter::repeat_with(|| log.clone())
            .take(4)
            .map(|log| std::thread::spawn(move || (0..LINES).for_each(|line| log.write_line(&json!(line)))))
            .collect();
        let mut rotations = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            fs::rename(&path, path.with_extension(rotations.to_string())).expect("renamed");
            log.reopen();
            rotations += 1;
        }
        for writer in writers {
            writer.join().expect("finished");
        }
        let files = fs::read_dir(dir.path()).expect("listed").map(|entry| entry.expect("an entry").path());
        let texts: Vec<_> = files.map(|file| fs::read_to_string(file).expect("read")).collect();
        assert_eq!(texts.len(), rotations + 1);
        let lines = texts.iter().flat_map(|text| text.lines());
        assert_eq!(lines.filter(|line| line.parse::<usize>().is_ok()).count(), 4 * LINES, "whole lines only");
    }

    #[test]
    fn unknown_clients_get_few_lines_and_a_count_of_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        let log = AuditLog::to_file(&path).expect("opened");
        let lines = || -> Vec<Value> {
            let text = fs::read_to_string(&path).expect("read");
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        let most = usize::try_from(MAX_UNKNOWN).expect("small");
        for number in 0..most + 7 {
            let code = if number % 2 == 0 { Code::CredentialMissing } else { Code::CredentialUnknown };
            log.write_unknown_access(Utc::now(), Right::CallTool, code);
        }
        assert_eq!(lines().len(), most);
        let ada = Subject::new("ada");
        log.write_access(Utc::now(), Right::CallTool, ada.as_ref(), Code::ScopeInsufficient);
        assert_eq!(lines().len(), most + 1, "control: a known client has all of its lines");
        log.write_omitted(Utc::now());
        assert_eq!(lines().len(), most + 1, "not yet");
        log.write_all_omitted(Utc::now());
        let counts: Vec<_> = lines().into_iter().skip(most + 1).map(|line| line["omitted"].as_u64()).collect();
        assert_eq!(counts, [Some(4), Some(3)]);
        log.write_all_omitted(Utc::now());
        log.write_unknown_access(Utc::now(), Right::CallTool, Code::CredentialMissing);
        assert_eq!(lines().len(), most + 4, "each is counted once");
    }

    #[test]
    fn lines_of_unknown_clients_begin_anew_with_each_minute() {
        let (mut unknown, start) = (UnknownClients::default(), Instant::now());
        let kind = (Right::CallTool, Code::CredentialMissing);
        let admitted = |unknown: &mut UnknownClients, now| (0..100).filter(|_| unknown.has_line(kind, now)).count();
        assert_eq!(admitted(&mut unknown, start), 60);
        let late = start + UNKNOWN_TIME.mul_f64(0.99);
        assert_eq!((unknown.take_ended(late), admitted(&mut unknown, late)), (Vec::new(), 0));
        let next = start + UNKNOWN_TIME;
        assert_eq!(unknown.take_ended(next), [(kind, 140)]);
        assert_eq!((unknown.take_ended(next), admitted(&mut unknown, next)), (Vec::new(), 60));
    }

    #[test]
    fn line_begins_after_the_half_line_of_a_killed_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        for (before, after) in [("", "2\n"), ("1\n", "1\n2\n"), ("{\"ti", "{\"ti\n2\n")] {
            fs::write(&path, before).expect("written");
            AuditFile::open(&path).expect("opened").write("2\n").expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), after);
        }
    }

    #[test]
    fn renamed_and_removed_files_get_no_further_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        let mut file = AuditFile::open(&path).expect("opened");
        file.write("1\n").expect("written");
        fs::rename(&path, path.with_extension("1")).expect("renamed");
        file.write("2\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), "2\n");
        fs::remove_file(&path).expect("removed");
        file.write("3\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), "3\n");
        assert_eq!(fs::read_to_string(path.with_extension("1")).expect("read"), "1\n");
    }
}
