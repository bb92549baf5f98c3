//! Running calls of each tenant, so that ending a tenant's session cancels them.
//!
//! Invariants: canceling reaches all calls of one tenant and no other's; a tenant without calls takes no memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use browser_shell_core::tenant::TenantId;

/// Token and number of calls of each tenant that has calls.
type RunningExecs = Mutex<HashMap<TenantId, (CancellationToken, usize)>>;

/// Running calls of all tenants.
#[derive(Debug, Default)]
pub(crate) struct ActiveCalls {
    running: Arc<RunningExecs>,
    stop: CancellationToken,
}

/// Entry of a running call, removed on drop.
#[derive(Debug)]
pub(crate) struct ActiveExec {
    running: Arc<RunningExecs>,
    tenant: TenantId,
    token: CancellationToken,
}

impl ActiveCalls {
    /// Adds a call of a tenant.
    #[must_use]
    pub(crate) fn enter(&self, tenant: &TenantId) -> ActiveExec {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, count) = running.entry(tenant.clone()).or_insert_with(|| (self.stop.child_token(), 0));
        *count += 1;
        ActiveExec { running: self.running.clone(), tenant: tenant.clone(), token: token.clone() }
    }

    /// Cancels the running calls of a tenant; later ones are not affected.
    pub(crate) fn cancel(&self, tenant: &TenantId) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, _)) = running.remove(tenant) {
            token.cancel();
        }
    }

    /// Cancels all calls, also those that are added later.
    pub(crate) fn cancel_all(&self) {
        self.stop.cancel();
    }

    /// Returns the token that cancels all calls.
    #[must_use]
    pub(crate) const fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

impl ActiveExec {
    /// Returns a token for one part of the call.
    #[must_use]
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.child_token()
    }
}

impl Drop for ActiveExec {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, count)) = running.get_mut(&self.tenant) {
            // After a cancellation the entry belongs to later calls and does not count this one.
            if token.is_cancelled() == self.token.is_cancelled() {
                *count = count.saturating_sub(1);
            }
            if *count == 0 {
                running.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TenantId {
        TenantId::new(text).expect("a valid name")
    }

    #[test]
    fn canceling_tenant_cancels_only_its_calls() {
        let calls = ActiveCalls::default();
        let (one, two, other) = (calls.enter(&id("a")), calls.enter(&id("a")), calls.enter(&id("b")));
        calls.cancel(&id("a"));
        assert!(one.token().is_cancelled() && two.token().is_cancelled());
        assert!(!other.token().is_cancelled());
        let later = calls.enter(&id("a"));
        drop((one, two));
        assert!(!later.token().is_cancelled());
        calls.cancel(&id("a"));
        assert!(later.token().is_cancelled(), "dropping canceled calls does not remove later ones");
        calls.cancel_all();
        assert!(other.token().is_cancelled() && calls.enter(&id("c")).token().is_cancelled());
    }

    #[test]
    fn tenant_without_calls_leaves_no_entry() {
        let calls = ActiveCalls::default();
        let count = || calls.running.lock().expect("not poisoned").len();
        let (one, two) = (calls.enter(&id("a")), calls.enter(&id("a")));
        drop(one);
        assert_eq!(count(), 1);
        drop(two);
        assert_eq!(count(), 0);
    }
}
