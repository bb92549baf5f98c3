//! Search for elements by reference and by selector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use browser_shell_core::element::{NamedElement, Reference, Verb};
use browser_shell_core::selector::SelectorChain;
use browser_shell_core::snapshot::aria_role;
use futures::future::join_all;
use serde_json::Value;

use crate::gate::browser::Browser;
use crate::gate::element::handle::{ElementHandle, FirstLook};
use crate::gate::element::kept::{COUNT, call_with_kept};
use crate::gate::element::located::{ElementError, GROUP, Located, command, in_world, learn_world};
use crate::gate::element::script::{PICK, find_one, take_found};
use crate::gate::page::{Page, World};
use crate::gate::session::{GateSession, NodeAddress};
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::dom::{AxValue, DescribeNode, GetPartialAxTree, Node};
use browser_shell_cdp::protocol::runtime::{Evaluate, RemoteObject};

/// Maximum number of elements that are named.
const MAX_NAMED: usize = 5;

/// Number of levels below an element without a role whose texts refusals name it by.
const TEXT_DEPTH: u32 = 4;

/// Elements that a selector matches in the active tab.
pub enum Matches {
    /// The selector is none that is known.
    Unknown,
    /// No element.
    None,
    /// One element.
    One(Box<Match>),
    /// Several elements, some of which are named.
    Several(u64, Vec<NamedElement>),
}

/// Element that was found.
pub struct Match {
    /// Element.
    pub handle: ElementHandle,
    /// State, if it was found by CSS and read at once.
    pub seen: Option<FirstLook>,
}

impl From<ElementHandle> for Match {
    fn from(handle: ElementHandle) -> Self {
        Self { handle, seen: None }
    }
}

impl GateSession {
    /// Returns the element of a reference.
    ///
    /// # Errors
    ///
    /// Returns an error if the element is gone or in another tab than the active one.
    pub async fn element(self: &Arc<Self>, reference: Reference) -> Result<ElementHandle, ElementError> {
        let Reference::Number(number) = reference else { return Err(ElementError::Gone) };
        let address = self.find_reference(number).ok_or(ElementError::Gone)?;
        let (browser, page) = self.active()?;
        if page.target != address.page {
            let is_open = browser.page(&address.page).is_some();
            return Err(if is_open { ElementError::OtherTab } else { ElementError::Gone });
        }
        ElementHandle::find(self.clone(), browser, page, address).await
    }

    /// Returns the elements of the active tab that a selector matches for an act: CSS, `XPath` or a chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub async fn matches(self: &Arc<Self>, selector: &str, verb: Verb) -> Result<Matches, ElementError> {
        match SelectorChain::parse(selector) {
            Some(chain) => self.matches_of_chain(&chain).await,
            None => self.matches_of_css(selector, verb).await,
        }
    }

    /// Returns the number of all elements of the active tab that a chain matches, or `None` if a part of it is not CSS.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub async fn count(&self, chain: &SelectorChain) -> Result<Option<usize>, ElementError> {
        let (browser, page) = self.active()?;
        Ok(self.search(&browser, &page, chain, false).await?.map(|matched| matched.count))
    }

    /// Returns the number of all elements of the active tab that CSS or `XPath` matches, or `None` if the selector is neither.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub async fn count_matches(&self, selector: &str) -> Result<Option<u64>, ElementError> {
        let (browser, page) = &self.active()?;
        let count = &call_with_kept(COUNT, &Value::from(selector).to_string());
        let ask = |world| async move { evaluate(browser, &page.session, &world, count, true).await };
        let (answer, _) = in_world(browser, page, ask).await?;
        Ok(answer.into_value())
    }

    /// Returns true if an element that a chain matches in the active tab can be seen; `None` if a part of it is not CSS.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub async fn is_shown(&self, chain: &SelectorChain) -> Result<Option<bool>, ElementError> {
        let (browser, page) = self.active()?;
        Ok(self.search(&browser, &page, chain, false).await?.map(|matched| matched.is_visible))
    }

    async fn matches_of_chain(self: &Arc<Self>, chain: &SelectorChain) -> Result<Matches, ElementError> {
        let (browser, page) = self.active()?;
        let Some(matched) = self.search(&browser, &page, chain, true).await? else { return Ok(Matches::Unknown) };
        let mut elements = matched.elements.into_iter();
        match (elements.next(), elements.len()) {
            (None, _) => Ok(Matches::None),
            (Some(address), 0) => {
                let handle = ElementHandle::find(self.clone(), browser, page, address).await?;
                Ok(Matches::One(Box::new(handle.into())))
            }
            (Some(first), others) => {
                let listed: Vec<_> = std::iter::once(first).chain(elements).take(MAX_NAMED).collect();
                let named = join_all(listed.iter().map(|address| self.name(&browser, address))).await;
                Ok(Matches::Several(others as u64 + 1, named))
            }
        }
    }

    async fn matches_of_css(self: &Arc<Self>, selector: &str, verb: Verb) -> Result<Matches, ElementError> {
        static SEARCHES: AtomicU64 = AtomicU64::new(0);
        let (browser, page) = &self.active()?;
        let selector = &Value::from(selector);
        let search = SEARCHES.fetch_add(1, Ordering::Relaxed);
        // Both at once, because most selectors match one element.
        let ((found, taken), world) = in_world(browser, page, |world| async move {
            let (find, take) = (find_one(selector, search, verb.uses_pointer()), take_found(search));
            let (found, taken) = tokio::join!(biased;
                evaluate(browser, &page.session, &world, &find, true),
                evaluate(browser, &page.session, &world, &take, false),
            );
            Ok((found?, taken))
        })
        .await?;
        let (count, state): (i64, _) = found.into_value().ok_or(ElementError::Unreadable)?;
        match count {
            0 => Ok(Matches::None),
            1 => {
                let element = Located::take(&world, browser.clone(), page.clone(), taken?)?;
                let handle = ElementHandle::of(self.clone(), element, world).await?;
                Ok(Matches::One(Box::new(Match { handle, seen: Some(FirstLook(state)) })))
            }
            count => {
                let Ok(count) = u64::try_from(count) else { return Ok(Matches::Unknown) };
                let named = (0..count.min(MAX_NAMED as u64))
                    .map(|index| self.name_match(browser, page, &world, selector, index));
                Ok(Matches::Several(count, join_all(named).await.into_iter().flatten().collect()))
            }
        }
    }

    /// Returns how refusals name one of the elements that a selector matches.
    async fn name_match(
        &self,
        browser: &Arc<Browser>,
        page: &Arc<Page>,
        world: &World,
        selector: &Value,
        index: u64,
    ) -> Option<NamedElement> {
        let element = pick(browser, page, world, selector, index).await.ok()?;
        Some(self.name(browser, &element.address().await.ok()?).await)
    }

    /// Makes the world of the gate in the document of the active tab in the background, so that the next act does not wait for it, nor for
    /// the frame that Chromium draws before it takes input for listeners that are new.
    pub fn make_ready_for_acts(&self) {
        if let Ok((browser, page)) = self.active()
            && page.world().is_none()
        {
            tokio::spawn(async move { learn_world(&browser, &page).await });
        }
    }

    /// Returns the active tab and the connection to Chromium.
    pub(in crate::gate) fn active(&self) -> Result<(Arc<Browser>, Arc<Page>), ElementError> {
        let browser = self.browser().ok_or(ElementError::Gone)?;
        Ok((browser, self.active_page().ok_or(ElementError::Gone)?))
    }

    /// Returns how refusals name an element, with a reference.
    pub(super) async fn name(&self, browser: &Browser, address: &NodeAddress) -> NamedElement {
        let tree = GetPartialAxTree { backend_node_id: address.node, fetch_relatives: false };
        let tree = command(browser, &address.session, &tree).await.unwrap_or_default();
        let own = tree.nodes.into_iter().next().unwrap_or_default();
        let text = |value: Option<AxValue>| value.and_then(AxValue::into_text).unwrap_or_default();
        let (mut role, mut name) = (text(own.role), text(own.name));
        if let Some(known) = aria_role(&role) {
            known.clone_into(&mut role);
        }
        let secrets = self.secret_literals();
        if matches!(role.as_str(), "" | "none" | "generic") {
            let node = Some(address.node);
            let described = DescribeNode { backend_node_id: node, depth: Some(TEXT_DEPTH), ..DescribeNode::default() };
            let described = command(browser, &address.session, &described).await.map(|described| described.node);
            let is_named_by_text = |node: &&Node| !matches!(node.local_name.as_str(), "html" | "body");
            if let Some(node) = described.as_ref().ok().filter(is_named_by_text).filter(|_| name.is_empty()) {
                let mut texts = Vec::new();
                node.add_texts(&mut texts);
                // Each by itself, too: a word of one is none any more when it is joined with that of another.
                name.extend(texts.into_iter().map(|text| secrets.mask_text(text)));
            }
            role = described.map_or_else(|_| "element".to_owned(), |node| node.local_name);
        }
        let named = NamedElement { role, name, number: Some(self.lock_references().number(address)) };
        named.masked(&secrets)
    }
}

/// Evaluates an expression in the gate's world of a document, over the session on its process.
pub(in crate::gate) async fn evaluate(
    browser: &Browser,
    session: &DebugSessionId,
    world: &World,
    expression: &str,
    by_value: bool,
) -> Result<RemoteObject, ElementError> {
    let script = Evaluate {
        expression,
        context_id: Some(world.id),
        object_group: Some(GROUP),
        return_by_value: by_value,
        ..Evaluate::default()
    };
    command(browser, session, &script).await?.into_result().ok_or(ElementError::Unreadable)
}

/// Evaluates an expression in the gate's world of a document, and waits for the value of the promise that it returns.
pub(in crate::gate) async fn evaluate_promise(
    browser: &Browser,
    session: &DebugSessionId,
    world: &World,
    expression: &str,
) -> Result<RemoteObject, ElementError> {
    let script = Evaluate {
        expression,
        context_id: Some(world.id),
        await_promise: true,
        return_by_value: true,
        ..Evaluate::default()
    };
    command(browser, session, &script).await?.into_result().ok_or(ElementError::Unreadable)
}

/// Returns one of the elements that a selector matches.
async fn pick(
    browser: &Arc<Browser>,
    page: &Arc<Page>,
    world: &World,
    selector: &Value,
    index: u64,
) -> Result<Located, ElementError> {
    let expression = call_with_kept(PICK, &format!("{selector}, {index}"));
    let found = evaluate(browser, &page.session, world, &expression, false).await?;
    Located::take(world, browser.clone(), page.clone(), found)
}
