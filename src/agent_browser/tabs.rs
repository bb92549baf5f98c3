//! Conversion of tab numbers for versions of agent-browser that name their tabs (`t1`).
//!
//! The grammar has numbers, which older versions accept. The answer to `tab list` contains the name of each number.
//!
//! Invariant: only names from that list are used.

use serde_json::{Value, json};

use browser_shell_core::grammar::Tab;
use browser_shell_core::output::{CapturedStream, RawOutput};

/// Command that lists the tabs.
pub(super) const LIST: [&str; 2] = ["tab", "list"];

/// Returns the name of a tab, or the output to return if there is none.
pub(super) fn tab_name(list: &RawOutput, tab: Tab) -> Result<String, RawOutput> {
    let answer: Value = serde_json::from_slice(&list.stdout.bytes).unwrap_or_default();
    let Some(tabs) = answer.pointer("/data/tabs").and_then(Value::as_array).filter(|_| list.exit_code == 0) else {
        return Err(list.clone());
    };
    if !tabs.is_empty() && tabs.iter().all(|tab| tab.get("tabId").is_none()) {
        // The tabs of this version have numbers.
        return Ok(tab.index().to_string());
    }
    let id = |tab: &Value| tab.get("tabId").and_then(Value::as_str).filter(|id| is_name(id)).map(str::to_owned);
    let (name, missing) = match tab {
        Tab::Index(index) => {
            (tabs.get(index).and_then(id), format!("no tab {index}: there are {}, numbered from 0", tabs.len()))
        }
        Tab::Name(number) => {
            let name = format!("t{number}");
            let names: Vec<_> = tabs.iter().filter_map(id).collect();
            let missing = format!("no tab {name}: there are {}", names.join(", "));
            (names.contains(&name).then_some(name), missing)
        }
    };
    name.ok_or_else(|| failure(&json!({"success": false, "data": null, "error": missing}).to_string()))
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
        let two = list(json!([{"tabId": "t7"}, {"tabId": "t2"}]));
        assert_eq!(tab_name(&two, Tab::Index(0)).expect("there"), "t7");
        assert_eq!(tab_name(&two, Tab::Index(1)).expect("there"), "t2");
        assert_eq!(tab_name(&two, Tab::Name(2)).expect("there"), "t2");
        let missing = tab_name(&two, Tab::Name(1)).expect_err("not there");
        assert!(
            missing.exit_code == 1 && missing.stdout.to_text().contains("no tab t1: there are t7, t2"),
            "{missing:?}"
        );
        let missing = tab_name(&two, Tab::Index(2)).expect_err("not there");
        assert!(missing.exit_code == 1 && missing.stdout.to_text().contains("no tab 2: there are 2"), "{missing:?}");
        let numbered = list(json!([{"index": 0}, {"index": 1}]));
        assert_eq!(tab_name(&numbered, Tab::Index(1)).expect("there"), "1", "tabs without names");
        assert_eq!(tab_name(&numbered, Tab::Name(1)).expect("there"), "0", "the first tab");
        for odd in [json!([{"tabId": "--cdp"}]), json!([{"tabId": "t"}]), json!([{"tabId": 1}]), json!([])] {
            assert!(tab_name(&list(odd), Tab::Index(0)).is_err());
        }
        let failed = failure(r#"{"success":false,"data":{"tabs":[{"tabId":"t1"}]},"error":"x"}"#);
        assert_eq!(tab_name(&failed, Tab::Index(0)), Err(failed.clone()), "a failure is unchanged");
    }
}
