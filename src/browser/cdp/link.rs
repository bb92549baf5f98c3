//! Ways to connect to Chromium's debugging interface.

use std::io;
use std::sync::Arc;

use futures::{SinkExt, StreamExt, future};
use hyper::body::Bytes;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::codec::{AnyDelimiterCodec, FramedRead, FramedWrite};

use crate::browser::cdp::connection::{Connection, MAX_MESSAGE};
use crate::browser::cdp::error::BrowserError;
use crate::browser::cdp::port::DebugPort;
use crate::browser::pipe::DebugPipe;

/// Byte that ends each message on the pipe.
const END: u8 = 0;

/// Connects over the pipe of a Chromium that this process started.
#[must_use]
pub(crate) fn over_pipe(pipe: DebugPipe) -> Arc<Connection> {
    let codec = || AnyDelimiterCodec::new_with_max_length(vec![END], vec![END], MAX_MESSAGE);
    let reader = FramedRead::new(pipe.reader, codec()).map(|message| {
        let message: Bytes = message.map_err(io::Error::other)?;
        String::from_utf8(message.into()).map_err(io::Error::other)
    });
    let writer = FramedWrite::new(pipe.writer, codec());
    Connection::start(Box::pin(reader), writer)
}

/// Connects over the debugging port on loopback.
///
/// # Errors
///
/// Returns an error if no browser answers there.
pub(crate) async fn over_port(port: u16) -> Result<Arc<Connection>, BrowserError> {
    let (writer, reader) = DebugPort(port).open_browser().await?.split();
    let reader = reader.filter_map(|message| {
        future::ready(match message {
            Ok(Message::Text(text)) => Some(Ok(text.to_string())),
            Ok(_) => None,
            Err(error) => Some(Err(io::Error::other(error))),
        })
    });
    let writer =
        writer.with(|text: String| future::ready(Ok::<_, tokio_tungstenite::tungstenite::Error>(Message::text(text))));
    Ok(Connection::start(Box::pin(reader), Box::pin(writer)))
}
