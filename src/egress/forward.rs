//! One plain http request, forwarded.
//!
//! Decides which header lines go on in both directions. hyper reads and writes both sides, so that what is sent on has one
//! meaning whatever came in. Must never forward a second request on a connection, a header that is meant for a proxy, or an
//! answer that a browser would take for the guard's own.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio_util::task::AbortOnDropHandle;

use super::reply::{HEADERS, Reply};
use super::route::End;
use crate::decision::{Code, Decision};
use crate::policy::url::Page;

/// Headers of one hop (RFC 9110 section 7.6.1), and those that only proxies read.
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

type Body = Either<Incoming, Full<Bytes>>;

/// Forwards the one request that `head` begins, from `client` to `far`, at which `end` is.
pub(super) async fn forward<C, F>(client: C, head: Vec<u8>, far: F, page: Page, end: End, limit: usize) -> &'static str
where
    C: AsyncRead + AsyncWrite,
    F: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_buf_size(limit.max(16 * 1024));
    let Ok((sender, connection)) = builder.handshake::<_, Incoming>(TokioIo::new(far)).await else {
        return "error";
    };
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    // Taken by the first request, so that there is no second.
    let sender = Arc::new(Mutex::new(Some(sender)));
    let service = service_fn(move |request: Request<Incoming>| {
        let sender = sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        let outgoing = rewrite(request, &page, &end);
        async move {
            let answer = match (sender, outgoing) {
                (Some(mut sender), Some(outgoing)) => sender.send_request(outgoing).await.ok(),
                _ => None,
            };
            Ok::<_, Infallible>(answer.and_then(accept).unwrap_or_else(no_answer))
        }
    });
    let (reader, writer) = tokio::io::split(client);
    let client = tokio::io::join(std::io::Cursor::new(head).chain(reader), writer);
    let mut server = hyper::server::conn::http1::Builder::new();
    // A client that closes its side is gone: browsers do so when a page is left. Waiting for a host that says nothing would
    // let a page use up all places.
    server.keep_alive(false).max_buf_size(limit.max(16 * 1024));
    match server.serve_connection(TokioIo::new(client), service).await {
        Ok(()) => "closed",
        Err(_) => "error",
    }
}

/// The request as it goes on.
fn rewrite(mut request: Request<Incoming>, page: &Page, end: &End) -> Option<Request<Incoming>> {
    let headers = request.headers_mut();
    strip(headers);
    // The guard has said "continue" itself.
    headers.remove(header::EXPECT);
    let path =
        page.url.query().map_or_else(|| page.url.path().to_owned(), |query| format!("{}?{query}", page.url.path()));
    let authority = page.url.port().map_or_else(
        || page.url.host_str().unwrap_or_default().to_owned(),
        |port| format!("{}:{port}", page.url.host_str().unwrap_or_default()),
    );
    headers.insert(header::HOST, HeaderValue::from_str(&authority).ok()?);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let target = match end {
        End::Host => path,
        End::Proxy(authorization) => {
            if let Some(authorization) = authorization {
                headers.insert(header::PROXY_AUTHORIZATION, HeaderValue::from_str(authorization).ok()?);
            }
            format!("http://{authority}{path}")
        }
    };
    *request.uri_mut() = target.parse::<Uri>().ok()?;
    Some(request)
}

/// The answer as it goes back, unless a browser would take it for one of the guard.
fn accept(mut response: Response<Incoming>) -> Option<Response<Body>> {
    // 407 would ask a person for the password of a proxy; nobody has asked for another protocol.
    if matches!(response.status(), StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::SWITCHING_PROTOCOLS) {
        return None;
    }
    strip(response.headers_mut());
    Some(response.map(Either::Left))
}

/// Removes what is meant for the next hop alone, and what `Connection` names as such.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // The length of the body is not for a sender to take away.
        .filter(|name| *name != header::CONTENT_LENGTH && *name != header::HOST)
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

fn no_answer() -> Response<Body> {
    let decision = Decision::new(Code::AddressUnreachable, "the host gives no answer that can be passed on");
    let reply = Reply::decision(&decision, false);
    let mut response = Response::new(Either::Right(Full::from(reply.body)));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    for (name, value) in HEADERS {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_one_hop_stay_behind() {
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
        strip(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "cookie"]);
    }
}
