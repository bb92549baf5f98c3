//! A test network for one test alone, with a capture of all its packets.
//!
//! It has an interface beside loopback with a default route, because Chromium sends no multicast on loopback. No other
//! machine is on that interface.

use std::{
    env,
    net::{Ipv4Addr, Ipv6Addr},
    path::Path,
    process::Command,
    thread,
};

use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, eth, recv, socket_with};

use super::super::hosts::Log;

/// Variable with the name of the test that runs in its own network.
const ALONE: &str = "BROWSER_SHELL_TEST_ALONE";

/// Commands that add the interface. The address of the router has no machine, and needs none.
const INTERFACE: &str = "
    ip link add outside type veth peer name other
    ip address add 198.51.100.2/24 dev outside
    ip -6 address add 2001:db8::2/64 dev outside nodad
    ip link set other up
    ip link set outside up
    ip neighbor add 198.51.100.1 lladdr 02:00:00:00:00:01 dev outside nud permanent
    ip -6 neighbor add 2001:db8::1 lladdr 02:00:00:00:00:01 dev outside nud permanent
    ip route add default via 198.51.100.1
    ip -6 route add default via 2001:db8::1";

/// Protocol numbers of IANA that are not captured: TCP has no datagrams (6), and for each interface the kernel sends
/// multicast listener reports and neighbor discovery (0 and 58).
const OTHER_PROTOCOLS: [u8; 3] = [0, 6, 58];

/// Datagrams of the whole network, in order of arrival.
#[derive(Debug)]
pub(super) struct Capture(Log);

impl Capture {
    /// Starts a capture if the test runs in its own network. Otherwise runs it there, which must succeed, and returns
    /// `None`.
    pub(super) fn in_own_network(test: &str) -> Option<Self> {
        if env::var_os(ALONE).is_some_and(|alone| alone == test) {
            return Some(Self::start());
        }
        let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/in-test-network"))
            .arg(env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .env(ALONE, test)
            .env_remove("BROWSER_SHELL_TEST_NETWORK")
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let has_passed = output.status.success() && stdout.contains(" 1 passed");
        assert!(has_passed, "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        None
    }

    fn start() -> Self {
        let added = Command::new("sh").args(["-ec", INTERFACE]).output().expect("cannot start `sh`");
        assert!(added.status.success(), "cannot add an interface: {}", String::from_utf8_lossy(&added.stderr));
        // Not for child processes: a runtime does not start Chromium with inherited descriptors in the place of its pipe.
        let packets = socket_with(AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(eth::ALL));
        let packets = packets.expect("needs root");
        let log = Log::default();
        let seen = log.clone();
        thread::spawn(move || {
            let mut packet = vec![0; 0x1_0000];
            while let Ok((length, _)) = recv(&packets, &mut packet[..], RecvFlags::empty()) {
                if let Some(line) = describe(&packet[..length]) {
                    seen.add(line);
                }
            }
        });
        Self(log)
    }

    /// Returns a line for each datagram.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lines()
    }

    /// Returns true if a datagram contains this text.
    pub(super) fn has(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }
}

/// Returns protocol, destination and the readable content of a datagram; `None` for other packets.
fn describe(packet: &[u8]) -> Option<String> {
    let first = *packet.first()?;
    let (protocol, header, to) = match first >> 4 {
        4 => {
            let to: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
            (*packet.get(9)?, usize::from(first & 15) * 4, Ipv4Addr::from(to).to_string())
        }
        6 => {
            let to: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
            (*packet.get(6)?, 40, Ipv6Addr::from(to).to_string())
        }
        _ => return None,
    };
    if OTHER_PROTOCOLS.contains(&protocol) {
        return None;
    }
    // The labels of a name have their lengths between them, which become dots.
    let readable = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte).to_ascii_lowercase() } else { '.' };
    let content: String = packet.get(header..)?.iter().map(readable).collect();
    Some(format!("protocol {protocol} to {to}: {content}"))
}
