//! Responses of the public port that are no answers of a service, such as the one that accepts a WebSocket.

use axum::http::header::{RETRY_AFTER, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use browser_shell_system::os::websocket::{self, HandshakeError, lists};

/// Protocol that noVNC and other viewers name.
const PROTOCOL: &str = "binary";

/// Returns the response that accepts a request for a WebSocket.
///
/// # Errors
///
/// Returns the response to one that is not valid.
pub(super) fn accept(headers: &HeaderMap) -> Result<Response, Box<Response>> {
    let accepted = websocket::accept(headers).map_err(|error| {
        let status = match error {
            HandshakeError::Version => StatusCode::UPGRADE_REQUIRED,
            HandshakeError::Key => StatusCode::BAD_REQUEST,
        };
        let mut response = line(status, &error.to_string());
        if error == HandshakeError::Version {
            response.headers_mut().insert(SEC_WEBSOCKET_VERSION, websocket::VERSION);
        }
        response
    })?;
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    response.headers_mut().extend(accepted);
    if lists(headers, &SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    Ok(response)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_of_viewers_is_accepted_and_errors_have_a_status() {
        let request = |rows: &[(&'static str, &'static str)]| -> HeaderMap {
            rows.iter().map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value))).collect()
        };
        let key = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let version = ("sec-websocket-version", "13");
        let response =
            accept(&request(&[key, version, ("sec-websocket-protocol", "base64, binary")])).expect("accepted");
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(response.headers()[SEC_WEBSOCKET_PROTOCOL], "binary");
        assert!(!accept(&request(&[key, version])).expect("accepted").headers().contains_key(SEC_WEBSOCKET_PROTOCOL));
        let refused = |row| *accept(&request(&[row])).expect_err("refused");
        assert_eq!(refused(version).status(), StatusCode::BAD_REQUEST);
        let other_version = refused(key);
        assert_eq!(other_version.status(), StatusCode::UPGRADE_REQUIRED);
        assert_eq!(other_version.headers()[SEC_WEBSOCKET_VERSION], "13");
    }
}
