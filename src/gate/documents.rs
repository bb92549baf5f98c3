//! Decisions on documents before Chromium requests them.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::gate::{DocumentUrl, classify_url};
use browser_shell_core::grammar::Profile;
use browser_shell_core::session_id::SessionId;

use crate::os::dns::Dns;
use crate::policy_source::PolicySource;
use crate::url_check::decide_url;

/// Policy of documents.
#[derive(Debug)]
pub(super) struct Documents {
    policy: PolicySource,
    dns: Dns,
}

impl Documents {
    /// Creates the policy of documents.
    pub(super) fn new(policy: PolicySource) -> Self {
        Self { policy, dns: Dns::default() }
    }

    /// Returns true if the policy lets agents answer dialogs.
    pub(super) fn lets_agents_answer_dialogs(&self) -> bool {
        self.policy.current().is_ok_and(|policy| policy.enables("dialog"))
    }

    /// Returns true if the policy lets agents read and set cookies.
    pub(super) fn lets_agents_use_cookies(&self) -> bool {
        self.policy.current().is_ok_and(|policy| policy.enables_in(Profile::Compat, "cookies"))
    }

    /// Decides on a document that a page of these sessions requests. Each of them must be allowed to.
    pub(super) async fn decide(&self, sessions: &[SessionId], url: &str) -> Decision {
        if classify_url(url) != DocumentUrl::Web {
            return Decision::new(Code::SchemeNotAllowed, "a page of this kind is not opened");
        }
        let policy = match self.policy.current() {
            Ok(policy) => policy,
            Err(error) => return error.into(),
        };
        let mut decision = decide_url(&policy.for_session(sessions.first()), &self.dns, url).await;
        for session in sessions.iter().skip(1) {
            if decision.is_allowed() {
                decision = decide_url(&policy.for_session(Some(session)), &self.dns, url).await;
            }
        }
        decision
    }

    /// Decides on a document that a page shows already, by the rules that need no lookup. Returns the refusal.
    pub(super) fn refusal(&self, session: &SessionId, url: &str) -> Option<Decision> {
        use browser_shell_core::policy::Evaluation;
        use browser_shell_core::policy::url::parse;

        match classify_url(url) {
            DocumentUrl::Blank | DocumentUrl::ErrorPage | DocumentUrl::PageMade => return None,
            DocumentUrl::Internal => {
                return Some(Decision::new(Code::SchemeNotAllowed, "a page of this kind is not shown"));
            }
            DocumentUrl::Web => {}
        }
        let policy = match self.policy.current() {
            Ok(policy) => policy,
            Err(error) => return Some(error.into()),
        };
        match parse(url) {
            Ok(target) => match policy.for_session(Some(session)).check(&target) {
                Evaluation::Decided(decision) if !decision.is_allowed() => Some(decision),
                _ => None,
            },
            Err(decision) => Some(decision),
        }
    }
}
