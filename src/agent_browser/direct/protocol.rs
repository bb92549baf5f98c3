//! Protocol of the daemon: one line of JSON in each direction on its Unix socket.
//!
//! The CLI sends the same requests after a fixed pause: first for the connection to Chromium, then for the command.
//!
//! Invariants: no command is sent before the connection is confirmed, and only a complete reply with the id of the request
//! counts as its reply.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::agent_browser::direct::error::DaemonError;
use crate::os::exec::MAX_STREAM_BYTES;
use browser_shell_core::output::{CapturedStream, RawOutput};

/// Size in bytes of a read, and of the largest reply that is parsed on the thread where it arrives; a larger one would keep
/// other calls waiting.
const CHUNK_BYTES: usize = 64 * 1024;

/// Number of bytes that are kept of the end of a reply. They contain the members after the data.
const END_BYTES: usize = 64;

/// Ids in replies of a daemon that fails before it knows the request or its browser.
const FAILURE_IDS: &[&str] = &["error", "unknown"];

/// Reply to a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DaemonReply {
    /// Output that the CLI would have given. Its `stdout` also contains the request's id, which no parser reads.
    pub(crate) output: RawOutput,
    /// True if the daemon was connected to Chromium, so that it tried the command.
    pub(crate) is_connected: bool,
}

/// Requests the connection to Chromium, then the command.
///
/// # Errors
///
/// `NotSent` or `Unanswered`.
pub(super) async fn exchange(
    stream: UnixStream,
    cdp_port: u16,
    request: &Map<String, Value>,
) -> Result<DaemonReply, DaemonError> {
    let mut connection = Connection { stream, rest: Vec::new() };
    // The CLI sends this first too. It changes nothing if the connection exists and creates one if Chromium was restarted;
    // without one the daemon would start its own browser.
    let launch = json!({ "action": "launch", "cdpPort": cdp_port });
    let launch = launch.as_object().cloned().unwrap_or_default();
    let launched = match connection.request(&launch).await {
        Ok(reply) => reply,
        Err(RequestError::Send(cause) | RequestError::Receive(cause)) => return Err(DaemonError::NotSent(cause)),
    };
    if launched.exit_code != 0 {
        return Ok(DaemonReply { output: launched, is_connected: false });
    }
    if !connection.rest.is_empty() {
        return Err(DaemonError::NotSent("the daemon sent more than one reply".to_owned()));
    }
    match connection.request(request).await {
        Ok(output) => Ok(DaemonReply { output, is_connected: true }),
        // The daemon may have read all of a request that could not be sent completely.
        Err(RequestError::Send(cause) | RequestError::Receive(cause)) => Err(DaemonError::Unanswered(cause)),
    }
}

/// Line that was read.
#[derive(Default)]
struct Line {
    captured: CapturedStream,
    /// Last bytes of the line, also if they are beyond the limit.
    end_of_line: Vec<u8>,
}

/// Connection that carries one line of JSON in each direction at a time.
struct Connection {
    stream: UnixStream,
    /// Bytes after the last line.
    rest: Vec<u8>,
}

/// Failure of one request, with its cause for the log.
enum RequestError {
    Send(String),
    Receive(String),
}

impl Connection {
    /// Sends a request and reads its reply.
    async fn request(&mut self, request: &Map<String, Value>) -> Result<RawOutput, RequestError> {
        let id = next_id();
        let line = to_line(&id, request);
        self.stream
            .write_all(line.as_bytes())
            .await
            .map_err(|error| RequestError::Send(format!("cannot send: {error}")))?;
        let reply = self.read_line().await.map_err(RequestError::Receive)?;
        parse_reply(reply, id).await.map_err(RequestError::Receive)
    }

    /// Reads a line without its line feed. Bytes beyond the limit are counted and discarded.
    async fn read_line(&mut self) -> Result<Line, String> {
        let Line { mut captured, mut end_of_line } = Line::default();
        let mut chunk = std::mem::take(&mut self.rest);
        loop {
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            let room = MAX_STREAM_BYTES.saturating_sub(captured.bytes.len()).min(part.len());
            captured.bytes.extend_from_slice(part.get(..room).unwrap_or_default());
            captured.total += part.len() as u64;
            end_of_line.extend_from_slice(part.get(part.len().saturating_sub(END_BYTES)..).unwrap_or_default());
            end_of_line.drain(..end_of_line.len().saturating_sub(END_BYTES));
            if let Some(end) = end {
                self.rest = chunk.split_off(end + 1);
                return Ok(Line { captured, end_of_line });
            }
            chunk.clear();
            chunk.reserve(CHUNK_BYTES);
            match self.stream.read_buf(&mut chunk).await {
                Ok(0) if captured.total == 0 => {
                    return Err("the daemon closed the connection without a reply".to_owned());
                }
                Ok(0) => return Err("the daemon closed the connection within its reply".to_owned()),
                Ok(_) => {}
                Err(error) => return Err(format!("cannot read: {error}")),
            }
        }
    }
}

/// Returns a request id that is unique in this process.
fn next_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("b{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the request as a line in ASCII: the daemon decodes each chunk that it reads separately, and would lose a character
/// that two chunks share.
fn to_line(id: &str, request: &Map<String, Value>) -> String {
    let mut members = Map::new();
    members.insert("id".to_owned(), id.into());
    members.extend(request.iter().filter(|(key, _)| *key != "id").map(|(key, value)| (key.clone(), value.clone())));
    let mut line = String::new();
    for c in Value::Object(members).to_string().chars() {
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

/// Members that every reply of the daemon has. Parsing them parses the whole line, so that a reply with an error anywhere is
/// refused.
#[derive(Deserialize)]
struct ReplyMembers<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    success: bool,
    #[serde(default, rename = "data")]
    _data: IgnoredAny,
    #[serde(default, borrow)]
    error: Option<Cow<'a, str>>,
}

/// Returns the output of the CLI that corresponds to the reply, if it is the reply to this request.
async fn parse_reply(reply: Line, id: String) -> Result<RawOutput, String> {
    if reply.captured.bytes.len() <= CHUNK_BYTES {
        return parse(reply, &id);
    }
    let parsed = tokio::task::spawn_blocking(move || parse(reply, &id)).await;
    parsed.unwrap_or_else(|error| Err(format!("the reply cannot be parsed: {error}")))
}

fn parse(line: Line, id: &str) -> Result<RawOutput, String> {
    let Line { captured: mut reply, end_of_line } = line;
    let success = if reply.total == reply.bytes.len() as u64 {
        let text = std::str::from_utf8(&reply.bytes).map_err(|_| "the reply is not UTF-8".to_owned())?;
        // The error of the parser could contain text of the page.
        let members: ReplyMembers<'_> =
            serde_json::from_str(text).map_err(|_| "the reply is not one of the daemon".to_owned())?;
        let is_failure_without_id =
            !members.success && members.error.is_some() && FAILURE_IDS.contains(&members.id.as_ref());
        if members.id != id && !is_failure_without_id {
            return Err("the reply is for another request".to_owned());
        }
        members.success
    } else {
        remove_id(&mut reply, &end_of_line, id).ok_or_else(|| "the large reply is not for this request".to_owned())?
    };
    Ok(RawOutput { exit_code: i32::from(!success), stdout: reply, stderr: CapturedStream::default() })
}

/// Removes the id from a truncated reply, which is returned as text. Returns true if the reply is a success, and `None` if it is not the
/// reply to this request. It cannot be parsed. The daemon in Node writes the id and `success` first, the native one last.
fn remove_id(reply: &mut CapturedStream, end_of_line: &[u8], id: &str) -> Option<bool> {
    let find = |matches: &dyn Fn(String) -> bool| {
        [true, false].into_iter().find(|success| matches(format!("\"id\":\"{id}\",\"success\":{success}")))
    };
    if let Some(success) = find(&|members| reply.bytes.starts_with(format!("{{{members},").as_bytes())) {
        let id_length = format!("\"id\":\"{id}\",").len();
        reply.bytes.drain(1..=id_length);
        reply.total -= id_length as u64;
        return Some(success);
    }
    // A text of the page cannot contain this: its quotes are escaped.
    let success = find(&|members| end_of_line.ends_with(format!(",{members}}}").as_bytes()))?;
    let first = format!("\"success\":{success},");
    reply.bytes.splice(1..1, first.bytes());
    reply.bytes.truncate(MAX_STREAM_BYTES);
    reply.total -= format!(",\"id\":\"{id}\"").len() as u64;
    Some(success)
}

#[cfg(test)]
mod tests;
