//! One program for the kernel out of what is decided about each system call.
//!
//! Decides how the number is found: by a balanced tree of comparisons. When a filter is set, the kernel translates it and
//! works through it for every number that there is, so each instruction counts several hundred times. Conditions on arguments
//! are the library's own programs. Must never answer a number other than as it is told: who sets a filter has no second one.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter};
use thiserror::Error;

/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JGE | BPF_K`, `BPF_JMP | BPF_JEQ | BPF_K` and `BPF_RET | BPF_K`.
const LOAD: u16 = 0x20;
const AT_LEAST: u16 = 0x35;
const EQUALS: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Where the number of a call is in what a filter is given.
const NUMBER: u32 = 0;

/// Why there is no program.
#[derive(Debug, Error)]
pub(super) enum FilterError {
    /// The library refuses.
    #[error(transparent)]
    Library(#[from] BackendError),
    /// Two decisions about one call.
    #[error("system call {0} is decided about twice")]
    Twice(u32),
    /// An instruction cannot name another one that is so far away.
    #[error("the program is too long for its jumps")]
    TooLong,
}

/// What is decided about a call. What nothing is decided about is allowed.
pub(super) enum Verdict {
    /// It fails with this error.
    Refuse(i32),
    /// It is allowed if its arguments fit one of the rules, and else fails with this error.
    Unless(Vec<SeccompRule>, i32),
}

/// Decisions by ranges of numbers.
pub(super) type Verdicts = Vec<(RangeInclusive<u32>, Verdict)>;

/// All numbers in ranges.
struct Ranges {
    /// The first number of each, in order, and the index of the end that it leads to.
    starts: Vec<(u32, usize)>,
    /// What is done at each end. The first one allows.
    ends: Vec<BpfProgram>,
}

/// A comparison of the number.
struct Node {
    code: u16,
    value: u32,
    yes: Next,
    no: Next,
}

/// What follows a comparison: another one, or the end with this index.
#[derive(Clone, Copy)]
enum Next {
    Node(usize),
    End(usize),
}

/// The program.
///
/// # Errors
///
/// On an architecture that the library does not know, with two decisions about one number, or with too many of them.
pub(super) fn compile(verdicts: Verdicts) -> Result<BpfProgram, FilterError> {
    let mut program = prologue()?;
    let Ranges { starts, ends } = sort(verdicts)?;
    let mut nodes = Vec::new();
    if let Next::End(all) = grow(&mut nodes, &starts) {
        nodes.push(Node { code: AT_LEAST, value: 0, yes: Next::End(all), no: Next::End(all) });
    }
    program.push(sock_filter { code: LOAD, jt: 0, jf: 0, k: NUMBER });
    let places: Vec<usize> = ends
        .iter()
        .scan(nodes.len(), |place, end| {
            let here = *place;
            *place += end.len();
            Some(here)
        })
        .collect();
    for (here, node) in nodes.iter().enumerate() {
        // Jumps lead forward, and count from the next instruction.
        let distance = |next| {
            let place = match next {
                Next::Node(index) => Some(index),
                Next::End(index) => places.get(index).copied(),
            };
            let distance = place.and_then(|place| place.checked_sub(here + 1)).and_then(|far| u8::try_from(far).ok());
            distance.ok_or(FilterError::TooLong)
        };
        program.push(sock_filter { code: node.code, jt: distance(node.yes)?, jf: distance(node.no)?, k: node.value });
    }
    program.extend(ends.into_iter().flatten());
    Ok(program)
}

/// What ends a process of another architecture, as the library does it.
fn prologue() -> Result<BpfProgram, FilterError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let nothing = SeccompFilter::new(BTreeMap::new(), SeccompAction::Allow, SeccompAction::KillProcess, arch)?;
    let mut program = BpfProgram::try_from(nothing)?;
    // The last instruction allows everything else.
    program.pop();
    Ok(program)
}

/// Fills the gaps between what is decided.
fn sort(mut verdicts: Verdicts) -> Result<Ranges, FilterError> {
    verdicts.sort_by_key(|(numbers, _)| *numbers.start());
    let mut ends = vec![vec![give(libc::SECCOMP_RET_ALLOW)]];
    let mut starts: Vec<(u32, usize)> = Vec::new();
    // The first number that nothing is known of yet; `None` past the last one.
    let mut next = Some(0);
    for (numbers, verdict) in verdicts {
        match next {
            Some(next) if next < *numbers.start() => starts.push((next, 0)),
            Some(next) if next == *numbers.start() => {}
            _ => return Err(FilterError::Twice(*numbers.start())),
        }
        let program = match verdict {
            Verdict::Refuse(error) => vec![give(refusal(error))],
            Verdict::Unless(rules, error) => {
                let allowed = rules.into_iter().flat_map(|rule| {
                    let mut program = BpfProgram::from(rule);
                    program.push(give(libc::SECCOMP_RET_ALLOW));
                    program
                });
                allowed.chain([give(refusal(error))]).collect()
            }
        };
        let end = ends.iter().position(|known| *known == program).unwrap_or(ends.len());
        if end == ends.len() {
            ends.push(program);
        }
        // Neighbours with the same end are one range.
        if starts.last().is_none_or(|(_, last)| *last != end) {
            starts.push((*numbers.start(), end));
        }
        next = numbers.end().checked_add(1);
    }
    starts.extend(next.map(|next| (next, 0)));
    Ok(Ranges { starts, ends })
}

const fn refusal(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error.cast_unsigned()
}

const fn give(answer: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: answer }
}

/// Adds the comparisons that tell these ranges apart; gives where they begin.
fn grow(nodes: &mut Vec<Node>, starts: &[(u32, usize)]) -> Next {
    let here = nodes.len();
    match starts {
        [] => Next::End(0),
        [(_, end)] => Next::End(*end),
        // One number among others.
        [(_, before), (number, end), (after, same)] if before == same && number.checked_add(1) == Some(*after) => {
            nodes.push(Node { code: EQUALS, value: *number, yes: Next::End(*end), no: Next::End(*before) });
            Next::Node(here)
        }
        _ => {
            let (low, high) = starts.split_at(starts.len() / 2);
            let value = high.first().map_or(0, |(start, _)| *start);
            nodes.push(Node { code: AT_LEAST, value, yes: Next::End(0), no: Next::End(0) });
            let no = grow(nodes, low);
            let yes = grow(nodes, high);
            if let Some(node) = nodes.get_mut(here) {
                (node.yes, node.no) = (yes, no);
            }
            Next::Node(here)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

    use super::*;

    /// What a filter is given.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Call {
        pub(crate) number: u32,
        pub(crate) arch: u32,
        pub(crate) arguments: [u64; 6],
    }

    impl Call {
        /// A call of this architecture.
        pub(crate) fn here(number: u32, arguments: &[u64]) -> Self {
            let arch = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
            let mut all = [0; 6];
            all[..arguments.len()].copy_from_slice(arguments);
            Self { number, arch, arguments: all }
        }

        /// The four bytes at this place of `struct seccomp_data`, on a machine with the lower half first.
        fn word(&self, place: u32) -> u32 {
            let argument = || self.arguments[usize::try_from((place - 16) / 8).expect("small")];
            let half = |value: u64| u32::try_from(value & 0xffff_ffff).expect("cut");
            match place {
                0 => self.number,
                4 => self.arch,
                16..64 if place.is_multiple_of(8) => half(argument()),
                16..64 if place.is_multiple_of(4) => half(argument() >> 32),
                _ => panic!("nothing is loaded from {place}"),
            }
        }
    }

    /// What the kernel does with a program: its answer, and after how many instructions.
    pub(crate) fn walk(program: &[sock_filter], call: &Call) -> (u32, usize) {
        let (mut at, mut value, mut steps) = (0, 0, 0);
        loop {
            let step = &program[at];
            steps += 1;
            at += 1;
            let chosen = |is: bool| usize::from(if is { step.jt } else { step.jf });
            match step.code {
                0x20 => value = call.word(step.k),
                0x54 => value &= step.k,
                0x05 => at += usize::try_from(step.k).expect("near"),
                0x15 => at += chosen(value == step.k),
                0x25 => at += chosen(value > step.k),
                0x35 => at += chosen(value >= step.k),
                0x06 => return (step.k, steps),
                code => panic!("{code:#x} is no instruction that a filter has"),
            }
        }
    }

    pub(crate) fn answer(program: &[sock_filter], call: &Call) -> u32 {
        walk(program, call).0
    }

    fn only(value: u64) -> SeccompRule {
        let equal = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).expect("valid");
        SeccompRule::new(vec![equal]).expect("valid")
    }

    proptest! {
        #[test]
        fn each_number_gets_its_own_answer_and_no_other(
            // Gaps and lengths of ranges, what is decided about each, and whether the last goes up to the last number.
            parts in prop::collection::vec((0_u32..4, 1_u32..4, 0_usize..3), 0..60),
            open in any::<bool>(),
        ) {
            let (mut next, mut verdicts, mut told) = (0, Verdicts::new(), BTreeMap::new());
            for (gap, length, kind) in parts {
                let (first, last) = (next + gap, next + gap + length - 1);
                let verdict = match kind {
                    0 => Verdict::Refuse(libc::EPERM),
                    1 => Verdict::Refuse(libc::ENOSYS),
                    _ => Verdict::Unless(vec![only(7), only(9)], libc::EACCES),
                };
                verdicts.push((first..=last, verdict));
                told.extend((first..=last).map(|number| (number, kind)));
                next = last + 1;
            }
            if open {
                verdicts.push((next + 1..=u32::MAX, Verdict::Refuse(libc::ENOSYS)));
            }
            // Their order is of no account.
            verdicts.reverse();
            let program = compile(verdicts).expect("compiled");
            for number in (0..next + 2).chain([0x4000_0000, u32::MAX]) {
                for argument in [0, 7, 9, 7 | 1 << 32] {
                    let expected = match told.get(&number) {
                        Some(0) => refusal(libc::EPERM),
                        Some(1) => refusal(libc::ENOSYS),
                        Some(_) if [7, 9].contains(&(argument & 0xffff_ffff)) => libc::SECCOMP_RET_ALLOW,
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
    fn without_decisions_everything_is_allowed_and_another_architecture_is_not() {
        let program = compile(Verdicts::new()).expect("compiled");
        let call = Call::here(1, &[]);
        assert_eq!(answer(&program, &call), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(&program, &Call { arch: 0x4000_0003, ..call }), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn two_decisions_about_one_call_and_a_program_that_is_too_long_are_errors() {
        let refuse = |numbers| (numbers, Verdict::Refuse(libc::EPERM));
        for (first, second, twice) in [(1..=5, 5..=6, 5), (1..=5, 1..=1, 1), (0..=u32::MAX, 3..=3, 3)] {
            let error = compile(vec![refuse(first), refuse(second)]).expect_err("refused");
            assert!(matches!(error, FilterError::Twice(number) if number == twice), "{error}");
        }
        let long = (0..300).map(|number| refuse(number * 3..=number * 3)).collect();
        assert!(matches!(compile(long), Err(FilterError::TooLong)));
    }
}
