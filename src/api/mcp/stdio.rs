//! MCP server over standard input and output.

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::api::mcp::arrival_order::OrderedTransport;
use crate::api::mcp::server::McpServer;

/// Maximum size of a message on standard input, in bytes. A longer line is dropped unread.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// Error of an MCP session over stdio.
#[derive(Debug, Error)]
pub(crate) enum StdioError {
    /// The client did not start the session as the protocol requires.
    #[error("the MCP session did not start: {0}")]
    Initialize(Box<ServerInitializeError>),
    /// The session ended with an error.
    #[error("the MCP session failed: {0}")]
    Session(tokio::task::JoinError),
}

/// Serves one client until it disconnects or `stop` is canceled.
///
/// # Errors
///
/// See [`StdioError`]. A client that disconnects before it sends anything is not an error.
pub(crate) async fn serve(server: McpServer, stop: CancellationToken) -> Result<(), StdioError> {
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE);
    let transport = OrderedTransport::new(transport, server.tickets().clone());
    let server = server.with_changes();
    let announcer = server.clone();
    let service = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        started = server.serve_with_ct(transport, stop.clone()) => match started {
            Ok(service) => service,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(StdioError::Initialize(Box::new(error))),
        },
    };
    let announcing = tokio::spawn(announcer.announce_changes(service.peer().clone()));
    let ended = service.waiting().await;
    announcing.abort();
    ended.map(|_| ()).map_err(StdioError::Session)
}
