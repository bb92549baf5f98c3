//! Number of the elements that a selector chain matches, for `get count SELECTOR`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::decision::Decision;
use browser_shell_core::grammar::{Command, ValueKind};
use browser_shell_core::selector::SelectorChain;
use serde_json::{Value, json};

use crate::call::time::INTERVAL;
use crate::gate::{ElementError, GateSession};

/// Longest wait for a document that is being replaced.
const CHANGE_TIME: Duration = Duration::from_secs(2);

/// Returns the data of the answer, or `None` if the command asks for something else or agent-browser answers it.
///
/// # Errors
///
/// The refusal of the call, if the page does not answer.
pub(super) async fn answer(
    gate: &Arc<GateSession>,
    command: &Command,
    deadline: Instant,
) -> Result<Option<Value>, Decision> {
    let is_count = command.row.name == "get" && command.form.word == Some("count");
    let chain = command.value(|kind| kind == ValueKind::Selector).and_then(SelectorChain::parse);
    let Some(chain) = chain.filter(|_| is_count) else { return Ok(None) };
    let until = deadline.min(Instant::now() + CHANGE_TIME);
    loop {
        match gate.count(&chain).await {
            Err(ElementError::Gone) if Instant::now() < until => tokio::time::sleep(INTERVAL).await,
            count => return Ok(count?.map(|count| json!({ "count": count }))),
        }
    }
}
