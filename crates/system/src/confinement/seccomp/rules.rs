//! Building blocks of rules: conditions on arguments, and numbers of calls.

use std::ops::RangeInclusive;

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::compile::{SyscallRule, SyscallRules};

/// The first number of the x32 ABI, which has the same calls under other numbers on some x86-64 kernels.
const X32: u32 = 0x4000_0000;

/// Returns the rule that refuses calls by the numbers of another ABI.
pub(super) fn foreign_calls() -> SyscallRules {
    if cfg!(target_arch = "x86_64") { vec![(X32..=u32::MAX, SyscallRule::Refuse(libc::ENOSYS))] } else { Vec::new() }
}

/// Returns the range of a single call. All numbers fit.
pub(super) fn single(call: i64) -> RangeInclusive<u32> {
    let number = u32::try_from(call).unwrap_or(u32::MAX);
    number..=number
}

pub(super) fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

/// Returns the condition that none of these bits is set.
pub(super) fn without(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::MaskedEq(bits), 0)
}

/// Returns a condition on the lower half of an argument, the only half that the kernel uses in these calls.
pub(super) fn compare(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
