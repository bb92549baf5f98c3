use serde_json::json;

use super::*;

fn captured(text: &str) -> CapturedStream {
    CapturedStream { bytes: text.as_bytes().to_vec(), total: text.len() as u64 }
}

fn parse(exit_code: i32, stdout: &str, stderr: &str) -> CommandResult {
    CommandResult::parse(&RawOutput { exit_code, stdout: captured(stdout), stderr: captured(stderr) })
}

// Requirement 1.6.
#[test]
fn agent_browser_output_is_parsed() {
    let rows: &[(i32, &str, &str, i32, &str, &str, &str)] = &[
        (0, r#"{"success":true,"data":{"clicked":true},"error":null}"#, "", 0, "{\"clicked\":true}\n", "", "success"),
        (0, r#"{"success":true,"data":null,"error":null}"#, "", 0, "null\n", "", "no data"),
        (0, r#"{"success":true}"#, "", 0, "null\n", "", "no member `data`"),
        (1, r#"{"success":false,"data":null,"error":"no element"}"#, "", 1, "", "no element", "failure"),
        (0, r#"{"success":false,"data":null,"error":"no element"}"#, "", 1, "", "no element", "an exit of 0 becomes 1"),
        (
            1,
            r#"{"success":false,"data":{"a":1},"error":"x"}"#,
            "warn\n",
            1,
            "{\"a\":1}\n",
            "x\nwarn",
            "a failure with data",
        ),
        (1, r#"{"error":"bad","success":false,"type":"unknown_command"}"#, "", 1, "", "bad", "an error of the CLI"),
        (1, r#"{"success":false,"error":""}"#, "", 1, "", "agent-browser reported a failure without a message", ""),
        (0, "agent-browser 1.2.3\n", "", 0, "agent-browser 1.2.3\n", "", "not JSON"),
        (3, "", "boom", 3, "", "boom", "no output"),
        (0, r#"{"other":1}"#, "", 0, r#"{"other":1}"#, "", "other JSON"),
        (0, r#"{"success":"yes"}"#, "", 0, r#"{"success":"yes"}"#, "", "other JSON"),
        (137, r#"{"success":true,"data":1}"#, "", 137, "1\n", "", "killed after its output"),
    ];
    for (exit, stdout, stderr, exit_code, body, error, why) in rows {
        let result = parse(*exit, stdout, stderr);
        assert_eq!(
            (result.exit_code, result.body.render(1000).as_str(), result.stderr.as_str()),
            (*exit_code, *body, *error),
            "{why}"
        );
    }
}

// Requirement 1.7.
#[test]
fn output_beyond_cap_becomes_text_with_marker() {
    let stdout = CapturedStream { bytes: br#"{"success":true,"data":"xxx"#.to_vec(), total: 1000 };
    let result = CommandResult::parse(&RawOutput { exit_code: 0, stdout, stderr: CapturedStream::default() });
    assert!(result.body.render(1000).ends_with("[... 973 bytes cut]"));
}

#[test]
fn missing_browser_is_detected() {
    assert!(
        parse(1, r#"{"success":false,"error":"Failed to connect via CDP on port 9222"}"#, "").is_browser_unavailable()
    );
    assert!(!parse(1, r#"{"success":false,"error":"no element"}"#, "").is_browser_unavailable());
    let content = r#"{"success":true,"data":{"text":"Failed to connect via CDP"}}"#;
    assert!(!parse(0, content, "").is_browser_unavailable(), "text of the page does not count");
}

// Requirement 2.6.
#[test]
fn landing_urls_are_read_from_output() {
    let urls = |data: Value| Body::Data(data).landing_urls();
    assert_eq!(urls(json!({"title": "x", "url": "https://a.example/"})), ["https://a.example/"]);
    assert_eq!(
        urls(json!({"snapshot": "url: http://10.0.0.1/", "origin": "https://b.example/"})),
        ["https://b.example/"]
    );
    assert_eq!(
        urls(
            json!({"tabs": [{"url": "http://10.0.0.1/", "active": false}, {"url": "https://c.example/", "active": true}]})
        ),
        ["https://c.example/"]
    );
    assert!(urls(json!({"clicked": true})).is_empty());
    assert!(urls(json!("https://a.example/")).is_empty());
}

#[test]
fn results_render_as_text() {
    let tree = "- heading \"A\" [ref=e1]\n- link \"B\" [ref=e2]";
    let refs = json!({"e1": {"role": "heading", "name": "A"}});
    let rows = [
        (json!({"snapshot": tree, "refs": refs, "origin": "https://a.example/"}), tree),
        (json!({"snapshot": tree, "refs": refs, "origin": "https://a.example/", "lifecycle": {}}), tree),
        (json!({"snapshot": "", "refs": {}, "origin": "about:blank"}), ""),
        (json!({"text": "two\nlines \"quoted\""}), "two\nlines \"quoted\""),
        (json!({"title": "T", "origin": "https://a.example/"}), "T"),
        (json!({"text": "x", "lifecycle": {"launched": false}}), "x"),
        (json!({"count": 3}), "3"),
        (json!({"visible": false}), "false"),
        (json!({"attribute": null}), "null"),
        (json!({"url": "https://a.example/"}), "https://a.example/"),
        (json!({"origin": "https://a.example/"}), "{\"origin\":\"https://a.example/\"}\n"),
        (json!({"title": "T", "url": "https://a.example/"}), "{\"title\":\"T\",\"url\":\"https://a.example/\"}\n"),
        (json!({"selected": ["a"]}), "{\"selected\":[\"a\"]}\n"),
        (json!({"refs": 1, "snapshot": "- not one"}), "{\"refs\":1,\"snapshot\":\"- not one\"}\n"),
        (json!({}), "{}\n"),
        (json!(null), "null\n"),
        (json!("text"), "\"text\"\n"),
    ];
    for (data, expected) in rows {
        assert_eq!(Body::Data(data.clone()).render_text(1000), expected, "{data}");
    }
    assert_eq!(Body::Empty.render_text(1000), "");
    assert_eq!(Body::Text("not JSON\n".to_owned()).render_text(1000), "not JSON\n");
}

// Requirement 1.6.
#[test]
fn data_is_one_line_and_text_keeps_its_ending() {
    let rows = [
        (Body::Data(json!({"a": "two\nlines", "b": [1, null]})), "{\"a\":\"two\\nlines\",\"b\":[1,null]}\n"),
        (Body::Data(json!(null)), "null\n"),
        (Body::Data(json!("text\n")), "\"text\\n\"\n"),
        (Body::Text("no line feed".to_owned()), "no line feed"),
        (Body::Text("two of them\n\n".to_owned()), "two of them\n\n"),
        (Body::Empty, ""),
    ];
    for (body, expected) in rows {
        assert_eq!(body.render(1000), expected);
        assert_eq!(body.render_visible(1000), expected);
    }
}

// Requirement 1.7.
#[test]
fn data_with_invisible_text_keeps_its_limit_and_value() {
    let text = "a\u{e0041}".repeat(40);
    let body = Body::Data(json!({ "text": text }));
    let shown = body.render_visible(1000);
    assert!(shown.is_ascii() && body.render(1000).contains('\u{e0041}'), "control: {shown}");
    assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON"), json!({ "text": text }));
    let short = body.render_visible(100);
    assert_eq!(short, format!("{{\"text\":\"{}\"}}\n", "a".repeat(40)), "it has no room for escapes");
    assert_eq!(Body::Text("a\u{ad}b\n".to_owned()).render_visible(1000), "a\\u{ad}b\n");
    assert!(Body::Text(text).render_visible(100).chars().count() <= 100);
}

// Requirement 1.7.
#[test]
fn text_results_are_truncated_with_marker() {
    let long = "x".repeat(5000);
    for data in [json!({"text": long}), json!({"snapshot": long, "refs": {}})] {
        let text = Body::Data(data).render_text(1000);
        assert!(text.chars().count() <= 1000 && text.ends_with(" characters cut]"), "{text}");
    }
    let both = Body::Data(json!({"title": long, "url": long})).render_text(1000);
    assert!(serde_json::from_str::<Value>(&both).is_ok() && both.ends_with("}\n"), "JSON stays valid: {both}");
    assert!(both.chars().count() <= 1000, "the line feed counts: {}", both.chars().count());
    assert_eq!(Body::Data(json!({"text": "x".repeat(1000)})).render_text(1000).len(), 1000, "control: it fits");
}

// Requirement 1.8.
#[test]
fn masked_values_stay_masked_in_text_style() {
    let tree = "- textbox \"Password\" [ref=e1]: hunter2\n- text: token=hunter2";
    for data in [
        json!({"token": "hunter2"}),
        json!({"text": "Authorization: Bearer hunter2hunter2"}),
        json!({"attribute": "https://user:hunter2@a.example/"}),
        json!({"snapshot": tree, "refs": {}}),
        json!({"cookies": [{"name": "a", "value": "hunter2"}]}),
    ] {
        let mut body = Body::Data(data);
        assert!(body.render_text(1000).contains("hunter2"), "control");
        body.mask();
        let text = body.render_text(1000);
        assert!(!text.contains("hunter2") && text.contains("***"), "{text}");
    }
}

// Requirement 1.6.
#[test]
fn typed_text_is_removed_from_output() {
    let mut body = Body::Data(json!({"typed": "hunter2", "ok": true}));
    body.remove_echo("hunter2");
    assert_eq!(body, Body::Data(json!({"ok": true})));
    body.remove_echo("");
    assert_eq!(body, Body::Data(json!({"ok": true})));
}

#[test]
fn new_agent_browser_output_is_normalized_to_old_shape() {
    let rows = [
        (json!({"lifecycle": {"a": 1}, "url": "u", "title": "t", "targetId": "T"}), json!({"url": "u", "title": "t"})),
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

#[test]
fn javascript_stacks_are_removed_from_messages() {
    let stack = "locator.click: Error: no element\n    at Page.f (/a/b.js:10:5)\n    at async /a/c.js:1:22\n    at <anonymous>\nCall log:\n  - waiting";
    assert_eq!(without_stack(stack.to_owned()), "locator.click: Error: no element\nCall log:\n  - waiting");
    assert_eq!(without_stack("x\n    at f (a.js:1:2)".to_owned()), "x");
    for message in ["one line", "two\nlines\n", "x\n    at noon", "    at the door:5", "at f (a.js:1:2)"] {
        assert_eq!(without_stack(message.to_owned()), message);
    }
}

fn output(exit_code: i32, answer: &Value) -> RawOutput {
    RawOutput { exit_code, stdout: CapturedStream::default(), stderr: CapturedStream::default() }.with_answer(answer)
}

fn data(output: &RawOutput) -> Value {
    match CommandResult::parse(output).body {
        Body::Data(data) => data,
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_about_tabs_are_the_same_for_all_versions() {
    let rows = [
        ("Invalid tab index: 7", Some("no tab 7; `tab list` shows the numbers, which begin at 0")),
        ("Invalid tab index: 1. Available: 0-0", Some("no tab 1; `tab list` shows the numbers, which begin at 0")),
        ("Cannot close the last tab", Some("the last tab stays open; `close` ends the session")),
        (
            "Cannot close the last tab. Use \"close\" to close the browser.",
            Some("the last tab stays open; `close` ends the session"),
        ),
        ("Invalid tab index: x", None),
        ("the page says: Cannot close the last tab", None),
    ];
    for (text, expected) in rows {
        assert_eq!(tab_message(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn listed_tabs_have_their_current_titles() {
    let list = output(
        0,
        &json!({"success": true, "data": {"tabs": [
            {"active": true, "tabId": "t1", "targetId": "A", "title": "old", "url": "u"},
            {"active": false, "tabId": "t2", "targetId": "B", "title": "kept", "url": "v"},
        ]}}),
    );
    let list = list.with_tab_titles(|target| (target == "A").then(|| "new".to_owned()));
    let expected = json!({"active": 0, "tabs": [
        {"active": true, "index": 0, "title": "new", "url": "u"},
        {"active": false, "index": 1, "title": "kept", "url": "v"},
    ]});
    assert_eq!(data(&list), expected);
    let other = output(0, &json!({"success": true, "data": {"url": "u"}}));
    assert_eq!(other.clone().with_tab_titles(|_| Some("x".to_owned())), other);
}

#[test]
fn chosen_and_closed_tabs_have_the_pinned_form() {
    let chosen = output(0, &json!({"success": true, "data": {"label": null, "tabId": "t4", "title": "T", "url": "u"}}));
    assert_eq!(data(&chosen.with_tab(1, 3, false)), json!({"index": 1, "title": "T", "url": "u"}));
    let closed = output(0, &json!({"success": true, "data": {"closed": true, "tabId": "t4"}}));
    assert_eq!(data(&closed.with_tab(1, 3, true)), json!({"closed": 1, "remaining": 2}));
    let failed = output(1, &json!({"success": false, "data": null, "error": "x"}));
    assert_eq!(failed.clone().with_tab(1, 3, true), failed);
}
