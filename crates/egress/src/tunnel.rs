//! Tunnel of a `CONNECT` request.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::meter::MeteredStream;

/// Copies bytes in both directions until both sides have closed theirs. `from_client` and `from_remote` were received before.
///
/// Returns what ended the connection, for the audit line.
pub(super) async fn tunnel(
    client: &mut TcpStream,
    mut remote: MeteredStream,
    from_client: &[u8],
    from_remote: &[u8],
) -> &'static str {
    let transfer = async {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        client.write_all(from_remote).await?;
        remote.write_all(from_client).await?;
        tokio::io::copy_bidirectional(client, &mut remote).await
    };
    match transfer.await {
        Ok(_) => "closed",
        Err(_) => "error",
    }
}
