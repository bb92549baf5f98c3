//! What the guard itself answers: the decision, as JSON or as a page for people.
//!
//! Decides the status and the form. Must never show anything of the request but the normalised host that the decision is
//! about, and never anything that a browser would run, load or keep.

use hyper::StatusCode;

use crate::decision::{Class, Decision};

/// An answer of the guard.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

/// Header lines of every answer.
pub(super) const HEADERS: &[(&str, &str)] = &[
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("connection", "close"),
];

impl Reply {
    /// The answer that renders a decision.
    pub(super) fn decision(decision: &Decision, wants_html: bool) -> Self {
        let status = match decision.code.class() {
            Class::Arguments => StatusCode::BAD_REQUEST,
            Class::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Class::Unavailable => StatusCode::BAD_GATEWAY,
            Class::TimedOut => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::FORBIDDEN,
        };
        if wants_html {
            return Self { status, content_type: "text/html; charset=utf-8", body: page(decision) };
        }
        Self::json(status, &decision.to_json())
    }

    /// An answer in JSON.
    pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Self {
        Self { status, content_type: "application/json", body: format!("{value:#}\n") }
    }

    /// The answer as it goes over the wire.
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
}

fn escape(text: &str) -> String {
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

fn page(decision: &Decision) -> String {
    let rows = [
        ("Why", Some(decision.reason.clone())),
        ("Code", Some(decision.code.to_string())),
        ("Rule at", decision.place.clone()),
        ("Host", decision.host.clone()),
        ("Address", decision.address.map(|address| address.to_string())),
        ("What to do", Some(decision.code.advice().to_owned()).filter(|advice| !advice.is_empty())),
    ];
    let rows: String = rows
        .into_iter()
        .filter_map(|(name, value)| Some(format!("<dt>{name}</dt><dd>{}</dd>\n", escape(&value?))))
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
    use crate::decision::Code;

    #[test]
    fn refusals_can_be_read_by_people_and_programs() {
        let mut decision = Decision::new(Code::AddressNotPublic, "10.0.0.0/8 (Private-Use) is <not> reachable")
            .at("open.allow_cidrs")
            .about("intranet.example");
        decision.address = Some([10, 0, 0, 1].into());
        let html = Reply::decision(&decision, true);
        let json = Reply::decision(&decision, false);
        assert_eq!(json.status, 403);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json.body).expect("JSON"), decision.to_json());
        assert!(html.body.contains("&lt;not&gt;") && !html.body.contains("<not>"));
        insta::assert_snapshot!(String::from_utf8(html.to_bytes()).expect("text").replace('\r', ""));
    }

    #[test]
    fn statuses_follow_the_class() {
        for (code, status) in [
            (Code::ProxyRequestInvalid, 400),
            (Code::Busy, 503),
            (Code::AddressUnreachable, 502),
            (Code::TimedOut, 408),
            (Code::GuardItself, 403),
            (Code::PolicyInvalid, 403),
        ] {
            assert_eq!(Reply::decision(&Decision::new(code, "x"), false).status, status, "{code}");
        }
    }
}
