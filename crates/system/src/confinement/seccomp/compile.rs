//! Compiler of rules for system calls to one filter program.
//!
//! The program finds the rule of a call by a balanced tree of comparisons. When a filter is set, the kernel runs it once for
//! every system call number, so each instruction on the path counts several hundred times. seccompiler compiles the conditions
//! on arguments.
//!
//! Invariants: each number gets the answer of its own rule, and numbers without a rule are allowed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter};
use thiserror::Error;

/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JGE | BPF_K`, `BPF_JMP | BPF_JEQ | BPF_K` and `BPF_RET | BPF_K`.
const LOAD: u16 = 0x20;
const AT_LEAST: u16 = 0x35;
const EQUALS: u16 = 0x15;
const RETURN: u16 = 0x06;

/// The offset of the call's number in `struct seccomp_data`.
const NUMBER_OFFSET: u32 = 0;

/// Error of the compiler.
#[derive(Debug, Error)]
pub enum FilterError {
    /// seccompiler refuses a rule or the architecture.
    #[error(transparent)]
    Seccompiler(#[from] BackendError),
    /// Two rules for one call.
    #[error("system call {0} has two rules")]
    Duplicate(u32),
    /// The program is longer than a conditional jump reaches.
    #[error("the program is too long for its jumps")]
    TooLong,
}

/// The rule for a call. A call without a rule is allowed.
pub(super) enum SyscallRule {
    /// The call fails with this error.
    Refuse(i32),
    /// The call is allowed if its arguments match one of the conditions, and else fails with this error.
    Unless(Vec<SeccompRule>, i32),
    /// The call fails with this error if its arguments match one of the conditions, and is else allowed.
    If(Vec<SeccompRule>, i32),
}

/// Rules by ranges of numbers.
pub(super) type SyscallRules = Vec<(RangeInclusive<u32>, SyscallRule)>;

/// Ranges that cover all numbers.
struct Ranges {
    /// The first number of each range, in order, and the index of its action.
    starts: Vec<(u32, usize)>,
    /// The programs of the actions. The first one allows.
    actions: Vec<BpfProgram>,
}

/// A comparison of the call's number.
struct TreeNode {
    code: u16,
    value: u32,
    yes: Jump,
    no: Jump,
}

/// The target of a comparison: another one, or the action with this index.
#[derive(Clone, Copy)]
enum Jump {
    Node(usize),
    Action(usize),
}

/// Compiles the rules.
///
/// # Errors
///
/// On an architecture that seccompiler does not support, with two rules for one number, or with too many rules.
pub(super) fn compile(rules: SyscallRules) -> Result<BpfProgram, FilterError> {
    let mut program = prologue()?;
    let Ranges { starts, actions } = ranges(rules)?;
    let mut nodes = Vec::new();
    if let Jump::Action(action) = build_tree(&mut nodes, &starts) {
        nodes.push(TreeNode { code: AT_LEAST, value: 0, yes: Jump::Action(action), no: Jump::Action(action) });
    }
    program.push(sock_filter { code: LOAD, jt: 0, jf: 0, k: NUMBER_OFFSET });
    // The actions follow the tree.
    let action_offsets: Vec<usize> = actions
        .iter()
        .scan(nodes.len(), |offset, action| {
            let start = *offset;
            *offset += action.len();
            Some(start)
        })
        .collect();
    for (here, node) in nodes.iter().enumerate() {
        // Jumps lead forward, and count from the next instruction.
        let distance = |next| {
            let offset = match next {
                Jump::Node(index) => Some(index),
                Jump::Action(index) => action_offsets.get(index).copied(),
            };
            let distance = offset.and_then(|offset| offset.checked_sub(here + 1));
            distance.and_then(|distance| u8::try_from(distance).ok()).ok_or(FilterError::TooLong)
        };
        program.push(sock_filter { code: node.code, jt: distance(node.yes)?, jf: distance(node.no)?, k: node.value });
    }
    program.extend(actions.into_iter().flatten());
    Ok(program)
}

/// Returns the instructions that kill a process of another architecture, as seccompiler compiles them.
fn prologue() -> Result<BpfProgram, FilterError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let empty = SeccompFilter::new(BTreeMap::new(), SeccompAction::Allow, SeccompAction::KillProcess, arch)?;
    let mut program = BpfProgram::try_from(empty)?;
    // The last instruction allows everything.
    program.pop();
    Ok(program)
}

/// Sorts the rules and fills the gaps between them.
fn ranges(mut rules: SyscallRules) -> Result<Ranges, FilterError> {
    rules.sort_by_key(|(numbers, _)| *numbers.start());
    let mut actions = vec![vec![return_instruction(libc::SECCOMP_RET_ALLOW)]];
    let mut starts: Vec<(u32, usize)> = Vec::new();
    // The first number that is not covered yet; `None` past the last one.
    let mut next = Some(0);
    for (numbers, rule) in rules {
        match next {
            Some(next) if next < *numbers.start() => starts.push((next, 0)),
            Some(next) if next == *numbers.start() => {}
            _ => return Err(FilterError::Duplicate(*numbers.start())),
        }
        let program = match rule {
            SyscallRule::Refuse(error) => vec![return_instruction(refusal(error))],
            SyscallRule::Unless(conditions, error) => {
                match_conditions(conditions, libc::SECCOMP_RET_ALLOW, refusal(error))
            }
            SyscallRule::If(conditions, error) => match_conditions(conditions, refusal(error), libc::SECCOMP_RET_ALLOW),
        };
        let action = actions.iter().position(|known| *known == program).unwrap_or(actions.len());
        if action == actions.len() {
            actions.push(program);
        }
        // Adjacent ranges with the same action become one.
        if starts.last().is_none_or(|(_, last)| *last != action) {
            starts.push((*numbers.start(), action));
        }
        next = numbers.end().checked_add(1);
    }
    starts.extend(next.map(|next| (next, 0)));
    Ok(Ranges { starts, actions })
}

/// Returns the program that answers `matched` if one of the conditions holds, and `otherwise` if none does.
fn match_conditions(conditions: Vec<SeccompRule>, matched: u32, otherwise: u32) -> BpfProgram {
    let answers = conditions.into_iter().flat_map(|condition| {
        let mut program = BpfProgram::from(condition);
        program.push(return_instruction(matched));
        program
    });
    answers.chain([return_instruction(otherwise)]).collect()
}

const fn refusal(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error.cast_unsigned()
}

const fn return_instruction(value: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: value }
}

/// Adds the comparisons that distinguish these ranges. Returns the first one.
fn build_tree(nodes: &mut Vec<TreeNode>, starts: &[(u32, usize)]) -> Jump {
    let here = nodes.len();
    match starts {
        [] => Jump::Action(0),
        [(_, action)] => Jump::Action(*action),
        // A single number between two ranges with the same action.
        [(_, before), (number, action), (after, same)] if before == same && number.checked_add(1) == Some(*after) => {
            nodes.push(TreeNode {
                code: EQUALS,
                value: *number,
                yes: Jump::Action(*action),
                no: Jump::Action(*before),
            });
            Jump::Node(here)
        }
        _ => {
            let (low, high) = starts.split_at(starts.len() / 2);
            let value = high.first().map_or(0, |(start, _)| *start);
            nodes.push(TreeNode { code: AT_LEAST, value, yes: Jump::Action(0), no: Jump::Action(0) });
            let no = build_tree(nodes, low);
            let yes = build_tree(nodes, high);
            if let Some(node) = nodes.get_mut(here) {
                (node.yes, node.no) = (yes, no);
            }
            Jump::Node(here)
        }
    }
}

#[cfg(test)]
mod tests;
