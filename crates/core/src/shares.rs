//! Shares of what a server has a limited number of: at most so many for all, and at most so many for one party.
//!
//! A connection is unknown until a request on it has a credential of the server. Unknown ones have places of their own, so that
//! they never take one of a client that has a credential. When these are full, the oldest of the client with the most goes: a client
//! that sends its request at once has left these places long before. Behind a proxy, the client is the one that the proxy names.
//!
//! Invariants: no party alone can use up what others need, except where a share says that one may have everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::policy::{parse_cidr, position_of_block};
use crate::session_id::Subject;

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

    /// Viewers of a screen, by subject.
    pub const VIEWERS: Self = Self { all: 64, each: 32 };

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

/// Table of the open connections of a server, by their number.
#[derive(Debug, Default)]
pub struct ConnectionTable {
    next: u64,
    /// In the order of their arrival.
    holders: BTreeMap<u64, Holder>,
}

/// Holder of a connection.
#[derive(Debug)]
enum Holder {
    /// Client without a credential so far. Behind a proxy, its address is not known before its request.
    Unknown(Option<ClientAddress>),
    /// Party with a credential.
    Known(Party),
}

impl ConnectionTable {
    /// Adds a connection. Returns its number, and that of the connection that has to go for it.
    pub fn arrive(&mut self, address: Option<ClientAddress>) -> (u64, Option<u64>) {
        let evicted = self.make_room(address);
        let number = self.next;
        self.next += 1;
        self.holders.insert(number, Holder::Unknown(address));
        (number, evicted)
    }

    /// Records the address of an unknown connection that came through a proxy. Returns the connection that has to go for it.
    pub fn locate(&mut self, number: u64, address: ClientAddress) -> Option<u64> {
        match self.holders.remove(&number) {
            Some(Holder::Unknown(_)) => {
                let evicted = self.make_room(Some(address));
                self.holders.insert(number, Holder::Unknown(Some(address)));
                evicted
            }
            Some(known) => {
                self.holders.insert(number, known);
                None
            }
            None => None,
        }
    }

    /// Gives a connection, whose request has a credential, a place of this party.
    ///
    /// # Errors
    ///
    /// The limit that is reached. The connection keeps the place that it has.
    pub fn recognize(&mut self, number: u64, party: Party) -> Result<(), Exceeded> {
        let known = self.holders.iter().filter(|(other, _)| **other != number);
        let known = known.filter_map(|(_, holder)| match holder {
            Holder::Known(party) => Some(party),
            Holder::Unknown(_) => None,
        });
        Share::KNOWN_CONNECTIONS.admit_party(&party, known)?;
        if let Some(holder) = self.holders.get_mut(&number) {
            *holder = Holder::Known(party);
        }
        Ok(())
    }

    /// Removes a connection that has ended.
    pub fn leave(&mut self, number: u64) {
        self.holders.remove(&number);
    }

    /// Removes the unknown connection that has to go before there is one more of this address.
    fn make_room(&mut self, address: Option<ClientAddress>) -> Option<u64> {
        // For each address: how many connections it has, and the oldest of them.
        let mut clients: HashMap<Option<ClientAddress>, (usize, u64)> = HashMap::new();
        for (number, holder) in &self.holders {
            if let Holder::Unknown(address) = holder {
                clients.entry(*address).or_insert((0, *number)).0 += 1;
            }
        }
        // Connections of a proxy before their request are of many clients.
        let own = address.and_then(|_| clients.get(&address)).copied();
        let all = clients.values().map(|(count, _)| count).sum();
        let (_, oldest) = match Share::UNKNOWN_CONNECTIONS.admit(own.map_or(0, |(count, _)| count), all) {
            Ok(()) => return None,
            Err(Exceeded::Each(_)) => own?,
            // Of several clients with as many, the one whose oldest connection is the oldest.
            Err(Exceeded::All(_)) => clients.into_values().max_by_key(|(count, oldest)| (*count, Reverse(*oldest)))?,
        };
        self.holders.remove(&oldest);
        Some(oldest)
    }
}

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
    use std::net::IpAddr;

    use super::*;
    use crate::session_id::Subject;

    #[test]
    fn share_admits_up_to_both_limits() {
        let share = Share { all: 3, each: 2 };
        assert_eq!(share.admit(1, 2), Ok(()));
        assert_eq!(share.admit(2, 2), Err(Exceeded::Each(2)));
        assert_eq!(share.admit(0, 3), Err(Exceeded::All(3)));
    }

    #[test]
    fn no_party_alone_has_everything() {
        let fixed = [Share::UNKNOWN_CONNECTIONS, Share::KNOWN_CONNECTIONS, Share::TICKETS, Share::VIEWERS];
        for share in fixed.into_iter().chain([Share::of_sessions(32)]) {
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

    fn address(last: u8) -> ClientAddress {
        IpAddr::from([192, 0, 2, last]).into()
    }

    fn party(name: &str) -> Party {
        Party::Subject(Subject::new(name))
    }

    #[test]
    fn oldest_connection_of_a_full_address_goes() {
        let mut table = ConnectionTable::default();
        let (other, _) = table.arrive(Some(address(9)));
        let own: Vec<_> = (0..256).map(|_| table.arrive(Some(address(1)))).collect();
        assert!(own.iter().all(|(_, evicted)| evicted.is_none()), "control: a share has room");
        assert_eq!(table.arrive(Some(address(1))).1, Some(own[0].0));
        assert_eq!(table.arrive(Some(address(1))).1, Some(own[1].0));
        assert_eq!(table.arrive(Some(address(9))).1, None, "not one of another client");
        table.leave(other);
    }

    #[test]
    fn client_with_most_connections_loses_one_of_a_full_table() {
        let mut table = ConnectionTable::default();
        let (lonely, _) = table.arrive(Some(address(9)));
        let mut flood = Vec::new();
        for last in 1..=7 {
            flood.extend((0..73).map(|_| table.arrive(Some(address(last))).0));
        }
        assert_eq!(flood.len(), 511);
        assert_eq!(
            table.arrive(Some(address(10))).1,
            Some(flood[0]),
            "the oldest of the largest, not the oldest of all"
        );
        assert!(table.holders.contains_key(&lonely));
    }

    #[test]
    fn unknown_connections_take_no_place_of_known_ones() {
        let mut table = ConnectionTable::default();
        let (known, _) = table.arrive(Some(address(1)));
        assert_eq!(table.recognize(known, party("ada")), Ok(()));
        for number in 0..2000_u32 {
            let (_, evicted) = table.arrive(Some(address(u8::try_from(number % 200).expect("small"))));
            assert_ne!(evicted, Some(known));
        }
        assert_eq!(table.holders.len(), 513);
        let (late, _) = table.arrive(Some(address(250)));
        assert_eq!(table.recognize(late, party("bob")), Ok(()), "and there is a place for one more credential");
    }

    #[test]
    fn known_connections_are_shared_by_subject() {
        let mut table = ConnectionTable::default();
        let mut connect = |party: Party| {
            let (number, _) = table.arrive(Some(address(1)));
            let result = table.recognize(number, party);
            if result.is_err() {
                table.leave(number);
            }
            result
        };
        for _ in 0..128 {
            assert_eq!(connect(party("ada")), Ok(()));
        }
        assert_eq!(connect(party("ada")), Err(Exceeded::Each(128)));
        assert_eq!(connect(party("bob")), Ok(()), "control");
        for _ in 0..639 {
            assert_eq!(connect(Party::Anyone), Ok(()), "a server without credentials has one party");
        }
        assert_eq!(connect(Party::Anyone), Err(Exceeded::All(768)));
    }

    #[test]
    fn connections_of_a_proxy_count_by_client_after_their_request() {
        let mut table = ConnectionTable::default();
        let numbers: Vec<_> = (0..400).map(|_| table.arrive(None)).collect();
        assert!(numbers.iter().all(|(_, evicted)| evicted.is_none()), "a proxy is not one client");
        for (number, _) in &numbers[..256] {
            assert_eq!(table.locate(*number, address(1)), None);
        }
        assert_eq!(table.locate(numbers[256].0, address(1)), Some(numbers[0].0));
        assert_eq!(table.locate(numbers[257].0, address(2)), None, "control");
    }

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
