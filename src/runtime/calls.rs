//! The running calls of each sandbox, so that ending a sandbox ends them.
//!
//! Decides nothing but who is meant: all calls of one sandbox, and those of no other. A sandbox without calls takes no room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::identity::SandboxId;

/// The tokens of the sandboxes that have calls, and how many those are.
type Running = Mutex<HashMap<SandboxId, (CancellationToken, usize)>>;

/// The running calls of all sandboxes.
#[derive(Debug, Default)]
pub struct Calls {
    running: Arc<Running>,
    stop: CancellationToken,
}

/// A call among those of its sandbox, for as long as it is in scope.
#[derive(Debug)]
pub struct Among {
    running: Arc<Running>,
    sandbox: SandboxId,
    token: CancellationToken,
}

impl Calls {
    /// Adds a call.
    #[must_use]
    pub fn enter(&self, sandbox: &SandboxId) -> Among {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, count) = running.entry(sandbox.clone()).or_insert_with(|| (self.stop.child_token(), 0));
        *count += 1;
        Among { running: self.running.clone(), sandbox: sandbox.clone(), token: token.clone() }
    }

    /// Cancels what a sandbox has running; what comes later is another matter.
    pub fn cancel(&self, sandbox: &SandboxId) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, _)) = running.remove(sandbox) {
            token.cancel();
        }
    }

    /// Cancels everything, now and from here on.
    pub fn cancel_all(&self) {
        self.stop.cancel();
    }

    /// Says when everything is cancelled.
    #[must_use]
    pub const fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

impl Among {
    /// A token for one part of the call.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.token.child_token()
    }
}

impl Drop for Among {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, count)) = running.get_mut(&self.sandbox) {
            // After a cancellation the entry is that of later calls, which do not count this one.
            if token.is_cancelled() == self.token.is_cancelled() {
                *count = count.saturating_sub(1);
            }
            if *count == 0 {
                running.remove(&self.sandbox);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SandboxId {
        SandboxId::new(text).expect("a name")
    }

    #[test]
    fn ending_a_sandbox_cancels_its_calls_and_no_other() {
        let calls = Calls::default();
        let (one, two, other) = (calls.enter(&id("a")), calls.enter(&id("a")), calls.enter(&id("b")));
        calls.cancel(&id("a"));
        assert!(one.token().is_cancelled() && two.token().is_cancelled());
        assert!(!other.token().is_cancelled());
        let later = calls.enter(&id("a"));
        drop((one, two));
        assert!(!later.token().is_cancelled());
        calls.cancel(&id("a"));
        assert!(later.token().is_cancelled(), "those of before do not take it off the list");
        calls.cancel_all();
        assert!(other.token().is_cancelled() && calls.enter(&id("c")).token().is_cancelled());
    }

    #[test]
    fn a_sandbox_without_calls_takes_no_room() {
        let calls = Calls::default();
        let count = || calls.running.lock().expect("not poisoned").len();
        let (one, two) = (calls.enter(&id("a")), calls.enter(&id("a")));
        drop(one);
        assert_eq!(count(), 1);
        drop(two);
        assert_eq!(count(), 0);
    }
}
