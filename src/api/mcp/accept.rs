//! Content negotiation of `/mcp`.
//!
//! rmcp answers 406 unless a client lists both media types of the protocol. This server answers with JSON, except calls whose progress
//! is reported, so a client that accepts JSON in any form can read the answer: `application/json`, `application/*`, `*/*`, or an absent or empty `Accept` (RFC 9110
//! section 12.5.1). For such a client, the header is completed before rmcp reads it. A GET that does not ask for the protocol's event
//! stream, such as that of a person's browser, is answered with JSON too.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Media types that rmcp requires.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Media type of the stream that a client of the protocol requests with GET.
const EVENTS: &str = "text/event-stream";

/// JSON-RPC error code for errors that a server defines.
const SERVER_ERROR: i32 = -32000;

/// Media ranges that include JSON, the most specific first.
const RANGES: [&str; 3] = ["application/json", "application/*", "*/*"];

/// Mark of a request whose client has not listed the type of event streams: an extension.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonOnly;

/// Completes the Accept header of a client that accepts JSON.
pub(super) async fn complete_accept(mut request: Request, next: Next) -> Response {
    if accepts_json(request.headers()) {
        if !listed(request.headers()).iter().any(|(range, _)| range.eq_ignore_ascii_case(EVENTS)) {
            if request.method() == Method::GET {
                return only_post();
            }
            request.extensions_mut().insert(JsonOnly);
        }
        request.headers_mut().insert(header::ACCEPT, BOTH);
    }
    next.run(request).await
}

/// Returns the response to a GET for JSON, such as that of a person's browser.
fn only_post() -> Response {
    let message = "this is an MCP server; send JSON-RPC messages with POST";
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": SERVER_ERROR, "message": message}});
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::ALLOW, "POST")];
    (StatusCode::METHOD_NOT_ALLOWED, headers, error.to_string()).into_response()
}

/// Returns true if the headers accept JSON. The most specific range that matches counts, and the weight 0 refuses it.
fn accepts_json(headers: &HeaderMap) -> bool {
    let listed = listed(headers);
    let matching = |wanted: &&str| listed.iter().find(|(range, _)| range.eq_ignore_ascii_case(wanted));
    listed.is_empty() || RANGES.iter().find_map(matching).is_some_and(|(_, is_refused)| !is_refused)
}

/// Returns the media ranges of all Accept headers, each with true if its weight is 0.
fn listed(headers: &HeaderMap) -> Vec<(&str, bool)> {
    let values = headers.get_all(header::ACCEPT).iter().map(|value| value.to_str().unwrap_or("unreadable"));
    let elements = values.flat_map(|value| value.split(',')).filter(|element| !element.trim().is_empty());
    elements.map(parse_range).collect()
}

/// Returns the media range of a list element, and true if its weight is 0.
fn parse_range(element: &str) -> (&str, bool) {
    let mut parts = element.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim_end().eq_ignore_ascii_case("q").then(|| value.trim_start())
    });
    (range, weight.is_some_and(|weight| weight.parse() == Ok(0.0_f32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, value.parse().expect("a header"));
        }
        accepts_json(&headers)
    }

    #[test]
    fn ranges_that_include_json_are_recognized() {
        for values in [
            &[][..],
            &[""],
            &["*/*"],
            &["application/json"],
            &["Application/JSON; charset=utf-8"],
            &["application/*"],
            &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
            &["text/html", "*/*"],
            &["application/json;q=0.5, */*;q=0"],
            &["text/event-stream, application/json"],
        ] {
            assert!(accepts(values), "{values:?}");
        }
        for values in [
            &["text/html"][..],
            &["text/*"],
            &["text/event-stream"],
            &["application/jsonx"],
            &["application/json;q=0"],
            &["application/json; q=0.000, */*"],
            &["*/*;Q=0"],
        ] {
            assert!(!accepts(values), "{values:?}");
        }
    }
}
