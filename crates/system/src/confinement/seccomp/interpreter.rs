//! Interpreter of filter programs, for tests.

use seccompiler::sock_filter;

/// A system call as a filter sees it (`struct seccomp_data`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) number: u32,
    pub(super) arch: u32,
    pub(super) arguments: [u64; 6],
}

impl Call {
    /// Returns a call of this architecture.
    pub(super) fn here(number: u32, arguments: &[u64]) -> Self {
        let arch = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        Self { number, arch, arguments: all }
    }

    /// Returns the four bytes at this offset of `struct seccomp_data`, on a little-endian machine.
    fn word(&self, offset: u32) -> u32 {
        let argument = || self.arguments[usize::try_from((offset - 16) / 8).expect("small")];
        let half = |value: u64| u32::try_from(value & 0xffff_ffff).expect("cut");
        match offset {
            0 => self.number,
            4 => self.arch,
            16..64 if offset.is_multiple_of(8) => half(argument()),
            16..64 if offset.is_multiple_of(4) => half(argument() >> 32),
            _ => panic!("nothing is loaded from {offset}"),
        }
    }
}

/// Runs a program as the kernel does. Returns its answer and the number of instructions.
pub(super) fn walk(program: &[sock_filter], call: &Call) -> (u32, usize) {
    let (mut at, mut value, mut steps) = (0, 0, 0);
    loop {
        let step = &program[at];
        steps += 1;
        at += 1;
        let jump = |taken: bool| usize::from(if taken { step.jt } else { step.jf });
        match step.code {
            0x20 => value = call.word(step.k),
            0x54 => value &= step.k,
            0x05 => at += usize::try_from(step.k).expect("small"),
            0x15 => at += jump(value == step.k),
            0x25 => at += jump(value > step.k),
            0x35 => at += jump(value >= step.k),
            0x06 => return (step.k, steps),
            code => panic!("unknown instruction {code:#x}"),
        }
    }
}

/// Returns the program's answer.
pub(super) fn answer(program: &[sock_filter], call: &Call) -> u32 {
    walk(program, call).0
}
