//! URLs, parsed the way the browser does.
//!
//! Requirement 2.3. The browser gets the serialized WHATWG form of an accepted URL, so that no later parser can find another
//! host in it.
//!
//! Invariants:
//! - An accepted URL is `about:blank`, or an absolute http or https URL with a host and without user information.
//! - A text that two parsers could read differently (backslashes before the query, `http:host`, user information) is refused.

use std::fmt;
use std::net::IpAddr;

use thiserror::Error;
use url::Url;

use crate::decision::{Code, Decision};

/// A host after parsing: lower case, IDNA-encoded, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A domain name.
    Name(String),
    /// An address, from any form (hexadecimal, octal, short, decimal).
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// The target of a navigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageUrl {
    /// `about:blank`.
    Blank,
    /// An http or https page.
    Web(WebUrl),
}

impl PageUrl {
    /// Returns the text for the browser.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Blank => "about:blank",
            Self::Web(page) => page.url.as_str(),
        }
    }
}

/// An http or https URL and its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl {
    /// The parsed URL; its scheme is `http` or `https` and it has no user information.
    pub url: Url,
    /// The host that the policy compares.
    pub host: Host,
    /// The port; the scheme's default if the URL has none.
    pub port: u16,
}

/// Parses a URL. A text without a scheme gets `https://`.
///
/// # Errors
///
/// A refusal with the code `url-malformed`, `user-info-not-allowed` or `scheme-not-allowed`.
pub fn parse(text: &str) -> Result<PageUrl, Decision> {
    let malformed = |reason: &str| Decision::new(Code::UrlMalformed, reason);
    if text.is_empty() {
        return Err(malformed("the URL is empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(malformed("control characters are not allowed in a URL"));
    }
    // In a query or fragment, no parser reads one as a slash, nor finds a host.
    if text.split(['?', '#']).next().unwrap_or_default().contains('\\') {
        return Err(malformed("backslashes are not allowed before the query of a URL: browsers read them as slashes"));
    }
    if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        return Err(malformed("the URL begins or ends with white space"));
    }
    if text.eq_ignore_ascii_case("about:blank") {
        return Ok(PageUrl::Blank);
    }
    let absolute = with_scheme(text)?;
    let authority = absolute
        .split_once("://")
        .map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default())
        .unwrap_or_default();
    if authority.is_empty() {
        return Err(malformed("the URL has no host"));
    }
    if authority.contains('@') {
        return Err(Decision::new(Code::UserInfoNotAllowed, "user information before the host is not allowed"));
    }
    let url = Url::parse(&absolute).map_err(|error| malformed(&error.to_string()))?;
    page(url).map(PageUrl::Web)
}

/// Adds `https://` to a text without a scheme, and refuses every scheme but http and https.
fn with_scheme(text: &str) -> Result<String, Decision> {
    let Some((scheme, rest)) = split_scheme(text) else {
        return Ok(format!("https://{text}"));
    };
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    match (known, rest.starts_with("//")) {
        (true, true) => Ok(text.to_owned()),
        (true, false) => Err(Decision::new(Code::UrlMalformed, "`//` is missing after the scheme")),
        // `example.com:8080/path` is a host and a port, although `example.com` could be a scheme.
        (false, false) if has_port_first(rest) => Ok(format!("https://{text}")),
        (false, _) => Err(scheme_refusal()),
    }
}

fn scheme_refusal() -> Decision {
    Decision::new(Code::SchemeNotAllowed, "only http, https and about:blank can be opened")
}

/// Splits off a scheme (RFC 3986 section 3.1: a letter, then letters, digits, `+`, `-`, `.`).
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut chars = scheme.chars();
    let first = chars.next()?;
    let valid = first.is_ascii_alphabetic() && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    valid.then_some((scheme, rest))
}

/// Returns true if a text begins with a port number: 1 to 5 digits, then the end or the next part of a URL.
fn has_port_first(rest: &str) -> bool {
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks a parsed URL and extracts its host and port.
fn page(mut url: Url) -> Result<WebUrl, Decision> {
    let malformed = |reason: &str| Decision::new(Code::UrlMalformed, reason);
    if !matches!(url.scheme(), "http" | "https") {
        return Err(scheme_refusal());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Decision::new(Code::UserInfoNotAllowed, "user information before the host is not allowed"));
    }
    let host = match url.host() {
        Some(url::Host::Ipv4(address)) => Host::Address(IpAddr::V4(address)),
        Some(url::Host::Ipv6(address)) => Host::Address(IpAddr::V6(address)),
        Some(url::Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.split('.').any(str::is_empty) {
                return Err(malformed("the host has an empty label"));
            }
            if name.len() > 253 || name.split('.').any(|label| label.len() > 63) {
                return Err(malformed("the host is longer than a domain name can be"));
            }
            let name = name.to_owned();
            // The browser must look up the same name as this program. With the dot, search domains would not apply.
            url.set_host(Some(&name)).map_err(|error| malformed(&error.to_string()))?;
            Host::Name(name)
        }
        None => return Err(malformed("the URL has no host")),
    };
    // A text directive scrolls to a text if the page shows it: it would say so about texts that the agent may not read.
    let fragment = url.fragment().and_then(|fragment| fragment.split_once(":~:")).map(|(before, _)| before.to_owned());
    if let Some(fragment) = fragment {
        url.set_fragment(Some(fragment.as_str()).filter(|fragment| !fragment.is_empty()));
    }
    let port = url.port_or_known_default().ok_or_else(|| malformed("the URL has no port"))?;
    Ok(WebUrl { url, host, port })
}

/// The reason why a text is not a host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum HostError {
    #[error("an empty host matches nothing; write a bare host name such as `example.com`")]
    Empty,
    #[error("`{0}` has a wildcard; put `.example.com` into the list of host suffixes instead")]
    Wildcard(String),
    #[error("`{0}` begins with a dot; put it into the list of host suffixes instead")]
    Suffix(String),
    #[error("`{0}` is not a host; write a bare host name such as `example.com`")]
    Syntax(String),
}

/// Normalizes a host of a policy file in the same way as the host of a URL.
pub(super) fn normalize_host(text: &str) -> Result<Host, HostError> {
    if text.is_empty() {
        return Err(HostError::Empty);
    }
    if text.contains('*') {
        return Err(HostError::Wildcard(text.to_owned()));
    }
    if text.starts_with('.') {
        return Err(HostError::Suffix(text.to_owned()));
    }
    let bracketed = if text.contains(':') && !text.starts_with('[') { format!("[{text}]") } else { text.to_owned() };
    match parse(&format!("https://{bracketed}/")) {
        Ok(PageUrl::Web(page)) if page.url.path() == "/" && page.url.port().is_none() && page.url.query().is_none() => {
            Ok(page.host)
        }
        _ => Err(HostError::Syntax(text.to_owned())),
    }
}

#[cfg(test)]
mod tests;
