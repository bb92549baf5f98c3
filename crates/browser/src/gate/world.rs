//! World of the gate's own in a frame: its scripts read the document, and no script of the page changes what they see.

use std::time::Duration;

use crate::gate::browser::Browser;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::page::CreateIsolatedWorld;
use browser_shell_cdp::protocol::{DebugSessionId, ExecutionContextId, FrameId};

/// Name of the world. A frame makes it once, and returns it when it is asked again.
const WORLD: &str = "control-gate";

/// Returns the id of the world in a frame. Chromium refuses it for a frame that is gone, or that another process shows.
///
/// # Errors
///
/// Returns an error if Chromium does not make it in time.
pub(super) async fn isolated(
    browser: &Browser,
    session: &DebugSessionId,
    frame: &FrameId,
    timeout: Duration,
) -> Result<ExecutionContextId, CommandError> {
    let world = CreateIsolatedWorld { frame_id: frame, world_name: WORLD };
    Ok(browser.connection.send_within(timeout, Some(session), &world).await?.execution_context_id)
}
