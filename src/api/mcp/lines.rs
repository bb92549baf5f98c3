//! Transport of messages in lines, for standard input and output.
//!
//! rmcp has one too, which drops a line that is not JSON, and answers one that is no message without an `id`: a client with a broken encoder
//! would wait for answers that never come.

use std::io;
use std::sync::Arc;

use futures::StreamExt;
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::bytes::{Buf, BytesMut};
use tokio_util::codec::{Decoder, FramedRead};

use crate::api::mcp::messages::{self, InvalidMessage};

/// UTF-8 byte order mark, which a reader may ignore (RFC 8259 section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Transport over a reader and a writer.
#[derive(Debug)]
pub(super) struct LineTransport<R, W> {
    reader: FramedRead<R, LineDecoder>,
    /// `None` once the transport is closed.
    writer: Arc<Mutex<Option<W>>>,
    /// Writes the error for the last line. The next one is read after it, so that a client that reads nothing gets nothing more.
    answering: Option<JoinHandle<()>>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport that does not read lines above this number of bytes.
    pub(super) fn new(reader: R, writer: W, max_line: usize) -> Self {
        let decoder = LineDecoder { max_line, searched: 0, is_skipping: false };
        Self { reader: FramedRead::new(reader, decoder), writer: Arc::new(Mutex::new(Some(writer))), answering: None }
    }

    /// Begins to answer a line that is no message.
    fn refuse(&mut self, error: &InvalidMessage) {
        tracing::debug!(?error, "a line is no message");
        if !error.needs_no_answer {
            let writing = write_line(self.writer.clone(), error.to_json().to_string().into_bytes());
            // A client that is gone gets no answer.
            self.answering = Some(tokio::spawn(async move { drop(writing.await) }));
        }
    }
}

/// Writes a line whole, after those before it.
async fn write_line<W: AsyncWrite + Unpin>(writer: Arc<Mutex<Option<W>>>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut writer = writer.lock().await;
    let Some(writer) = writer.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
    writer.write_all(&line).await?;
    writer.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, line) = (self.writer.clone(), serde_json::to_vec(&item));
        async move { write_line(writer, line?).await }
    }

    /// Loses nothing if it is dropped: the decoder keeps what was read.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let _ = answering.await;
                self.answering = None;
            }
            match self.reader.next().await? {
                Ok(InputLine::Whole(line)) if line.is_empty() => {}
                Ok(InputLine::Whole(line)) => {
                    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
                    match messages::read(text) {
                        Ok(message) => return Some(message),
                        Err(error) => self.refuse(&error),
                    }
                }
                Ok(InputLine::TooLong) => {
                    tracing::error!("a line is too long and was not read");
                    self.refuse(&InvalidMessage::too_long());
                }
                Err(error) => {
                    tracing::error!(%error, "cannot read messages");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.take();
        Ok(())
    }
}

/// Line of the input.
enum InputLine {
    /// Its bytes, without its break.
    Whole(BytesMut),
    TooLong,
}

/// Decoder of lines. The last one needs no break.
#[derive(Debug)]
struct LineDecoder {
    /// Maximum length of a line, in bytes.
    max_line: usize,
    /// Number of bytes that are known to have no line break.
    searched: usize,
    /// True until the end of a line that was too long.
    is_skipping: bool,
}

impl Decoder for LineDecoder {
    type Item = InputLine;
    type Error = io::Error;

    fn decode(&mut self, input: &mut BytesMut) -> io::Result<Option<InputLine>> {
        loop {
            let unsearched = input.get(self.searched..).unwrap_or_default();
            let end = unsearched.iter().position(|byte| *byte == b'\n').map(|position| self.searched + position);
            let is_skipped = self.is_skipping;
            let Some(end) = end else {
                self.is_skipping |= input.len() > self.max_line;
                if self.is_skipping {
                    input.clear();
                }
                self.searched = input.len();
                return Ok((self.is_skipping && !is_skipped).then_some(InputLine::TooLong));
            };
            self.searched = 0;
            self.is_skipping = false;
            let mut line = input.split_to(end);
            input.advance(1);
            if is_skipped {
                continue;
            }
            if line.len() > self.max_line {
                return Ok(Some(InputLine::TooLong));
            }
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            return Ok(Some(InputLine::Whole(line)));
        }
    }

    fn decode_eof(&mut self, input: &mut BytesMut) -> io::Result<Option<InputLine>> {
        if let Some(line) = self.decode(input)? {
            return Ok(Some(line));
        }
        // A client that ends may leave out the last break.
        let rest = input.split();
        self.searched = 0;
        Ok(Some(rest).filter(|rest| !rest.is_empty()).map(InputLine::Whole))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::JsonRpcMessage;
    use serde_json::Value;
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    /// Returns the ids of the requests in the input, and the lines that answer the rest.
    async fn receive(input: &[u8], max_line: usize) -> (Vec<String>, Vec<Value>) {
        let (writer, mut output) = duplex(64 * 1024);
        let mut transport = LineTransport::new(input, writer, max_line);
        let mut ids = Vec::new();
        while let Some(message) = transport.receive().await {
            if let JsonRpcMessage::Request(request) = message {
                ids.push(request.id.to_string());
            }
        }
        drop(transport);
        let mut text = String::new();
        output.read_to_string(&mut text).await.expect("text");
        (ids, text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
    }

    #[tokio::test]
    async fn lines_that_are_no_message_are_answered() {
        let ping = |id: u8| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
        let notification = r#"{"jsonrpc":"1","method":"x"}"#;
        let long = "x".repeat(200);
        let (one, two, three, half) = (ping(1), ping(2), ping(3), r#"{"jsonrpc":"2.0","id":4,"met"#);
        let input = format!("{one}\n\r\n{{bad\n\u{feff}{two}\r\n[]\n{notification}\n{long}\n{three}\n{half}");
        let (ids, answers) = receive(input.as_bytes(), 100).await;
        assert_eq!(ids, ["1", "2", "3"]);
        let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
        assert_eq!(codes, [Some(-32700), Some(-32600), Some(-32600), Some(-32700)], "{answers:?}");
        assert_eq!(receive(three.as_bytes(), 100).await.0, ["3"], "without a break");
        assert!(answers.iter().all(|answer| answer.get("id") == Some(&Value::Null)), "{answers:?}");
        let (ids, answers) = receive(b"\xff\xfe{}\n", 100).await;
        assert_eq!((ids.len(), answers[0]["error"]["code"].as_i64()), (0, Some(-32700)));
    }

    #[test]
    fn decoder_does_not_keep_a_line_that_is_too_long() {
        let mut decoder = LineDecoder { max_line: 4, searched: 0, is_skipping: false };
        let mut input = BytesMut::from(&b"ab"[..]);
        assert!(decoder.decode(&mut input).expect("read").is_none());
        input.extend_from_slice(b"cdef");
        assert!(matches!(decoder.decode(&mut input), Ok(Some(InputLine::TooLong))));
        assert!(input.is_empty());
        input.extend_from_slice(b"ghi");
        assert!(decoder.decode(&mut input).expect("read").is_none() && input.is_empty(), "said once");
        input.extend_from_slice(b"j\nkl\n");
        assert!(matches!(decoder.decode(&mut input), Ok(Some(InputLine::Whole(line))) if &line[..] == b"kl"));
    }
}
