//! Refusal of commands that would spell a secret letter by letter, although no answer shows it.

use std::sync::Arc;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;
use browser_shell_core::policy::Engine;

use crate::gate::{ElementError, GateSession};

/// Returns the refusal of a command that compares its text with what the page holds, while the session knows a secret that the agent did not
/// send. With the engine `cdp`, the page is asked if a secret stands where the selector looks.
pub(super) async fn refusal(command: &Command, engine: Engine, gate: &Arc<GateSession>) -> Option<Decision> {
    if !command.compares_unmasked(engine == Engine::Cdp) || !gate.knows_secrets() {
        return None;
    }
    let is_observable = engine == Engine::AgentBrowser || finds_secret(command, gate).await;
    let reason = "the selector or text could tell something about a secret that the session knows";
    is_observable.then(|| Decision::new(Code::SecretObservable, reason))
}

/// Returns true if a secret stands where a selector of the command looks, or if that is not known.
async fn finds_secret(command: &Command, gate: &Arc<GateSession>) -> bool {
    for selector in command.all_selectors() {
        match gate.compares_secret(selector).await {
            // Without a document, nothing is found.
            Ok(false) | Err(ElementError::Gone) => {}
            Ok(true) | Err(_) => return true,
        }
    }
    false
}
