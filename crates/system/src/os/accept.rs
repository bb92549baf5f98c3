//! Acceptance of TCP connections.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// Pause after a failed accept, such as with too many open files.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the next connection and its other end. A failure is logged, and followed by another attempt.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
}
