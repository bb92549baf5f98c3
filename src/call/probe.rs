//! Refusal of commands that would spell a secret letter by letter, although no answer shows it.

use std::sync::Arc;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;
use browser_shell_core::policy::Engine;

use browser_shell_browser::gate::GateSession;

/// Returns the refusal of a command of the engine `agent-browser` that compares its text with what the page holds, while there is a secret
/// that the agent did not send. The engine `cdp` looks itself where a selector is compared.
///
/// The pages are read first: in a session that shares its tabs, another one may have left a secret there.
pub(super) async fn refusal(command: &Command, engine: Engine, gate: &Arc<GateSession>) -> Option<Decision> {
    if engine == Engine::Cdp || !command.compares_unmasked() {
        return None;
    }
    if let Err(error) = gate.secrets().await {
        return Some(error.into());
    }
    let reason = "the selector or text could tell something about what the page keeps from you";
    gate.knows_secrets().then(|| Decision::new(Code::SecretObservable, reason))
}
