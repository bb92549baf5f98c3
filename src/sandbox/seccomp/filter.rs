//! System call filter of a sandbox.

use std::ops::RangeInclusive;

use seccompiler::{BackendError, BpfProgram, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::compile::{FilterError, SyscallRule, SyscallRules, compile};
use super::system_calls::{REFUSED, REFUSED_ON_ARCH, UNSUPPORTED};

/// The first number of the x32 ABI, which has the same calls under other numbers on some x86-64 kernels.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Flags of `clone` that create namespaces.
const NAMESPACES: u64 = 0x7e02_0080;

/// The bits of a socket's type without its flags.
const SOCKET_TYPE: u64 = 0xf;

/// `MSG_FASTOPEN`: with it, `sendto` and `sendmsg` connect past every rule for connections.
const FAST_OPEN: u64 = 0x2000_0000;

/// The `ioctl` that puts characters into a terminal's input.
const TIOCSTI: u64 = 0x5412;

/// Returns the filter. It lists what is refused, because Node's needs change with each version.
///
/// # Errors
///
/// On an architecture that seccompiler does not support.
pub(in crate::sandbox) fn filter() -> Result<BpfProgram, FilterError> {
    let mut rules = SyscallRules::new();
    for call in REFUSED.iter().chain(REFUSED_ON_ARCH) {
        rules.push((single(*call), SyscallRule::Refuse(libc::EPERM)));
    }
    for call in UNSUPPORTED {
        rules.push((single(*call), SyscallRule::Refuse(libc::ENOSYS)));
    }
    #[cfg(target_arch = "x86_64")]
    rules.push((X32..=u32::MAX, SyscallRule::Refuse(libc::ENOSYS)));
    let checked = [
        (libc::SYS_socket, sockets()?),
        (libc::SYS_sendto, vec![rule(vec![without(3, FAST_OPEN)?])?]),
        (libc::SYS_sendmsg, vec![rule(vec![without(2, FAST_OPEN)?])?]),
        (libc::SYS_sendmmsg, vec![rule(vec![without(3, FAST_OPEN)?])?]),
        (libc::SYS_ioctl, vec![rule(vec![compare(1, SeccompCmpOp::Ne, TIOCSTI)?])?]),
        (libc::SYS_clone, vec![rule(vec![without(0, NAMESPACES)?])?]),
    ];
    for (call, allowed) in checked {
        rules.push((single(call), SyscallRule::Unless(allowed, libc::EPERM)));
    }
    compile(rules)
}

/// Returns the range of a single call. All numbers fit.
fn single(call: i64) -> RangeInclusive<u32> {
    let number = u32::try_from(call).unwrap_or(u32::MAX);
    number..=number
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

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

/// Returns the condition that none of these bits is set.
fn without(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::MaskedEq(bits), 0)
}

/// Returns a condition on the lower half of an argument, the only half that the kernel uses in these calls.
fn compare(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(test)]
mod tests;
