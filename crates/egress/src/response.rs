//! Responses of the guard itself: a decision as JSON or as an HTML page, and its status.
//!
//! Invariants: a response shows nothing of the request except the normalized host of the decision, and a browser may not run,
//! load or store anything because of it.

use std::time::Duration;

use hyper::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use browser_shell_core::decision::{Class, Decision};

/// Timeout for a client to read a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of bytes of a request that are discarded while the client reads the response.
const MAX_DISCARDED: usize = 256 * 1024;

/// Response of the guard.
#[derive(Debug)]
pub(super) struct GuardResponse {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

/// Header lines of every response.
pub(super) const HEADERS: &[(&str, &str)] = &[
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("connection", "close"),
];

impl GuardResponse {
    /// Renders a decision, as an HTML page if a person is to read it.
    pub(super) fn from_decision(decision: &Decision, wants_html: bool) -> Self {
        let status = match decision.code.class() {
            Class::Arguments => StatusCode::BAD_REQUEST,
            Class::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Class::Unavailable => StatusCode::BAD_GATEWAY,
            Class::TimedOut => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::FORBIDDEN,
        };
        if wants_html {
            return Self { status, content_type: "text/html; charset=utf-8", body: html_page(decision) };
        }
        Self::json(status, &decision.to_json())
    }

    /// Creates a response with a JSON body.
    pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Self {
        Self { status, content_type: "application/json", body: format!("{value:#}\n") }
    }

    /// Returns the response in HTTP/1.1 wire format.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let lines: Vec<_> = HEADERS.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let Self { status, content_type, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\n{}content-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}",
            lines.concat()
        )
        .into_bytes()
    }

    /// Sends the response as the last one on a connection. Errors are ignored: the client may be gone.
    ///
    /// Closing at once with unread bytes would reset the connection and discard the response, so this waits until the client
    /// closes its side.
    pub(super) async fn send(&self, stream: &mut TcpStream) {
        let sent = async {
            stream.write_all(&self.to_bytes()).await?;
            stream.shutdown().await?;
            let mut buffer = [0; 4096];
            let mut discarded = 0;
            while discarded < MAX_DISCARDED {
                match stream.read(&mut buffer).await? {
                    0 => break,
                    count => discarded += count,
                }
            }
            Ok::<_, std::io::Error>(())
        };
        let _ = timeout(RESPONSE_TIMEOUT, sent).await;
    }
}

fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

fn html_page(decision: &Decision) -> String {
    let rows = [
        ("Why", Some(decision.reason.clone())),
        ("Code", Some(decision.code.to_string())),
        ("Rule at", decision.location.clone()),
        ("Host", decision.host.clone()),
        ("Address", decision.address.map(|address| address.to_string())),
        ("What to do", Some(decision.code.advice().to_owned()).filter(|advice| !advice.is_empty())),
    ];
    let rows: String = rows
        .into_iter()
        .filter_map(|(name, value)| Some(format!("<dt>{name}</dt><dd>{}</dd>\n", escape_html(&value?))))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Not opened: {code}</title>\n<style>\n\
         body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 4em auto; padding: 0 1em; }}\n\
         dt {{ font-weight: bold; }} dd {{ margin: 0 0 .8em; overflow-wrap: anywhere; }}\n</style>\n\
         <h1>This page was not opened</h1>\n<p>The egress guard of browser-shell did not connect to it.</p>\n<dl>\n{rows}</dl>\n</html>\n",
        code = decision.code,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::decision::Code;

    #[test]
    fn refusals_render_as_html_and_json() {
        let mut decision = Decision::new(Code::AddressNotPublic, "10.0.0.0/8 (Private-Use) is <not> reachable")
            .at("open.allow_cidrs")
            .about("intranet.example");
        decision.address = Some([10, 0, 0, 1].into());
        let html = GuardResponse::from_decision(&decision, true);
        let json = GuardResponse::from_decision(&decision, false);
        assert_eq!(json.status, 403);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json.body).expect("JSON"), decision.to_json());
        assert!(html.body.contains("&lt;not&gt;") && !html.body.contains("<not>"));
        insta::assert_snapshot!(String::from_utf8(html.to_bytes()).expect("text").replace('\r', ""));
    }

    #[test]
    fn status_follows_decision_class() {
        for (code, status) in [
            (Code::ProxyRequestInvalid, 400),
            (Code::Busy, 503),
            (Code::AddressUnreachable, 502),
            (Code::TimedOut, 408),
            (Code::GuardItself, 403),
            (Code::PolicyInvalid, 403),
        ] {
            assert_eq!(GuardResponse::from_decision(&Decision::new(code, "x"), false).status, status, "{code}");
        }
    }
}
