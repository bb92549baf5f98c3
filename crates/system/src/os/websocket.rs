//! Server's side of the WebSocket handshake (RFC 6455 section 4.2).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use thiserror::Error;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The version of the protocol.
pub const VERSION: HeaderValue = HeaderValue::from_static("13");

/// Reason why a request for a WebSocket is not accepted.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HandshakeError {
    /// The request names no version, or another one than [`VERSION`].
    #[error("send Sec-WebSocket-Version: 13")]
    Version,
    /// The key is missing, there are several, or it is not 16 bytes in base64.
    #[error("the Sec-WebSocket-Key is not valid")]
    Key,
}

/// Returns true if a request asks for a WebSocket.
#[must_use]
pub fn is_requested(headers: &HeaderMap) -> bool {
    lists(headers, &UPGRADE, "websocket") && lists(headers, &CONNECTION, "upgrade")
}

/// Returns the headers of the response that accepts a request for a WebSocket.
///
/// # Errors
///
/// Returns the reason if the request is not valid.
pub fn accept(headers: &HeaderMap) -> Result<[(HeaderName, HeaderValue); 3], HandshakeError> {
    if headers.get(SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        return Err(HandshakeError::Version);
    }
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
    let (Some(key), None) = (keys.next(), keys.next()) else { return Err(HandshakeError::Key) };
    if BASE64_STANDARD.decode(key).is_ok_and(|key| key.len() == 16)
        && let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
    {
        return Ok([
            (UPGRADE, HeaderValue::from_static("websocket")),
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (SEC_WEBSOCKET_ACCEPT, accept),
        ]);
    }
    Err(HandshakeError::Key)
}

/// Returns true if a list in a header has an element, in any case of its letters.
#[must_use]
pub fn lists(headers: &HeaderMap, name: &HeaderName, element: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(element))
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
        let accepted = HeaderMap::from_iter(accept(&headers(&[key, version])).expect("accepted"));
        // RFC 6455 section 1.3
        assert_eq!(accepted[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(is_requested(&accepted));
        let refused = |rows: &[_]| accept(&headers(rows)).expect_err("refused");
        assert_eq!(refused(&[key]), HandshakeError::Version);
        assert_eq!(refused(&[key, ("sec-websocket-version", "777")]), HandshakeError::Version);
        assert_eq!(refused(&[version]), HandshakeError::Key);
        assert_eq!(refused(&[version, key, key]), HandshakeError::Key);
        assert_eq!(refused(&[version, ("sec-websocket-key", "c2hvcnQ=")]), HandshakeError::Key);
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
