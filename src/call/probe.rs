//! Refusal of commands that would spell a secret letter by letter, although no answer shows it.

use std::sync::Arc;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;
use browser_shell_core::policy::Engine;

use crate::gate::{ElementError, GateSession};

/// Returns the refusal of a command that compares its text with what the page holds, while the session knows a secret that the agent did not
/// send. With the engine `cdp`, the page is asked if a secret stands where the selector looks.
pub(super) async fn refusal(command: &Command, engine: Engine, gate: &Arc<GateSession>) -> Option<Decision> {
    if !command.compares_unmasked(engine == Engine::Cdp) || gate.known_secrets().values.is_empty() {
        return None;
    }
    let is_observable = match engine {
        Engine::AgentBrowser => true,
        Engine::Cdp => {
            let mut is_observable = false;
            for selector in command.all_selectors() {
                is_observable |= match gate.compares_secret(selector).await {
                    Ok(is_observable) => is_observable,
                    // Without a document, nothing is found.
                    Err(ElementError::Gone) => false,
                    Err(_) => true,
                };
            }
            is_observable
        }
    };
    let reason = "the selector or text could tell something about a secret that the session knows";
    is_observable.then(|| Decision::new(Code::SecretObservable, reason))
}
