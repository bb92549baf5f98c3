//! The filter for system calls: what no agent-browser needs and files' rules do not cover.
//!
//! Decides a list of what is refused, since Node's list of what it needs changes with each version. Landlock has no rules for
//! changing modes and owners, for watching folders, for UDP and raw sockets, for other processes' memory and for new
//! namespaces: all that is refused here. Must never let a refused call through by another number.

use std::ops::RangeInclusive;

use seccompiler::{BackendError, BpfProgram, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::dispatch::{FilterError, Verdict, Verdicts, compile};

/// Refused whatever their arguments.
const REFUSED: &[i64] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_perf_event_open,
    libc::SYS_setns,
    libc::SYS_unshare,
    // files past Landlock's rules
    libc::SYS_fchmodat,
    FCHMODAT2,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_fchownat,
    libc::SYS_fchown,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_mknodat,
    // mounts
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    // the kernel itself
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_personality,
];

/// Newer calls, which have one number everywhere, and which the library does not know everywhere yet.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// Refused too where the architecture has them: older forms of the same, and ports of the machine.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_inotify_init,
    libc::SYS_mknod,
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Answered as if the kernel did not know them, so that libraries take the older way, which can be looked into.
const UNKNOWN: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// From here on numbers are of the x32 interface, which an x86-64 kernel may have beside its own: the same calls once more.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// All kinds of new namespaces.
const NAMESPACES: u64 = 0x7e02_0080;

/// The part of a socket's type that is its type.
const TYPE: u64 = 0xf;

/// `sendmsg` and its kin with this flag connect past every rule for connections.
const FAST_OPEN: u64 = 0x2000_0000;

/// Puts characters into a terminal's input.
const TIOCSTI: u64 = 0x5412;

/// The filter.
///
/// # Errors
///
/// On an architecture that the library does not know.
pub(super) fn filter() -> Result<BpfProgram, FilterError> {
    let mut verdicts = Verdicts::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        verdicts.push((one(*call), Verdict::Refuse(libc::EPERM)));
    }
    for call in UNKNOWN {
        verdicts.push((one(*call), Verdict::Refuse(libc::ENOSYS)));
    }
    #[cfg(target_arch = "x86_64")]
    verdicts.push((X32..=u32::MAX, Verdict::Refuse(libc::ENOSYS)));
    let looked_into = [
        (libc::SYS_socket, sockets()?),
        (libc::SYS_sendto, vec![rule(vec![without(3, FAST_OPEN)?])?]),
        (libc::SYS_sendmsg, vec![rule(vec![without(2, FAST_OPEN)?])?]),
        (libc::SYS_sendmmsg, vec![rule(vec![without(3, FAST_OPEN)?])?]),
        (libc::SYS_ioctl, vec![rule(vec![compare(1, SeccompCmpOp::Ne, TIOCSTI)?])?]),
        (libc::SYS_clone, vec![rule(vec![without(0, NAMESPACES)?])?]),
    ];
    for (call, allowed) in looked_into {
        verdicts.push((one(call), Verdict::Unless(allowed, libc::EPERM)));
    }
    compile(verdicts)
}

/// The range that is one call. No call has a number that does not fit.
fn one(call: i64) -> RangeInclusive<u32> {
    let number = u32::try_from(call).unwrap_or(u32::MAX);
    number..=number
}

/// Sockets are for streams over Unix, IPv4 and IPv6, by TCP and nothing else: everything else has no rules in Landlock.
fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
    let family = |value: i32| compare(0, SeccompCmpOp::Eq, value.cast_unsigned().into());
    let streams = || compare(1, SeccompCmpOp::MaskedEq(TYPE), libc::SOCK_STREAM.cast_unsigned().into());
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

/// None of these bits is set.
fn without(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::MaskedEq(bits), 0)
}

/// A condition on the lower half of an argument, which is all that the kernel looks at in these calls.
fn compare(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)
}

#[cfg(test)]
mod tests;
