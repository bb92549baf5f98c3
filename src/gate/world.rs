//! World of the gate's own in a frame: its scripts read the document, and no script of the page changes what they see.

use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::hub::Hub;

/// Name of the world. A frame makes it once, and returns it when it is asked again.
const WORLD: &str = "control-gate";

/// Returns the id of the world in a frame. Chromium refuses it for a frame that is gone, or that another process shows.
///
/// # Errors
///
/// Returns an error if Chromium does not make it in time.
pub(super) async fn isolated(
    hub: &Hub,
    session: &str,
    frame: &str,
    timeout: Duration,
) -> Result<Option<Value>, CommandError> {
    let params = json!({ "frameId": frame, "worldName": WORLD });
    let world = hub.connection.command_within(timeout, Some(session), "Page.createIsolatedWorld", &params).await?;
    Ok(world.get("executionContextId").cloned())
}
