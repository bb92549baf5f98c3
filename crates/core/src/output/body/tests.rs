use serde_json::json;

use super::*;

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
    }
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
