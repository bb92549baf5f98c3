//! Request filter by headers: `Host`, `Origin` and the token.
//!
//! `Host` must name this server. This prevents DNS rebinding, where a web page makes its own name resolve to this machine. A
//! request of a web page must come from the origin that it goes to; this server has no pages, so none can.
//!
//! Invariants: the time of a token comparison does not depend on how much of the token was right.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header};
use subtle::ConstantTimeEq;

/// Host names of the loopback interface, which are always served.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Reason for refusing a request because of its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterRefusal {
    /// The Host header is missing, repeated, or names another server.
    Host,
    /// The request comes from a page of another origin.
    Origin,
    /// The token is missing or wrong.
    Token,
}

impl FilterRefusal {
    /// Returns the message for the client.
    #[must_use]
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Host => "forbidden: unknown Host; use an address, or add the name to the server's --allow-host",
            Self::Origin => "forbidden: cross-origin requests are not served",
            Self::Token => "unauthorized: send the token as `Authorization: Bearer TOKEN`",
        }
    }
}

/// Conditions that the headers of a request must meet.
#[derive(Debug)]
pub(crate) struct RequestFilter {
    hosts: Vec<String>,
    allows_addresses: bool,
    allows_names: bool,
    allows_tls: bool,
    token: Option<String>,
}

impl RequestFilter {
    /// Creates a filter that accepts loopback names and these hosts.
    #[must_use]
    pub(crate) fn new(hosts: impl IntoIterator<Item = String>) -> Self {
        let loopback = LOOPBACK_NAMES.iter().map(|name| (*name).to_owned());
        Self {
            hosts: loopback.chain(hosts).collect(),
            allows_addresses: false,
            allows_names: false,
            allows_tls: false,
            token: None,
        }
    }

    /// Accepts every IP address as host too: a page cannot redirect an address to another machine, and clients use addresses
    /// where containers have no names.
    #[must_use]
    pub(crate) fn with_addresses(mut self) -> Self {
        self.allows_addresses = true;
        self
    }

    /// Accepts every well-formed name as host too, for a server that requires credentials: a page that makes its own name resolve to
    /// this machine has none. Names such as `8080-box` remain refused, by which some proxies choose a port.
    #[must_use]
    pub(crate) fn with_names(mut self) -> Self {
        self.allows_names = true;
        self
    }

    /// Accepts the scheme `https` in the Origin header too, for a proxy in front that terminates TLS and passes the host on.
    #[must_use]
    pub(crate) fn with_tls_proxy(mut self) -> Self {
        self.allows_tls = true;
        self
    }

    /// Requires a token, if there is one.
    #[must_use]
    pub(crate) fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token;
        self
    }

    /// Checks the Host and Origin headers of a request.
    ///
    /// # Errors
    ///
    /// [`FilterRefusal::Host`] or [`FilterRefusal::Origin`].
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), FilterRefusal> {
        let host = self.accepted_host(headers).ok_or(FilterRefusal::Host)?;
        if self.is_same_origin(headers, host) { Ok(()) } else { Err(FilterRefusal::Origin) }
    }

    /// Checks the token of a request, if one is required. The comparison takes the same time for every wrong token.
    ///
    /// # Errors
    ///
    /// [`FilterRefusal::Token`].
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), FilterRefusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let sent = single_value(headers, &header::AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start_matches(' '))
        });
        let is_equal = sent.is_some_and(|sent| bool::from(sent.as_bytes().ct_eq(token.as_bytes())));
        if is_equal { Ok(()) } else { Err(FilterRefusal::Token) }
    }

    /// Returns true if there is no Origin header, or one that is this server's origin (RFC 6454 section 6).
    fn is_same_origin(&self, headers: &HeaderMap, host: &str) -> bool {
        if !headers.contains_key(header::ORIGIN) {
            return true;
        }
        let authority = single_value(headers, &header::ORIGIN).and_then(|origin| match origin.split_once("://")? {
            ("http", authority) => Some(authority),
            ("https", authority) if self.allows_tls => Some(authority),
            _ => None,
        });
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    }

    /// Returns the value of the only Host header, if it names this server with any port.
    fn accepted_host<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let value = single_value(headers, &header::HOST)?;
        let name = match value.rsplit_once(':') {
            Some((name, port)) if is_port(port) => name,
            _ => value,
        };
        let is_known =
            self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(value));
        let is_allowed = is_known
            || (self.allows_addresses && is_address(name))
            || (self.allows_names && (is_name(name) || is_in_brackets(name)));
        is_allowed.then_some(value)
    }
}

/// Returns true for the digits of a port.
fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for a name of letters, digits, dots, hyphens and underscores that chooses no port of a proxy.
fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let inner = name.strip_suffix('.').unwrap_or(name);
    let chooses_port = name.split_once('-').is_some_and(|(number, _)| is_number(number));
    let (first, last) = (inner.bytes().next(), inner.bytes().next_back());
    first.is_some_and(is_word)
        && last.is_some_and(is_word)
        && inner.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
        && !chooses_port
}

/// Returns true for the characters of an IPv6 address in brackets. One that is no address belongs to nobody.
fn is_in_brackets(name: &str) -> bool {
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| {
        (2..=45).contains(&inner.len())
            && inner.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for an address in the form of a Host header (RFC 3986 section 3.2.2).
fn is_address(name: &str) -> bool {
    match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => matches!(name.parse::<IpAddr>(), Ok(IpAddr::V4(_))),
    }
}

/// Returns the value of a header that occurs exactly once.
fn single_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    value.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(rows: &[(HeaderName, &str)]) -> HeaderMap {
        rows.iter().map(|(name, value)| (name.clone(), value.parse().expect("a header"))).fold(
            HeaderMap::new(),
            |mut map, (name, value)| {
                map.append(name, value);
                map
            },
        )
    }

    #[test]
    fn hosts_are_compared_without_port() {
        let filter = RequestFilter::new(["box.example:8443".to_owned()]);
        let allowed = |value: &str| filter.check(&headers(&[(header::HOST, value)])).is_ok();
        for value in ["localhost", "LOCALHOST", "localhost:8079", "[::1]", "[::1]:8079", "box.example:8443"] {
            assert!(allowed(value), "{value}");
        }
        for value in [
            "evil.example",
            "localhost.evil.example",
            "localhost:x",
            "localhost:",
            "box.example:80",
            "",
            "localhost@evil.example",
            "10.0.0.1",
            "localhost:123456",
        ] {
            assert!(!allowed(value), "{value}");
        }
        assert_eq!(
            filter.check(&headers(&[(header::HOST, "localhost"), (header::HOST, "localhost")])),
            Err(FilterRefusal::Host)
        );
        assert_eq!(filter.check(&HeaderMap::new()), Err(FilterRefusal::Host));
    }

    #[test]
    fn ip_address_hosts_are_accepted_only_where_enabled() {
        let filter = RequestFilter::new([]).with_addresses();
        for value in ["10.0.0.1", "10.0.0.1:8115", "[fd00::1]:8115"] {
            assert!(filter.check(&headers(&[(header::HOST, value)])).is_ok(), "{value}");
        }
        for value in ["10.0.0.1.evil.example", "0x0a000001", "10.1", "fd00::1", "[10.0.0.1]", "evil.example"] {
            assert!(filter.check(&headers(&[(header::HOST, value)])).is_err(), "{value}");
        }
    }

    #[test]
    fn every_name_is_accepted_only_where_enabled() {
        let allowed = |filter: RequestFilter, value: &str| filter.check(&headers(&[(header::HOST, value)])).is_ok();
        for value in
            ["evil.example", "my_box:8080", "localhost.", "127.1", "xn--bcher-kva.example", "10.0.0.1", "[::1]:1"]
        {
            assert!(allowed(RequestFilter::new([]).with_names(), value), "{value}");
        }
        assert!(!allowed(RequestFilter::new([]), "evil.example"), "control");
        for value in
            ["8091-x", "8091-x:80", "1-", "", "-", "a b", "..", "a/b", "x@y", "[::1", "::1", "a:x", "a:123456", "*"]
        {
            assert!(!allowed(RequestFilter::new([]).with_names(), value), "{value}");
        }
    }

    #[test]
    fn only_own_origin_is_accepted() {
        let served = |origins: &[&str]| {
            let origins = origins.iter().map(|origin| (header::ORIGIN, *origin));
            let rows: Vec<_> = std::iter::once((header::HOST, "localhost:8079")).chain(origins).collect();
            RequestFilter::new([]).check(&headers(&rows)).is_ok()
        };
        assert!(served(&[]), "no page sent it");
        assert!(served(&["http://localhost:8079"]));
        for origin in
            ["http://localhost", "http://localhost:80", "https://localhost:8079", "http://evil.example", "null", ""]
        {
            assert!(!served(&[origin]), "{origin}");
        }
        assert!(!served(&["http://localhost:8079", "http://evil.example"]));
    }

    #[test]
    fn own_https_origin_is_accepted_behind_tls_proxy() {
        let filter = RequestFilter::new(["box.example".to_owned()]).with_tls_proxy();
        let served = |origins: &[&str]| {
            let origins = origins.iter().map(|origin| (header::ORIGIN, *origin));
            let rows: Vec<_> = std::iter::once((header::HOST, "box.example")).chain(origins).collect();
            filter.check(&headers(&rows)).is_ok()
        };
        assert!(served(&["https://box.example"]) && served(&["http://box.example"]));
        for origins in [
            &["https://evil.example"][..],
            &["https://box.example.evil.example"],
            &["https://box.example:444"],
            &["ws://box.example"],
            &["https://box.example", "https://box.example"],
            &["https://box.example", "https://evil.example"],
            &["", "https://evil.example"],
        ] {
            assert!(!served(origins), "{origins:?}");
        }
    }

    #[test]
    fn token_must_be_present_once_and_complete() {
        let filter = RequestFilter::new([]).with_token(Some("secret".to_owned()));
        let check = |values: &[&str]| {
            let rows: Vec<_> = values.iter().map(|value| (header::AUTHORIZATION, *value)).collect();
            filter.check_token(&headers(&rows)).is_ok()
        };
        assert!(check(&["Bearer secret"]) && check(&["bearer secret"]) && check(&["Bearer  secret"]));
        for values in [
            &[][..],
            &["Bearer"],
            &["Bearer "],
            &["Bearer secre"],
            &["Bearer secrets"],
            &["Basic secret"],
            &["secret"],
            &["Bearer secret", "Bearer secret"],
        ] {
            assert!(!check(values), "{values:?}");
        }
        assert!(RequestFilter::new([]).check_token(&HeaderMap::new()).is_ok(), "control: no token is required");
    }
}
