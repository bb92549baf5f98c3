//! Reading of a request head from a connection, and its parser.
//!
//! A head that two programs could read differently is refused before anything is resolved or forwarded: bare line breaks,
//! folded lines, blanks before a colon, contradicting lengths, a Host that is not the URL's.
//!
//! Invariants: nothing is repaired; a head is accepted unchanged or refused. The parser has no I/O.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use browser_shell_core::policy::connection::Destination;
use browser_shell_core::policy::url::{PageUrl, WebUrl, parse as parse_url};

/// Maximum number of header lines of a request.
const MAX_LINES: usize = 200;

/// Request of a client to the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProxyRequest {
    /// A tunnel: `CONNECT host:port`.
    Tunnel(Destination),
    /// A plain http request in absolute form.
    Forward(WebUrl),
    /// The guard's status: `GET /status`, for `browser-shell doctor`. Pages cannot send it, since a browser sends only the
    /// absolute form to a proxy.
    Status,
}

/// Parsed head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    /// The request.
    pub(super) request: ProxyRequest,
    /// True for a navigation, whose refusal is an HTML page.
    pub(super) wants_html: bool,
}

/// Returns the position behind the head's empty line, if it has arrived. The first `searched` bytes were searched before.
#[must_use]
pub(super) fn find_head_end(bytes: &[u8], searched: usize) -> Option<usize> {
    let start = searched.saturating_sub(3);
    let found = bytes.get(start..)?.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some(start + found + 4)
}

/// Returns true unless the first byte rules out an HTTP request, as with TLS.
#[must_use]
fn is_plausible_start(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|byte| is_token(&[*byte]))
}

/// Parses a whole head, including its empty line.
///
/// # Errors
///
/// The reason of the refusal, for the client. It repeats nothing of the request.
pub(super) fn parse(bytes: &[u8]) -> Result<RequestHead, &'static str> {
    let text = bytes.strip_suffix(b"\r\n\r\n").ok_or("the head is incomplete")?;
    let mut lines = Vec::new();
    for line in split_lines(text) {
        if line.iter().any(|byte| (byte.is_ascii_control() && *byte != b'\t') || *byte == 0x7f) {
            return Err("a line contains a control character; lines must end with CR LF");
        }
        lines.push(line);
    }
    let mut lines = lines.into_iter();
    let first = lines.next().unwrap_or_default();
    let (method, target) = parse_request_line(first)?;
    let headers = lines.map(parse_header).collect::<Result<Vec<_>, _>>()?;
    if headers.len() > MAX_LINES {
        return Err("there are more than 200 header lines");
    }
    let values = |name: &str| -> Vec<&[u8]> {
        let named = headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, value)| *value).collect()
    };
    let has_body = check_framing(&values("content-length"), &values("transfer-encoding"))?;
    let host = at_most_one(&values("host"), "there is more than one Host header")?;
    let wants_html =
        values("accept").iter().any(|value| value.windows(9).any(|window| window.eq_ignore_ascii_case(b"text/html")));
    if !values("upgrade").is_empty() {
        return Err("upgrades of plain http are not forwarded; use CONNECT for WebSockets");
    }
    if values("expect").iter().any(|value| !value.eq_ignore_ascii_case(b"100-continue")) {
        return Err("the Expect header has an unsupported value");
    }
    let request = match (method, target) {
        (b"CONNECT", authority) => {
            if has_body {
                return Err("CONNECT must not have a body");
            }
            let authority = std::str::from_utf8(authority).map_err(|_| "the target is not ASCII")?;
            let destination = Destination::parse_authority(authority)?;
            if host.is_some_and(|host| !names_destination(host, &destination, None)) {
                return Err("the Host header names another host than the target");
            }
            ProxyRequest::Tunnel(destination)
        }
        (b"GET", b"/status") if !has_body => ProxyRequest::Status,
        (b"TRACE", _) => return Err("TRACE is not forwarded"),
        (_, target) => {
            let page = parse_absolute_url(target)?;
            let destination = Destination { host: page.host.clone(), port: page.port, is_plain_http: true };
            // Otherwise the two ends could take the request to be for different hosts.
            if !host.is_some_and(|host| names_destination(host, &destination, Some(80))) {
                return Err("the Host header must name the host of the URL");
            }
            ProxyRequest::Forward(page)
        }
    };
    Ok(RequestHead { request, wants_html })
}

/// Splits at CR LF. A lone CR or LF stays in its line, where it counts as a control character.
fn split_lines(mut text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(end) = text.windows(2).position(|window| window == b"\r\n") {
        let (line, rest) = text.split_at(end);
        lines.push(line);
        text = rest.get(2..).unwrap_or_default();
    }
    lines.push(text);
    lines
}

/// Returns method and target of `METHOD target HTTP/1.1`, separated by single blanks.
fn parse_request_line(line: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let parts: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = parts.as_slice() else {
        return Err("the request line is not a method, a target and a version");
    };
    if *version != b"HTTP/1.1" {
        return Err("the version is not HTTP/1.1");
    }
    if !is_token(method) || target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
        return Err("the request line is not a method, a target and a version");
    }
    Ok((method, target))
}

/// Returns name and value of a header line.
fn parse_header(line: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    if line.first().is_some_and(|byte| *byte == b' ' || *byte == b'\t') {
        return Err("a header line is folded");
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or("a header line has no colon")?;
    let (name, rest) = line.split_at(colon);
    if !is_token(name) {
        return Err("a header name contains an invalid character");
    }
    Ok((name, rest.get(1..).unwrap_or_default().trim_ascii()))
}

/// Returns true for a token of RFC 9110 section 5.6.2.
fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// Returns true if there is a body. Its length must be given once, in one way.
fn check_framing(lengths: &[&[u8]], encodings: &[&[u8]]) -> Result<bool, &'static str> {
    let is_number = |length: &[u8]| (1..=18).contains(&length.len()) && length.iter().all(u8::is_ascii_digit);
    match (lengths, encodings) {
        ([], []) => Ok(false),
        ([length], []) if is_number(length) => Ok(true),
        ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") => Ok(true),
        ([_], []) => Err("the Content-Length is not a number"),
        (_, []) => Err("there is more than one Content-Length header"),
        ([], _) => Err("the Transfer-Encoding must be a single `chunked`"),
        _ => Err("Content-Length and Transfer-Encoding contradict each other"),
    }
}

/// Returns the value, if there is one; more than one is the error `otherwise`.
fn at_most_one<'a>(values: &[&'a [u8]], otherwise: &'static str) -> Result<Option<&'a [u8]>, &'static str> {
    match values {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(otherwise),
    }
}

/// Returns true if a Host header names this destination. `default_port` is the port that it may omit; for a `CONNECT` (`None`)
/// it may omit any.
fn names_destination(value: &[u8], destination: &Destination, default_port: Option<u16>) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let has_port = text.rsplit_once(':').is_some_and(|(_, rest)| !rest.contains(']'));
    let named = match (has_port, default_port) {
        (true, _) => Destination::parse_authority(text),
        (false, Some(port)) => Destination::parse_authority(&format!("{text}:{port}")),
        (false, None) => Destination::parse_authority(&format!("{text}:{}", destination.port)),
    };
    named.is_ok_and(|named| (&named.host, named.port) == (&destination.host, destination.port))
}

/// Parses an absolute http URL.
fn parse_absolute_url(target: &[u8]) -> Result<WebUrl, &'static str> {
    let text = std::str::from_utf8(target).map_err(|_| "the target is not ASCII")?;
    let scheme = text.get(..7).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http://") {
        return Err("the target is neither `host:port` of a CONNECT nor an absolute http URL");
    }
    if text.contains('#') {
        return Err("the target has a fragment");
    }
    match parse_url(text) {
        Ok(PageUrl::Web(page)) => Ok(page),
        _ => Err("the target is not an unambiguous URL"),
    }
}

/// Bytes of a request head, and the bytes that arrived behind it.
pub(super) struct ReceivedHead {
    pub(super) head: Vec<u8>,
    pub(super) rest: Vec<u8>,
}

/// Reads the head of a request of at most `max_bytes`. Returns `None` if the client closed the connection without sending
/// anything: browsers open connections that they may not need.
///
/// # Errors
///
/// The reason of the refusal, for the client.
pub(super) async fn read_head(stream: &mut TcpStream, max_bytes: usize) -> Result<Option<ReceivedHead>, &'static str> {
    let mut bytes = Vec::with_capacity(2048);
    loop {
        let before = bytes.len();
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) if before == 0 => return Ok(None),
            Ok(0) | Err(_) => return Err("the connection ended within the head of the request"),
            Ok(_) => {}
        }
        if !is_plausible_start(&bytes) {
            return Err("the request is not HTTP");
        }
        match find_head_end(&bytes, before) {
            Some(end) if end <= max_bytes => {
                let rest = bytes.split_off(end);
                return Ok(Some(ReceivedHead { head: bytes, rest }));
            }
            None if bytes.len() <= max_bytes => {}
            _ => return Err("the head of the request is too large"),
        }
    }
}

#[cfg(test)]
mod tests;
