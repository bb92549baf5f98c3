//! Decisions on documents before Chromium requests them.

use std::sync::Arc;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::gate::{DocumentUrl, classify_url};
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::url::parse;
use browser_shell_core::policy::{Evaluation, Policy};
use browser_shell_core::session_id::SessionId;

use browser_shell_system::os::dns::{Dns, decide_url};
use browser_shell_system::policy_source::{PolicyError, PolicySource};

/// Policy of documents.
#[derive(Debug)]
pub struct Documents {
    policy: PolicySource,
    dns: Dns,
}

impl Documents {
    /// Creates the policy of documents.
    #[must_use]
    pub fn new(policy: PolicySource) -> Self {
        Self { policy, dns: Dns::default() }
    }

    /// Returns true if the policy lets agents answer dialogs, by the grammar profile of their calls.
    pub(super) fn lets_agents_answer_dialogs(&self, profile: Profile) -> bool {
        self.policy.current().is_ok_and(|policy| policy.offers(profile, "dialog"))
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

    /// Returns the policy in force for documents that a session's pages show already.
    pub(super) fn shown_to(&self, session: &SessionId) -> ShownDocuments {
        ShownDocuments(self.policy.current_for(Some(session)))
    }
}

/// Policy of the documents that pages of a session show already, by the rules that need no lookup.
pub(super) struct ShownDocuments(Result<Arc<Policy>, PolicyError>);

impl ShownDocuments {
    /// Returns the refusal of a document, if it is refused.
    pub(super) fn refusal(&self, url: &str) -> Option<Decision> {
        match classify_url(url) {
            DocumentUrl::Blank | DocumentUrl::ErrorPage | DocumentUrl::PageMade => return None,
            DocumentUrl::Internal => {
                return Some(Decision::new(Code::SchemeNotAllowed, "a page of this kind is not shown"));
            }
            DocumentUrl::Web => {}
        }
        let policy = match &self.0 {
            Ok(policy) => policy,
            Err(error) => return Some(error.clone().into()),
        };
        match parse(url).map(|target| policy.check(&target)) {
            Ok(Evaluation::Decided(decision)) if !decision.is_allowed() => Some(decision),
            Ok(_) => None,
            Err(decision) => Some(decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirements 2.1 and 6.2.
    #[tokio::test]
    async fn missing_policy_file_refuses_every_document() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("policy.json");
        let policy = r#"{"open":{"allow_hosts":["93.184.215.14"]},"subcommands":{"enable":["dialog"]}}"#;
        let documents = Documents::new(PolicySource::new(path.clone()));
        let session = [SessionId::new("s").expect("valid")];
        let url = "http://93.184.215.14/";
        for is_there in [true, false, true] {
            if is_there {
                std::fs::write(&path, policy).expect("written");
            } else {
                std::fs::remove_file(&path).expect("removed");
            }
            for sessions in [&session[..], &[]] {
                let decision = documents.decide(sessions, url).await;
                assert_eq!(decision.is_allowed(), is_there, "{decision:?}");
            }
            let refusal = documents.shown_to(&session[0]).refusal(url);
            assert_eq!(refusal.map(|decision| decision.code), (!is_there).then_some(Code::PolicyInvalid));
            assert_eq!(documents.lets_agents_answer_dialogs(Profile::Tool), is_there);
        }
    }
}
