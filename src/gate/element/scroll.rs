//! Scrolling of a page, and the wheel of the pointer.

use serde_json::{Value, json};

use crate::gate::element::error::ElementError;
use crate::gate::element::find::evaluate;
use crate::gate::element::located::{command, in_world};
use crate::gate::element::script::{SCROLL_PAGE, WHEEL_TAKEN, call_with_kept};
use crate::gate::session::GateSession;

impl GateSession {
    /// Scrolls the nearest box in the middle of the active tab that scrolls. If none does, the wheel is turned there, which maps and other
    /// pages take. Returns false if nothing took it.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub(crate) async fn scroll(&self, right: i32, down: i32) -> Result<bool, ElementError> {
        let (hub, page) = &self.active()?;
        let scroll = &call_with_kept(SCROLL_PAGE, &format!("{right}, {down}"));
        let scrolled = |world| async move { evaluate(hub, &page.session, &world, scroll, true).await };
        let (answer, world) = in_world(hub, page, scrolled).await?;
        let middle: Option<(f64, f64)> = serde_json::from_value(answer.get("value").cloned().unwrap_or_default())
            .map_err(|_| ElementError::Unreadable)?;
        let Some(middle) = middle else { return Ok(true) };
        self.turn_wheel(middle, (right, down)).await?;
        let taken = json!({
            "expression": call_with_kept(WHEEL_TAKEN, ""),
            "contextId": world.id,
            "awaitPromise": true,
            "returnByValue": true,
        });
        let taken = command(hub, &page.session, "Runtime.evaluate", &taken).await?;
        Ok(taken.pointer("/result/value") == Some(&Value::Bool(true)))
    }
}
