use proptest::prelude::*;

use super::*;

fn summarize(text: &str) -> String {
    match parse(text.as_bytes()) {
        Ok(RequestHead { request: ProxyRequest::Tunnel(destination), .. }) => {
            format!("tunnel {} {}", destination.host, destination.port)
        }
        Ok(RequestHead { request: ProxyRequest::Forward(page), wants_html }) => {
            format!("forward {} {} {}{}", page.host, page.port, page.url.path(), if wants_html { " html" } else { "" })
        }
        Ok(RequestHead { request: ProxyRequest::Status, .. }) => "status".to_owned(),
        Err(reason) => reason.to_owned(),
    }
}

#[test]
fn ambiguous_request_heads_are_refused() {
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
        // Refusals.
        (
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "Content-Length and Transfer-Encoding contradict each other",
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
            "there is more than one Content-Length header",
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
            "there is more than one Content-Length header",
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
            "the Transfer-Encoding must be a single `chunked`",
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: xchunked\r\n\r\n",
            "the Transfer-Encoding must be a single `chunked`",
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            "the Transfer-Encoding must be a single `chunked`",
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding : chunked\r\n\r\n",
            "a header name contains an invalid character",
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n",
            "a header line is folded",
        ),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\nX: y\r\n\r\n",
            "a line contains a control character; lines must end with CR LF",
        ),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\rX: y\r\n\r\n",
            "a line contains a control character; lines must end with CR LF",
        ),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\0\r\n\r\n",
            "a line contains a control character; lines must end with CR LF",
        ),
        ("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nnothing\r\n\r\n", "a header line has no colon"),
        ("GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", "the Host header must name the host of the URL"),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
            "the Host header must name the host of the URL",
        ),
        ("GET http://a.example/ HTTP/1.1\r\n\r\n", "the Host header must name the host of the URL"),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
            "there is more than one Host header",
        ),
        (
            "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
            "the Host header names another host than the target",
        ),
        ("CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "CONNECT must not have a body"),
        ("CONNECT a.example HTTP/1.1\r\n\r\n", "the port is missing"),
        ("CONNECT http://a.example:443/ HTTP/1.1\r\n\r\n", "the port is not 1 to 65535"),
        (
            "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "the target is neither `host:port` of a CONNECT nor an absolute http URL",
        ),
        (
            "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "the target is neither `host:port` of a CONNECT nor an absolute http URL",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "the target is neither `host:port` of a CONNECT nor an absolute http URL",
        ),
        (
            "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "the target is neither `host:port` of a CONNECT nor an absolute http URL",
        ),
        ("GET http://u:p@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "the target is not an unambiguous URL"),
        (
            "GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "the target is not an unambiguous URL",
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
            "upgrades of plain http are not forwarded; use CONNECT for WebSockets",
        ),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nExpect: 200-ok\r\n\r\n",
            "the Expect header has an unsupported value",
        ),
        ("\r\n\r\n", "the request line is not a method, a target and a version"),
    ];
    for (text, expected) in rows {
        assert_eq!(summarize(text), *expected, "{text:?}");
    }
}

#[test]
fn end_of_head_is_found_across_any_chunk_boundary() {
    let text = b"GET / HTTP/1.1\r\nA: b\r\n\r\nrest";
    let end = text.len() - 4;
    for cut in 0..text.len() {
        let first = find_head_end(&text[..cut], 0);
        assert_eq!(first, (cut >= end).then_some(end));
        assert_eq!(find_head_end(text, cut.min(end - 1)), Some(end), "{cut}");
    }
    assert!(
        is_plausible_start(b"")
            && is_plausible_start(b"GET")
            && !is_plausible_start(b"\x16\x03\x01")
            && !is_plausible_start(b"\r\n")
    );
}

proptest! {
    #[test]
    fn request_head_parser_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = find_head_end(&bytes, bytes.len() / 2);
    }

    /// An accepted URL parses to itself.
    #[test]
    fn accepted_request_head_parses_again_unchanged(host in "[a-zA-Z0-9.\\[\\]:%@-]{1,20}", path in "[ -~]{0,20}") {
        let text = format!("GET http://{host}/{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        if let Ok(RequestHead { request: ProxyRequest::Forward(page), .. }) = parse(text.as_bytes()) {
            let Ok(PageUrl::Web(reparsed)) = parse_url(page.url.as_str()) else { panic!("{text:?}") };
            prop_assert_eq!(reparsed, page);
        }
    }
}
