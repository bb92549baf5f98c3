//! Parameters of commands that are sent on after a check.

use serde_json::{Value, json};

use browser_shell_core::gate::{
    AutoAttach, DocumentUrl, DragEvent, HistoryEntryParams, Level, Navigation, classify_url, write_params,
};

use crate::gateway::client::method_result::Failure;
use browser_shell_browser::gate::scope::{ClientScope, Denied, SessionContext};
use browser_shell_cdp::protocol::page::NavigationHistory;

/// Checks a URL that a command opens.
pub(super) fn check_url(url: &str) -> Result<(), Failure> {
    match classify_url(url) {
        DocumentUrl::Web => Ok(()),
        DocumentUrl::Blank if url == "about:blank" => Ok(()),
        _ => Err(Failure::refused("only http, https and about:blank are opened")),
    }
}

/// Returns the parameters of a navigation, if its URL may be opened by a command.
pub(super) fn navigation(params: &Navigation) -> Result<String, Failure> {
    check_url(&params.url)?;
    Ok(write_params(params))
}

/// Returns the parameters of a step in the history, if the entry is in it and may be opened.
pub(super) fn history_step(step: &HistoryEntryParams, history: &NavigationHistory) -> Result<String, Failure> {
    let found = history.entries.iter().find(|known| known.id == i64::from(step.entry_id));
    let entry = found.ok_or_else(|| Failure::refused("No entry with passed id"))?;
    if !classify_url(&entry.url).may_be_returned_to() {
        return Err(Failure::refused("the entry of the history is not opened"));
    }
    Ok(write_params(step))
}

/// Returns the parameters of a command about cookies: those of the session's own context.
///
/// A saved state is a login that the agent uses and cannot read, so a session with one has no such commands.
pub(super) fn cookies(
    level: Level,
    method: &str,
    mut params: Value,
    gate: &dyn ClientScope,
    context: SessionContext,
) -> Result<String, Failure> {
    let refuse = |message: &str| {
        gate.count_refusal(level, Denied::Method(method));
        Err(Failure::refused(message))
    };
    if !gate.allows_cookies() {
        return refuse("the policy does not enable cookies");
    }
    if gate.has_saved_state() {
        return refuse("cookies are not available in a session with a saved state");
    }
    let own = match context {
        SessionContext::Own(id) => Some(id),
        SessionContext::Shared => None,
        SessionContext::None => return refuse("the session has no context"),
    };
    if let (Some(members), Level::Root) = (params.as_object_mut(), level) {
        members.remove("browserContextId");
        if let Some(context) = own {
            members.insert("browserContextId".to_owned(), context.as_str().into());
        }
    }
    Ok(params.to_string())
}

/// Returns the parameters with which Chromium attaches a client to the frames and workers of its own sessions. None of them
/// waits for the client.
pub(super) fn auto_attach(params: &AutoAttach) -> String {
    let kinds = json!([{ "type": "iframe" }, { "type": "worker" }]);
    let is_on = params.auto_attach;
    json!({ "autoAttach": is_on, "waitForDebuggerOnStart": false, "flatten": true, "filter": kinds }).to_string()
}

/// Returns the parameters of a drag event. Files would be read with Chromium's rights.
pub(super) fn drag(params: &DragEvent) -> Result<String, Failure> {
    if params.has_files() { Err(Failure::refused("no files are dropped")) } else { Ok(write_params(params)) }
}
