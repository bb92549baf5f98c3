//! Transparent elements with animations: some are about to appear, and others stay as they are.

use std::collections::HashSet;
use std::time::Duration;

use futures::future::join_all;

use super::capture::CapturedPage;
use crate::gate::browser::Browser;
use crate::gate::element::located::{ElementError, command, in_world};
use crate::gate::page::{Page, World};
use browser_shell_cdp::protocol::BackendNodeId;
use browser_shell_cdp::protocol::dom::ResolveNode;
use browser_shell_cdp::protocol::runtime::{CallFunctionOn, ReleaseObjectGroup};

/// Maximum number of elements whose animations are looked at. What is in the others is read.
const MAX_ELEMENTS: usize = 40;

/// Timeout for that.
const LOOK_TIMEOUT: Duration = Duration::from_millis(500);

/// Group of the objects that a look at animations creates.
const GROUP: &str = "animations";

/// Returns true if an animation that goes on shows an element at some time.
const IS_SHOWN_LATER: &str = "function () {
    const isShown = frame => parseFloat(frame.opacity) > 0.1 || 'filter' in frame;
    const shows = ({ effect, playState }) => playState === 'running' && (effect?.getKeyframes?.() ?? []).some(isShown);
    return this.getAnimations().some(shows);
}";

/// Notes the transparent elements in the document of a tab that have an animation, and that none shows: one that has ended, or that changes
/// something else.
pub(super) async fn note_still(browser: &Browser, page: &Page, captured: &mut CapturedPage) {
    let Some(document) = captured.parts.first().and_then(|part| part.documents.first()) else { return };
    let elements: Vec<_> = document.animated().take(MAX_ELEMENTS).map(BackendNodeId).collect();
    let loader = captured.sources.first().and_then(|source| source.documents.first()).map(|(_, loader)| loader.clone());
    if elements.is_empty() {
        return;
    }
    let elements = &elements;
    let look = |world: World| async move {
        let shown = elements.iter().map(|element| is_shown_later(browser, page, &world, *element));
        Ok(join_all(shown).await)
    };
    let looked = tokio::time::timeout(LOOK_TIMEOUT, in_world(browser, page, look)).await;
    browser.connection.notify(Some(&page.session), &ReleaseObjectGroup { object_group: GROUP });
    let Ok(Ok((shown, world))) = looked else { return };
    if Some(&world.document) != loader.as_ref() {
        return;
    }
    let still: HashSet<u64> = elements
        .iter()
        .zip(shown)
        .filter(|(_, shown)| matches!(shown, Ok(false)))
        .map(|(element, _)| element.0)
        .collect();
    if let Some(document) = captured.parts.first_mut().and_then(|part| part.documents.first_mut()) {
        document.note_still(&still);
    }
}

/// Returns true if an animation of an element shows it at some time.
async fn is_shown_later(
    browser: &Browser,
    page: &Page,
    world: &World,
    element: BackendNodeId,
) -> Result<bool, ElementError> {
    let resolve = ResolveNode { backend_node_id: element, object_group: GROUP, execution_context_id: Some(world.id) };
    let resolved = command(browser, &page.session, &resolve).await?;
    let object_id = resolved.object.object_id.ok_or(ElementError::Gone)?;
    let call = CallFunctionOn {
        object_id: &object_id,
        function_declaration: IS_SHOWN_LATER,
        arguments: Vec::new(),
        return_by_value: true,
        await_promise: false,
        object_group: None,
    };
    command(browser, &page.session, &call).await?.value().ok_or(ElementError::Unreadable)
}
