//! Element that a snapshot begins with: that of a selector or of a reference.

use browser_shell_core::selector::SelectorChain;
use browser_shell_core::snapshot::NodeKey;

use super::capture::CapturedPage;
use super::error::ReadError;
use crate::gate::browser::Browser;
use crate::gate::page::Page;
use crate::gate::session::GateSession;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::dom::{DescribeNode, GetDocument, PushNodesByBackendIdsToFrontend, QuerySelector};
use browser_shell_cdp::protocol::{BackendNodeId, DebugSessionId, FrameId, LoaderId, NodeId};

impl GateSession {
    /// Finds the element of a selector: the first match in the page, or in the first of its frames with one. Returns it with the page.
    pub(super) async fn find_root(
        &self,
        browser: &Browser,
        page: &Page,
        captured: CapturedPage,
        selector: &str,
    ) -> Result<(CapturedPage, NodeKey), ReadError> {
        if let Some(reference) = selector.strip_prefix('@') {
            let key = self.find_numbered(page, &captured, selector, reference)?;
            return Ok((captured, key));
        }
        if let Some(chain) = SelectorChain::parse(selector) {
            let (captured, found) = self.search_captured(browser, captured, &chain).await?;
            let found = found.ok_or_else(|| ReadError::Selector(selector.to_owned()))?;
            let visible = found.iter().find(|element| element.is_visible);
            let first = visible.or(found.first()).ok_or_else(|| ReadError::NoMatch(self.echo(selector)))?;
            return Ok((captured, first.key));
        }
        let key = find_by_css(browser, page, &captured, selector).await?;
        Ok((captured, key.ok_or_else(|| ReadError::NoMatch(self.echo(selector)))?))
    }

    /// Returns a selector as a message shows it: not while the session knows a secret, because a mask in it would confirm a guess.
    fn echo(&self, selector: &str) -> String {
        if self.knows_secrets() { "..." } else { selector }.to_owned()
    }

    /// Finds the element of a reference.
    fn find_numbered(
        &self,
        page: &Page,
        captured: &CapturedPage,
        selector: &str,
        reference: &str,
    ) -> Result<NodeKey, ReadError> {
        let stale = || ReadError::Stale(selector.to_owned());
        let number = reference.strip_prefix('e').and_then(|number| number.parse().ok());
        let address = number.and_then(|number| self.find_reference(number)).ok_or_else(stale)?;
        if address.page != page.target {
            return Err(ReadError::OtherTab(selector.to_owned()));
        }
        for (part, source) in
            captured.sources.iter().enumerate().filter(|(_, source)| source.session == address.session)
        {
            let is_shown =
                |(frame, document): &(FrameId, LoaderId)| *frame == address.frame && *document == address.document;
            if let Some(document) = source.documents.iter().position(is_shown) {
                return Ok(NodeKey { part, document, node: address.node.0 });
            }
        }
        Err(stale())
    }
}

/// Finds the first element of a CSS selector.
async fn find_by_css(
    browser: &Browser,
    page: &Page,
    captured: &CapturedPage,
    selector: &str,
) -> Result<Option<NodeKey>, ReadError> {
    // A search for secret fields begins with the document too, which makes the ids of nodes of another search invalid.
    let _reading = page.reading.lock().await;
    for (part, (content, source)) in captured.parts.iter().zip(&captured.sources).enumerate() {
        let documents = content.documents.iter().map(|document| (document.root_id(), document));
        let allowed = documents.map(|(id, document)| id.filter(|_| !content.refused_frames.contains(&document.frame)));
        let found = find_first(browser, &source.session, selector, &allowed.collect::<Vec<_>>()).await?;
        if let Some((document, node)) = found {
            return Ok(Some(NodeKey { part, document, node }));
        }
    }
    Ok(None)
}

/// Finds the first element of a selector in the documents of a process.
async fn find_first(
    browser: &Browser,
    session: &DebugSessionId,
    selector: &str,
    documents: &[Option<u64>],
) -> Result<Option<(usize, u64)>, ReadError> {
    let (connection, session) = (&browser.connection, Some(session));
    connection.send(session, &GetDocument { depth: 0 }).await?;
    for (position, root) in documents.iter().enumerate() {
        let Some(root) = root else { continue };
        let push = PushNodesByBackendIdsToFrontend { backend_node_ids: &[BackendNodeId(*root)] };
        let pushed = connection.send(session, &push).await?.node_ids;
        let Some(root) = pushed.first().filter(|root| **root != NodeId(0)) else { continue };
        let found = match connection.send(session, &QuerySelector { node_id: *root, selector }).await {
            Err(CommandError::Refused { .. }) => return Err(ReadError::Selector(selector.to_owned())),
            found => found?.node_id,
        };
        if found == NodeId(0) {
            continue;
        }
        let described = DescribeNode { node_id: Some(found), ..DescribeNode::default() };
        let found = connection.send(session, &described).await?;
        return Ok(Some((position, found.node.backend_node_id.0)));
    }
    Ok(None)
}
