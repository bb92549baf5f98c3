//! Tabs of a session during a call: their number, and the loss of one.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;

use crate::call::prepare::loss_decision;
use crate::session::Lease;
use browser_shell_browser::gate::GateSession;
use browser_shell_cdp::protocol::TargetId;

/// Returns the refusal of a new tab if the session has as many as it may have.
pub(super) fn check_number(command: &Command, lease: &Lease) -> Result<(), Decision> {
    let is_full = command.is_new_tab() && lease.gate().is_some_and(|gate| gate.has_all_tabs());
    if is_full {
        return Err(Decision::new(Code::TooManyTabs, "the session has as many tabs as it may have, which is 16"));
    }
    Ok(())
}

/// Returns the refusal of a command whose tab was lost while it ran.
pub(super) async fn loss_since(gate: &GateSession, before: Option<&TargetId>) -> Option<Decision> {
    gate.wait_until_replaced().await;
    let is_new = gate.active_tab().as_ref() != before;
    gate.lost_tab().filter(|_| is_new).map(loss_decision)
}
