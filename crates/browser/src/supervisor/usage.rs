//! Use of the browser by calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of calls that use the browser, and the time of the last use.
#[derive(Debug)]
pub(super) struct Usage {
    users: AtomicUsize,
    last_use: Mutex<Instant>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { users: AtomicUsize::new(0), last_use: Mutex::new(Instant::now()) }
    }
}

impl Usage {
    /// Sets the time of the last use to now.
    pub(super) fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns whether a call uses the browser now.
    pub(super) fn is_in_use(&self) -> bool {
        self.users.load(Ordering::Acquire) > 0
    }

    /// Returns whether no call has used the browser for this time.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        let last_use = self.last_use.lock().unwrap_or_else(PoisonError::into_inner);
        !self.is_in_use() && last_use.elapsed() >= time
    }

    /// Counts a call that uses the browser from now on.
    pub(super) fn begin(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts a call that no longer uses the browser.
    pub(super) fn end(&self) {
        self.touch();
        self.users.fetch_sub(1, Ordering::AcqRel);
    }
}
