//! Requests of the supervisor over the debugging pipe.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;

use crate::browser::pipe::DebugPipe;

/// Last byte of each message.
const END: u8 = 0;

/// Maximum size of a message, in bytes. The supervisor asks for nothing long.
const MAX_MESSAGE: usize = 1024 * 1024;

/// Commands to Chromium, one at a time.
#[derive(Debug)]
pub(super) struct PipeExchange(Mutex<State>);

#[derive(Debug)]
struct State {
    reader: BufReader<Receiver>,
    writer: Sender,
    last_id: u64,
    /// Beginning of a message whose end has not arrived. It outlives a request that was given up.
    message: Vec<u8>,
}

impl PipeExchange {
    /// Creates an exchange over a pipe.
    #[must_use]
    pub(super) fn new(pipe: DebugPipe) -> Self {
        let reader = BufReader::new(pipe.reader);
        Self(Mutex::new(State { reader, writer: pipe.writer, last_id: 0, message: Vec::new() }))
    }

    /// Sends a command to the browser itself, and returns the answer.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium closed the pipe or sends no valid answer.
    pub(super) async fn request(&self, method: &str) -> io::Result<Value> {
        let mut state = self.0.lock().await;
        state.last_id += 1;
        let id = state.last_id;
        let mut command = json!({ "id": id, "method": method }).to_string().into_bytes();
        command.push(END);
        // So short that a pipe takes it as a whole, also if this future is dropped.
        state.writer.write_all(&command).await?;
        loop {
            let answer = state.next_message().await?;
            // Answers to requests that were given up, and events.
            if answer.get("id") == Some(&json!(id)) {
                return Ok(answer);
            }
        }
    }
}

impl State {
    /// Waits for a whole message. Canceling it loses nothing.
    async fn next_message(&mut self) -> io::Result<Value> {
        loop {
            let part = self.reader.fill_buf().await?;
            if part.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let end = part.iter().position(|byte| *byte == END);
            let taken = end.unwrap_or(part.len());
            self.message.extend_from_slice(part.get(..taken).unwrap_or(part));
            self.reader.consume(taken + usize::from(end.is_some()));
            if self.message.len() > MAX_MESSAGE {
                return Err(io::Error::other("a message on the debugging pipe is too long"));
            }
            if end.is_some() {
                return Ok(serde_json::from_slice(&std::mem::take(&mut self.message))?);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn exchange_with(answers: &[u8]) -> io::Result<Value> {
        let (mut chromium, reader) = tokio::net::unix::pipe::pipe()?;
        let (writer, _commands) = tokio::net::unix::pipe::pipe()?;
        chromium.write_all(answers).await?;
        drop(chromium);
        PipeExchange::new(DebugPipe { reader, writer }).request("Browser.getVersion").await
    }

    #[tokio::test]
    async fn exchange_skips_events_and_other_answers() {
        let answer =
            exchange_with(b"{\"method\":\"Target.targetCreated\"}\0{\"id\":7}\0{\"id\":1,\"result\":{}}\0").await;
        assert_eq!(answer.expect("an answer"), json!({"id": 1, "result": {}}));
    }

    #[tokio::test]
    async fn exchange_fails_when_pipe_ends_or_is_no_browser() {
        for answers in [&b""[..], b"{\"id\":1,\"result\":{}}", b"not JSON\0", &[b'x'; 9_000]] {
            assert!(exchange_with(answers).await.is_err(), "{}", answers.len());
        }
    }
}
