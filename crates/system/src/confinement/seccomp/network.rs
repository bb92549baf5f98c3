//! Rules for connections past Landlock: sockets that it has no rules for, and ways of TCP past its check of `connect`.

use seccompiler::{BackendError, BpfProgram, SeccompCmpOp, SeccompRule};

use super::compile::{FilterError, SyscallRule, SyscallRules, compile};
use super::rules::{compare, foreign_calls, rule, single, without};
use super::system_calls::IO_URING;

/// The bits of a socket's type without its flags.
const SOCKET_TYPE: u64 = 0xf;

/// `MSG_FASTOPEN`: with it, `sendto` and `sendmsg` connect past every rule for connections.
const FAST_OPEN: u64 = 0x2000_0000;

/// Returns the filter for a program whose TCP connections Landlock restricts, such as Chromium: it makes no other ones.
///
/// Everything else is allowed. Chromium makes namespaces for its renderers, and filters their calls itself.
///
/// # Errors
///
/// On an architecture that seccompiler does not support.
pub fn network_filter() -> Result<BpfProgram, FilterError> {
    let mut rules = network_rules()?;
    rules.extend(foreign_calls());
    compile(rules)
}

/// Returns the rules by which TCP under Landlock and Unix sockets remain the only connections.
pub(super) fn network_rules() -> Result<SyscallRules, BackendError> {
    let refused_option = [
        compare(1, SeccompCmpOp::Eq, libc::IPPROTO_TCP.cast_unsigned().into())?,
        compare(2, SeccompCmpOp::Eq, libc::TCP_FASTOPEN_CONNECT.cast_unsigned().into())?,
    ];
    let unix = compare(0, SeccompCmpOp::Eq, libc::AF_UNIX.cast_unsigned().into())?;
    let fast_open = |flags| Ok::<_, BackendError>(vec![rule(vec![without(flags, FAST_OPEN)?])?]);
    let checked = [
        (libc::SYS_socket, SyscallRule::Unless(sockets()?, libc::EPERM)),
        (libc::SYS_socketpair, SyscallRule::Unless(vec![rule(vec![unix])?], libc::EPERM)),
        (libc::SYS_setsockopt, SyscallRule::If(vec![rule(refused_option.into())?], libc::EPERM)),
        (libc::SYS_sendto, SyscallRule::Unless(fast_open(3)?, libc::EPERM)),
        (libc::SYS_sendmsg, SyscallRule::Unless(fast_open(2)?, libc::EPERM)),
        (libc::SYS_sendmmsg, SyscallRule::Unless(fast_open(3)?, libc::EPERM)),
    ];
    let io_uring = IO_URING.iter().map(|call| (*call, SyscallRule::Refuse(libc::ENOSYS)));
    Ok(checked.into_iter().chain(io_uring).map(|(call, rule)| (single(call), rule)).collect())
}

/// Returns the allowed sockets: Unix, and streams over IPv4 and IPv6 by TCP. Landlock has no rules for others.
fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
    let family = |value: i32| compare(0, SeccompCmpOp::Eq, value.cast_unsigned().into());
    let streams = || compare(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), libc::SOCK_STREAM.cast_unsigned().into());
    let mut rules = vec![rule(vec![family(libc::AF_UNIX)?])?];
    for internet in [libc::AF_INET, libc::AF_INET6] {
        for protocol in [0, libc::IPPROTO_TCP] {
            let protocol = compare(2, SeccompCmpOp::Eq, protocol.cast_unsigned().into())?;
            rules.push(rule(vec![family(internet)?, streams()?, protocol])?);
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests;
