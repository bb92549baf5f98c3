//! Scrolling of a page, and the wheel of the pointer.

use crate::browser::cdp::protocol::runtime::Evaluate;
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
        let middle: Option<(f64, f64)> = answer.into_value().ok_or(ElementError::Unreadable)?;
        let Some(middle) = middle else { return Ok(true) };
        self.turn_wheel(middle, (right, down)).await?;
        let taken = Evaluate {
            expression: &call_with_kept(WHEEL_TAKEN, ""),
            context_id: Some(world.id),
            await_promise: true,
            return_by_value: true,
            ..Evaluate::default()
        };
        Ok(command(hub, &page.session, &taken).await?.value() == Some(true))
    }
}
