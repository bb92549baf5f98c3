//! Watch of a drag: the events that the document of the dragged element gets, and what the page shows before and after.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::decision::Decision;
use browser_shell_core::element::DragEvents;
use browser_shell_core::gate::read_chromium;
use futures::future::try_join_all;
use serde_json::Value;

use crate::gate::element::error::ElementError;
use crate::gate::element::located::{Located, TIMEOUT, answered};
use crate::gate::element::script::{DRAG_EVENTS, END_DRAG, WATCH_DRAG};
use browser_shell_cdp::protocol::dom::CaptureSnapshot;

/// Number of times that the page is read before a drag counts as one that did nothing.
const READS: usize = 4;

/// Pause before each read: a page may show the effect of a drag a moment later.
const PAUSE: Duration = Duration::from_millis(250);

/// Watch of one drag, which ends when this is dropped.
pub(super) struct DragWatch {
    element: Arc<Located>,
    before: Vec<Value>,
}

impl DragWatch {
    /// Watches a drag of an element.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub(super) async fn begin(element: Arc<Located>) -> Result<Self, ElementError> {
        let watch = Self { before: shown(&element).await?, element };
        watch.element.call::<()>(WATCH_DRAG, &[]).await?;
        Ok(watch)
    }

    /// Returns the failure of the drag, or `None` if it may have done something: the page has changed, or does not answer.
    pub(super) async fn failure(&self) -> Option<Decision> {
        let mut failure = self.events().await?.failure()?;
        for _ in 0..READS {
            tokio::time::sleep(PAUSE).await;
            if shown(&self.element).await.ok()? != self.before {
                return None;
            }
            failure = self.events().await?.failure()?;
        }
        Some(failure)
    }

    /// Returns the events until now, if the page answers.
    pub(super) async fn events(&self) -> Option<DragEvents> {
        self.element.call(DRAG_EVENTS, &[]).await.ok()
    }
}

impl Drop for DragWatch {
    fn drop(&mut self) {
        self.element.notify(END_DRAG, &[]);
    }
}

/// Returns what all documents of the tab of an element show: nodes, boxes and values of fields. How far they are scrolled is left
/// out, because a drag scrolls to its ends.
async fn shown(element: &Located) -> Result<Vec<Value>, ElementError> {
    let sessions = element.page.running_sessions();
    let reads = sessions.iter().map(async |session| {
        let sent = element.browser.connection.begin(
            TIMEOUT,
            Some(session),
            &CaptureSnapshot { computed_styles: &[], include_paint_order: false },
        )?;
        let text = answered(sent.text().await)?;
        read_chromium::<Value>(text.get()).map_err(|_| ElementError::Unreadable)
    });
    let mut parts = try_join_all(reads).await?;
    for part in &mut parts {
        for document in part.get_mut("documents").and_then(Value::as_array_mut).into_iter().flatten() {
            for offset in ["scrollOffsetX", "scrollOffsetY"] {
                document.as_object_mut().map(|members| members.remove(offset));
            }
        }
    }
    Ok(parts)
}
