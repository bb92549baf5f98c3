//! Check of who connects to an endpoint.

use std::net::SocketAddr;

/// Table of the TCP connections of this network namespace.
const TABLE: &str = "/proc/net/tcp";

/// Other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectedProcess {
    /// User that it belongs to.
    user: u32,
    /// Inode of its socket, by which its process is found.
    pub socket: u64,
}

impl ConnectedProcess {
    /// Returns the other end of a connection, `None` if it cannot be seen.
    pub(super) fn find(local: SocketAddr, remote: SocketAddr) -> Option<Self> {
        // The other end has the addresses the other way around.
        find(&std::fs::read_to_string(TABLE).ok()?, remote, local)
    }

    /// Returns true if it belongs to this process's user.
    pub(super) fn is_own_user(self) -> bool {
        self.user == rustix::process::geteuid().as_raw()
    }
}

/// Returns the end of a connection with these addresses.
fn find(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<ConnectedProcess> {
    let (local, remote) = (encode(local)?, encode(remote)?);
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let is_same = columns.next()? == local && columns.next()? == remote;
        // State, queues, timer and retransmissions precede the user, and a timeout precedes the inode.
        let (user, socket) = (columns.nth(4)?, columns.nth(1)?);
        is_same.then(|| Some(ConnectedProcess { user: user.parse().ok()?, socket: socket.parse().ok()? }))?
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
    use std::os::fd::AsRawFd;

    #[test]
    fn own_connection_is_recognized_and_unknown_one_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, remote) = listener.accept().unwrap();
        let peer = ConnectedProcess::find(server.local_addr().unwrap(), remote).unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap();
        assert!(peer.is_own_user());
        assert_eq!(link.to_str().unwrap(), format!("socket:[{}]", peer.socket));
        assert_eq!(ConnectedProcess::find(server.local_addr().unwrap(), "127.0.0.1:1".parse().unwrap()), None);
    }

    #[test]
    fn connection_of_another_user_is_seen() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000 10079        0 12 1 0 20 4 0 10 -1\n";
        let (one, two) = ("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:40960".parse().unwrap());
        assert_eq!(find(table, one, two), Some(ConnectedProcess { user: 10079, socket: 12 }));
        assert_eq!(find(table, two, one), None, "control");
    }
}
