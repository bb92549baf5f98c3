//! From the text an agent sends to a URL that the policy and the browser read the same way (spec [2.3]).
//!
//! Decides what counts as an absolute http or https URL and which host it names. Whatever is accepted is handed on in its
//! serialised WHATWG form, so that no later parser can find another host in it. Must never guess: a text that two parsers
//! could read differently (backslashes, `http:host`, user information) is refused.

use std::net::IpAddr;

use url::Url;

use crate::decision::{Code, Decision};

/// A host after parsing: lower case, IDNA-encoded, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A domain name.
    Name(String),
    /// An address, from any spelling (hexadecimal, octal, short, decimal).
    Address(IpAddr),
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// What a navigation goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `about:blank`.
    Blank,
    /// An http or https page.
    Page(Page),
}

impl Target {
    /// The text to hand to the browser.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Blank => "about:blank",
            Self::Page(page) => page.url.as_str(),
        }
    }
}

/// An http or https URL and its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The parsed URL; its scheme is `http` or `https` and it has no user information.
    pub url: Url,
    /// The host the policy compares.
    pub host: Host,
    /// The port, the scheme's default where none is given.
    pub port: u16,
}

/// Reads a URL.
///
/// # Errors
///
/// A refusal with the code `url-malformed`, `user-info-not-allowed` or `scheme-not-allowed`.
pub fn parse(text: &str) -> Result<Target, Decision> {
    let malformed = |reason: &str| Decision::new(Code::UrlMalformed, reason);
    if text.is_empty() {
        return Err(malformed("the URL is empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(malformed("control characters are not allowed in a URL"));
    }
    if text.contains('\\') {
        return Err(malformed("backslashes are not allowed in a URL: browsers read them as slashes"));
    }
    if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        return Err(malformed("the URL begins or ends with white space"));
    }
    if text.eq_ignore_ascii_case("about:blank") {
        return Ok(Target::Blank);
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
    page(url).map(Target::Page)
}

/// Puts `https://` before a text without a scheme, and refuses every scheme but http and https.
fn with_scheme(text: &str) -> Result<String, Decision> {
    let Some((scheme, rest)) = split_scheme(text) else {
        return Ok(format!("https://{text}"));
    };
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    match (known, rest.starts_with("//")) {
        (true, true) => Ok(text.to_owned()),
        (true, false) => Err(Decision::new(Code::UrlMalformed, "`//` is missing after the scheme")),
        // `example.com:8080/path` is a host and a port, although `example.com` could be a scheme.
        (false, false) if begins_with_port(rest) => Ok(format!("https://{text}")),
        (false, _) => Err(scheme_refused()),
    }
}

fn scheme_refused() -> Decision {
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

/// Whether a text begins with a port number: 1 to 5 digits, then the end or the next part of a URL.
fn begins_with_port(rest: &str) -> bool {
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks a parsed URL and takes its host out.
fn page(mut url: Url) -> Result<Page, Decision> {
    let malformed = |reason: &str| Decision::new(Code::UrlMalformed, reason);
    if !matches!(url.scheme(), "http" | "https") {
        return Err(scheme_refused());
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
            // The browser must ask for the very name that is looked up here: with the dot, search domains do not apply.
            url.set_host(Some(&name)).map_err(|error| malformed(&error.to_string()))?;
            Host::Name(name)
        }
        None => return Err(malformed("the URL has no host")),
    };
    let port = url.port_or_known_default().ok_or_else(|| malformed("the URL has no port"))?;
    Ok(Page { url, host, port })
}

/// Normalises a host name as it stands in a policy file, the same way as a host in a URL.
///
/// # Errors
///
/// A text that says what is wrong with the value.
pub fn normalise_host(text: &str) -> Result<Host, String> {
    let hint = "write a bare host name such as `example.com`";
    if text.is_empty() {
        return Err(format!("an empty host matches nothing; {hint}"));
    }
    if text.contains('*') {
        return Err(format!("`{text}` has a wildcard; put `.example.com` into the list of host suffixes instead"));
    }
    if text.starts_with('.') {
        return Err(format!("`{text}` begins with a dot; it belongs into the list of host suffixes"));
    }
    let bracketed = if text.contains(':') && !text.starts_with('[') { format!("[{text}]") } else { text.to_owned() };
    match parse(&format!("https://{bracketed}/")) {
        Ok(Target::Page(page)) if page.url.path() == "/" && page.url.port().is_none() && page.url.query().is_none() => {
            Ok(page.host)
        }
        _ => Err(format!("`{text}` is not a host; {hint}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(text: &str) -> String {
        match parse(text) {
            Ok(Target::Page(page)) => page.host.to_string(),
            Ok(Target::Blank) => "about:blank".to_owned(),
            Err(decision) => decision.code.to_string(),
        }
    }

    #[test]
    fn spec_2_3_what_a_text_means() {
        let rows: &[(&str, &str, &str)] = &[
            ("https://example.com/", "example.com", "plain"),
            ("example.com", "example.com", "no scheme means https"),
            ("example.com:8443/a?b#c", "example.com", "a port is not a scheme"),
            ("localhost:8080", "localhost", "a port is not a scheme"),
            ("HTTPS://EXAMPLE.COM", "example.com", "lower case"),
            ("https://example.com./", "example.com", "trailing dot"),
            ("https://example.com../", "url-malformed", "empty label"),
            ("https://.example.com/", "url-malformed", "empty label"),
            ("https://b\u{fc}cher.example/", "xn--bcher-kva.example", "IDNA"),
            ("https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/", "127.0.0.1", "full-width digits"),
            ("https://%31%32%37.0.0.1/", "127.0.0.1", "percent-encoded host"),
            ("http://0x7f.1/", "127.0.0.1", "hexadecimal and short"),
            ("http://0177.0.0.1/", "127.0.0.1", "octal"),
            ("http://2130706433/", "127.0.0.1", "decimal"),
            ("http://127.1/", "127.0.0.1", "short"),
            ("http://127.0.0.1./", "127.0.0.1", "an address with a trailing dot"),
            ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", "IPv6 keeps its form; the address rules look inside"),
            ("http://256.1.1.1/", "url-malformed", "no address, and no name may end in a number"),
            ("about:blank", "about:blank", ""),
            ("About:Blank", "about:blank", ""),
            ("about:config", "scheme-not-allowed", ""),
            ("about:blank#x", "scheme-not-allowed", "only the exact text"),
            ("file:///etc/passwd", "scheme-not-allowed", ""),
            ("javascript:alert(1)", "scheme-not-allowed", ""),
            ("JavaScript:alert(1)", "scheme-not-allowed", ""),
            ("data:text/html,x", "scheme-not-allowed", ""),
            ("view-source:https://example.com", "scheme-not-allowed", ""),
            ("chrome://settings", "scheme-not-allowed", ""),
            ("ftp://example.com/", "scheme-not-allowed", ""),
            ("ws://example.com/", "scheme-not-allowed", ""),
            ("blob:https://example.com/1", "scheme-not-allowed", ""),
            ("http:example.com", "url-malformed", "WHATWG reads it as http://example.com"),
            ("http:/example.com", "url-malformed", "likewise"),
            ("http:///example.com", "url-malformed", "likewise: the host is empty"),
            ("https://", "url-malformed", "empty host"),
            ("https:///", "url-malformed", "empty host"),
            ("//example.com/", "url-malformed", "no scheme and no host before the slashes"),
            ("/etc/passwd", "url-malformed", "a path"),
            ("?x", "url-malformed", "a query"),
            ("", "url-malformed", "empty"),
            (" https://example.com", "url-malformed", "leading space"),
            ("https://exa mple.com/", "url-malformed", "space in the host"),
            ("https://example.com/a b", "example.com", "a space in the path is encoded"),
            ("https://example.com\\@evil.example/", "url-malformed", "backslash"),
            ("https://user@example.com/", "user-info-not-allowed", ""),
            ("https://user:pw@example.com/", "user-info-not-allowed", ""),
            ("https://@example.com/", "user-info-not-allowed", "empty user information, which parsers drop"),
            ("user@example.com", "user-info-not-allowed", "an e-mail address"),
            ("https://example.com/@user", "example.com", "an @ in the path is no user information"),
            ("https://example.com\t/", "url-malformed", "tab, which parsers drop"),
            ("java\nscript:alert(1)", "url-malformed", "line break, which parsers drop"),
            ("https://example.com:99999/", "url-malformed", "port out of range"),
            (
                "https://a\u{200b}b.example/",
                "ab.example",
                "IDNA drops a zero-width space; the browser gets the clean form",
            ),
        ];
        for (text, expected, why) in rows {
            assert_eq!(host(text), *expected, "{text:?}: {why}");
        }
    }

    #[test]
    fn the_browser_gets_the_serialised_form() {
        let given = parse("HTTP://EXAMPLE.com:80/a/../b c").expect("a page");
        assert_eq!(given.as_str(), "http://example.com/b%20c");
        let dotted = parse("https://example.com.:8443/a").expect("a page");
        assert_eq!(dotted.as_str(), "https://example.com:8443/a", "the name that is looked up");
    }

    proptest! {
        /// What is handed to the browser parses back to itself: no second parser can find another host in it.
        #[test]
        fn parse_and_print_round_trip(text in "\\PC{0,40}|https?://[a-z0-9.:@%\\[\\]/?#-]{0,40}") {
            if let Ok(first) = parse(&text) {
                let again = parse(first.as_str()).expect("the serialised form is accepted");
                prop_assert_eq!(&again, &first);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse(&text);
            let _ = normalise_host(&text);
        }
    }
}
