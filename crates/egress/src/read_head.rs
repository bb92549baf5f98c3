//! Reading of a request head from a connection.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::head::{find_head_end, is_plausible_start};

/// Bytes of a request head, and the bytes that arrived behind it.
pub(super) struct ReceivedHead {
    pub(super) head: Vec<u8>,
    pub(super) rest: Vec<u8>,
}

/// Reads the head of a request of at most `max_bytes`. Returns `None` if the client closed the connection without sending
/// anything: browsers open connections that they may not need.
///
/// # Errors
///
/// The reason of the refusal, for the client.
pub(super) async fn read_head(stream: &mut TcpStream, max_bytes: usize) -> Result<Option<ReceivedHead>, &'static str> {
    let mut bytes = Vec::with_capacity(2048);
    loop {
        let before = bytes.len();
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) if before == 0 => return Ok(None),
            Ok(0) | Err(_) => return Err("the connection ended within the head of the request"),
            Ok(_) => {}
        }
        if !is_plausible_start(&bytes) {
            return Err("the request is not HTTP");
        }
        match find_head_end(&bytes, before) {
            Some(end) if end <= max_bytes => {
                let rest = bytes.split_off(end);
                return Ok(Some(ReceivedHead { head: bytes, rest }));
            }
            None if bytes.len() <= max_bytes => {}
            _ => return Err("the head of the request is too large"),
        }
    }
}
