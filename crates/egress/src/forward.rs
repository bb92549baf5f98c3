//! Transfer between a client and its destination: the tunnel of a `CONNECT` request, and one plain http request.
//!
//! hyper parses and writes both sides of a plain request, so that what is sent has one meaning, whatever was received.
//!
//! Invariants: a connection carries one request; headers for proxies are not forwarded; no forwarded response can pass for a
//! response of the guard.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use crate::limits::MeteredStream;
use crate::response::{GuardResponse, HEADERS};
use crate::route::DialedPeer;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::url::WebUrl;

/// Headers of one hop (RFC 9110 section 7.6.1), and those for proxies only.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-authentication-info"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Smallest buffer that hyper gets, in bytes.
const MIN_BUFFER: usize = 16 * 1024;

type ForwardBody = Either<Incoming, Full<Bytes>>;

/// Forwards one request from `client` to `remote`, where `peer` is, and its response back. `received` is the beginning of the
/// request, and `max_head` the largest head of a message, in bytes.
///
/// Returns what ended the connection, for the audit line.
pub(super) async fn forward<C, R>(
    client: C,
    received: Vec<u8>,
    remote: R,
    page: WebUrl,
    peer: DialedPeer,
    max_head: usize,
) -> &'static str
where
    C: AsyncRead + AsyncWrite,
    R: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let buffer = max_head.max(MIN_BUFFER);
    let mut builder = hyper::client::conn::http1::Builder::new();
    // Some hosts know the names of fields in one case only.
    builder.preserve_header_case(true).title_case_headers(true).max_buf_size(buffer);
    let Ok((sender, connection)) = builder.handshake::<_, Incoming>(TokioIo::new(remote)).await else {
        return "error";
    };
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    // The first request takes the sender, so there can be no second.
    let sender = Arc::new(Mutex::new(Some(sender)));
    let service = service_fn(move |request: Request<Incoming>| {
        let sender = sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        let outgoing = rewrite_request(request, &page, &peer);
        async move {
            let response = match (sender, outgoing) {
                (Some(mut sender), Some(outgoing)) => sender.send_request(outgoing).await.ok(),
                _ => None,
            };
            Ok::<_, Infallible>(response.and_then(filter_response).unwrap_or_else(bad_gateway))
        }
    });
    let (reader, writer) = tokio::io::split(client);
    let client = tokio::io::join(std::io::Cursor::new(received).chain(reader), writer);
    let mut server = hyper::server::conn::http1::Builder::new();
    // When a browser leaves a page, it closes its side, and the connection ends here. If it waited for a silent host instead, a
    // page could use up all connections.
    server.preserve_header_case(true).keep_alive(false).max_buf_size(buffer);
    match server.serve_connection(TokioIo::new(client), service).await {
        Ok(()) => "closed",
        Err(_) => "error",
    }
}

/// Returns the request to send, or `None` if it cannot be expressed.
fn rewrite_request(mut request: Request<Incoming>, page: &WebUrl, peer: &DialedPeer) -> Option<Request<Incoming>> {
    let headers = request.headers_mut();
    remove_hop_headers(headers);
    // hyper has answered `Expect: 100-continue` already.
    headers.remove(header::EXPECT);
    let path =
        page.url.query().map_or_else(|| page.url.path().to_owned(), |query| format!("{}?{query}", page.url.path()));
    let authority = page.url.port().map_or_else(
        || page.url.host_str().unwrap_or_default().to_owned(),
        |port| format!("{}:{port}", page.url.host_str().unwrap_or_default()),
    );
    headers.insert(header::HOST, HeaderValue::from_str(&authority).ok()?);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let target = match peer {
        DialedPeer::Host => path,
        DialedPeer::Proxy(authorization) => {
            if let Some(authorization) = authorization {
                headers.insert(header::PROXY_AUTHORIZATION, HeaderValue::from_str(authorization).ok()?);
            }
            format!("http://{authority}{path}")
        }
    };
    *request.uri_mut() = target.parse::<Uri>().ok()?;
    Some(request)
}

/// Returns the response to pass on, or `None` for one that a browser would attribute to the guard.
fn filter_response(mut response: Response<Incoming>) -> Option<Response<ForwardBody>> {
    // 407 would make the browser ask a person for a proxy password; 101 answers an upgrade that was not requested.
    if matches!(response.status(), StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::SWITCHING_PROTOCOLS) {
        return None;
    }
    remove_hop_headers(response.headers_mut());
    Some(response.map(Either::Left))
}

/// Removes the headers of one hop, including those that `Connection` names.
fn remove_hop_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // A sender must not remove the length of the body or the host.
        .filter(|name| *name != header::CONTENT_LENGTH && *name != header::HOST)
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

fn bad_gateway() -> Response<ForwardBody> {
    let decision = Decision::new(Code::AddressUnreachable, "the host sent no response that can be forwarded");
    let refusal = GuardResponse::from_decision(&decision, false);
    let mut response = Response::new(Either::Right(Full::from(refusal.body)));
    *response.status_mut() = refusal.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(refusal.content_type));
    for (name, value) in HEADERS {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    response
}

/// Copies bytes in both directions until both sides have closed theirs. `from_client` and `from_remote` were received before.
///
/// Returns what ended the connection, for the audit line.
pub(super) async fn tunnel(
    client: &mut TcpStream,
    mut remote: MeteredStream,
    from_client: &[u8],
    from_remote: &[u8],
) -> &'static str {
    let transfer = async {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        client.write_all(from_remote).await?;
        remote.write_all(from_client).await?;
        tokio::io::copy_bidirectional(client, &mut remote).await
    };
    match transfer.await {
        Ok(_) => "closed",
        Err(_) => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hop_by_hop_headers_are_not_forwarded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Secret"),
            ("connection", "Content-Length"),
            ("x-secret", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "Basic x"),
            ("proxy-authenticate", "Basic"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("content-length", "3"),
            ("cookie", "a=b"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        remove_hop_headers(&mut headers);
        let mut remaining: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        remaining.sort_unstable();
        assert_eq!(remaining, ["content-length", "cookie"]);
    }
}
