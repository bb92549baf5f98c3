//! Server's side of the WebSocket handshake (RFC 6455 section 4.2), and the responses of the public port that are no answers of a
//! service.

use axum::http::header::{
    CONNECTION, RETRY_AFTER, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Protocol that noVNC and other viewers name.
const PROTOCOL: &str = "binary";

/// Returns true if a request asks for a WebSocket.
pub(super) fn is_requested(headers: &HeaderMap) -> bool {
    lists(headers, &UPGRADE, "websocket") && lists(headers, &CONNECTION, "upgrade")
}

/// Returns the response that accepts a request for a WebSocket.
///
/// # Errors
///
/// Returns the response to one that is not valid.
pub(super) fn accept(headers: &HeaderMap) -> Result<Response, Box<Response>> {
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        let mut response = line(StatusCode::UPGRADE_REQUIRED, "send Sec-WebSocket-Version: 13");
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return Err(response.into());
    }
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
    let key = match (keys.next(), keys.next()) {
        (Some(key), None) => key.as_bytes(),
        _ => &[],
    };
    if BASE64_STANDARD.decode(key).is_ok_and(|key| key.len() == 16) {
        let fixed = [(UPGRADE, "websocket"), (CONNECTION, "Upgrade")];
        let accept = [(SEC_WEBSOCKET_ACCEPT, derive_accept_key(key))];
        let protocol =
            lists(headers, &SEC_WEBSOCKET_PROTOCOL, PROTOCOL).then_some([(SEC_WEBSOCKET_PROTOCOL, PROTOCOL)]);
        let mut response = (StatusCode::SWITCHING_PROTOCOLS, fixed, accept).into_response();
        for (name, value) in protocol.into_iter().flatten() {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        return Ok(response);
    }
    Err(line(StatusCode::BAD_REQUEST, "the Sec-WebSocket-Key is not valid").into())
}

/// Returns true if a list in a header has an element, in any case of its letters.
fn lists(headers: &HeaderMap, name: &HeaderName, element: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(element))
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

    fn headers(rows: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = rows.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut headers = HeaderMap::new();
        pairs.for_each(|(name, value)| {
            headers.append(name, value);
        });
        headers
    }

    #[test]
    fn handshake_follows_the_specification() {
        let key = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let version = ("sec-websocket-version", "13");
        let response =
            accept(&headers(&[key, version, ("sec-websocket-protocol", "base64, binary")])).expect("accepted");
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        // RFC 6455 section 1.3
        assert_eq!(response.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(response.headers()[SEC_WEBSOCKET_PROTOCOL], "binary");
        assert!(!accept(&headers(&[key, version])).expect("accepted").headers().contains_key(SEC_WEBSOCKET_PROTOCOL));
        let status = |rows: &[_]| accept(&headers(rows)).expect_err("refused").status();
        assert_eq!(status(&[key]), StatusCode::UPGRADE_REQUIRED);
        assert_eq!(status(&[key, ("sec-websocket-version", "777")]), StatusCode::UPGRADE_REQUIRED);
        assert_eq!(status(&[version]), StatusCode::BAD_REQUEST);
        assert_eq!(status(&[version, key, key]), StatusCode::BAD_REQUEST);
        assert_eq!(status(&[version, ("sec-websocket-key", "c2hvcnQ=")]), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn only_an_upgrade_to_websocket_is_a_request_for_one() {
        let requested = |rows: &[_]| is_requested(&headers(rows));
        assert!(requested(&[("upgrade", "WebSocket"), ("connection", "keep-alive, Upgrade")]));
        assert!(!requested(&[("upgrade", "h2c"), ("connection", "Upgrade")]));
        assert!(!requested(&[("upgrade", "websocket")]));
        assert!(!requested(&[]));
    }
}
