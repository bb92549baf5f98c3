//! Tabs of a session: listed, turned to, and closed.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::{LAST_TAB_STAYS, missing_tab};
use serde_json::{Value, json};

use crate::job::Outcome;
use browser_shell_browser::gate::{GateSession, SeenTab};

/// Lists the tabs.
pub(super) async fn list(gate: &GateSession) -> Result<Value, Decision> {
    let tabs = known(gate)?;
    let (titles, active) = (gate.titles().await, gate.active_tab());
    let is_active = |tab: &SeenTab| Some(&tab.target) == active.as_ref();
    let listed: Vec<_> = tabs
        .iter()
        .enumerate()
        .map(|(index, tab)| {
            let title = titles.get(&tab.target).cloned().unwrap_or_default();
            json!({ "index": index, "title": title, "url": tab.url, "active": is_active(tab) })
        })
        .collect();
    Ok(json!({ "tabs": listed, "active": tabs.iter().position(is_active) }))
}

/// Makes the tab at a position the active one.
pub(super) async fn turn_to(gate: &GateSession, position: usize) -> Outcome {
    let tab = match at(gate, position) {
        Ok(tab) => tab,
        Err(outcome) => return outcome,
    };
    if !gate.wait_until_set_up(&tab.target).await {
        let reason = "the tab still waits for its server: turn to it later, or close it";
        return Outcome::Failed(Decision::new(Code::PageUnreadable, reason));
    }
    if let Err(error) = gate.show_tab(&tab.target).await {
        return Outcome::Failed(error.into());
    }
    let title = gate.title().await.unwrap_or_default();
    // That of a tab that was set up meanwhile may be another one by now.
    let url = gate.active_url().filter(|_| tab.is_loading).unwrap_or(tab.url);
    Outcome::Done(json!({ "index": position, "title": title, "url": url }))
}

/// Closes the tab at a position, or the active one.
pub(super) async fn close(gate: &GateSession, position: Option<usize>) -> Outcome {
    let before = gate.active_tab();
    if let Some(position) = position {
        let tab = match at(gate, position) {
            Ok(tab) => tab,
            Err(outcome) => return outcome,
        };
        match gate.close_new_tab(&tab.target).await {
            Ok(false) => gate.set_active_tab(&tab.target),
            Ok(true) => {
                let remaining = gate.tabs().map(|tabs| tabs.len()).unwrap_or_default();
                return Outcome::Done(json!({ "closed": position, "remaining": remaining }));
            }
            Err(error) => return Outcome::Failed(error.into()),
        }
    }
    let named = gate.active_tab();
    let closed = gate.close_active_tab().await;
    if let Some(before) = before.filter(|before| named.as_ref() != Some(before)) {
        gate.set_active_tab(&before);
    }
    match closed {
        Ok(Some((position, remaining))) => Outcome::Done(json!({ "closed": position, "remaining": remaining })),
        Ok(None) => Outcome::Message(LAST_TAB_STAYS.to_owned()),
        Err(error) => Outcome::Failed(error.into()),
    }
}

fn known(gate: &GateSession) -> Result<Vec<SeenTab>, Decision> {
    gate.tabs().ok_or_else(no_tab)
}

/// Returns the refusal of a command of a session without a tab.
pub(super) fn no_tab() -> Decision {
    Decision::new(Code::BrowserUnavailable, "the session has no tab")
}

fn at(gate: &GateSession, position: usize) -> Result<SeenTab, Outcome> {
    let tabs = known(gate).map_err(Outcome::Failed)?;
    tabs.into_iter().nth(position).ok_or_else(|| Outcome::Message(missing_tab(position)))
}
