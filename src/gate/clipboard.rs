//! Clipboard of Chromium, which all of its contexts share.
//!
//! A page reads it only when somebody pastes. So it is emptied before another session's window comes to the front.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::gate::hub::Hub;

/// Script that copies nothing, so that the clipboard holds nothing.
const EMPTY: &str = "(() => { addEventListener('copy', event => { event.clipboardData.setData('text/plain', ''); \
                     event.preventDefault(); }, { once: true }); return document.execCommand('copy'); })()";

/// Empties the clipboard, from a tab that nobody sees.
pub(super) async fn clear(hub: &Arc<Hub>) {
    if let Err(error) = try_clear(hub).await {
        tracing::warn!(error, "the clipboard could not be emptied");
    }
}

async fn try_clear(hub: &Arc<Hub>) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let params = json!({ "url": "about:blank", "hidden": true });
    let created = hub.root("Target.createTarget", &params).await.map_err(|error| failed(&error))?;
    let target = json!({ "targetId": created.get("targetId"), "flatten": true });
    let attached = hub.root("Target.attachToTarget", &target).await.map_err(|error| failed(&error))?;
    let session = attached.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let focus = json!({ "enabled": true });
    let focused = hub.connection.command(Some(&session), "Emulation.setFocusEmulationEnabled", &focus).await;
    let script = json!({ "expression": EMPTY, "userGesture": true, "returnByValue": true });
    let copied = hub.connection.command(Some(&session), "Runtime.evaluate", &script).await;
    let _ = hub.root("Target.closeTarget", &json!({ "targetId": created.get("targetId") })).await;
    focused.map_err(|error| failed(&error))?;
    let copied = copied.map_err(|error| failed(&error))?;
    match copied.pointer("/result/value") {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err("the script copied nothing".to_owned()),
    }
}
