//! Outgoing connections to checked addresses.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;

/// Timeout for one address to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Open connection toward a destination.
#[derive(Debug)]
pub(super) struct Outbound {
    pub(super) stream: TcpStream,
    /// Bytes that an upstream proxy sent behind its response.
    pub(super) received: Vec<u8>,
    pub(super) peer: DialedPeer,
}

/// Other end of an outgoing connection, as far as a plain request must know it.
#[derive(Debug)]
pub(super) enum DialedPeer {
    /// The host itself, directly or through a tunnel.
    Host,
    /// An upstream proxy, with the value of `Proxy-Authorization` that it requires.
    Proxy(Option<String>),
}

/// Connects to an address. Returns `None` if it does not accept the connection in time.
pub(super) async fn dial(address: SocketAddr) -> Option<TcpStream> {
    match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => {
            // Small messages inside a tunnel must not wait to be sent together.
            let _ = stream.set_nodelay(true);
            Some(stream)
        }
        Ok(Err(error)) => {
            tracing::debug!(%address, %error, "connect");
            None
        }
        Err(_) => None,
    }
}
