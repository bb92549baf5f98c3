//! Ways to connect to Chromium's debugging interface: the pipe of a Chromium that the program started, and a port on loopback.
//!
//! A message on the pipe that is not UTF-8 is skipped. One on the debugging port ends the connection: the WebSocket library checks
//! each text message, and reads none after an error. Chromium writes only UTF-8.
//!
//! Invariants: Chromium reads commands from file descriptor 3 and writes answers to 4, each a JSON text that ends with a NUL
//! byte. Nobody else can open the pipe, and Chromium ends when its other ends are closed.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::Arc;

use futures::{SinkExt, StreamExt, future};
use hyper::body::Bytes;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::bytes::{Buf, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, Decoder, FramedRead, FramedWrite};

use crate::connection::Connection;
use crate::message::{Ends, MAX_MESSAGE, Received};
use crate::port::{BrowserError, DebuggedBrowser};

/// Our ends of the debugging pipe of one Chromium.
#[derive(Debug)]
pub struct DebugPipe {
    /// Answers and events.
    pub reader: Receiver,
    /// Commands.
    pub writer: Sender,
}

/// Chromium's ends, which the helper `launch` receives as its standard input and output.
#[derive(Debug)]
pub struct PipeEnds {
    /// Commands.
    pub stdin: Stdio,
    /// Answers and events.
    pub stdout: Stdio,
}

impl DebugPipe {
    /// Creates the pipe. Call it within the executor.
    ///
    /// # Errors
    ///
    /// Returns the error of the system, for example if there are too many open files.
    pub fn open() -> io::Result<(Self, PipeEnds)> {
        let (stdin, commands) = io::pipe()?;
        let (answers, stdout) = io::pipe()?;
        let ours = Self {
            reader: Receiver::from_owned_fd(OwnedFd::from(answers))?,
            writer: Sender::from_owned_fd(OwnedFd::from(commands))?,
        };
        Ok((ours, PipeEnds { stdin: stdin.into(), stdout: stdout.into() }))
    }
}

/// Byte that ends each message on the pipe.
const END: u8 = 0;

/// Decoder of the pipe. A message that is too long is skipped: only its first and last bytes are returned.
#[derive(Debug)]
struct PipeCodec {
    max_message: usize,
    /// Number of bytes of the buffer that have no end of a message.
    searched: usize,
    /// Message that is being skipped.
    skipped: Option<Ends>,
}

impl PipeCodec {
    const fn new(max_message: usize) -> Self {
        Self { max_message, searched: 0, skipped: None }
    }
}

impl Decoder for PipeCodec {
    type Item = Received;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Received>> {
        let unsearched = buffer.iter().skip(self.searched);
        let end = unsearched.copied().position(|byte| byte == END).map(|offset| self.searched + offset);
        let length = end.unwrap_or(buffer.len());
        if self.skipped.is_none() && end.is_none() && length <= self.max_message {
            self.searched = length;
            return Ok(None);
        }
        let part = buffer.split_to(length);
        self.searched = 0;
        if self.skipped.is_none() && length <= self.max_message {
            buffer.advance(1);
            return Ok(Some(Received::new(part.into())));
        }
        let skipped = self.skipped.get_or_insert_default();
        skipped.add(&part);
        if end.is_none() {
            return Ok(None);
        }
        buffer.advance(1);
        Ok(self.skipped.take().map(Received::Unreadable))
    }
}

/// Connects over the pipe of a Chromium that this process started.
#[must_use]
pub fn over_pipe(pipe: DebugPipe) -> Arc<Connection> {
    let reader = FramedRead::new(pipe.reader, PipeCodec::new(MAX_MESSAGE));
    let writer = FramedWrite::new(pipe.writer, AnyDelimiterCodec::new(vec![END], vec![END]));
    Connection::start(Box::pin(reader), writer)
}

/// Connects over the debugging port on loopback.
///
/// # Errors
///
/// Returns an error if no browser answers there.
pub async fn over_port(port: u16) -> Result<Arc<Connection>, BrowserError> {
    let (writer, reader) = DebuggedBrowser::new(port).open_browser().await?.split();
    let reader = reader.filter_map(|message| {
        future::ready(match message {
            Ok(Message::Text(text)) => Some(Ok(Received::new(Bytes::from(text).into()))),
            Ok(_) => None,
            Err(error) => Some(Err(io::Error::other(error))),
        })
    });
    let writer =
        writer.with(|text: String| future::ready(Ok::<_, tokio_tungstenite::tungstenite::Error>(Message::text(text))));
    Ok(Connection::start(Box::pin(reader), Box::pin(writer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pipe_skips_long_messages_and_reads_on() {
        let long = format!("{{\"id\":7,\"result\":\"{}end\"}}", "x".repeat(100));
        let bytes = format!("{{\"id\":6}}\0{long}\0{{\"id\":8}}\0");
        let codec = PipeCodec::new(32);
        // Small reads: the long message comes in several parts.
        let reader = tokio::io::BufReader::with_capacity(16, bytes.as_bytes());
        let received: Vec<_> = FramedRead::with_capacity(reader, codec, 16).map(Result::unwrap).collect().await;
        let [Received::Text(first), Received::Unreadable(ends), Received::Text(last)] = &received[..] else {
            panic!("{received:?}");
        };
        assert_eq!((first.as_str(), last.as_str()), (r#"{"id":6}"#, r#"{"id":8}"#));
        assert!(ends.head.starts_with(br#"{"id":7,"#) && ends.tail.ends_with(br#"xend"}"#), "{ends:?}");
    }

    #[tokio::test]
    async fn pipe_takes_messages_up_to_the_limit_however_they_come() {
        for capacity in [1, 7, 1024] {
            let bytes = format!("{0}\0{0}x\0\0{0}\0", "a".repeat(32));
            let reader = tokio::io::BufReader::with_capacity(capacity, bytes.as_bytes());
            let frames = FramedRead::with_capacity(reader, PipeCodec::new(32), capacity);
            let lengths: Vec<_> = frames
                .map(|received| match received.unwrap() {
                    Received::Text(text) => Some(text.len()),
                    Received::Unreadable(_) => None,
                })
                .collect()
                .await;
            assert_eq!(lengths, [Some(32), None, Some(0), Some(32)], "{capacity}");
        }
    }
}
