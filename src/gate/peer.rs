//! Check of who connects to an endpoint.

use std::net::SocketAddr;

/// Table of the TCP connections of this network namespace.
const TABLE: &str = "/proc/net/tcp";

/// Returns true if the other end of a connection belongs to this process's user. False if that cannot be seen.
///
/// All sessions have this user; each session's sandbox may connect to its own endpoint only.
pub(super) fn is_own_user(local: SocketAddr, remote: SocketAddr) -> bool {
    let Ok(table) = std::fs::read_to_string(TABLE) else { return false };
    // The other end has the addresses the other way around.
    owner(&table, remote, local) == Some(rustix::process::geteuid().as_raw())
}

/// Returns the user of the connection with these addresses.
fn owner(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let (local, remote) = (encode(local)?, encode(remote)?);
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let is_same = columns.next()? == local && columns.next()? == remote;
        // State, queues, timer and retransmissions precede the user.
        let user = columns.nth(4)?;
        is_same.then(|| user.parse().ok())?
    })
}

/// Returns an address as the kernel writes it: the bytes of the address as one number of this machine, and the port.
fn encode(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else { return None };
    Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn own_connection_is_recognized_and_unknown_one_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, remote) = listener.accept().unwrap();
        assert!(is_own_user(server.local_addr().unwrap(), remote));
        assert!(!is_own_user(server.local_addr().unwrap(), "127.0.0.1:1".parse().unwrap()));
        drop(client);
    }

    #[test]
    fn connection_of_another_user_is_seen() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000 10079        0 12 1 0 20 4 0 10 -1\n";
        let (one, two) = ("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:40960".parse().unwrap());
        assert_eq!(owner(table, one, two), Some(10079));
        assert_eq!(owner(table, two, one), None, "control");
    }
}
