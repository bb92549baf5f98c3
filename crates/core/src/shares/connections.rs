//! Connections of a server, and which of them goes when there are too many.
//!
//! A connection is unknown until a request on it has a credential of the server. Unknown ones have places of their own, so that
//! they never take one of a client that has a credential. When these are full, the oldest of the client with the most goes: a client
//! that sends its request at once has left these places long before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::share::{ClientAddress, Exceeded, Party, Share};

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

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::subject::Subject;

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
}
