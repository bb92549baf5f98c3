//! Which requests are looked at at all.
//!
//! Decides by three headers. `Host` must name this server (against DNS rebinding, by which a page of any site makes its own
//! name mean this machine). A request of a web page must come from the very origin that it goes to; no page is served here,
//! so none can. And where there is a token, it must be there. Must never compare a token in a way whose duration tells how
//! much of it was right.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header};
use subtle::ConstantTimeEq;

/// Host names that always mean this machine.
pub const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Why a request is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its Host header is missing, stands twice, or names somebody else.
    Host,
    /// It comes from a page of another origin.
    Origin,
    /// The token is missing or wrong.
    Token,
}

impl Refusal {
    /// What the client is told.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Host => "forbidden: unknown Host",
            Self::Origin => "forbidden: requests of other origins are not served",
            Self::Token => "unauthorized: send the token as `Authorization: Bearer TOKEN`",
        }
    }
}

/// What a request must carry.
#[derive(Debug)]
pub struct Guard {
    hosts: Vec<String>,
    addresses: bool,
    token: Option<String>,
}

impl Guard {
    /// Serves loopback names and these hosts.
    #[must_use]
    pub fn new(hosts: impl IntoIterator<Item = String>) -> Self {
        let own = LOOPBACK_NAMES.iter().map(|name| (*name).to_owned());
        Self { hosts: own.chain(hosts).collect(), addresses: false, token: None }
    }

    /// Serves every address as well: a page cannot make an address mean another machine, and an address is what clients
    /// have where containers have no names.
    #[must_use]
    pub fn with_addresses(mut self) -> Self {
        self.addresses = true;
        self
    }

    /// Asks for a token.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token;
        self
    }

    /// The names that are served.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Looks at a request's headers.
    ///
    /// # Errors
    ///
    /// `Host` or `Origin`.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = self.host_of(headers).ok_or(Refusal::Host)?;
        if same_origin(headers, host) { Ok(()) } else { Err(Refusal::Origin) }
    }

    /// Looks for the token, if one is asked for.
    ///
    /// # Errors
    ///
    /// `Token`.
    pub fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let sent = single(headers, &header::AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start_matches(' '))
        });
        let is_right = sent.is_some_and(|sent| bool::from(sent.as_bytes().ct_eq(token.as_bytes())));
        if is_right { Ok(()) } else { Err(Refusal::Token) }
    }

    /// The value of the one Host header, if it names this server, with any port.
    fn host_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let value = single(headers, &header::HOST)?;
        let name = match value.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => name,
            _ => value,
        };
        let is_ours = self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(value));
        (is_ours || (self.addresses && is_address(name))).then_some(value)
    }
}

/// Whether a host is an address in the one form that a Host header has for it (RFC 3986 section 3.2.2).
fn is_address(name: &str) -> bool {
    match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => matches!(name.parse::<IpAddr>(), Ok(IpAddr::V4(_))),
    }
}

/// Whether there is no Origin header, or one that is this server's own (RFC 6454 section 6).
fn same_origin(headers: &HeaderMap, host: &str) -> bool {
    if !headers.contains_key(header::ORIGIN) {
        return true;
    }
    let authority = single(headers, &header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// The value of a header that stands exactly once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
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
    fn hosts_are_compared_without_the_port() {
        let guard = Guard::new(["box.example:8443".to_owned()]);
        let allowed = |value: &str| guard.check(&headers(&[(header::HOST, value)])).is_ok();
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
        ] {
            assert!(!allowed(value), "{value}");
        }
        assert_eq!(
            guard.check(&headers(&[(header::HOST, "localhost"), (header::HOST, "localhost")])),
            Err(Refusal::Host)
        );
        assert_eq!(guard.check(&HeaderMap::new()), Err(Refusal::Host));
    }

    #[test]
    fn addresses_are_served_where_that_is_wanted_and_only_as_addresses() {
        let guard = Guard::new([]).with_addresses();
        for value in ["10.0.0.1", "10.0.0.1:8115", "[fd00::1]:8115"] {
            assert!(guard.check(&headers(&[(header::HOST, value)])).is_ok(), "{value}");
        }
        for value in ["10.0.0.1.evil.example", "0x0a000001", "10.1", "fd00::1", "[10.0.0.1]", "evil.example"] {
            assert!(guard.check(&headers(&[(header::HOST, value)])).is_err(), "{value}");
        }
    }

    #[test]
    fn only_the_servers_own_origin_is_served() {
        let served = |origins: &[&str]| {
            let origins = origins.iter().map(|origin| (header::ORIGIN, *origin));
            let rows: Vec<_> = std::iter::once((header::HOST, "localhost:8079")).chain(origins).collect();
            Guard::new([]).check(&headers(&rows)).is_ok()
        };
        assert!(served(&[]), "no page asks");
        assert!(served(&["http://localhost:8079"]));
        for origin in
            ["http://localhost", "http://localhost:80", "https://localhost:8079", "http://evil.example", "null", ""]
        {
            assert!(!served(&[origin]), "{origin}");
        }
        assert!(!served(&["http://localhost:8079", "http://evil.example"]));
    }

    #[test]
    fn the_token_must_be_there_once_and_whole() {
        let guard = Guard::new([]).with_token(Some("secret".to_owned()));
        let check = |values: &[&str]| {
            let rows: Vec<_> = values.iter().map(|value| (header::AUTHORIZATION, *value)).collect();
            guard.check_token(&headers(&rows)).is_ok()
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
        assert!(Guard::new([]).check_token(&HeaderMap::new()).is_ok(), "control: without a token nobody is asked");
    }
}
