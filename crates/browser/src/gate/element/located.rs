//! An element that was found in its document, the scripts that run on it, and the errors of acts on it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::OnceCell;

use crate::gate::browser::Browser;
use crate::gate::element::kept::{KEPT, with_kept};
use crate::gate::element::script::SHOW_IMAGE;
use crate::gate::page::{Page, World};
use crate::gate::session::NodeAddress;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::dom::{
    AxPropertyName, AxValue, DescribeNode, GetFrameOwner, GetPartialAxTree, Node, ResolveNode, ScrollIntoViewIfNeeded,
};
use browser_shell_cdp::protocol::page::{FrameTree, GetFrameTree};
use browser_shell_cdp::protocol::runtime::{
    CallArgument, CallFunctionOn, Evaluate, EventListener, GetEventListeners, ReleaseObject, RemoteObject,
};
use browser_shell_cdp::protocol::{BackendNodeId, CdpCommand, DebugSessionId, FrameId, LoaderId, RemoteObjectId};

/// Timeout for a page to answer about an element.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// Reason why an element cannot be used.
#[derive(Debug, Error)]
pub enum ElementError {
    /// The element, or its document, is not there any more.
    #[error("the element is gone")]
    Gone,
    /// The element is in another tab than the active one.
    #[error("the element is in another tab")]
    OtherTab,
    /// The act cannot be carried out by the gate.
    #[error("{0}")]
    Unsupported(&'static str),
    /// A script of the gate has failed or has another result.
    #[error("an element did not report its state")]
    Unreadable,
    /// Chromium did not carry out a command.
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl From<ElementError> for Decision {
    fn from(error: ElementError) -> Self {
        tracing::debug!(%error, "an element cannot be used");
        match error {
            ElementError::Gone => Self::new(Code::StaleReference, "the element is gone"),
            ElementError::OtherTab => Self::new(Code::StaleReference, "the element is in another tab"),
            ElementError::Unsupported(reason) => Self::new(Code::NoEffect, reason),
            ElementError::Command(CommandError::TimedOut(_)) => Self::new(Code::TimedOut, "the page does not answer"),
            ElementError::Unreadable | ElementError::Command(_) => {
                Self::new(Code::GateUnavailable, "the control gate could not read the state of the element")
            }
        }
    }
}

/// Group of the objects of an act.
pub(in crate::gate) const GROUP: &str = "acts";

/// Element that was found in its document.
pub(super) struct Located {
    pub(super) browser: Arc<Browser>,
    pub(super) page: Arc<Page>,
    /// The gate's own session on the process of the frame.
    pub(super) session: DebugSessionId,
    /// Frame.
    pub(super) frame: FrameId,
    /// Document that the frame showed, by the id of its loader.
    document: LoaderId,
    /// Id of the node, once it is known.
    node: OnceCell<BackendNodeId>,
    /// Id of the object in the world of the gate.
    object: RemoteObjectId,
}

/// Returns the gate's world in the document that a frame shows, with its functions in it.
///
/// # Errors
///
/// Returns an error if the frame is gone.
pub(in crate::gate) async fn world(
    browser: &Browser,
    session: &DebugSessionId,
    frame: &FrameId,
) -> Result<World, ElementError> {
    // The world first: one of another document is found to be gone when it is used.
    let (id, tree) =
        tokio::join!(biased; browser.isolated_world(session, frame, TIMEOUT), frame_tree(browser, session));
    let (id, tree) = (answered(id)?, tree?);
    let frame = tree.frames().find(|known| known.id == *frame).ok_or(ElementError::Gone)?;
    // In front of everything that is done in the world. A world that has them keeps them.
    let library = Evaluate { expression: &KEPT, context_id: Some(id), ..Evaluate::default() };
    browser.connection.notify(Some(session), &library);
    Ok(World { id, document: frame.loader_id.clone(), parent: frame.parent_id.clone() })
}

/// Does something in the gate's world of the document that a tab shows, and returns the result with the world.
///
/// The world that was used before is used at once, and Chromium is asked behind it whether the tab still shows its document. If it
/// does not, or the world is gone, the result is dropped and all is done again in the world of the new document.
///
/// # Errors
///
/// Those of the action; `Gone` if the tab is gone.
pub(in crate::gate) async fn in_world<T, F>(
    browser: &Browser,
    page: &Page,
    action: impl Fn(World) -> F,
) -> Result<(T, World), ElementError>
where
    F: Future<Output = Result<T, ElementError>>,
{
    if let Some(known) = page.world() {
        // In this order: ids of worlds have a meaning in one process only, and a tab may change its process.
        let (result, tree) = tokio::join!(biased; action(known.clone()), frame_tree(browser, &page.session));
        let is_shown = tree?.frame.loader_id == known.document;
        if is_shown && !matches!(result, Err(ElementError::Gone)) {
            return Ok((result?, known));
        }
    }
    let world = world(browser, &page.session, &page.frame).await?;
    page.set_world(world.clone());
    Ok((action(world.clone()).await?, world))
}

/// Makes the gate's world in the document that a tab shows, unless it is known.
pub(in crate::gate) async fn learn_world(browser: &Browser, page: &Page) {
    if page.world().is_none()
        && let Ok(world) = world(browser, &page.session, &page.frame).await
    {
        page.set_world(world);
    }
}

/// Returns the frames of a session with their documents.
async fn frame_tree(browser: &Browser, session: &DebugSessionId) -> Result<FrameTree, ElementError> {
    Ok(command(browser, session, &GetFrameTree {}).await?.frame_tree)
}

/// Sends a command to a session. A refusal means that what the command is about is gone.
pub(in crate::gate) async fn command<C: CdpCommand>(
    browser: &Browser,
    session: &DebugSessionId,
    command: &C,
) -> Result<C::Response, ElementError> {
    answered(browser.connection.send_within(TIMEOUT, Some(session), command).await)
}

/// Returns the answer to a command. A refusal means that what the command is about is gone.
pub(in crate::gate) fn answered<T>(result: Result<T, CommandError>) -> Result<T, ElementError> {
    match result {
        Err(CommandError::Refused { .. }) => Err(ElementError::Gone),
        result => Ok(result?),
    }
}

/// Returns the element that shows a frame, and the world of its document.
///
/// # Errors
///
/// `Gone` if no frame of the tab has such an element.
pub(super) async fn owner_of(child: &Located, parent: Option<&FrameId>) -> Result<(Located, World), ElementError> {
    let (browser, page) = (child.browser.clone(), child.page.clone());
    let documents = page.documents();
    let parent = parent.unwrap_or(&page.frame);
    let known = documents.iter().find(|document| document.frame == *parent).map(|document| document.session.clone());
    let session = known.unwrap_or_else(|| page.session.clone());
    let node = command(&browser, &session, &GetFrameOwner { frame_id: &child.frame }).await?.backend_node_id;
    let world = world(&browser, &session, parent).await?;
    let address =
        NodeAddress { page: page.target.clone(), session, frame: parent.clone(), document: world.document, node };
    Located::find(browser, page, address).await
}

/// Returns the node that an object is.
async fn described(browser: &Browser, session: &DebugSessionId, object: &RemoteObjectId) -> Result<Node, ElementError> {
    let described = DescribeNode { object_id: Some(object), ..DescribeNode::default() };
    Ok(command(browser, session, &described).await?.node)
}

impl Located {
    /// Returns the frame that the element shows.
    pub(super) async fn shown_frame(&self) -> Option<FrameId> {
        described(&self.browser, &self.session, &self.object).await.ok()?.frame_id
    }

    /// Finds an element in the document that its address names.
    ///
    /// # Errors
    ///
    /// `Gone` if the document or the element is not there any more.
    pub(super) async fn find(
        browser: Arc<Browser>,
        page: Arc<Page>,
        address: NodeAddress,
    ) -> Result<(Self, World), ElementError> {
        if (&address.session, &address.frame) == (&page.session, &page.frame) {
            let find = |world: World| Self::find_in(world, browser.clone(), page.clone(), address.clone());
            return in_world(&browser, &page, find).await;
        }
        let world = world(&browser, &address.session, &address.frame).await?;
        let element = Self::find_in(world.clone(), browser, page, address).await?;
        Ok((element, world))
    }

    /// Takes an element that a script in the gate's world returned, from the document of the tab.
    ///
    /// # Errors
    ///
    /// `Gone` if it is no element.
    pub(super) fn take(
        world: &World,
        browser: Arc<Browser>,
        page: Arc<Page>,
        result: RemoteObject,
    ) -> Result<Self, ElementError> {
        let place = (page.session.clone(), page.frame.clone());
        Self::take_in(world, place, browser, page, result)
    }

    /// Takes an element that a script in the gate's world returned, from the document of a frame. `place` is the session on its process, and
    /// the frame.
    ///
    /// # Errors
    ///
    /// `Gone` if it is no element.
    pub(super) fn take_in(
        world: &World,
        (session, frame): (DebugSessionId, FrameId),
        browser: Arc<Browser>,
        page: Arc<Page>,
        result: RemoteObject,
    ) -> Result<Self, ElementError> {
        let object = result.object_id.ok_or(ElementError::Gone)?;
        let document = world.document.clone();
        Ok(Self { browser, page, session, frame, document, node: OnceCell::new(), object })
    }

    /// Finds an element in the document of a world. A world of a document that was replaced since is refused.
    ///
    /// # Errors
    ///
    /// `Gone` if its address names another document, or the element is not there any more.
    pub(super) async fn find_in(
        world: World,
        browser: Arc<Browser>,
        page: Arc<Page>,
        address: NodeAddress,
    ) -> Result<Self, ElementError> {
        if world.document != address.document {
            return Err(ElementError::Gone);
        }
        let resolve =
            ResolveNode { backend_node_id: address.node, object_group: GROUP, execution_context_id: Some(world.id) };
        let resolved = command(&browser, &address.session, &resolve).await?;
        let object = resolved.object.object_id.ok_or(ElementError::Gone)?;
        let NodeAddress { session, frame, document, node, .. } = address;
        Ok(Self { browser, page, session, frame, document, node: OnceCell::from(node), object })
    }

    /// Returns the id of the node, which Chromium is asked for once.
    ///
    /// # Errors
    ///
    /// `Gone` if the element is not there any more.
    pub(super) async fn node(&self) -> Result<BackendNodeId, ElementError> {
        self.node
            .get_or_try_init(async || Ok(described(&self.browser, &self.session, &self.object).await?.backend_node_id))
            .await
            .copied()
    }

    /// Returns the address of the element.
    ///
    /// # Errors
    ///
    /// `Gone` if the element is not there any more.
    pub(super) async fn address(&self) -> Result<NodeAddress, ElementError> {
        Ok(self.address_of(self.node().await?))
    }

    /// Returns the address of a node of the same document.
    fn address_of(&self, node: BackendNodeId) -> NodeAddress {
        let (session, frame, document) = (self.session.clone(), self.frame.clone(), self.document.clone());
        NodeAddress { page: self.page.target.clone(), session, frame, document, node }
    }

    async fn run(&self, function: &str, arguments: &[Value], by_value: bool) -> Result<RemoteObject, ElementError> {
        let call = self.function_call(function, arguments, by_value);
        command(&self.browser, &self.session, &call).await?.into_result().ok_or(ElementError::Unreadable)
    }

    fn function_call<'a>(&'a self, function: &'a str, values: &'a [Value], by_value: bool) -> CallFunctionOn<'a> {
        CallFunctionOn {
            object_id: &self.object,
            function_declaration: function,
            arguments: values.iter().map(|value| CallArgument { value }).collect(),
            return_by_value: by_value,
            await_promise: false,
            object_group: Some(GROUP),
        }
    }

    /// Runs a function on the element and returns its result.
    pub(super) async fn call<T: DeserializeOwned>(&self, function: &str, values: &[Value]) -> Result<T, ElementError> {
        self.run(function, values, true).await?.into_value().ok_or(ElementError::Unreadable)
    }

    /// Runs a function on the element that returns a promise, and returns its value.
    pub(super) async fn call_promise<T: DeserializeOwned>(&self, function: &str) -> Result<T, ElementError> {
        let call = CallFunctionOn { await_promise: true, ..self.function_call(function, &[], true) };
        let result = command(&self.browser, &self.session, &call).await?.into_result();
        result.and_then(RemoteObject::into_value).ok_or(ElementError::Unreadable)
    }

    /// Runs a function that returns an element of the same document, or `null`.
    pub(super) async fn call_for_element(
        &self,
        function: &str,
        values: &[Value],
    ) -> Result<Option<NodeAddress>, ElementError> {
        let Some(object) = self.run(function, values, false).await?.object_id else { return Ok(None) };
        let node = described(&self.browser, &self.session, &object).await?.backend_node_id;
        Ok(Some(self.address_of(node)))
    }

    /// Runs a function that returns an element, and returns true if that element or one in it listens for one of these events, leaving
    /// out this element itself. Scripts do not see such listeners.
    pub(super) async fn has_listener_at(&self, function: &str, events: &[&str]) -> Result<bool, ElementError> {
        let Some(NodeAddress { node, .. }) = self.call_for_element(function, &[]).await? else { return Ok(false) };
        let own = self.node().await?;
        let listeners = self.listeners(node, -1).await?;
        Ok(listeners.iter().any(|listener| is_for(listener, events) && listener.backend_node_id != Some(own)))
    }

    /// Returns true if the element listens for one of the first events, and for none of the others.
    pub(super) async fn listens(&self, events: &[&str], others: &[&str]) -> Result<bool, ElementError> {
        let listeners = self.listeners(self.node().await?, 1).await?;
        let has = |events| listeners.iter().any(|listener| is_for(listener, events));
        Ok(has(events) && !has(others))
    }

    /// Returns the listeners of a node of the same document, and of those in it down to a depth. Chromium is asked in the page's own
    /// world: in another one it leaves some out, and gives that world objects of the page's for nodes that it has none for yet, which
    /// are the same as no other object.
    async fn listeners(&self, node: BackendNodeId, depth: i32) -> Result<Vec<EventListener>, ElementError> {
        let resolve = ResolveNode { backend_node_id: node, object_group: GROUP, execution_context_id: None };
        let object =
            command(&self.browser, &self.session, &resolve).await?.object.object_id.ok_or(ElementError::Gone)?;
        let asked = GetEventListeners { object_id: &object, depth, pierce: true };
        let listeners = command(&self.browser, &self.session, &asked).await;
        self.browser.connection.notify(Some(&self.session), &ReleaseObject { object_id: &object });
        Ok(listeners?.listeners)
    }

    /// Returns the role of the element, and its properties `checked` and `disabled`, as the browser tells them to assistive technology.
    pub(super) async fn accessible_state(&self) -> Result<(String, Option<bool>, bool), ElementError> {
        let asked = GetPartialAxTree { backend_node_id: self.node().await?, fetch_relatives: false };
        let tree = command(&self.browser, &self.session, &asked).await?;
        let own = tree.nodes.into_iter().next().unwrap_or_default();
        let (is_checked, is_disabled) =
            (own.is(&AxPropertyName::Checked), own.is(&AxPropertyName::Disabled) == Some(true));
        Ok((own.role.and_then(AxValue::into_text).unwrap_or_default(), is_checked, is_disabled))
    }

    /// Runs a function whose result nobody needs, without waiting for it.
    pub(super) fn notify(&self, function: &str, values: &[Value]) {
        // By value: nobody releases an object.
        self.browser.connection.notify(Some(&self.session), &self.function_call(function, values, true));
    }

    /// Scrolls the element into view, in all frames around it.
    pub(super) async fn scroll_into_view(&self) -> Result<(), ElementError> {
        match command(&self.browser, &self.session, &ScrollIntoViewIfNeeded { object_id: &self.object }).await {
            Ok(_) => Ok(()),
            // An element without a box cannot be scrolled to, unless it is a part of an image.
            Err(ElementError::Gone) => self.call(&with_kept(SHOW_IMAGE), &[]).await,
            Err(error) => Err(error),
        }
    }
}

impl Drop for Located {
    fn drop(&mut self) {
        self.browser.connection.notify(Some(&self.session), &ReleaseObject { object_id: &self.object });
    }
}

/// Returns true if a listener is for one of these events.
fn is_for(listener: &EventListener, events: &[&str]) -> bool {
    events.contains(&listener.kind.as_str())
}
