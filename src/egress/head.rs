//! The head of a request to the guard: from bytes to what is asked for, or a refusal.
//!
//! Decides which heads two programs could read differently, and refuses them before anything is resolved or forwarded: bare
//! line breaks, folded lines, blanks before a colon, lengths that contradict each other, a Host that is not the URL's. Must
//! never repair anything: what comes out is what came in, or nothing. No I/O.

use crate::policy::connection::Destination;
use crate::policy::url::{Page, Target, parse as parse_url};

/// The most header lines of a request.
const MAX_LINES: usize = 200;

/// What a client asks of the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A tunnel: `CONNECT host:port`.
    Tunnel(Destination),
    /// A plain http request in absolute form.
    Forward(Page),
    /// How the guard does: `GET /status`, for `browser-shell doctor`. No page can send it: pages only send absolute forms.
    Status,
}

/// A request's head, and how its refusal would be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// What is asked for.
    pub asked: Asked,
    /// Whether the client is a person's navigation, which gets a page to read.
    pub wants_html: bool,
}

/// Where the head ends in what has arrived so far: the position after its empty line.
#[must_use]
pub fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let start = from.saturating_sub(3);
    let found = bytes.get(start..)?.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some(start + found + 4)
}

/// Whether the first byte can begin a request: TLS and other protocols show themselves there.
#[must_use]
pub fn begins_well(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|byte| is_token(&[*byte]))
}

/// Reads a whole head, its empty line included.
///
/// # Errors
///
/// What is wrong with it. The text holds nothing of the request.
pub fn parse(bytes: &[u8]) -> Result<Head, &'static str> {
    let text = bytes.strip_suffix(b"\r\n\r\n").ok_or("the head does not end")?;
    let mut lines = Vec::new();
    for line in split_lines(text) {
        if line.iter().any(|byte| (byte.is_ascii_control() && *byte != b'\t') || *byte == 0x7f) {
            return Err("a line holds a control character; lines end with CR LF");
        }
        lines.push(line);
    }
    let mut lines = lines.into_iter();
    let first = lines.next().unwrap_or_default();
    let (method, target) = request_line(first)?;
    let headers = lines.map(header).collect::<Result<Vec<_>, _>>()?;
    if headers.len() > MAX_LINES {
        return Err("there are more than 200 header lines");
    }
    let all = |name: &str| -> Vec<&[u8]> {
        let named = headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, value)| *value).collect()
    };
    let framing = check_framing(&all("content-length"), &all("transfer-encoding"))?;
    let host = one(&all("host"), "there is more than one Host")?;
    let wants_html =
        all("accept").iter().any(|value| value.windows(9).any(|window| window.eq_ignore_ascii_case(b"text/html")));
    if !all("upgrade").is_empty() {
        return Err("an upgrade of plain http is not forwarded; WebSockets come through CONNECT");
    }
    if all("expect").iter().any(|value| !value.eq_ignore_ascii_case(b"100-continue")) {
        return Err("the Expect header says something unknown");
    }
    let asked = match (method, target) {
        (b"CONNECT", authority) => {
            if framing {
                return Err("CONNECT has no body");
            }
            let authority = std::str::from_utf8(authority).map_err(|_| "the target is not ASCII")?;
            let to = Destination::parse_authority(authority)?;
            if host.is_some_and(|host| !names(host, &to, None)) {
                return Err("the Host header names another host than the target");
            }
            Asked::Tunnel(to)
        }
        (b"GET", b"/status") if !framing => Asked::Status,
        (b"TRACE", _) => return Err("TRACE is not forwarded"),
        (_, target) => {
            let page = absolute(target)?;
            let to = Destination { host: page.host.clone(), port: page.port, plain_http: true };
            // Without one, or with another, the two ends could think of different hosts.
            if !host.is_some_and(|host| names(host, &to, Some(80))) {
                return Err("the Host header must name the host of the URL");
            }
            Asked::Forward(page)
        }
    };
    Ok(Head { asked, wants_html })
}

/// Splits at CR LF. A CR or LF alone stays in its line, where it is a control character.
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

/// Method and target of `METHOD target HTTP/1.1`, with one blank each.
fn request_line(line: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
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

/// Name and value of a header line.
fn header(line: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    if line.first().is_some_and(|byte| *byte == b' ' || *byte == b'\t') {
        return Err("a header line is folded");
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or("a header line has no colon")?;
    let (name, rest) = line.split_at(colon);
    if !is_token(name) {
        return Err("a header's name holds a character that no name has");
    }
    Ok((name, rest.get(1..).unwrap_or_default().trim_ascii()))
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// Whether there is a body; its length must be said once and plainly.
fn check_framing(lengths: &[&[u8]], encodings: &[&[u8]]) -> Result<bool, &'static str> {
    let number = |length: &[u8]| (1..=18).contains(&length.len()) && length.iter().all(u8::is_ascii_digit);
    match (lengths, encodings) {
        ([], []) => Ok(false),
        ([length], []) if number(length) => Ok(true),
        ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") => Ok(true),
        ([_], []) => Err("the Content-Length is not a number"),
        (_, []) => Err("there is more than one Content-Length"),
        ([], _) => Err("the Transfer-Encoding is not `chunked`, once"),
        _ => Err("Content-Length and Transfer-Encoding contradict each other"),
    }
}

/// The one value, or none.
fn one<'a>(values: &[&'a [u8]], otherwise: &'static str) -> Result<Option<&'a [u8]>, &'static str> {
    match values {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(otherwise),
    }
}

/// Whether a Host header names this host and port; `default` is the port that it need not say.
fn names(value: &[u8], to: &Destination, default: Option<u16>) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let has_port = text.rsplit_once(':').is_some_and(|(_, rest)| !rest.contains(']'));
    let given = match (has_port, default) {
        (true, _) => Destination::parse_authority(text),
        (false, Some(default)) => Destination::parse_authority(&format!("{text}:{default}")),
        // CONNECT: some clients name the host alone
        (false, None) => Destination::parse_authority(&format!("{text}:{}", to.port)),
    };
    given.is_ok_and(|given| (&given.host, given.port) == (&to.host, to.port))
}

/// An absolute http URL.
fn absolute(target: &[u8]) -> Result<Page, &'static str> {
    let text = std::str::from_utf8(target).map_err(|_| "the target is not ASCII")?;
    let scheme = text.get(..7).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http://") {
        return Err("the target is not `host:port` of a CONNECT, nor an absolute http URL");
    }
    if text.contains('#') {
        return Err("the target has a fragment");
    }
    match parse_url(text) {
        Ok(Target::Page(page)) => Ok(page),
        _ => Err("the target is not a URL that everybody reads the same way"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str) -> String {
        match parse(text.as_bytes()) {
            Ok(Head { asked: Asked::Tunnel(to), .. }) => format!("tunnel {} {}", to.host, to.port),
            Ok(Head { asked: Asked::Forward(page), wants_html }) => {
                format!(
                    "forward {} {} {}{}",
                    page.host,
                    page.port,
                    page.url.path(),
                    if wants_html { " html" } else { "" }
                )
            }
            Ok(Head { asked: Asked::Status, .. }) => "status".to_owned(),
            Err(why) => why.to_owned(),
        }
    }

    #[test]
    fn heads_that_could_be_read_in_two_ways_are_refused() {
        let rows: &[(&str, &str)] = &[
            ("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", "tunnel a.example 443"),
            ("CONNECT a.example:443 HTTP/1.1\r\n\r\n", "tunnel a.example 443"),
            ("CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]\r\n\r\n", "tunnel ::1 443"),
            ("GET http://a.example/b HTTP/1.1\r\nHost: a.example\r\n\r\n", "forward a.example 80 /b"),
            ("GET http://A.example:80/b HTTP/1.1\r\nhost: a.EXAMPLE\r\n\r\n", "forward a.example 80 /b"),
            (
                "GET http://a.example HTTP/1.1\r\nHost: a.example\r\nAccept: x/y, text/html;q=1\r\n\r\n",
                "forward a.example 80 / html",
            ),
            (
                "POST http://a.example:81/ HTTP/1.1\r\nHost: a.example:81\r\nContent-Length: 3\r\n\r\n",
                "forward a.example 81 /",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: Chunked\r\n\r\n",
                "forward a.example 80 /",
            ),
            ("GET /status HTTP/1.1\r\nHost: 127.0.0.1:8119\r\n\r\n", "status"),
            // from here on, refusals
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                "Content-Length and Transfer-Encoding contradict each other",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
                "there is more than one Content-Length",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
                "there is more than one Content-Length",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: +3\r\n\r\n",
                "the Content-Length is not a number",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3, 3\r\n\r\n",
                "the Content-Length is not a number",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                "the Transfer-Encoding is not `chunked`, once",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: xchunked\r\n\r\n",
                "the Transfer-Encoding is not `chunked`, once",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
                "the Transfer-Encoding is not `chunked`, once",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding : chunked\r\n\r\n",
                "a header's name holds a character that no name has",
            ),
            (
                "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n",
                "a header line is folded",
            ),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: a.example\nX: y\r\n\r\n",
                "a line holds a control character; lines end with CR LF",
            ),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: a.example\rX: y\r\n\r\n",
                "a line holds a control character; lines end with CR LF",
            ),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: a.example\0\r\n\r\n",
                "a line holds a control character; lines end with CR LF",
            ),
            ("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nnothing\r\n\r\n", "a header line has no colon"),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
                "the Host header must name the host of the URL",
            ),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
                "the Host header must name the host of the URL",
            ),
            ("GET http://a.example/ HTTP/1.1\r\n\r\n", "the Host header must name the host of the URL"),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
                "there is more than one Host",
            ),
            (
                "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
                "the Host header names another host than the target",
            ),
            ("CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "CONNECT has no body"),
            ("CONNECT a.example HTTP/1.1\r\n\r\n", "the port is missing"),
            ("CONNECT http://a.example:443/ HTTP/1.1\r\n\r\n", "the port is not 1 to 65535"),
            (
                "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the target is not `host:port` of a CONNECT, nor an absolute http URL",
            ),
            (
                "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the target is not `host:port` of a CONNECT, nor an absolute http URL",
            ),
            (
                "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the target is not `host:port` of a CONNECT, nor an absolute http URL",
            ),
            (
                "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the target is not `host:port` of a CONNECT, nor an absolute http URL",
            ),
            (
                "GET http://u:p@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the target is not a URL that everybody reads the same way",
            ),
            (
                "GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the target is not a URL that everybody reads the same way",
            ),
            ("GET http://a.example/#b HTTP/1.1\r\nHost: a.example\r\n\r\n", "the target has a fragment"),
            (
                "GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the request line is not a method, a target and a version",
            ),
            (
                "GET http://a.example/ x HTTP/1.1\r\nHost: a.example\r\n\r\n",
                "the request line is not a method, a target and a version",
            ),
            ("GET http://a.example/ HTTP/1.0\r\nHost: a.example\r\n\r\n", "the version is not HTTP/1.1"),
            ("PRI * HTTP/2.0\r\n\r\n", "the version is not HTTP/1.1"),
            ("TRACE http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "TRACE is not forwarded"),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nUpgrade: h2c\r\n\r\n",
                "an upgrade of plain http is not forwarded; WebSockets come through CONNECT",
            ),
            (
                "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nExpect: 200-ok\r\n\r\n",
                "the Expect header says something unknown",
            ),
            ("\r\n\r\n", "the request line is not a method, a target and a version"),
        ];
        for (text, expected) in rows {
            assert_eq!(said(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn the_end_is_found_wherever_the_pieces_were_cut() {
        let text = b"GET / HTTP/1.1\r\nA: b\r\n\r\nrest";
        let end = text.len() - 4;
        for cut in 0..text.len() {
            let first = end_of_head(&text[..cut], 0);
            assert_eq!(first, (cut >= end).then_some(end));
            assert_eq!(end_of_head(text, cut.min(end - 1)), Some(end), "{cut}");
        }
        assert!(begins_well(b"") && begins_well(b"GET") && !begins_well(b"\x16\x03\x01") && !begins_well(b"\r\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
            let _ = end_of_head(&bytes, bytes.len() / 2);
        }

        /// Whatever is accepted names one host in one way.
        #[test]
        fn what_is_accepted_reads_the_same_again(host in "[a-zA-Z0-9.\\[\\]:%@-]{1,20}", path in "[ -~]{0,20}") {
            let text = format!("GET http://{host}/{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            if let Ok(Head { asked: Asked::Forward(page), .. }) = parse(text.as_bytes()) {
                let Ok(Target::Page(again)) = parse_url(page.url.as_str()) else { panic!("{text:?}") };
                prop_assert_eq!(again, page);
            }
        }
    }
}
