//! Conversion of tab numbers for versions of agent-browser that name their tabs (`t1`).
//!
//! The grammar has numbers, which older versions accept. The answer to `tab list` contains the name of each number. Answers name the
//! number again.
//!
//! Invariant: only names from that list are used.

use serde_json::{Value, json};

use browser_shell_core::grammar::Tab;
use browser_shell_core::output::{CapturedStream, RawOutput, missing_tab};

/// Command that lists the tabs.
pub(super) const LIST: [&str; 2] = ["tab", "list"];

/// Tab that a command is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Name for the command line.
    pub(super) name: String,
    /// Position in the list.
    pub(super) index: usize,
    /// Number of tabs in the list.
    pub(super) count: usize,
}

/// Returns the tab that a command names, or the active one, or the output to return if there is none. Returns `None` if the tabs of this
/// version have numbers.
pub(super) fn choose(list: &RawOutput, tab: Option<Tab>) -> Result<Option<Chosen>, RawOutput> {
    let answer: Value = serde_json::from_slice(&list.stdout.bytes).unwrap_or_default();
    let Some(tabs) = answer.pointer("/data/tabs").and_then(Value::as_array).filter(|_| list.exit_code == 0) else {
        return Err(list.clone());
    };
    if !tabs.is_empty() && tabs.iter().all(|tab| tab.get("tabId").is_none()) {
        return Ok(None);
    }
    let names: Vec<_> = tabs
        .iter()
        .enumerate()
        .filter_map(|(index, tab)| {
            let name = tab.get("tabId").and_then(Value::as_str).filter(|id| is_name(id)).map(str::to_owned);
            name.map(|name| (index, name))
        })
        .collect();
    let at = |wanted: usize| names.iter().find(|(index, _)| *index == wanted);
    let (chosen, missing) = match tab {
        None => {
            let active = tabs.iter().position(|tab| tab.get("active") == Some(&Value::Bool(true)));
            (active.and_then(at), "no tab is active; choose one with `tab INDEX`".to_owned())
        }
        Some(Tab::Index(index)) => (at(index), missing_tab(index)),
        Some(Tab::Name(number)) => {
            let name = format!("t{number}");
            let listed: Vec<_> = names.iter().map(|(_, name)| name.as_str()).collect();
            let missing = format!("no tab {name}: there are {}", listed.join(", "));
            (names.iter().find(|(_, known)| *known == name), missing)
        }
    };
    chosen
        .map(|(index, name)| Some(Chosen { name: name.clone(), index: *index, count: tabs.len() }))
        .ok_or_else(|| failure(&json!({"success": false, "data": null, "error": missing}).to_string()))
}

/// Returns true for the letter `t` and a number, which a command line cannot read as anything else.
fn is_name(name: &str) -> bool {
    name.strip_prefix('t').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the output of a failed command.
fn failure(text: &str) -> RawOutput {
    let stdout = CapturedStream { bytes: text.as_bytes().to_vec(), total: text.len() as u64 };
    RawOutput { exit_code: 1, stdout, stderr: CapturedStream::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tab_index_resolves_to_listed_tab_id() {
        let list = |tabs: Value| RawOutput {
            exit_code: 0,
            ..failure(&json!({"success": true, "data": {"tabs": tabs}, "error": null}).to_string())
        };
        let name = |list: &RawOutput, tab| choose(list, Some(tab)).map(|chosen| chosen.expect("named").name);
        let two = list(json!([{"tabId": "t7", "active": false}, {"tabId": "t2", "active": true}]));
        assert_eq!(choose(&two, Some(Tab::Index(0))), Ok(Some(Chosen { name: "t7".to_owned(), index: 0, count: 2 })));
        assert_eq!(choose(&two, Some(Tab::Name(2))), Ok(Some(Chosen { name: "t2".to_owned(), index: 1, count: 2 })));
        assert_eq!(
            choose(&two, None),
            Ok(Some(Chosen { name: "t2".to_owned(), index: 1, count: 2 })),
            "the active one"
        );
        let missing = name(&two, Tab::Name(1)).expect_err("not there");
        assert!(
            missing.exit_code == 1 && missing.stdout.to_text().contains("no tab t1: there are t7, t2"),
            "{missing:?}"
        );
        let missing = name(&two, Tab::Index(2)).expect_err("not there");
        assert!(missing.exit_code == 1 && missing.stdout.to_text().contains("no tab 2; `tab list`"), "{missing:?}");
        let numbered = list(json!([{"index": 0}, {"index": 1, "active": true}]));
        for tab in [Some(Tab::Index(1)), Some(Tab::Name(1)), None] {
            assert_eq!(choose(&numbered, tab), Ok(None), "tabs without names");
        }
        for odd in [json!([{"tabId": "--cdp"}]), json!([{"tabId": "t"}]), json!([{"tabId": 1}]), json!([])] {
            assert!(choose(&list(odd.clone()), Some(Tab::Index(0))).is_err());
            assert!(choose(&list(odd), None).is_err());
        }
        let failed = failure(r#"{"success":false,"data":{"tabs":[{"tabId":"t1"}]},"error":"x"}"#);
        assert_eq!(choose(&failed, Some(Tab::Index(0))), Err(failed.clone()), "a failure is unchanged");
    }
}
