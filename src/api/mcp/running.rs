//! Calls of the protocol while they run: how they are canceled, and what their clients hear of them.
//!
//! Many clients end a call that says nothing for a while, unless its progress is reported: each report starts their timeout again.
//! Over HTTP, rmcp answers with a stream of events as soon as a report precedes the reply.

use std::convert::Infallible;
use std::pin::pin;
use std::time::{Duration, Instant};

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio_util::sync::CancellationToken;

use crate::api::mcp::sessions::ProtocolSession;

/// Interval between two reports.
const INTERVAL: Duration = Duration::from_secs(2);

/// Token of a server's stop: an extension of its requests.
#[derive(Clone, Debug)]
pub(super) struct Stopping(pub(super) CancellationToken);

/// Mark of a request whose client has not listed the type of event streams: an extension.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonOnly;

/// Returns an extension of the HTTP request that brought a call.
pub(super) fn extension<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<&T> {
    context.extensions.get::<Parts>()?.extensions.get::<T>()
}

/// Runs a call, with the token that cancels it. In a session of the protocol the client cancels it, and the end of the connection leaves it;
/// else it ends with its connection.
///
/// # Errors
///
/// If the call has panicked.
pub(crate) async fn cancelable<T, F>(
    context: RequestContext<RoleServer>,
    run: impl FnOnce(RequestContext<RoleServer>, CancellationToken) -> F,
) -> Result<T, ErrorData>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let session = extension::<ProtocolSession>(&context);
    let Some(call) = session.and_then(|session| session.begin(&context.id)) else {
        let cancel = context.ct.child_token();
        return Ok(Box::pin(run(context, cancel)).await);
    };
    let running = run(context, call.cancel.clone());
    let running = tokio::spawn(async move {
        let result = running.await;
        drop(call);
        result
    });
    running.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Runs a call, and cancels it when the server stops.
pub(super) async fn cancel_on_stop<T>(
    call: impl Future<Output = T>,
    cancel: &CancellationToken,
    context: &RequestContext<RoleServer>,
) -> T {
    let mut call = pin!(call);
    if let Some(Stopping(stop)) = extension(context) {
        tokio::select! {
            finished = &mut call => return finished,
            () = stop.cancelled() => cancel.cancel(),
        }
    }
    call.await
}

/// Runs a call, and reports its progress at once and every two seconds if the client gave a token for it and can read a stream.
pub(crate) async fn with_progress<T>(call: impl Future<Output = T>, context: &RequestContext<RoleServer>) -> T {
    let is_json_only = extension::<JsonOnly>(context).is_some();
    let Some(token) = context.meta.get_progress_token().filter(|_| !is_json_only) else { return call.await };
    tokio::select! {
        finished = call => finished,
        // A client that does not read its reports must not hold up the call.
        never = report(token, &context.peer) => match never {},
    }
}

/// Reports the seconds since the start, until it is dropped.
async fn report(token: ProgressToken, peer: &Peer<RoleServer>) -> Infallible {
    let started = Instant::now();
    let mut interval = tokio::time::interval(INTERVAL);
    loop {
        interval.tick().await;
        let seconds = started.elapsed().as_secs_f64();
        let message = format!("the call has run for {seconds:.0} seconds");
        let progress = ProgressNotificationParam::new(token.clone(), seconds).with_message(message);
        if peer.notify_progress(progress).await.is_err() {
            // The client is gone. That it is ends the call elsewhere.
            std::future::pending::<()>().await;
        }
    }
}
