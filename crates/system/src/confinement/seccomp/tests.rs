//! The filter of a session, compared with a table by number, and with the same rules compiled by seccompiler alone; the filter of
//! Chromium, call by call, and compared with the one of a session.

use std::collections::{BTreeMap, BTreeSet};

use seccompiler::{SeccompAction, SeccompFilter, TargetArch};

use super::*;
use crate::confinement::seccomp::interpreter::{Call, answer, walk};

#[cfg(target_arch = "x86_64")]
mod by_number;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();

/// The rules as seccompiler compiles them: numbers are compared one after the other, and arguments with the refused values. The
/// kernel uses the stricter answer of both programs.
struct Reference([BpfProgram; 2]);

impl Reference {
    fn new() -> Self {
        let compare = |argument, operator, value: u64| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).expect("valid")
        };
        let rule = |conditions: &[SeccompCondition]| SeccompRule::new(conditions.to_vec()).expect("valid");
        let has = |argument, bits| rule(&[compare(argument, SeccompCmpOp::MaskedEq(bits), bits)]);
        let family = |operator, value: i32| compare(0, operator, u64::try_from(value).expect("positive"));
        let mut sockets =
            vec![rule(&[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].map(|value| family(SeccompCmpOp::Ne, value)))];
        for internet in [libc::AF_INET, libc::AF_INET6] {
            for kind in (0..=10).filter(|kind| *kind != 1) {
                sockets
                    .push(rule(&[family(SeccompCmpOp::Eq, internet), compare(1, SeccompCmpOp::MaskedEq(0xf), kind)]));
            }
            sockets.push(rule(&[
                family(SeccompCmpOp::Eq, internet),
                compare(2, SeccompCmpOp::Ne, 0),
                compare(2, SeccompCmpOp::Ne, 6),
            ]));
        }
        let flags = [0x80, 0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
        let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
            REFUSED.iter().chain(REFUSED_ON_ARCH).map(|call| (*call, Vec::new())).collect();
        let not = |argument, value| rule(&[compare(argument, SeccompCmpOp::Ne, value)]);
        let is = |argument, value| compare(argument, SeccompCmpOp::Eq, value);
        refused.extend(BY_PROCESS.map(|call| (call, vec![not(0, 0)])));
        refused.extend([
            (libc::SYS_socket, sockets),
            (libc::SYS_socketpair, vec![not(0, 1)]),
            (libc::SYS_setsockopt, vec![rule(&[is(1, 6), is(2, 30)])]),
            (libc::SYS_setpriority, vec![not(0, 0), not(1, 0)]),
            (libc::SYS_ioprio_set, vec![not(0, 1), not(1, 0)]),
            (libc::SYS_sendto, vec![has(3, 0x2000_0000)]),
            (libc::SYS_sendmsg, vec![has(2, 0x2000_0000)]),
            (libc::SYS_sendmmsg, vec![has(3, 0x2000_0000)]),
            (
                libc::SYS_ioctl,
                vec![
                    rule(&[is(1, 0x5412)]),
                    rule(&[is(1, 0x541c)]),
                    rule(&[compare(1, SeccompCmpOp::MaskedEq(0xff00), 0x6600)]),
                    rule(&[compare(1, SeccompCmpOp::MaskedEq(0xff00), 0x5800)]),
                ],
            ),
            (libc::SYS_clone, flags.map(|flag| has(0, flag)).into()),
        ]);
        let unsupported = UNSUPPORTED.iter().chain(IO_URING).map(|call| (*call, Vec::new())).collect();
        let program = |rules, error: i32| {
            let arch = TargetArch::try_from(std::env::consts::ARCH).expect("known");
            let refuse = SeccompAction::Errno(error.cast_unsigned());
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).expect("valid");
            BpfProgram::try_from(filter).expect("compiled")
        };
        Self([program(refused, libc::EPERM), program(unsupported, libc::ENOSYS)])
    }

    fn answer(&self, call: &Call) -> u32 {
        if cfg!(target_arch = "x86_64") && call.number >= 0x4000_0000 {
            return ENOSYS;
        }
        let answers = self.0.each_ref().map(|program| answer(program, call));
        answers.into_iter().find(|answer| *answer != ALLOW).unwrap_or(ALLOW)
    }
}

fn number(call: i64) -> u32 {
    u32::try_from(call).expect("small")
}

// Requirement 5.2.
#[test]
#[cfg(target_arch = "x86_64")]
fn each_syscall_is_answered_as_in_table() {
    let program = session_filter().expect("compiled");
    let table: BTreeMap<u32, u32> = by_number::REFUSED.iter().copied().collect();
    assert_eq!(table.len(), by_number::REFUSED.len());
    // Calls whose arguments are checked get harmless ones.
    for call in 0..=600 {
        let arguments: &[u64] = match call {
            41 | 53 => &[1, 1, 0],
            251 => &[1],
            _ => &[],
        };
        let expected = table.get(&call).copied().unwrap_or(ALLOW);
        assert_eq!(answer(&program, &Call::here(call, arguments)), expected, "{call}");
        // The same by the number of the x32 ABI, and with other arguments.
        for arguments in [[0; 6], [1, 1, 0, 0, 0, 0], [u64::MAX; 6]] {
            assert_eq!(answer(&program, &Call::here(0x4000_0000 + call, &arguments)), ENOSYS, "x32 {call}");
            if let Some(expected) = table.get(&call) {
                assert_eq!(answer(&program, &Call::here(call, &arguments)), *expected, "{call}");
            }
        }
    }
    for (call, expected) in [(0x3fff_ffff, ALLOW), (0x4000_0000, ENOSYS), (0x8000_0000, ENOSYS), (u32::MAX, ENOSYS)] {
        assert_eq!(answer(&program, &Call::here(call, &[])), expected, "{call:#x}");
    }
}

// Requirement 5.2.
#[test]
fn filter_is_at_least_as_strict_as_library_filter() {
    let (program, reference) = (session_filter().expect("compiled"), Reference::new());
    let numbers = (0..=600).chain(0x4000_0000..=0x4000_0258).chain([0x3fff_ffff, 0x8000_0000, u32::MAX]);
    for call in numbers {
        for arguments in [[0; 6], [1, 1, 0, 0, 0, 0], [2, 1, 6, 0, 0, 0], [u64::MAX; 6], [1 << 32; 6], [0x80; 6]] {
            let call = Call::here(call, &arguments);
            assert_eq!(answer(&program, &call), reference.answer(&call), "{call:?}");
        }
    }
    // The upper half of an argument that is not a pointer does not count.
    let halves = |value: u64| [value, value | 1 << 32, value | 0xdead_beef << 32];
    let mut seen = BTreeSet::new();
    let mut same = |call: i64, arguments: &[u64]| {
        let call = Call::here(number(call), arguments);
        let answered = answer(&program, &call);
        seen.insert((call.number, answered));
        assert_eq!(answered, reference.answer(&call), "{call:?}");
    };
    for family in (0..=50).chain([0xff, 0x10_0001, 0xffff_ffff]) {
        for kind in (0..=10).chain([0x800, 0x8_0000]).flat_map(|kind| [kind, kind | 1, kind | 0x800, kind | 0x8_0800]) {
            // There are no types above 10. The filter refuses them and the reference does not; see the next test.
            if kind & 0xf > 10 {
                continue;
            }
            for protocol in [0, 1, 2, 6, 17, 58, 132, 136, 255, 262, 0xffff_ffff] {
                for family in halves(family) {
                    for (kind, protocol) in [(kind, protocol), (kind | 1 << 32, protocol | 1 << 40)] {
                        same(libc::SYS_socket, &[family, kind, protocol]);
                    }
                }
            }
        }
    }
    let bits: Vec<u64> = (0..32).map(|shift| 1 << shift).collect();
    for some in bits.iter().flat_map(|one| bits.iter().map(move |other| one | other)).chain([0, 0xffff_ffff, 0x11]) {
        for value in halves(some).into_iter().chain(halves(!some & 0xffff_ffff)) {
            same(libc::SYS_clone, &[value, 7, 7]);
            same(libc::SYS_sendto, &[7, 7, 7, value]);
            same(libc::SYS_sendmsg, &[7, 7, value, 7]);
            same(libc::SYS_sendmmsg, &[7, 7, 7, value]);
            same(libc::SYS_ioctl, &[7, value, 7]);
        }
    }
    // With the letters before and after those of terminals and of files, and with a size and a direction.
    for command in
        (0x5300..0x5a00).chain(0x6500..0x6800).chain(0x4008_6500..0x4008_6800).chain(0x0400_5400..0x0400_5500)
    {
        for command in halves(command) {
            same(libc::SYS_ioctl, &[0, command, 0]);
        }
    }
    let small = [0, 1, 2, 3, 6, 17, 29, 30, 31, 284, 1000, 0xffff_ffff];
    for (first, second) in small.iter().flat_map(|first| small.iter().map(move |second| (*first, *second))) {
        for (first, second) in halves(first).into_iter().zip(halves(second)) {
            same(libc::SYS_socketpair, &[first, second, 0]);
            same(libc::SYS_setsockopt, &[0, first, second, 7, 4]);
            same(libc::SYS_setpriority, &[first, second, 5]);
            same(libc::SYS_ioprio_set, &[first, second, 5]);
            for call in BY_PROCESS {
                same(call, &[first, second]);
            }
        }
    }
    let by_flags = [libc::SYS_clone, libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg, libc::SYS_ioctl];
    let by_values =
        [libc::SYS_socket, libc::SYS_socketpair, libc::SYS_setsockopt, libc::SYS_setpriority, libc::SYS_ioprio_set];
    for call in by_flags.into_iter().chain(by_values).chain(BY_PROCESS) {
        let of_it: Vec<_> = seen.iter().filter(|(seen, _)| *seen == number(call)).map(|(_, answer)| *answer).collect();
        assert_eq!(of_it, [EPERM, ALLOW], "control: {call} is both refused and allowed");
    }
}

// Requirement 5.2.
#[test]
fn syscalls_are_filtered_by_argument() {
    let program = session_filter().expect("compiled");
    let answered = |call: i64, arguments: &[u64]| answer(&program, &Call::here(number(call), arguments));
    for (name, call, arguments, expected) in [
        ("a stream over Unix", libc::SYS_socket, &[1, 0x8_0801, 0][..], ALLOW),
        ("a datagram over Unix", libc::SYS_socket, &[1, 2, 0], ALLOW),
        ("TCP", libc::SYS_socket, &[2, 0x8_0801, 0], ALLOW),
        ("TCP by its number", libc::SYS_socket, &[2, 1, 6], ALLOW),
        ("TCP over IPv6", libc::SYS_socket, &[10, 1, 6], ALLOW),
        ("UDP", libc::SYS_socket, &[2, 0x8_0802, 0], EPERM),
        ("UDP over IPv6", libc::SYS_socket, &[10, 2, 17], EPERM),
        ("ping", libc::SYS_socket, &[2, 2, 1], EPERM),
        ("a raw socket", libc::SYS_socket, &[2, 3, 255], EPERM),
        ("SCTP", libc::SYS_socket, &[2, 1, 132], EPERM),
        ("MPTCP", libc::SYS_socket, &[10, 1, 262], EPERM),
        ("a type that does not exist", libc::SYS_socket, &[2, 11, 0], EPERM),
        ("another one", libc::SYS_socket, &[10, 15, 6], EPERM),
        ("netlink", libc::SYS_socket, &[16, 3, 0], EPERM),
        ("packets", libc::SYS_socket, &[17, 3, 0], EPERM),
        ("a virtual machine's socket", libc::SYS_socket, &[40, 1, 0], EPERM),
        ("a family of which only the lower half counts", libc::SYS_socket, &[1 << 32 | 16, 3, 0], EPERM),
        ("a thread", libc::SYS_clone, &[0x3d_0f00], ALLOW),
        ("a process", libc::SYS_clone, &[0x11], ALLOW),
        ("a process in a new user namespace", libc::SYS_clone, &[0x1000_0011], EPERM),
        ("a process in a new mount namespace", libc::SYS_clone, &[0x2_0011], EPERM),
        ("a message", libc::SYS_sendto, &[3, 0, 0, 0x4000, 0, 0], ALLOW),
        ("a message that connects", libc::SYS_sendto, &[3, 0, 0, 0x2000_4000, 0, 0], EPERM),
        ("another that connects", libc::SYS_sendmsg, &[3, 0, 0x2000_0000], EPERM),
        ("many that connect", libc::SYS_sendmmsg, &[3, 0, 1, 0x2000_0000], EPERM),
        ("a query of a terminal", libc::SYS_ioctl, &[0, 0x5401, 0], ALLOW),
        ("input for a terminal", libc::SYS_ioctl, &[0, 0x5412, 0], EPERM),
        ("the same with an upper half", libc::SYS_ioctl, &[0, 1 << 32 | 0x5412, 0], EPERM),
        ("a pasted selection", libc::SYS_ioctl, &[0, 0x541c, 0], EPERM),
        ("non-blocking input", libc::SYS_ioctl, &[0, 0x5421, 0], ALLOW),
        ("a copy that shares its blocks", libc::SYS_ioctl, &[3, 0x4004_9409, 4], ALLOW),
        ("flags of a file", libc::SYS_ioctl, &[3, 0x4008_6602, 0], EPERM),
        ("attributes of a file", libc::SYS_ioctl, &[3, 0x401c_5820, 0], EPERM),
        ("a pair of Unix sockets", libc::SYS_socketpair, &[1, 0x8_0005, 0], ALLOW),
        ("a pair of others", libc::SYS_socketpair, &[30, 1, 0], EPERM),
        ("TCP without delay", libc::SYS_setsockopt, &[3, 6, 1, 0, 4], ALLOW),
        ("a socket's option of the same number", libc::SYS_setsockopt, &[3, 1, 30, 0, 4], ALLOW),
        ("TCP that connects with the first data", libc::SYS_setsockopt, &[3, 6, 30, 0, 4], EPERM),
        ("own limits", libc::SYS_prlimit64, &[0, 7, 1], ALLOW),
        ("limits of another", libc::SYS_prlimit64, &[1000, 7, 1], EPERM),
        ("a look at limits of another", libc::SYS_prlimit64, &[1000, 7, 0, 1], EPERM),
        ("own cores", libc::SYS_sched_setaffinity, &[0, 8, 1], ALLOW),
        ("cores of another", libc::SYS_sched_setaffinity, &[1000, 8, 1], EPERM),
        ("own priority", libc::SYS_setpriority, &[0, 0, 5], ALLOW),
        ("priority of another", libc::SYS_setpriority, &[0, 1000, 5], EPERM),
        ("priority of the group", libc::SYS_setpriority, &[1, 0, 5], EPERM),
        ("priority of the user", libc::SYS_setpriority, &[2, 0, 5], EPERM),
        ("own disk priority", libc::SYS_ioprio_set, &[1, 0, 5], ALLOW),
        ("disk priority of another", libc::SYS_ioprio_set, &[1, 1000, 5], EPERM),
        ("disk priority of the user", libc::SYS_ioprio_set, &[3, 0, 5], EPERM),
    ] {
        assert_eq!(answered(call, arguments), expected, "{name}");
    }
}

// Requirement 5.2.
#[test]
fn syscall_of_another_architecture_kills_process() {
    let program = session_filter().expect("compiled");
    let native = Call::here(0, &[]).arch;
    for arch in [0, 0x4000_0003, 0x4000_0028, 0xc000_003e, 0xc000_00b7].into_iter().filter(|arch| *arch != native) {
        for call in (0..=600).chain([0x4000_0001]) {
            let call = Call { arch, ..Call::here(call, &[]) };
            assert_eq!(answer(&program, &call), libc::SECCOMP_RET_KILL_PROCESS, "{call:?}");
        }
    }
}

/// Checks what the kernel checks before it accepts a program, and the length of the paths through it.
#[test]
fn filter_is_valid_for_kernel_and_short_for_every_number() {
    let program = session_filter().expect("compiled");
    assert!((50..300).contains(&program.len()), "{}", program.len());
    for (offset, step) in program.iter().enumerate() {
        let jump = match step.code {
            0x05 => usize::try_from(step.k).expect("small"),
            _ => usize::from(step.jt.max(step.jf)),
        };
        assert!(offset + 1 + jump < program.len() || step.code == 0x06, "{offset} jumps out of the program");
    }
    assert_eq!(program.last().map(|step| step.code), Some(0x06), "it ends with an answer");
    let (by_number, by_arguments) =
        (0..=600).map(|call| walk(&program, &Call::here(call, &[])).1).partition::<Vec<_>, _>(|steps| *steps <= 13);
    assert!(by_arguments.len() <= 15 && by_arguments.iter().all(|steps| *steps <= 40), "{by_arguments:?}");
    assert!(by_number.len() >= 586, "{by_number:?}");
}

#[test]
fn no_syscall_is_in_both_lists() {
    assert!(
        UNSUPPORTED.iter().chain(IO_URING).all(|number| !REFUSED.contains(number) && !REFUSED_ON_ARCH.contains(number))
    );
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
