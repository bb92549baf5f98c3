//! System call filters: refuse what a confined program does not need and Landlock does not cover.
//!
//! Landlock has no rules for changing modes, owners and times, for watching folders, for UDP and raw sockets, for other
//! processes' limits and memory, for System V objects and for new namespaces. The filter of a session refuses all of these. The
//! filter of Chromium refuses only connections past Landlock: sockets that it has no rules for, and ways of TCP past its check
//! of `connect`. `docs/design/sandbox.md` explains why the program is compiled here.
//!
//! Invariants: a refused call cannot be made by another number.

mod compile;
#[cfg(test)]
mod interpreter;
mod system_calls;

use std::ops::RangeInclusive;

use seccompiler::{BackendError, BpfProgram, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use compile::{SyscallRule, SyscallRules, compile};
use system_calls::{IO_URING, REFUSED, REFUSED_ON_ARCH, UNSUPPORTED};

pub use compile::FilterError;

/// Flags of `clone` that create namespaces.
const NAMESPACES: u64 = 0x7e02_0080;

/// The `ioctl`s that put characters into a terminal's input: `TIOCSTI`, and `TIOCLINUX` by pasting a selection.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// The `ioctl`s that change flags and attributes of files, also by a descriptor that may only read: those with the letters of
/// ext4 and of XFS, which other file systems share. Reading these flags is refused too.
const FILE_ATTRIBUTES: [u64; 2] = [(b'f' as u64) << 8, (b'X' as u64) << 8];

/// The bits of an `ioctl`'s number that hold its letter.
const IOCTL_LETTER: u64 = 0xff00;

/// `PRIO_PROCESS` and `IOPRIO_WHO_PROCESS`.
const PRIORITY_OF_PROCESS: u64 = 0;
const IO_PRIORITY_OF_PROCESS: u64 = 1;

/// Calls that change scheduling or limits of the process in their first argument. 0 is the caller.
const BY_PROCESS: [i64; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// The bits of a socket's type without its flags.
const SOCKET_TYPE: u64 = 0xf;

/// `MSG_FASTOPEN`: with it, `sendto` and `sendmsg` connect past every rule for connections.
const FAST_OPEN: u64 = 0x2000_0000;

/// The first number of the x32 ABI, which has the same calls under other numbers on some x86-64 kernels.
const X32: u32 = 0x4000_0000;

/// Returns the filter. It lists what is refused, because Node's needs change with each version.
///
/// # Errors
///
/// On an architecture that seccompiler does not support.
pub fn session_filter() -> Result<BpfProgram, FilterError> {
    let mut rules = network_rules()?;
    rules.extend(foreign_calls());
    for call in REFUSED.iter().chain(REFUSED_ON_ARCH) {
        rules.push((single(*call), SyscallRule::Refuse(libc::EPERM)));
    }
    for call in UNSUPPORTED {
        rules.push((single(*call), SyscallRule::Refuse(libc::ENOSYS)));
    }
    for call in BY_PROCESS {
        rules.push((single(call), SyscallRule::Unless(vec![rule(vec![equals(0, 0)?])?], libc::EPERM)));
    }
    let checked = [
        (libc::SYS_setpriority, SyscallRule::Unless(own(PRIORITY_OF_PROCESS)?, libc::EPERM)),
        (libc::SYS_ioprio_set, SyscallRule::Unless(own(IO_PRIORITY_OF_PROCESS)?, libc::EPERM)),
        (libc::SYS_ioctl, SyscallRule::If(commands()?, libc::EPERM)),
        (libc::SYS_clone, SyscallRule::Unless(vec![rule(vec![without(0, NAMESPACES)?])?], libc::EPERM)),
    ];
    rules.extend(checked.map(|(call, rule)| (single(call), rule)));
    compile(rules)
}

/// Returns the allowed targets of a call that takes a kind and an id: the process itself. Its group and its user include
/// processes of other sessions.
fn own(process: u64) -> Result<Vec<SeccompRule>, BackendError> {
    Ok(vec![rule(vec![equals(0, process)?, equals(1, 0)?])?])
}

/// Returns the refused `ioctl`s.
fn commands() -> Result<Vec<SeccompRule>, BackendError> {
    let input = TERMINAL_INPUT.map(|command| rule(vec![equals(1, command)?]));
    let attributes =
        FILE_ATTRIBUTES.map(|letter| rule(vec![compare(1, SeccompCmpOp::MaskedEq(IOCTL_LETTER), letter)?]));
    input.into_iter().chain(attributes).collect()
}

fn equals(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::Eq, value)
}

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
fn network_rules() -> Result<SyscallRules, BackendError> {
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

/// Returns the rule that refuses calls by the numbers of another ABI.
fn foreign_calls() -> SyscallRules {
    if cfg!(target_arch = "x86_64") { vec![(X32..=u32::MAX, SyscallRule::Refuse(libc::ENOSYS))] } else { Vec::new() }
}

/// Returns the range of a single call. All numbers fit.
fn single(call: i64) -> RangeInclusive<u32> {
    let number = u32::try_from(call).unwrap_or(u32::MAX);
    number..=number
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
