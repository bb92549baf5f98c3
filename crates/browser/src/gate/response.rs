//! State of a session's tabs: their URLs, and the status of a document's response.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::browser::Browser;
use crate::gate::page::Page;
use crate::gate::session::GateSession;
use crate::gate::world;
use browser_shell_cdp::protocol::TargetId;
use browser_shell_cdp::protocol::runtime::Evaluate;

/// Maximum time to ask a page for the status.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);

/// Expression for the status of the response that the document came from.
const STATUS: &str = "performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0";

/// Tab of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenTab {
    /// Id of the tab.
    pub target: TargetId,
    /// URL that it shows.
    pub url: String,
    /// Number of documents that it has shown.
    pub documents: u64,
}

impl GateSession {
    /// Returns the session's tabs; `None` if they are not known.
    pub fn tabs(&self) -> Option<Vec<SeenTab>> {
        let (_, pages) = self.current()?;
        let seen = |page: &Arc<Page>| {
            let (target, url) = (page.target.clone(), page.url());
            SeenTab { target, url, documents: page.documents_shown() }
        };
        Some(pages.iter().map(seen).collect())
    }

    /// Returns the HTTP status of the document that a tab shows at a URL; `None` if it is not known.
    pub async fn document_status(&self, url: &str) -> Option<u64> {
        let (browser, pages) = self.current()?;
        let page = pages.iter().rev().find(|page| page.url() == url && page.dialog().is_none())?;
        tokio::time::timeout(STATUS_TIMEOUT, ask(&browser, page)).await.ok().flatten()
    }
}

async fn ask(browser: &Browser, page: &Page) -> Option<u64> {
    let world = world::isolated(browser, &page.session, &page.frame, STATUS_TIMEOUT).await.ok()?;
    let status = Evaluate { expression: STATUS, context_id: Some(world), return_by_value: true, ..Evaluate::default() };
    let answer = browser.connection.send(Some(&page.session), &status).await.ok()?;
    answer.value().filter(|status| *status > 0)
}
