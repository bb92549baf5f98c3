//! Progress of calls, for clients that ask for it.
//!
//! Many clients end a call that says nothing for a while, unless its progress is reported: each report starts their timeout again.
//! Over HTTP, rmcp answers with a stream of events as soon as a report precedes the reply.

use std::time::{Duration, Instant};

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

use crate::api::mcp::accept::JsonOnly;

/// Interval between two reports.
const INTERVAL: Duration = Duration::from_secs(2);

/// Runs a call, and reports its progress at once and every two seconds if the client gave a token for it and can read a stream.
pub(crate) async fn with_progress<T>(call: impl Future<Output = T>, context: &RequestContext<RoleServer>) -> T {
    let is_json_only =
        context.extensions.get::<Parts>().is_some_and(|parts| parts.extensions.get::<JsonOnly>().is_some());
    let Some(token) = context.meta.get_progress_token().filter(|_| !is_json_only) else { return call.await };
    tokio::select! {
        finished = call => finished,
        // A client that does not read its reports must not hold up the call.
        never = report(token, &context.peer) => match never {},
    }
}

/// Reports the seconds since the start, until it is dropped.
async fn report(token: ProgressToken, peer: &Peer<RoleServer>) -> std::convert::Infallible {
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
