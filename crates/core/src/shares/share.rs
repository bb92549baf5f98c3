//! Shares of what a server has a limited number of: at most so many for all, and at most so many for one party.
//!
//! Invariants: no party alone can use up what others need, except where a share says that one may have everything.

use std::net::{IpAddr, Ipv6Addr};

use crate::subject::Subject;

/// Limit on a number, and the part of it that one party may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Maximum number for all.
    pub all: usize,
    /// Maximum number for one party.
    pub each: usize,
}

impl Share {
    /// Connections that have not sent a credential of the server yet, by address.
    pub const UNKNOWN_CONNECTIONS: Self = Self { all: 512, each: 256 };

    /// Connections whose request has a credential of the server, by subject. Nobody else can have these places.
    pub const KNOWN_CONNECTIONS: Self = Self { all: 768, each: 128 };

    /// Viewer tickets that have not been used, by subject.
    pub const TICKETS: Self = Self { all: 1024, each: 256 };

    /// Returns the share of the open sessions of a server, by the subject whose call began them.
    #[must_use]
    pub const fn of_sessions(all: usize) -> Self {
        Self { all, each: all.div_ceil(2) }
    }

    /// Returns the share of the calls that run at the same time, by the subject that makes them: three of four slots, since most servers
    /// have one subject.
    #[must_use]
    pub const fn of_calls(all: usize) -> Self {
        let rest = all.div_ceil(4);
        Self { all, each: if all > rest { all - rest } else { all } }
    }

    /// Decides if a party may have one more than it has among these.
    ///
    /// # Errors
    ///
    /// The limit that is reached.
    pub fn admit_party<'a>(self, party: &Party, holders: impl Iterator<Item = &'a Party>) -> Result<(), Exceeded> {
        let (same, all) = holders.fold((0, 0), |(same, all), other| (same + usize::from(other == party), all + 1));
        self.admit(if *party == Party::Anyone { 0 } else { same }, all)
    }

    /// Decides if a party may have one more.
    ///
    /// # Errors
    ///
    /// The limit that is reached.
    pub const fn admit(self, of_party: usize, of_all: usize) -> Result<(), Exceeded> {
        if of_party >= self.each {
            Err(Exceeded::Each(self.each))
        } else if of_all >= self.all {
            Err(Exceeded::All(self.all))
        } else {
            Ok(())
        }
    }
}

/// Limit of a share that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The limit of each party.
    Each(usize),
    /// The limit of all parties together.
    All(usize),
}

/// Party that has a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Party {
    /// Client of a server without credentials, which may use everything.
    Anyone,
    /// Subject of a credential. All credentials without a subject are one party.
    Subject(Option<Subject>),
}

/// Address that counts as one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            IpAddr::V4(address) => address.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_admits_up_to_both_limits() {
        let share = Share { all: 3, each: 2 };
        assert_eq!(share.admit(1, 2), Ok(()));
        assert_eq!(share.admit(2, 2), Err(Exceeded::Each(2)));
        assert_eq!(share.admit(0, 3), Err(Exceeded::All(3)));
    }

    #[test]
    fn no_party_alone_has_everything() {
        for share in [Share::UNKNOWN_CONNECTIONS, Share::KNOWN_CONNECTIONS, Share::TICKETS, Share::of_sessions(32)] {
            assert!(share.each * 2 <= share.all, "{share:?}");
        }
        for (all, each) in [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (64, 48)] {
            assert_eq!(Share::of_calls(all), Share { all, each });
        }
    }

    #[test]
    fn client_is_an_address_or_a_network_of_64_bits() {
        let client = |text: &str| ClientAddress::from(text.parse::<IpAddr>().expect(text));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:0:0:2"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }
}
