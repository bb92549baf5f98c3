//! Elements of a selector chain: searched by the core in the page as it was captured, and by Chromium where a part is CSS; and the element
//! that a snapshot begins with, that of a selector or of a reference.

use std::sync::Arc;

use browser_shell_core::selector::{SelectorChain, SelectorPart};
use browser_shell_core::snapshot::{CssMatches, Finder, FoundElement, NodeKey, Reach};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::gate::browser::Browser;
use crate::gate::element::kept::call_with_kept;
use crate::gate::element::located::{ElementError, GROUP, command, learn_world, world};
use crate::gate::element::script::FIND_ALL;
use crate::gate::page::Page;
use crate::gate::reader::capture::{CapturedPage, ReadError, address};
use crate::gate::session::{GateSession, NodeAddress};
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::dom::DescribeNode;
use browser_shell_cdp::protocol::runtime::{Evaluate, GetProperties, ObjectSubtype, ReleaseObject};
use browser_shell_cdp::protocol::{DebugSessionId, FrameId, LoaderId};

/// Maximum number of elements of a document that a part of CSS may match.
const MAX_MATCHES: usize = 2000;

/// Elements that a selector chain matches.
pub(in crate::gate) struct Matched {
    /// Number of all of them.
    pub(in crate::gate) count: usize,
    /// True if one of them can be seen.
    pub(in crate::gate) is_visible: bool,
    /// Those that can be seen and that input reaches; those that can be seen, if it reaches none; all, if none can.
    pub(in crate::gate) elements: Vec<NodeAddress>,
}

/// Part of CSS, as Chromium is asked for its elements.
struct CssSearch<'a> {
    selectors: &'a [String],
    /// Positions of the first and last element that are needed; `Null` for all.
    slice: Value,
    /// True if elements in others are not needed.
    is_outermost: bool,
}

impl CssSearch<'_> {
    /// Returns the ids of the elements in a document, or `None` if the selector is not CSS.
    async fn matches(
        &self,
        browser: &Browser,
        session: &DebugSessionId,
        frame: &FrameId,
        loader: &LoaderId,
    ) -> Result<Option<Vec<u64>>, ReadError> {
        let world = world(browser, session, frame).await?;
        if world.document != *loader {
            return Err(ReadError::Changed);
        }
        let arguments = format!("{}, {}, {}", json!(self.selectors), self.slice, self.is_outermost);
        let script = Evaluate {
            expression: &call_with_kept(FIND_ALL, &arguments),
            context_id: Some(world.id),
            object_group: Some(GROUP),
            ..Evaluate::default()
        };
        let found = command(browser, session, &script).await?.result;
        let Some(list) = found.object_id else {
            let is_no_css = found.subtype == Some(ObjectSubtype::Null);
            return if is_no_css { Ok(None) } else { Err(ReadError::Unreadable) };
        };
        let own = GetProperties { object_id: &list, own_properties: true };
        let elements = command(browser, session, &own).await?.result;
        let ids: Vec<_> = elements.into_iter().filter_map(|element| element.value?.object_id).collect();
        if ids.len() > MAX_MATCHES {
            return Err(ReadError::TooMany);
        }
        let nodes = join_all(ids.into_iter().map(|id| async move {
            let described = DescribeNode { object_id: Some(&id), ..DescribeNode::default() };
            let found = command(browser, session, &described).await?;
            browser.connection.notify(Some(session), &ReleaseObject { object_id: &id });
            Ok(found.node.backend_node_id.0)
        }));
        let nodes: Vec<Result<u64, ElementError>> = nodes.await;
        browser.connection.notify(Some(session), &ReleaseObject { object_id: &list });
        Ok(Some(nodes.into_iter().collect::<Result<Vec<_>, _>>()?))
    }
}

impl From<ElementError> for ReadError {
    fn from(error: ElementError) -> Self {
        match error {
            ElementError::Gone => Self::Changed,
            ElementError::Command(error) => Self::Command(error),
            _ => Self::Unreadable,
        }
    }
}

impl From<ReadError> for ElementError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Changed | ReadError::NoPage | ReadError::Command(CommandError::Refused { .. }) => Self::Gone,
            ReadError::Command(error) => Self::Command(error),
            ReadError::TooMany => {
                Self::Unsupported("the selector matches too many elements; use one that matches fewer")
            }
            ReadError::Capture(_) => Self::Unsupported("the page is too large to search; use CSS or a reference"),
            _ => Self::Unreadable,
        }
    }
}

impl GateSession {
    /// Returns the elements of a tab that a chain matches, or means for an act; `None` if a part of it is not CSS.
    ///
    /// # Errors
    ///
    /// Returns an error if the page cannot be read.
    pub(in crate::gate) async fn search(
        &self,
        browser: &Arc<Browser>,
        page: &Page,
        chain: &SelectorChain,
        is_for_act: bool,
    ) -> Result<Option<Matched>, ReadError> {
        let (captured, ()) = tokio::join!(biased; self.capture(browser, page), learn_world(browser, page));
        let captured = captured?;
        let (captured, found) = self.search_captured(browser, captured, chain, is_for_act).await?;
        let Some(found) = found else { return Ok(None) };
        // A person rather means what is seen, and of that what takes input.
        let rank = |element: &FoundElement| (element.is_visible, element.is_visible && !element.is_inert);
        let best = found.iter().map(rank).max().unwrap_or_default();
        let meant = found.iter().filter(|element| rank(element) == best);
        let elements = meant.filter_map(|element| address(page, &captured.sources, element.key)).collect();
        Ok(Some(Matched { count: found.len(), is_visible: best.0, elements }))
    }

    /// Returns the elements of a captured page that a chain matches, with the page. Those in frames count if the page itself has none.
    pub(super) async fn search_captured(
        &self,
        browser: &Browser,
        mut captured: CapturedPage,
        chain: &SelectorChain,
        is_for_act: bool,
    ) -> Result<(CapturedPage, Option<Vec<FoundElement>>), ReadError> {
        let has_frames = captured.parts.iter().map(|part| part.documents.len()).sum::<usize>() > 1;
        for reach in [Reach::Page, Reach::Frames].into_iter().take(if has_frames { 2 } else { 1 }) {
            let Some(css) = css_matches(browser, &captured, chain, reach).await? else { return Ok((captured, None)) };
            let (chain, secrets) = (chain.clone(), self.lock_secrets().clone());
            let searched = tokio::task::spawn_blocking(move || {
                let finder = Finder::new(&captured.parts, secrets.to_set(), |value| secrets.is_typed(value));
                // A position that the page does not have is not one of its frames.
                let is_there =
                    reach == Reach::Frames || !finder.find(chain.parts_before_position(), &css, reach).is_empty();
                let find = if is_for_act { Finder::find_meant } else { Finder::find };
                let found = is_there.then(|| find(&finder, chain.parts(), &css, reach));
                (captured, found)
            });
            let found;
            (captured, found) = searched.await.map_err(|_| ReadError::Unreadable)?;
            if found.is_some() {
                return Ok((captured, found));
            }
        }
        Ok((captured, Some(Vec::new())))
    }

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
        let (first, all) = if let Some(chain) = SelectorChain::parse(selector) {
            (chain, None)
        } else {
            // Of several, the one that is seen is meant.
            let first = SelectorChain::parse(&format!("{selector} >> nth=0"));
            let first = first.ok_or_else(|| ReadError::Selector(selector.to_owned()))?;
            (first, Some(SelectorChain::of_css(selector)))
        };
        let (mut captured, mut found) = self.search_captured(browser, captured, &first, false).await?;
        let is_seen = |found: &[FoundElement]| found.iter().any(|element| element.is_visible);
        if let Some(all) = all
            && found.as_ref().is_some_and(|found| !found.is_empty() && !is_seen(found))
        {
            (captured, found) = self.search_captured(browser, captured, &all, false).await?;
        }
        let found = found.ok_or_else(|| ReadError::Selector(selector.to_owned()))?;
        let visible = found.iter().find(|element| element.is_visible);
        let first = visible.or(found.first()).ok_or_else(|| ReadError::NoMatch(self.echo(selector)))?;
        Ok((captured, first.key))
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

/// Returns the elements that each part of CSS matches in the documents that are searched, or `None` if one is not CSS.
async fn css_matches(
    browser: &Browser,
    captured: &CapturedPage,
    chain: &SelectorChain,
    reach: Reach,
) -> Result<Option<Vec<CssMatches>>, ReadError> {
    let mut matches = Vec::new();
    for (position, part) in chain.parts().iter().enumerate() {
        let SelectorPart::Css(selectors) = part else { continue };
        // What is searched in others' elements is not known to Chromium.
        let (is_outermost, slice) = match chain.parts().get(position + 1).filter(|_| position == 0) {
            Some(SelectorPart::Nth(number)) if *number < 0 => (false, json!([number])),
            Some(SelectorPart::Nth(number)) => (false, json!([0, i64::from(*number) + 1])),
            Some(_) => (true, Value::Null),
            None => (false, Value::Null),
        };
        let search = CssSearch { selectors, slice, is_outermost };
        let mut found = CssMatches::new();
        let documents =
            captured.parts.iter().zip(&captured.sources).enumerate().flat_map(|(part, (content, source))| {
                let documents = content.documents.iter().zip(&source.documents).enumerate();
                let searched = documents.filter(move |(document, (content_of, _))| {
                    let is_shown = !content.refused_frames.contains(&content_of.frame);
                    is_shown && (reach == Reach::Frames || (part, *document) == (0, 0))
                });
                searched.map(move |(document, (_, (frame, loader)))| ((part, document), &source.session, frame, loader))
            });
        let searches = documents.map(|(key, session, frame, loader)| {
            let search = &search;
            async move { (key, search.matches(browser, session, frame, loader).await) }
        });
        for (key, searched) in join_all(searches).await {
            match searched {
                Ok(Some(nodes)) => found.extend(nodes.into_iter().map(|node| (key.0, node))),
                Ok(None) => return Ok(None),
                // A frame that has gone meanwhile has no elements.
                Err(ReadError::Changed) if key != (0, 0) => {}
                Err(error) => return Err(error),
            }
        }
        matches.push(found);
    }
    Ok(Some(matches))
}
