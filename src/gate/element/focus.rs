//! Focus of a tab.

use crate::gate::element::error::ElementError;
use crate::gate::element::find::evaluate;
use crate::gate::element::located::in_world;
use crate::gate::element::script::HAS_FOCUS;
use crate::gate::session::GateSession;

impl GateSession {
    /// Returns true if an element of the active tab, or of a frame in it, has the focus.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub(crate) async fn has_focus(&self) -> Result<bool, ElementError> {
        let (hub, page) = &self.active()?;
        let ask = |world| async move { evaluate(hub, &page.session, &world, HAS_FOCUS, true).await };
        let (focus, _) = in_world(hub, page, ask).await?;
        focus.get("value").and_then(serde_json::Value::as_bool).ok_or(ElementError::Unreadable)
    }
}
