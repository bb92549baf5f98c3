//! The filter of Chromium, call by call, and compared with the one of a session.

use super::*;
use crate::confinement::seccomp::interpreter::{Call, answer};
use crate::confinement::seccomp::session_filter;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();

fn number(call: i64) -> u32 {
    u32::try_from(call).expect("small")
}

// Requirement 5.1.
#[test]
fn network_filter_refuses_every_connection_past_landlock() {
    let program = network_filter().expect("compiled");
    for (name, call, arguments, expected) in [
        ("TCP", libc::SYS_socket, &[2, 0x8_0801, 0][..], ALLOW),
        ("TCP over IPv6", libc::SYS_socket, &[10, 1, 6], ALLOW),
        ("a datagram over Unix", libc::SYS_socket, &[1, 2, 0], ALLOW),
        ("MPTCP", libc::SYS_socket, &[2, 1, 262], EPERM),
        ("MPTCP over IPv6 with flags", libc::SYS_socket, &[10, 0x8_0801, 262], EPERM),
        ("SMC, which connects by TCP", libc::SYS_socket, &[43, 1, 0], EPERM),
        ("SCTP", libc::SYS_socket, &[2, 1, 132], EPERM),
        ("UDP", libc::SYS_socket, &[2, 0x8_0802, 0], EPERM),
        ("UDP over IPv6", libc::SYS_socket, &[10, 2, 17], EPERM),
        ("ping", libc::SYS_socket, &[2, 2, 1], EPERM),
        ("a raw socket", libc::SYS_socket, &[10, 3, 255], EPERM),
        ("packets", libc::SYS_socket, &[17, 3, 0x300], EPERM),
        ("netlink", libc::SYS_socket, &[16, 3, 0], EPERM),
        ("a pair of Unix sockets", libc::SYS_socketpair, &[1, 5, 0], ALLOW),
        ("a pair of others", libc::SYS_socketpair, &[30, 1, 0], EPERM),
        ("data", libc::SYS_sendto, &[3, 0, 0, 0x4000], ALLOW),
        ("data that connect", libc::SYS_sendto, &[3, 0, 0, 0x2000_0000], EPERM),
        ("a message that connects", libc::SYS_sendmsg, &[3, 0, 0x2000_4000], EPERM),
        ("many that connect", libc::SYS_sendmmsg, &[3, 0, 1, 0x2000_0000], EPERM),
        ("TCP without delay", libc::SYS_setsockopt, &[3, 6, 1], ALLOW),
        ("TCP that connects with the first data", libc::SYS_setsockopt, &[3, 6, 30], EPERM),
        ("io_uring", libc::SYS_io_uring_setup, &[8, 0], ENOSYS),
        ("a call of io_uring", libc::SYS_io_uring_enter, &[3, 0], ENOSYS),
        ("a buffer of io_uring", libc::SYS_io_uring_register, &[3, 0], ENOSYS),
    ] {
        assert_eq!(answer(&program, &Call::here(number(call), arguments)), expected, "{name}");
    }
    let foreign = Call { arch: 0x4000_0003, ..Call::here(number(libc::SYS_socket), &[1, 1, 0]) };
    assert_eq!(answer(&program, &foreign), libc::SECCOMP_RET_KILL_PROCESS);
}

/// Chromium makes namespaces for its renderers, changes modes of its files and limits its processes.
#[test]
fn network_filter_refuses_nothing_but_connections() {
    let program = network_filter().expect("compiled");
    let refused: Vec<u32> =
        (0..=600).filter(|call| answer(&program, &Call::here(*call, &[1, 1, 0])) != ALLOW).collect();
    let io_uring: Vec<u32> = IO_URING.iter().map(|call| number(*call)).collect();
    assert_eq!(refused, io_uring);
    #[cfg(target_arch = "x86_64")]
    for call in [0x4000_0029, 0x4000_0000, u32::MAX] {
        assert_eq!(answer(&program, &Call::here(call, &[1, 1, 0])), ENOSYS, "x32 {call:#x}");
    }
}

#[test]
fn session_filter_refuses_what_network_filter_refuses() {
    let (network, session) = (network_filter().expect("compiled"), session_filter().expect("compiled"));
    let values = [0, 1, 2, 3, 6, 10, 16, 30, 43, 262, 0x2000_0000];
    let mut refused = 0;
    for call in (0..=600).chain([0x4000_0029, u32::MAX]) {
        for (first, second) in values.iter().flat_map(|first| values.iter().map(move |second| (*first, *second))) {
            for arguments in [[first, second, 0, 0], [first, second, 30, 0x2000_0000], [first, 1, second, second]] {
                let call = Call::here(call, &arguments);
                if answer(&network, &call) != ALLOW {
                    refused += 1;
                    assert_ne!(answer(&session, &call), ALLOW, "{call:?}");
                }
            }
        }
    }
    assert!(refused > 500, "control: {refused}");
}
