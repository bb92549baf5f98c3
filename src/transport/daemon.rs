//! Straight to the daemon of a session: one line of JSON each way on its Unix socket.
//!
//! Decides which daemon is spoken to and what counts as its answer. The CLI would do the same after a fixed sleep: ask for the
//! connection to our port, then for the action. Must never speak to a daemon that is not the session's own, never send an
//! action before the connection to the browser is confirmed (the daemon would start a browser of its own), and never take
//! half an answer, or one for another request, for the answer.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Pid;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::proof::Proof;
use crate::exec::MAX_STREAM_BYTES;
use crate::output::{Captured, RawOutput};
use crate::places::SessionPlaces;
use crate::processes::{has_mark, script_of};

/// The name of this way, for the audit line.
pub(super) const NAME: &str = "daemon";

/// Answers up to this size are read where they come in; larger ones would keep other calls waiting.
const SMALL: usize = 64 * 1024;

/// What the daemon says instead of the request's id when it fails before it knows the request or its browser.
const NO_ID: &[&str] = &["error", "unknown"];

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nobody was asked: there is no daemon, or none that could be reached.
    NotAsked(String),
    /// Nobody was asked: what is there is not the session's daemon.
    NotOurs(String),
    /// The action was asked for, and whether it was done is not known.
    Unanswered(String),
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answered {
    /// As the CLI would have ended. Its `stdout` holds the request's id too, which nobody reads.
    pub(super) output: RawOutput,
    /// Whether the daemon was connected to the browser, so that the action was tried.
    pub(super) connected: bool,
}

/// Runs an action in the session's daemon. Dropping this leaves the daemon at work: the caller ends it then.
pub(super) async fn call(
    session: &SessionPlaces,
    proof: &Proof,
    cdp_port: u16,
    request: &Map<String, Value>,
) -> Result<Answered, Trouble> {
    let stream = connect(session).await?;
    check_peer(&stream, &session.tmp(), &proof.script)?;
    exchange(stream, cdp_port, request).await
}

/// Connects to the session's socket, if it is one that only this user can have made.
async fn connect(session: &SessionPlaces) -> Result<UnixStream, Trouble> {
    let path = session.socket();
    let metadata =
        std::fs::symlink_metadata(&path).map_err(|error| Trouble::NotAsked(format!("no socket: {error}")))?;
    check_socket(metadata.file_type().is_socket(), metadata.uid(), metadata.mode())?;
    UnixStream::connect(&path).await.map_err(|error| Trouble::NotAsked(format!("nobody listens: {error}")))
}

/// Whether the file is one that the session's daemon makes: a socket, this user's, for nobody else.
fn check_socket(is_socket: bool, owner: u32, mode: u32) -> Result<(), Trouble> {
    let not_ours = |what: String| Err(Trouble::NotOurs(what));
    if !is_socket {
        return not_ours("the socket's name is taken by something else".to_owned());
    }
    if owner != rustix::process::geteuid().as_raw() {
        return not_ours(format!("the socket belongs to user {owner}"));
    }
    if mode & 0o077 != 0 {
        return not_ours(format!("the socket's mode is {:o}", mode & 0o777));
    }
    Ok(())
}

/// Whether the process that listens is this user's, carries the session's mark and runs the files that were proved.
fn check_peer(stream: &UnixStream, tmpdir: &Path, script: &Path) -> Result<(), Trouble> {
    let not_ours = |what: String| Err(Trouble::NotOurs(what));
    let peer = stream.peer_cred().map_err(|error| Trouble::NotAsked(format!("no credentials: {error}")))?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return not_ours(format!("the listener is user {}", peer.uid()));
    }
    let Some(pid) = peer.pid().and_then(Pid::from_raw) else {
        // In a sandbox whose processes cannot be seen from here; who listens cannot be checked, so it is not spoken to.
        return Err(Trouble::NotAsked("the listener is not in sight".to_owned()));
    };
    if !has_mark(pid, tmpdir) {
        return not_ours(format!("process {pid} is not of the session"));
    }
    if script_of(pid).as_deref() != Some(script) {
        return not_ours(format!("process {pid} runs something else than the proved daemon"));
    }
    Ok(())
}

/// Asks for the connection to the browser, then for the action.
async fn exchange(stream: UnixStream, cdp_port: u16, request: &Map<String, Value>) -> Result<Answered, Trouble> {
    let mut line = Lines { stream, rest: Vec::new() };
    // Always first, as the CLI does: it is nothing where the connection stands, it makes one where the browser was restarted,
    // and without one the daemon would start a browser of its own.
    let launch = json!({ "action": "launch", "cdpPort": cdp_port });
    let launch = launch.as_object().cloned().unwrap_or_default();
    let launched = match line.ask(&launch).await {
        Ok(answer) => answer,
        Err(Failed::Sending(what) | Failed::Waiting(what)) => return Err(Trouble::NotAsked(what)),
    };
    if launched.exit_code != 0 {
        return Ok(Answered { output: launched, connected: false });
    }
    if !line.rest.is_empty() {
        return Err(Trouble::NotAsked("it says more than it was asked".to_owned()));
    }
    match line.ask(request).await {
        Ok(output) => Ok(Answered { output, connected: true }),
        // What could not be sent whole may have been read whole.
        Err(Failed::Sending(what) | Failed::Waiting(what)) => Err(Trouble::Unanswered(what)),
    }
}

/// A connection on which one line follows the other.
struct Lines {
    stream: UnixStream,
    /// What came behind the last line.
    rest: Vec<u8>,
}

enum Failed {
    Sending(String),
    Waiting(String),
}

impl Lines {
    /// Sends a request and reads its answer.
    async fn ask(&mut self, request: &Map<String, Value>) -> Result<RawOutput, Failed> {
        let id = next_id();
        let line = to_line(&id, request);
        self.stream.write_all(line.as_bytes()).await.map_err(|error| Failed::Sending(format!("sending: {error}")))?;
        let answer = self.read().await.map_err(Failed::Waiting)?;
        understand(answer, id).await.map_err(Failed::Waiting)
    }

    /// Reads a line without its end. What does not fit is read, counted and thrown away.
    async fn read(&mut self) -> Result<Captured, String> {
        let mut kept = Captured::default();
        let mut chunk = std::mem::take(&mut self.rest);
        loop {
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            let room = MAX_STREAM_BYTES.saturating_sub(kept.bytes.len()).min(part.len());
            kept.bytes.extend_from_slice(part.get(..room).unwrap_or_default());
            kept.total += part.len() as u64;
            if let Some(end) = end {
                self.rest = chunk.split_off(end + 1);
                return Ok(kept);
            }
            chunk.resize(SMALL, 0);
            match self.stream.read(&mut chunk).await {
                Ok(0) if kept.total == 0 => return Err("it hung up without an answer".to_owned()),
                Ok(0) => return Err("it hung up in the middle of its answer".to_owned()),
                Ok(count) => chunk.truncate(count),
                Err(error) => return Err(format!("reading: {error}")),
            }
        }
    }
}

/// An id that no other request of this process has.
fn next_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("b{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The request as a line, in ASCII: the daemon turns each chunk that it reads into text by itself, and a character that lies
/// across two of them would be lost.
fn to_line(id: &str, request: &Map<String, Value>) -> String {
    let mut whole = Map::new();
    whole.insert("id".to_owned(), id.into());
    whole.extend(request.iter().filter(|(key, _)| *key != "id").map(|(key, value)| (key.clone(), value.clone())));
    let mut line = String::new();
    for c in Value::Object(whole).to_string().chars() {
        if c.is_ascii() {
            line.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(line, "\\u{unit:04x}");
            }
        }
    }
    line.push('\n');
    line
}

/// What every answer of the daemon has. Reading it reads the whole line, so that what is broken anywhere is no answer.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    success: bool,
    #[serde(default, rename = "data")]
    _data: IgnoredAny,
    #[serde(default, borrow)]
    error: Option<Cow<'a, str>>,
}

/// The exit code that the CLI would have given to an answer, if it is the answer to this request.
async fn understand(answer: Captured, id: String) -> Result<RawOutput, String> {
    if answer.bytes.len() <= SMALL {
        return judge(answer, &id);
    }
    let judged = tokio::task::spawn_blocking(move || judge(answer, &id)).await;
    judged.unwrap_or_else(|error| Err(format!("its answer could not be read: {error}")))
}

fn judge(mut answer: Captured, id: &str) -> Result<RawOutput, String> {
    let success = if answer.total == answer.bytes.len() as u64 {
        let text = std::str::from_utf8(&answer.bytes).map_err(|_| "its answer is not text".to_owned())?;
        // What the parser says would repeat what the page says.
        let head: Head<'_> = serde_json::from_str(text).map_err(|_| "its answer is not one".to_owned())?;
        let is_own_failure = !head.success && head.error.is_some() && NO_ID.contains(&head.id.as_ref());
        if head.id != id && !is_own_failure {
            return Err("its answer is for another request".to_owned());
        }
        head.success
    } else {
        // Cut, so it cannot be parsed any more; the daemon writes these members first.
        let begins = |success: bool| format!("{{\"id\":\"{id}\",\"success\":{success},");
        let success = [true, false].into_iter().find(|success| answer.bytes.starts_with(begins(*success).as_bytes()));
        let success = success.ok_or_else(|| "its large answer is not for this request".to_owned())?;
        // It is shown as text, and the id is nobody's business.
        let gone = format!("\"id\":\"{id}\",").len();
        answer.bytes.drain(1..=gone);
        answer.total -= gone as u64;
        success
    };
    Ok(RawOutput { exit_code: i32::from(!success), stdout: answer, stderr: Captured::default() })
}

#[cfg(test)]
mod tests;
