//! Listeners of the guard: its own address, and the addresses of sessions.

use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpListener;

use crate::error::EgressError;
use browser_shell_system::paths::session_addresses;

/// Default address of the guard; the image's Chromium is configured to use it.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8119";

/// Number of ports that the system may choose: at a session's address, another program can have it.
const MAX_ATTEMPTS: usize = 16;

/// Listeners of a guard, all on the same port.
#[derive(Debug)]
pub struct Listeners {
    /// Address for connections of no session.
    pub(super) address: SocketAddr,
    pub(super) own: TcpListener,
    pub(super) sessions: Vec<(IpAddr, TcpListener)>,
}

impl Listeners {
    /// Returns the guard's own address, with the port that the system chose if it was 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Listens on `address`, and on the first `session_addresses` addresses of sessions, so that no other process can take them
/// before [`serve`](super::serve). For port 0, the system chooses one that is free at all of them. `flag` is the one that sets the address.
///
/// # Errors
///
/// See [`EgressError`].
pub async fn bind(address: SocketAddr, flag: &'static str, session_addresses: u8) -> Result<Listeners, EgressError> {
    if !address.ip().is_loopback() {
        return Err(EgressError::NotLoopback(address));
    }
    let attempts = if address.port() == 0 { MAX_ATTEMPTS } else { 1 };
    let mut result = bind_once(address, flag, session_addresses).await;
    for _ in 1..attempts {
        if result.is_ok() {
            break;
        }
        result = bind_once(address, flag, session_addresses).await;
    }
    result
}

async fn bind_once(address: SocketAddr, flag: &'static str, session_addresses: u8) -> Result<Listeners, EgressError> {
    let failed = |address| move |error| EgressError::Listen { address, flag, error };
    let own = TcpListener::bind(address).await.map_err(failed(address))?;
    let address = own.local_addr().map_err(failed(address))?;
    let mut sessions = Vec::new();
    for ip in self::session_addresses(session_addresses) {
        let address = SocketAddr::new(ip.into(), address.port());
        sessions.push((address.ip(), TcpListener::bind(address).await.map_err(failed(address))?));
    }
    Ok(Listeners { address, own, sessions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn address_in_use_is_named_with_its_flag() {
        let taken = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = taken.local_addr().expect("an address");
        let error = bind(address, "--egress", 0).await.expect_err("in use").to_string();
        let (start, end) = (format!("cannot listen on `{address}`: "), "; choose another address with --egress");
        assert!(error.starts_with(&start) && error.ends_with(end), "{error}");
    }
}
