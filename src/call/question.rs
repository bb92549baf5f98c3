//! Commands that ask about a selector chain and act on no element: `wait SELECTOR` and `get count SELECTOR`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{Command, ValueKind};
use browser_shell_core::selector::SelectorChain;
use serde_json::{Value, json};

use crate::gate::{ElementError, GateSession};

/// Interval between two looks at a page.
const INTERVAL: Duration = Duration::from_millis(100);

/// Time that is left for the answer when a wait has ended in vain.
const ANSWER_TIME: Duration = Duration::from_millis(500);

/// Longest wait for a document that is being replaced.
const CHANGE_TIME: Duration = Duration::from_secs(2);

/// Returns the data of the answer, or `None` if the command asks for something else or agent-browser answers it.
///
/// # Errors
///
/// The refusal of the call, if the page does not answer or nothing appears.
pub(super) async fn answer(
    gate: &Arc<GateSession>,
    command: &Command,
    deadline: Instant,
) -> Result<Option<Value>, Decision> {
    let is_selector = |kind| matches!(kind, ValueKind::Selector | ValueKind::SelectorOrMilliseconds);
    let Some(chain) = command.value(is_selector).and_then(SelectorChain::parse) else { return Ok(None) };
    match (command.row.name, command.form.word) {
        ("wait", None) => wait(gate, &chain, deadline).await,
        ("get", Some("count")) => {
            let until = deadline.min(Instant::now() + CHANGE_TIME);
            loop {
                match gate.count(&chain).await {
                    Err(ElementError::Gone) if Instant::now() < until => tokio::time::sleep(INTERVAL).await,
                    count => return Ok(count?.map(|count| json!({ "count": count }))),
                }
            }
        }
        _ => Ok(None),
    }
}

/// Waits until an element can be seen.
async fn wait(gate: &Arc<GateSession>, chain: &SelectorChain, deadline: Instant) -> Result<Option<Value>, Decision> {
    let until = deadline.checked_sub(ANSWER_TIME).unwrap_or(deadline);
    loop {
        match tokio::time::timeout_at(until.into(), gate.is_shown(chain)).await {
            Ok(Ok(Some(true))) => return Ok(Some(json!({ "waited": true }))),
            Ok(Ok(None)) => return Ok(None),
            Ok(Ok(Some(false)) | Err(ElementError::Gone)) if Instant::now() < until => {}
            Ok(Ok(Some(false)) | Err(ElementError::Gone)) | Err(_) => {
                let reason = format!("no element that can be seen matches `{chain}`");
                return Err(Decision::new(Code::ElementNotFound, reason));
            }
            Ok(Err(error)) => return Err(error.into()),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
