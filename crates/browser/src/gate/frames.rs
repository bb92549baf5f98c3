//! Frames of a session's pages that show a document of a refused host.
//!
//! Such a document is not requested. One that was loaded before the policy changed is left, so that nothing of it is read.

use std::cell::LazyCell;

use crate::gate::notices::Notice;
use crate::gate::owner::PageOwner;
use crate::gate::session::GateSession;
use browser_shell_cdp::protocol::page::Navigate;
use browser_shell_core::decision::Decision;

impl GateSession {
    /// Leaves the documents in frames that the policy refuses by now. Returns the decision on the first of them.
    pub async fn leave_refused_frames(&self) -> Option<Decision> {
        let (Some((browser, pages)), Some(documents)) = (self.current(), self.documents()) else { return None };
        // The file of the policy is read once for all frames, if there are any.
        let policy = LazyCell::new(|| documents.shown_to(self.session_id()));
        let mut first = None;
        for page in pages {
            for document in page.documents() {
                if document.frame == page.frame {
                    continue;
                }
                let Some(decision) = policy.refusal(&document.url) else { continue };
                first.get_or_insert_with(|| decision.clone());
                self.add_notice(Notice::RefusedDocument { decision, is_frame: true });
                let blank = Navigate { url: "about:blank", frame_id: Some(&document.frame) };
                if let Err(error) = browser.connection.send(Some(&document.session), &blank).await {
                    tracing::warn!(%error, "a frame with a refused document could not be left");
                }
            }
        }
        first
    }

    /// Waits until all documents that pages have requested are decided.
    pub async fn wait_until_decided(&self) {
        let Some((_, pages)) = self.current() else { return };
        for page in pages {
            if tokio::time::timeout(DECISION_TIMEOUT, page.wait_until_decided()).await.is_err() {
                return;
            }
        }
    }
}

/// Timeout for the decision on a document: somewhat longer than for the lookup of a name.
const DECISION_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(6);
