//! Tabs by their place in the list, for an agent-browser that gives them names instead (`t1`).
//!
//! Decides which name a place has now, from the answer to `tab list`. The grammar has numbers, which older versions take as
//! they are. Must never name a tab that is not in the list.

use serde_json::{Value, json};

use crate::argv::Command;
use crate::output::{Captured, RawOutput};

/// What lists them.
pub(super) const LIST: [&str; 2] = ["tab", "list"];

/// The place that a command names, if it is about one tab: its last element.
pub(super) fn place_in(command: &Command) -> Option<usize> {
    (command.row.name == LIST[0]).then(|| command.to_argv().last()?.parse().ok()).flatten()
}

/// The name of the tab at a place, or the answer to give where there is none.
pub(super) fn name_at(list: &RawOutput, place: usize) -> Result<String, RawOutput> {
    let answer: Value = serde_json::from_slice(&list.stdout.bytes).unwrap_or_default();
    let Some(tabs) = answer.pointer("/data/tabs").and_then(Value::as_array).filter(|_| list.exit_code == 0) else {
        return Err(list.clone());
    };
    if !tabs.is_empty() && tabs.iter().all(|tab| tab.get("tabId").is_none()) {
        // Its tabs have numbers after all.
        return Ok(place.to_string());
    }
    let name = tabs.get(place).and_then(|tab| tab.get("tabId")).and_then(Value::as_str);
    name.filter(|name| is_name(name)).map(str::to_owned).ok_or_else(|| {
        let error = format!("no tab {place}: there are {}, numbered from 0", tabs.len());
        failure(&json!({"success": false, "data": null, "error": error}).to_string())
    })
}

/// A letter and a number: nothing that a command line could take for something else.
fn is_name(name: &str) -> bool {
    name.strip_prefix('t').is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn failure(text: &str) -> RawOutput {
    let stdout = Captured { bytes: text.as_bytes().to_vec(), total: text.len() as u64 };
    RawOutput { exit_code: 1, stdout, stderr: Captured::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv;

    fn command(argv: &[&str]) -> Command {
        let argv: Vec<_> = argv.iter().map(|element| (*element).to_owned()).collect();
        argv::parse(argv::Dialect::Tool, &argv, |_| true).expect("a command")
    }

    #[test]
    fn a_place_is_the_number_of_a_tab_command() {
        assert_eq!(place_in(&command(&["tab", "3"])), Some(3));
        assert_eq!(place_in(&command(&["tab", "list"])), None);
        assert_eq!(place_in(&command(&["tab"])), None);
        assert_eq!(place_in(&command(&["wait", "50"])), None);
    }

    #[test]
    fn a_place_has_the_name_that_the_list_gives_it_and_no_other() {
        let list = |tabs: Value| RawOutput {
            exit_code: 0,
            ..failure(&json!({"success": true, "data": {"tabs": tabs}, "error": null}).to_string())
        };
        let two = list(json!([{"tabId": "t7"}, {"tabId": "t2"}]));
        assert_eq!(name_at(&two, 0).expect("there"), "t7");
        assert_eq!(name_at(&two, 1).expect("there"), "t2");
        let missing = name_at(&two, 2).expect_err("not there");
        assert!(missing.exit_code == 1 && missing.stdout.to_text().contains("no tab 2: there are 2"), "{missing:?}");
        let numbered = list(json!([{"index": 0}, {"index": 1}]));
        assert_eq!(name_at(&numbered, 1).expect("there"), "1", "tabs without names have numbers");
        for odd in [json!([{"tabId": "--cdp"}]), json!([{"tabId": "t"}]), json!([{"tabId": 1}]), json!([])] {
            assert!(name_at(&list(odd), 0).is_err());
        }
        let failed = failure(r#"{"success":false,"data":{"tabs":[{"tabId":"t1"}]},"error":"x"}"#);
        assert_eq!(name_at(&failed, 0), Err(failed.clone()), "a failure stays as it is");
    }
}
