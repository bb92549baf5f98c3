//! Pages that sessions have opened, by the start of the browser that shows them.
//!
//! A browser that ended takes its pages with it, and the next one shows an empty page. A command about a page would then
//! succeed without a result, so it is refused until the session opens a page again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use browser_shell_core::session_id::SessionId;

/// Maximum number of sessions with a page. The loss of a page of any further session is not noticed.
const MAX_SESSIONS: usize = 4096;

/// Browser that shows the page of each session.
#[derive(Debug, Default)]
pub struct Pages(Mutex<HashMap<SessionId, String>>);

impl Pages {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a session has opened a page in a browser.
    pub(crate) fn record(&self, session: &SessionId, browser: &str) {
        let mut pages = self.lock();
        if pages.len() < MAX_SESSIONS || pages.contains_key(session) {
            pages.insert(session.clone(), browser.to_owned());
        }
    }

    /// Forgets the page of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Returns true if a session has opened a page in another browser than the one that runs now.
    pub(crate) fn is_lost(&self, session: &SessionId, browser: &str) -> bool {
        self.lock().get(session).is_some_and(|last| last != browser)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_lost_only_in_another_browser() {
        let (pages, one, two) = (Pages::default(), SessionId::new("one"), SessionId::new("two"));
        let (one, two) = (one.expect("valid"), two.expect("valid"));
        assert!(!pages.is_lost(&one, "1"), "no page was opened");
        pages.record(&one, "1");
        assert!(!pages.is_lost(&one, "1"));
        assert!(pages.is_lost(&one, "2") && !pages.is_lost(&two, "2"));
        pages.record(&one, "2");
        assert!(!pages.is_lost(&one, "2"));
        pages.forget(&one);
        assert!(!pages.is_lost(&one, "3"));
    }
}
