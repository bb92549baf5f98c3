//! The filter for system calls: what no agent-browser needs and files' rules do not cover.
//!
//! Decides a list of what is refused, since Node's list of what it needs changes with each version. Landlock has no rules for
//! changing modes and owners, for watching folders, for UDP and raw sockets, for other processes' memory and for new
//! namespaces: all that is refused here. Must never let a refused call through by another number.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

#[cfg(target_arch = "x86_64")]
use seccompiler::sock_filter;

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

/// The filters, to be applied in this order.
///
/// # Errors
///
/// On an architecture that the library does not know.
pub(super) fn filters() -> Result<Vec<BpfProgram>, BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for number in REFUSED.iter().chain(REFUSED_HERE) {
        refused.insert(*number, Vec::new());
    }
    refused.insert(libc::SYS_socket, sockets()?);
    refused.insert(libc::SYS_sendto, vec![rule(&[has(3, FAST_OPEN)?])?]);
    refused.insert(libc::SYS_sendmsg, vec![rule(&[has(2, FAST_OPEN)?])?]);
    refused.insert(libc::SYS_sendmmsg, vec![rule(&[has(3, FAST_OPEN)?])?]);
    refused.insert(libc::SYS_ioctl, vec![rule(&[is(1, TIOCSTI)?])?]);
    // One rule for each: any of the flags is enough.
    let mut namespaces = Vec::new();
    for bit in (0..32).map(|shift| 1_u64 << shift).filter(|bit| NAMESPACES & bit != 0) {
        namespaces.push(rule(&[has(0, bit)?])?);
    }
    refused.insert(libc::SYS_clone, namespaces);
    let mut unknown = BTreeMap::new();
    for number in UNKNOWN {
        unknown.insert(*number, Vec::new());
    }
    Ok(vec![without_x32(program(refused, libc::EPERM)?), program(unknown, libc::ENOSYS)?])
}

/// Sockets are for streams over Unix, IPv4 and IPv6, by TCP and nothing else: everything else has no rules in Landlock.
fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
    let family = |op, value: i32| SeccompCondition::new(0, SeccompCmpArgLen::Dword, op, value.cast_unsigned().into());
    let streams = |op, value: i32| {
        SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(op), value.cast_unsigned().into())
    };
    let mut rules = vec![rule(&[
        family(SeccompCmpOp::Ne, libc::AF_UNIX)?,
        family(SeccompCmpOp::Ne, libc::AF_INET)?,
        family(SeccompCmpOp::Ne, libc::AF_INET6)?,
    ])?];
    for internet in [libc::AF_INET, libc::AF_INET6] {
        for kind in (0..=10).filter(|kind| *kind != libc::SOCK_STREAM) {
            rules.push(rule(&[family(SeccompCmpOp::Eq, internet)?, streams(TYPE, kind)?])?);
        }
        rules.push(rule(&[
            family(SeccompCmpOp::Eq, internet)?,
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?,
            SeccompCondition::new(
                2,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::Ne,
                libc::IPPROTO_TCP.cast_unsigned().into(),
            )?,
        ])?);
    }
    Ok(rules)
}

fn rule(conditions: &[SeccompCondition]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

fn has(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JGE | BPF_K` and `BPF_RET | BPF_K`.
#[cfg(target_arch = "x86_64")]
const LOAD: u16 = 0x20;
#[cfg(target_arch = "x86_64")]
const AT_LEAST: u16 = 0x35;
#[cfg(target_arch = "x86_64")]
const RETURN: u16 = 0x06;

/// Refuses every call of the x32 interface before anything else: the kernel works through a filter for each call that there
/// is when it is set, so that twice the numbers would be twice the time.
#[cfg(target_arch = "x86_64")]
fn without_x32(mut program: BpfProgram) -> BpfProgram {
    // In the order of struct seccomp_data, the number comes first.
    let load = sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 };
    let compare = sock_filter { code: AT_LEAST, jt: 0, jf: 1, k: X32 };
    let errno = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let refuse = sock_filter { code: RETURN, jt: 0, jf: 0, k: errno };
    program.splice(0..0, [load, compare, refuse]);
    program
}

#[cfg(not(target_arch = "x86_64"))]
fn without_x32(program: BpfProgram) -> BpfProgram {
    program
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno.cast_unsigned()), arch)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_are_small() {
        let filters = filters().expect("compiled");
        assert_eq!(filters.len(), 2);
        // The kernel takes 4096 instructions.
        assert!(
            filters.iter().all(|filter| (10..2000).contains(&filter.len())),
            "{:?}",
            filters.iter().map(Vec::len).collect::<Vec<_>>()
        );
    }

    #[test]
    fn no_call_stands_in_both_lists() {
        assert!(UNKNOWN.iter().all(|number| !REFUSED.contains(number)));
    }
}
