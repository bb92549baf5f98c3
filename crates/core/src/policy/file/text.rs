//! Kinds of text in the policy file: hosts, address blocks, paths and the like.

use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use serde_json::{Value, json};

use super::value::{FieldKind, InvalidValue, type_name};
use crate::decision::Code;
use crate::policy::address::parse_cidr;
use crate::policy::rules::Upstream;
use crate::policy::session_pattern::{SessionPattern, SubjectChoice};
use crate::policy::url::{Host, PageUrl, normalize_host, parse};
use crate::subject::Subject;

/// A string with a syntax.
pub(super) struct Text<T> {
    /// A noun phrase for messages, with an example.
    pub(super) expected: &'static str,
    /// A regular expression for the schema, which may accept more than `parse`.
    pub(super) pattern: &'static str,
    pub(super) parse: fn(&str) -> Result<T, InvalidValue>,
}

impl<T> FieldKind for Text<T> {
    type Output = T;

    fn schema(&self) -> Value {
        json!({ "type": "string", "pattern": self.pattern })
    }

    fn read(&self, value: &Value) -> Result<T, InvalidValue> {
        let text = value.as_str().ok_or_else(|| InvalidValue::new(self.expected, type_name(value)))?;
        (self.parse)(text)
    }
}

/// Any string.
pub(super) const ANY: Text<String> = Text { expected: "a string", pattern: "", parse: |text| Ok(text.to_owned()) };

/// An exact host, normalized.
pub(super) const HOST: Text<String> =
    Text { expected: "a host such as `example.com`", pattern: "^[^.*/@][^*/@]*$", parse: parse_host };

/// A suffix of host names with its leading dot, normalized.
pub(super) const SUFFIX: Text<String> =
    Text { expected: "a suffix such as `.example.com`", pattern: r"^\.[^.*/@:][^*/@:]*$", parse: parse_suffix };

/// An exact host, or a suffix with its leading dot.
pub(super) const HOST_OR_SUFFIX: Text<String> = Text {
    expected: "a host such as `example.com` or a suffix such as `.example.com`",
    pattern: "^[^*/@]+$",
    parse: |text| {
        if text.starts_with('.') {
            return parse_suffix(text);
        }
        parse_host(text)
    },
};

/// A session id, or a pattern of session ids.
pub(super) const SESSION_PATTERN: Text<SessionPattern> = Text {
    expected: PATTERN_SYNTAX,
    pattern: "^[A-Za-z0-9._*-]{1,128}$",
    parse: |text| SessionPattern::new(text).ok_or_else(|| InvalidValue::new(PATTERN_SYNTAX, format!("`{text}`"))),
};

/// A subject of credentials, or `*` for all of them.
pub(super) const SUBJECT: Text<SubjectChoice> = Text {
    expected: SUBJECT_SYNTAX,
    pattern: "^.{1,255}$",
    parse: |text| {
        if text == "*" {
            return Ok(SubjectChoice::Any);
        }
        let invalid = || InvalidValue::from_message(format!("must be {SUBJECT_SYNTAX}"));
        Subject::new(text).map(SubjectChoice::Only).ok_or_else(invalid)
    },
};

/// An address or an address block.
pub(super) const BLOCK: Text<IpNet> = Text {
    expected: "an address block such as `10.0.0.0/8`",
    pattern: "^[0-9A-Fa-f.:/]{2,}$",
    parse: |text| parse_cidr(text).map_err(InvalidValue::from_message),
};

/// A domain of a sandbox's own network, with `*.` before it for the names below it.
pub(super) const DOMAIN: Text<String> =
    Text { expected: DOMAIN_SYNTAX, pattern: r"^(\*\.)?[^.*/@][^*/@]*$", parse: parse_domain };

/// An HTTP proxy.
pub(super) const PROXY: Text<Upstream> =
    Text { expected: PROXY_SYNTAX, pattern: "^[Hh][Tt][Tt][Pp]://[^/@?#]+:[0-9]{1,5}/?$", parse: parse_proxy };

/// The file with the credentials for a proxy.
pub(super) const CREDENTIALS_FILE: Text<PathBuf> =
    Text { expected: CREDENTIALS_SYNTAX, pattern: "^/", parse: parse_credentials_file };

/// The name of a container image.
pub(super) const IMAGE: Text<String> = Text { expected: IMAGE_SYNTAX, pattern: "^[^-]", parse: parse_image };

/// The network mode of a container.
pub(super) const NETWORK: Text<String> =
    Text { expected: NETWORK_SYNTAX, pattern: "^[A-Za-z0-9][A-Za-z0-9_.:-]*$", parse: parse_network };

const PATTERN_SYNTAX: &str = "a session id, with `*` for any characters, such as `u1-*`";
const SUBJECT_SYNTAX: &str = "a subject of 1 to 255 bytes without control characters, or `*` for any";
const DOMAIN_SYNTAX: &str = "a domain such as `example.com` or `*.example.com`";
const NETWORK_SYNTAX: &str = "`none`, `bridge`, `host` or the name of a network";
const PROXY_SYNTAX: &str = "a proxy such as `http://proxy.example.com:3128`";
const CREDENTIALS_SYNTAX: &str = "the absolute path of a file with one line `user:password`";
const IMAGE_SYNTAX: &str = "the name of an image";

fn parse_host(text: &str) -> Result<String, InvalidValue> {
    match normalize_host(text) {
        Ok(host) => Ok(host.to_string()),
        Err(_) if is_range(text) => Err(InvalidValue::from_message(format!(
            "`{text}` is a range of addresses, and a host is one; `open.allow_cidrs` has blocks such as `10.0.0.0/8`"
        ))),
        Err(error) => Err(InvalidValue::from_message(error)),
    }
}

/// Returns `true` for a block of addresses, and for a first and a last one.
fn is_range(text: &str) -> bool {
    let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
    text.parse::<IpNet>().is_ok()
        || text.split_once('-').is_some_and(|(first, last)| is_address(first) && is_address(last))
}

fn parse_suffix(text: &str) -> Result<String, InvalidValue> {
    let Some(rest) = text.strip_prefix('.') else {
        return Err(InvalidValue::from_message(format!("`{text}` must begin with a dot; write `.{text}`")));
    };
    match normalize_host(rest) {
        Ok(Host::Name(name)) => Ok(format!(".{name}")),
        Ok(Host::Address(_)) => {
            let message = format!("`{text}` is an address; put `{rest}` into the list of hosts instead");
            Err(InvalidValue::from_message(message))
        }
        Err(error) => Err(InvalidValue::from_message(error)),
    }
}

fn parse_domain(text: &str) -> Result<String, InvalidValue> {
    match normalize_host(text.strip_prefix("*.").unwrap_or(text)) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(InvalidValue::new(DOMAIN_SYNTAX, format!("`{text}`"))),
    }
}

/// Parses `http://host:port`. The proxy is the operator's own, so its address need not be public.
///
/// No message repeats the text: it may hold a password.
fn parse_proxy(text: &str) -> Result<Upstream, InvalidValue> {
    // Without a port it would be 80, which is hardly ever meant.
    let has_port = text.trim_end_matches('/').rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match parse(text) {
        Ok(PageUrl::Web(page))
            if has_port
                && page.port > 0
                && page.url.scheme() == "http"
                && page.url.path() == "/"
                && page.url.query().is_none()
                && page.url.fragment().is_none() =>
        {
            Ok(Upstream { host: page.host, port: page.port, credentials_file: None })
        }
        Err(decision) if decision.code == Code::UserInfoNotAllowed => Err(InvalidValue::from_message(
            "must not hold credentials; put `user:password` into a file and name it in `egress.upstream_credentials_file`",
        )),
        _ => Err(InvalidValue::from_message(format!("must be {PROXY_SYNTAX}"))),
    }
}

fn parse_credentials_file(text: &str) -> Result<PathBuf, InvalidValue> {
    let path = PathBuf::from(text);
    if path.is_absolute() { Ok(path) } else { Err(InvalidValue::from_message(format!("must be {CREDENTIALS_SYNTAX}"))) }
}

fn parse_image(text: &str) -> Result<String, InvalidValue> {
    if text.is_empty() || text.starts_with('-') {
        return Err(InvalidValue::new(IMAGE_SYNTAX, format!("`{text}`")));
    }
    Ok(text.to_owned())
}

fn parse_network(text: &str) -> Result<String, InvalidValue> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_.:-".contains(character);
    if text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(InvalidValue::new(NETWORK_SYNTAX, format!("`{text}`")))
}
