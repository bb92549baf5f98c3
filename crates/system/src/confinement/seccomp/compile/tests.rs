use proptest::prelude::*;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

use super::*;
use crate::confinement::seccomp::interpreter::{Call, answer};

fn equals(value: u64) -> SeccompRule {
    let equal = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).expect("valid");
    SeccompRule::new(vec![equal]).expect("valid")
}

proptest! {
    #[test]
    fn each_syscall_number_gets_exactly_its_action(
        // Gap, length and kind of rule of each range, and whether a last one extends to the last number.
        ranges in prop::collection::vec((0_u32..4, 1_u32..4, 0_usize..4), 0..50),
        open in any::<bool>(),
    ) {
        let (mut next, mut rules, mut expected_kinds) = (0, SyscallRules::new(), BTreeMap::new());
        for (gap, length, kind) in ranges {
            let (first, last) = (next + gap, next + gap + length - 1);
            let rule = match kind {
                0 => SyscallRule::Refuse(libc::EPERM),
                1 => SyscallRule::Refuse(libc::ENOSYS),
                2 => SyscallRule::Unless(vec![equals(7), equals(9)], libc::EACCES),
                _ => SyscallRule::If(vec![equals(7), equals(9)], libc::EACCES),
            };
            rules.push((first..=last, rule));
            expected_kinds.extend((first..=last).map(|number| (number, kind)));
            next = last + 1;
        }
        if open {
            rules.push((next + 1..=u32::MAX, SyscallRule::Refuse(libc::ENOSYS)));
        }
        // The order does not matter.
        rules.reverse();
        let program = compile(rules).expect("compiled");
        for number in (0..next + 2).chain([0x4000_0000, u32::MAX]) {
            for argument in [0, 7, 9, 7 | 1 << 32] {
                let expected = match expected_kinds.get(&number) {
                    Some(0) => refusal(libc::EPERM),
                    Some(1) => refusal(libc::ENOSYS),
                    Some(kind) if [7, 9].contains(&(argument & 0xffff_ffff)) == (*kind == 2) => libc::SECCOMP_RET_ALLOW,
                    Some(_) => refusal(libc::EACCES),
                    None if open && number > next => refusal(libc::ENOSYS),
                    None => libc::SECCOMP_RET_ALLOW,
                };
                prop_assert_eq!(answer(&program, &Call::here(number, &[argument])), expected, "{}", number);
            }
        }
    }
}

#[test]
fn empty_filter_allows_all_syscalls_of_this_architecture() {
    let program = compile(SyscallRules::new()).expect("compiled");
    let call = Call::here(1, &[]);
    assert_eq!(answer(&program, &call), libc::SECCOMP_RET_ALLOW);
    assert_eq!(answer(&program, &Call { arch: 0x4000_0003, ..call }), libc::SECCOMP_RET_KILL_PROCESS);
}

#[test]
fn duplicate_rules_and_oversized_filters_are_errors() {
    let refuse = |numbers| (numbers, SyscallRule::Refuse(libc::EPERM));
    for (first, second, twice) in [(1..=5, 5..=6, 5), (1..=5, 1..=1, 1), (0..=u32::MAX, 3..=3, 3)] {
        let error = compile(vec![refuse(first), refuse(second)]).expect_err("refused");
        assert!(matches!(error, FilterError::Duplicate(number) if number == twice), "{error}");
    }
    let long = (0..300).map(|number| refuse(number * 3..=number * 3)).collect();
    assert!(matches!(compile(long), Err(FilterError::TooLong)));
}
