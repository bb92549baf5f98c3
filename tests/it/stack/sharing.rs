//! Sharing of the running stack between tests.
//!
//! The stack's ports are fixed, so only one stack runs at a time. Tests that need the same kind share it, and other
//! tests wait until the last of these has finished. Then the stack is ended, and a process or open port that is left
//! fails that last test.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

use super::{
    super::e2e::test_env,
    base::{Stack, StackKind},
};

#[derive(Debug)]
struct SharedStack {
    stack: Option<Arc<Stack>>,
    users: usize,
    // Kinds that failed to start. They would fail again for the next test.
    broken: Vec<StackKind>,
}

static SHARED: Mutex<SharedStack> = Mutex::new(SharedStack { stack: None, users: 0, broken: Vec::new() });
static RELEASED: Condvar = Condvar::new();

/// Shared use of a stack by one test.
#[derive(Debug)]
pub(super) struct StackHandle {
    stack: Option<Arc<Stack>>,
}

/// Waits until the stack is available. The first test of a kind starts it.
pub(super) fn acquire(kind: StackKind) -> StackHandle {
    test_env::hosts();
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    while shared.stack.as_ref().is_some_and(|stack| stack.kind != kind) {
        shared = RELEASED.wait(shared).unwrap_or_else(PoisonError::into_inner);
    }
    assert!(!shared.broken.contains(&kind), "this stack failed to start: see the first failed test");
    if shared.stack.is_none() {
        shared.broken.push(kind);
        shared.stack = Some(Arc::new(Stack::start(kind)));
        shared.broken.pop();
    }
    shared.users += 1;
    StackHandle { stack: shared.stack.clone() }
}

impl std::ops::Deref for StackHandle {
    type Target = Stack;
    fn deref(&self) -> &Stack {
        self.stack.as_ref().unwrap()
    }
}

impl Drop for StackHandle {
    fn drop(&mut self) {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if thread::panicking() {
            self.print_logs();
        }
        self.stack = None;
        shared.users -= 1;
        if shared.users == 0 {
            let ended = shared.stack.take().map(|stack| stack.end());
            drop(shared);
            RELEASED.notify_all();
            if let Some(Err(left)) = ended
                && !thread::panicking()
            {
                panic!("processes or ports were left after the stack ended: {left}");
            }
        }
    }
}
