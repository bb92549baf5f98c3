//! End of calls over HTTP when the server stops.

use std::pin::pin;

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

/// Token of a server's stop: an extension of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Stopping(pub(crate) CancellationToken);

/// Runs a call, and cancels it when the server stops.
pub(crate) async fn cancel_on_stop<T>(
    call: impl Future<Output = T>,
    cancel: &CancellationToken,
    context: &RequestContext<RoleServer>,
) -> T {
    let mut call = pin!(call);
    let parts = context.extensions.get::<Parts>();
    if let Some(Stopping(stop)) = parts.and_then(|parts| parts.extensions.get()) {
        tokio::select! {
            finished = &mut call => return finished,
            () = stop.cancelled() => cancel.cancel(),
        }
    }
    call.await
}
