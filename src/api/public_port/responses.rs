//! Responses of the public port that are no answers of a service.

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};

/// Returns the response to a request without a route.
pub(super) fn no_route() -> Response {
    let text = "forbidden: only /mcp, /vnc/, /websockify and POST /tickets are served here\n";
    (StatusCode::FORBIDDEN, text).into_response()
}

/// Returns a response of one line.
pub(super) fn line(status: StatusCode, text: &str) -> Response {
    (status, format!("{text}\n")).into_response()
}

/// Returns the response to a request for a screen that does not run now.
pub(super) fn no_screen() -> Response {
    let text = "the screen does not answer: it is starting, or is being started again; try again in a few seconds\n";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "2")], text).into_response()
}
