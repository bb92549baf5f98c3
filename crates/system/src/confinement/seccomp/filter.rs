//! System call filter of a session's sandbox.

use seccompiler::{BackendError, BpfProgram, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::compile::{FilterError, SyscallRule, compile};
use super::network::network_rules;
use super::rules::{compare, foreign_calls, rule, single, without};
use super::system_calls::{REFUSED, REFUSED_ON_ARCH, UNSUPPORTED};

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

#[cfg(test)]
mod tests;
