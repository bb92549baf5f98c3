//! Count of open connections, in total and for each session.
//!
//! Invariants: no more than the limit are admitted, and no session gets more than half of them, so one session cannot keep
//! the others out. A refused connection does not count.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::session_id::SessionId;

/// Location of the limit in the policy file.
const LOCATION: &str = "egress.limits.max_connections";

/// Count of open connections.
#[derive(Debug, Default)]
pub(super) struct OpenConnections(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    sessions: BTreeMap<SessionId, usize>,
}

/// Open connection, counted until it is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection<'a> {
    all: &'a OpenConnections,
    session: Option<SessionId>,
}

impl OpenConnections {
    /// Counts one more connection of a session, or of none.
    ///
    /// # Errors
    ///
    /// The refusal, if `limit` connections are open, or half as many of the session.
    pub(super) fn admit(&self, session: Option<SessionId>, limit: usize) -> Result<OpenConnection<'_>, Decision> {
        let busy = |reason| Err(Decision::new(Code::Busy, reason).at(LOCATION));
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.total >= limit {
            return busy("too many connections are open");
        }
        if let Some(session) = &session {
            let count = counts.sessions.entry(session.clone()).or_default();
            if *count >= (limit / 2).max(1) {
                return busy("too many connections of this session are open");
            }
            *count += 1;
        }
        counts.total += 1;
        Ok(OpenConnection { all: self, session })
    }

    /// Returns the number of open connections.
    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).total
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        let mut counts = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.total = counts.total.saturating_sub(1);
        let Some(session) = &self.session else { return };
        let Some(count) = counts.sessions.get_mut(session) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.sessions.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_gets_at_most_half_of_all_connections() {
        let open = OpenConnections::default();
        let (a, b) = (SessionId::new("a").expect("valid"), SessionId::new("b").expect("valid"));
        let held: Vec<_> = (0..2).map(|_| open.admit(Some(a.clone()), 5).expect("below half")).collect();
        let refusal = open.admit(Some(a.clone()), 5).expect_err("more than half");
        assert_eq!((refusal.code, refusal.location.as_deref()), (Code::Busy, Some(LOCATION)));
        // Control: there is room for another session and for connections of no session, up to the limit.
        let other = open.admit(Some(b), 5).expect("another session");
        let own = [open.admit(None, 5).expect("no session"), open.admit(None, 5).expect("no session")];
        assert_eq!(open.admit(None, 5).expect_err("the limit").code, Code::Busy);
        drop((held, other));
        drop(open.admit(Some(a.clone()), 5).expect("ended connections do not count"));
        drop(own);
        assert_eq!(open.count(), 0);
        assert!(open.0.lock().expect("not poisoned").sessions.is_empty(), "no session is kept");
        open.admit(Some(a.clone()), 1).expect("at least one");
    }
}
