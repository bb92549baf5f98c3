//! Parameters of commands that are sent on after a check.

use serde_json::{Value, json};

use browser_shell_core::gate::{DocumentUrl, Level, classify_url};

use crate::gate::client::outcome::Failure;
use crate::gate::json::text;
use crate::gate::scope::{ClientScope, SessionContext};

/// Checks a URL that a command opens.
pub(super) fn check_url(url: &str) -> Result<(), Failure> {
    match classify_url(url) {
        DocumentUrl::Web => Ok(()),
        DocumentUrl::Blank if url == "about:blank" => Ok(()),
        _ => Err(Failure::refused("only http, https and about:blank are opened")),
    }
}

/// Returns the parameters of a navigation, if its URL may be opened by a command.
pub(super) fn navigation(params: &Value) -> Result<String, Failure> {
    check_url(&text(params, "url").unwrap_or_default())?;
    Ok(params.to_string())
}

/// Returns the parameters of a step in the history, if the entry is in it and may be opened.
pub(super) fn history_step(entry: i64, history: &Value) -> Result<String, Failure> {
    let mut entries = history.get("entries").and_then(Value::as_array).into_iter().flatten();
    let found = entries.find(|known| known.get("id").and_then(Value::as_i64) == Some(entry));
    let url = found.and_then(|entry| text(entry, "url")).ok_or_else(|| Failure::refused("No entry with passed id"))?;
    if !classify_url(&url).may_be_returned_to() {
        return Err(Failure::refused("the entry of the history is not opened"));
    }
    Ok(json!({ "entryId": entry }).to_string())
}

/// Returns the parameters of a command about cookies: those of the session's own context.
///
/// A saved state is a login that the agent uses and cannot read, so a session with one has no such commands.
pub(super) fn cookies(
    level: Level,
    method: &str,
    params: &Value,
    gate: &dyn ClientScope,
    context: SessionContext,
) -> Result<String, Failure> {
    let refuse = |message: &str| {
        gate.count_refusal(level, method);
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
    let mut params = params.clone();
    if let (Some(members), Level::Root) = (params.as_object_mut(), level) {
        members.remove("browserContextId");
        if let Some(context) = own {
            members.insert("browserContextId".to_owned(), context.into());
        }
    }
    Ok(params.to_string())
}

/// Returns the parameters with which Chromium attaches a client to the frames and workers of its own sessions. None of them
/// waits for the client.
pub(super) fn auto_attach(params: &Value) -> String {
    let kinds = json!([{ "type": "iframe" }, { "type": "worker" }]);
    let is_on = flag(params, "autoAttach");
    json!({ "autoAttach": is_on, "waitForDebuggerOnStart": false, "flatten": true, "filter": kinds }).to_string()
}

/// Returns the parameters of a picture. A PNG of what is visible is compressed fast: it has the same pixels, is up to twice as large,
/// and takes a fraction of the time. A picture of a whole page keeps Chromium's choice, because it could exceed a limit of size.
pub(super) fn picture(params: &Value) -> String {
    let is_png = params.get("format").is_none_or(|format| format == "png");
    let mut params = params.clone();
    if let Some(members) = params.as_object_mut().filter(|_| is_png)
        && !members.get("captureBeyondViewport").is_some_and(|beyond| *beyond == true)
    {
        members.insert("optimizeForSpeed".to_owned(), true.into());
    }
    params.to_string()
}

/// Returns a boolean member of an object, false if it is absent.
pub(super) fn flag(params: &Value, name: &str) -> bool {
    params.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the parameters of a drag event. Files would be read with Chromium's rights.
pub(super) fn drag(params: &Value) -> Result<String, Failure> {
    let files = params.pointer("/data/files");
    let has_files = files.is_some_and(|files| files.as_array().is_none_or(|files| !files.is_empty()));
    if has_files { Err(Failure::refused("no files are dropped")) } else { Ok(params.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_png_of_visible_part_is_compressed_fast() {
        let is_fast = |params: Value| {
            let sent: Value = serde_json::from_str(&picture(&params)).expect("JSON");
            for (name, value) in
                params.as_object().into_iter().flatten().filter(|(name, _)| *name != "optimizeForSpeed")
            {
                assert_eq!(sent[name], *value, "{name} is not changed");
            }
            flag(&sent, "optimizeForSpeed")
        };
        assert!(is_fast(json!({})), "PNG is the default");
        assert!(is_fast(json!({"format": "png", "clip": {"x": 1}, "captureBeyondViewport": false})));
        assert!(is_fast(json!({"format": "png", "optimizeForSpeed": false})));
        assert!(!is_fast(json!({"format": "jpeg", "quality": 50})));
        assert!(!is_fast(json!({"format": "png", "captureBeyondViewport": true})));
    }
}
