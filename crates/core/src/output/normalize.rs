//! Normalization of output data to the shape of the pinned version of agent-browser.
//!
//! Clients get the same data from every version, without parts of the request. Members are selected by name alone: the
//! names come from agent-browser, and the page's content only occurs in their values.
//!
//! Invariants: a value that shows the page's content is never changed.

use serde_json::{Map, Value, json};

/// Members about agent-browser and its connection.
const INTERNAL_MEMBERS: &[&str] = &["lifecycle", "restoreStatus", "saveStatus", "targetId"];

/// Members that confirm an action. In newer versions, their value is the selector, key or text of the request.
const CONFIRMATIONS: &[&str] =
    &["clicked", "filled", "typed", "pressed", "hovered", "focused", "checked", "unchecked", "waited", "scrolled"];

/// Members with the condition of a `wait`, which is part of the request.
const WAIT_CONDITIONS: &[&str] = &["selector", "text", "ms"];

/// Members with the two elements of a `drag`, which are part of the request.
const DRAG_ENDS: &[&str] = &["source", "target"];

/// Members of an element's box, sorted.
const BOX_MEMBERS: &[&str] = &["height", "width", "x", "y"];

/// Members of a tab that only commands of newer versions use.
const TAB_INTERNAL_MEMBERS: &[&str] = &["label", "tabId", "targetId", "type"];

/// Normalizes the data of a command result.
pub(super) fn normalize(data: &mut Value) {
    let Value::Object(data) = data else { return };
    data.retain(|name, _| !INTERNAL_MEMBERS.contains(&name.as_str()));
    if data.get("waited").is_some_and(Value::is_string) {
        data.retain(|name, _| !WAIT_CONDITIONS.contains(&name.as_str()));
    }
    if data.contains_key("dragged") {
        data.retain(|name, _| !DRAG_ENDS.contains(&name.as_str()));
    }
    if data.contains_key("count") {
        data.remove("selector");
    }
    for name in CONFIRMATIONS {
        if let Some(value) = data.get_mut(*name).filter(|value| value.is_string()) {
            *value = true.into();
        }
    }
    if data.len() == BOX_MEMBERS.len() && BOX_MEMBERS.iter().all(|name| data.contains_key(*name)) {
        let inner = std::mem::take(data);
        data.insert("box".to_owned(), inner.into());
    }
    number_tabs(data);
}

/// Numbers tabs by their position in the list.
fn number_tabs(data: &mut Map<String, Value>) {
    let Some(Value::Array(tabs)) = data.get_mut("tabs") else { return };
    let mut active = None;
    for (index, tab) in tabs.iter_mut().enumerate() {
        let Value::Object(tab) = tab else { return };
        if tab.contains_key("index") {
            return;
        }
        tab.retain(|name, _| !TAB_INTERNAL_MEMBERS.contains(&name.as_str()));
        tab.insert("index".to_owned(), index.into());
        if tab.get("active") == Some(&Value::Bool(true)) {
            active = Some(index);
        }
    }
    data.entry("active").or_insert_with(|| json!(active));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_agent_browser_output_is_normalized_to_old_shape() {
        let rows = [
            (
                json!({"lifecycle": {"a": 1}, "url": "u", "title": "t", "targetId": "T"}),
                json!({"url": "u", "title": "t"}),
            ),
            (json!({"filled": "#name"}), json!({"filled": true})),
            (json!({"typed": "hunter2"}), json!({"typed": true})),
            (json!({"pressed": "Enter"}), json!({"pressed": true})),
            (json!({"waited": "text", "text": "x"}), json!({"waited": true})),
            (json!({"waited": "timeout", "ms": 50}), json!({"waited": true})),
            (json!({"dragged": true, "source": "#a", "target": "#b"}), json!({"dragged": true})),
            (json!({"count": 2, "selector": "h1"}), json!({"count": 2})),
            (
                json!({"height": 1, "width": 2, "x": 3, "y": 4, "lifecycle": {}}),
                json!({"box": {"height": 1, "width": 2, "x": 3, "y": 4}}),
            ),
            (
                json!({"tabs": [
                    {"active": false, "label": null, "tabId": "t4", "targetId": "A", "title": "a", "type": "page", "url": "u"},
                    {"active": true, "label": null, "tabId": "t2", "targetId": "B", "title": "b", "type": "page", "url": "v"},
                ]}),
                json!({"active": 1, "tabs": [
                    {"active": false, "index": 0, "title": "a", "url": "u"},
                    {"active": true, "index": 1, "title": "b", "url": "v"},
                ]}),
            ),
            (json!({"closed": true, "restoreStatus": "x", "saveStatus": "y"}), json!({"closed": true})),
        ];
        for (mut data, expected) in rows {
            normalize(&mut data);
            assert_eq!(data, expected);
        }
    }

    #[test]
    fn normalize_keeps_old_output_and_page_content() {
        for data in [
            json!({"clicked": true}),
            json!({"waited": true}),
            json!({"checked": false, "origin": "u"}),
            json!({"text": "lifecycle", "origin": "u"}),
            json!({"selected": ["l"]}),
            json!({"value": {"lifecycle": 1}}),
            json!({"box": {"height": 1, "width": 2, "x": 3, "y": 4}}),
            json!({"snapshot": "- x", "refs": {"e1": {"name": "typed", "role": "button"}}}),
            json!({"active": 0, "tabs": [{"active": true, "index": 0, "title": "a", "url": "u"}]}),
            json!({"tabs": ["x"]}),
            json!(["typed"]),
            Value::Null,
        ] {
            let mut normalized = data.clone();
            normalize(&mut normalized);
            assert_eq!(normalized, data);
        }
    }
}
