//! Proxies in front of a server, and the clients that they name.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::policy::{parse_cidr, position_of_block};

/// Address of a proxy in front of a server, or the block of addresses that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

impl FromStr for TrustedProxy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let block = parse_cidr(text).map_err(|_| "not an address or block; write it as 10.0.0.1 or 10.0.0.0/24")?;
        Ok(Self(block))
    }
}

/// Proxies in front of a server.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl FromIterator<TrustedProxy> for TrustedProxies {
    fn from_iter<T: IntoIterator<Item = TrustedProxy>>(proxies: T) -> Self {
        Self(proxies.into_iter().map(|proxy| proxy.0).collect())
    }
}

impl TrustedProxies {
    /// Returns true if the address is one of a proxy.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        position_of_block(&self.0, address.to_canonical()).is_some()
    }

    /// Returns the client of a request that came through proxies: the last address in the `X-Forwarded-For` headers that is not
    /// one of a proxy. Earlier ones are what somebody else wrote. Returns `None` if there is none, or it is not an address.
    pub fn client<'a>(&self, headers: impl DoubleEndedIterator<Item = &'a str>) -> Option<IpAddr> {
        let mut addresses = headers.rev().flat_map(|value| value.rsplit(',')).map(|text| text.trim().parse().ok());
        addresses.find(|address| !address.is_some_and(|address| self.contains(address)))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_client_is_the_last_untrusted_address() {
        let proxies: TrustedProxies =
            ["10.0.0.0/31", "::1"].map(|text| text.parse().expect(text)).into_iter().collect();
        let client = |values: &[&str]| {
            proxies.client(values.iter().copied()).map(|address| address.to_string()).unwrap_or_default()
        };
        assert_eq!(client(&["192.0.2.1"]), "192.0.2.1");
        assert_eq!(
            client(&["192.0.2.9, 192.0.2.1", "10.0.0.1"]),
            "192.0.2.1",
            "the proxies' own addresses are skipped"
        );
        assert_eq!(
            client(&["192.0.2.9", "192.0.2.1,::ffff:10.0.0.1, ::1"]),
            "192.0.2.1",
            "the first is the client's text"
        );
        for none in [&[][..], &["unknown"], &["192.0.2.1, _hidden"], &["10.0.0.1"]] {
            assert_eq!(client(none), "", "{none:?}");
        }
        for invalid in ["", "box", "10.0.0.1/8", "10.0.0.0/33"] {
            assert!(invalid.parse::<TrustedProxy>().is_err(), "{invalid}");
        }
    }
}
