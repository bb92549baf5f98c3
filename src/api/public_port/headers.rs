//! Headers of every response of the public port.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};

/// Headers that are always the same.
const FIXED: [(HeaderName, &str); 5] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "SAMEORIGIN"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Content policy of everything but the viewer.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Returns the content policy of the viewer on a host that was checked. noVNC uses inline scripts and styles, pictures in data
/// addresses, and one WebSocket.
fn viewer_policy(host: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
         font-src 'self' data:; media-src 'self'; worker-src 'self' blob:; manifest-src 'self'; \
         connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    )
}

/// Adds the headers of every response, for a file of the viewer with the host of its request.
pub(super) fn add(headers: &mut HeaderMap, viewer_host: Option<&str>) {
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = viewer_host.map(viewer_policy).and_then(|policy| HeaderValue::from_str(&policy).ok());
    headers.insert(CONTENT_SECURITY_POLICY, policy.unwrap_or(HeaderValue::from_static(NOTHING)));
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
