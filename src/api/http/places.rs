//! Places of connections at a server: each has one, and gives it back when it ends.
//!
//! Invariants: a connection that has to go for another one ends, whatever it is doing; a request with a credential of the server is
//! never ended for one without.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderName};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::shares::{ConnectionTable, Exceeded, Party, TrustedProxies};
use tokio_util::sync::CancellationToken;

/// Header in which proxies name the client of a request.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Places of the connections of a server.
#[derive(Debug, Default)]
pub(super) struct Places {
    proxies: TrustedProxies,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    table: ConnectionTable,
    /// Ends of the connections in the table.
    ends: HashMap<u64, CancellationToken>,
}

impl Places {
    pub(super) fn new(proxies: TrustedProxies) -> Arc<Self> {
        Arc::new(Self { proxies, state: Mutex::default() })
    }

    /// Gives a new connection from this address a place, and ends the one that has to go for it.
    pub(super) fn arrive(self: &Arc<Self>, address: IpAddr) -> ConnectionSlot {
        let is_proxy = self.proxies.contains(address);
        let end = CancellationToken::new();
        let mut state = self.lock();
        let (number, evicted) = state.table.arrive((!is_proxy).then(|| address.into()));
        state.end(evicted);
        state.ends.insert(number, end.clone());
        drop(state);
        ConnectionSlot { place: SlotHandle { places: self.clone(), number, is_proxy }, end }
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    fn end(&mut self, number: Option<u64>) {
        if let Some(end) = number.and_then(|number| self.ends.remove(&number)) {
            end.cancel();
        }
    }
}

/// Connection with its place, which it gives back when it is dropped.
pub(super) struct ConnectionSlot {
    pub(super) place: SlotHandle,
    /// Canceled when the connection has to go for another one.
    pub(super) end: CancellationToken,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.place.places.lock();
        state.table.leave(self.place.number);
        state.ends.remove(&self.place.number);
    }
}

/// Place of the connection of a request: an extension of every request.
#[derive(Clone, Debug)]
pub(crate) struct SlotHandle {
    places: Arc<Places>,
    number: u64,
    is_proxy: bool,
}

impl SlotHandle {
    /// Records the client of a request that came through a trusted proxy.
    pub(super) fn locate(&self, headers: &HeaderMap) {
        if !self.is_proxy {
            return;
        }
        let values: Vec<_> =
            headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default()).collect();
        if let Some(client) = self.places.proxies.client(values.into_iter()) {
            let mut state = self.places.lock();
            let evicted = state.table.locate(self.number, client.into());
            state.end(evicted);
        }
    }

    /// Takes one of the places that are for clients with a credential of the server.
    ///
    /// # Errors
    ///
    /// `busy` if there is none for this party.
    pub(crate) fn recognize(&self, party: Party) -> Result<(), Decision> {
        let taken = self.places.lock().table.recognize(self.number, party);
        taken.map_err(|exceeded| {
            let reason = match exceeded {
                Exceeded::Each(limit) => format!("{limit} requests with this subject are open"),
                Exceeded::All(limit) => format!("{limit} requests are open"),
            };
            Decision::new(Code::Busy, reason)
        })
    }
}
