//! One shape of answers for all versions of agent-browser.
//!
//! Decides what of the `data` of a newer version's answer says the same as the pinned version's, in other words, and gives it
//! in those: so that an agent's programs and habits need not know which one runs, and nothing of the request comes back.
//! Members by their names alone: they are agent-browser's own, and what a page says is only ever below them. Must never
//! touch the value of a member that shows the page.

use serde_json::{Map, Value, json};

/// What concerns agent-browser and its connection, and no page.
const OWN_AFFAIRS: &[&str] = &["lifecycle", "restoreStatus", "saveStatus", "targetId"];

/// What was done. Newer versions say with what instead of that: the selector, the key, the text that was typed.
const DONE: &[&str] =
    &["clicked", "filled", "typed", "pressed", "hovered", "focused", "checked", "unchecked", "waited"];

/// What a wait was for, which the agent knows.
const WAITED_FOR: &[&str] = &["selector", "text", "ms"];

/// The members of an element's box, sorted.
const BOX: &[&str] = &["height", "width", "x", "y"];

/// What only a newer version's own commands could use of a tab.
const OF_A_TAB: &[&str] = &["label", "tabId", "targetId", "type"];

/// Gives the data of an answer its one shape.
pub fn settle(data: &mut Value) {
    let Value::Object(data) = data else { return };
    data.retain(|name, _| !OWN_AFFAIRS.contains(&name.as_str()));
    if data.get("waited").is_some_and(Value::is_string) {
        data.retain(|name, _| !WAITED_FOR.contains(&name.as_str()));
    }
    if data.contains_key("count") {
        data.remove("selector");
    }
    for name in DONE {
        if let Some(value) = data.get_mut(*name).filter(|value| value.is_string()) {
            *value = true.into();
        }
    }
    if data.len() == BOX.len() && BOX.iter().all(|name| data.contains_key(*name)) {
        let inner = std::mem::take(data);
        data.insert("box".to_owned(), inner.into());
    }
    number_tabs(data);
}

/// Tabs are numbered by their place in the list.
fn number_tabs(data: &mut Map<String, Value>) {
    let Some(Value::Array(tabs)) = data.get_mut("tabs") else { return };
    let mut active = None;
    for (index, tab) in tabs.iter_mut().enumerate() {
        let Value::Object(tab) = tab else { return };
        if tab.contains_key("index") {
            return;
        }
        tab.retain(|name, _| !OF_A_TAB.contains(&name.as_str()));
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
    fn answers_of_newer_versions_have_the_shape_of_the_older_ones() {
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
            settle(&mut data);
            assert_eq!(data, expected);
        }
    }

    #[test]
    fn answers_that_have_it_and_what_pages_say_stay_as_they_are() {
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
            let mut settled = data.clone();
            settle(&mut settled);
            assert_eq!(settled, data);
        }
    }
}
