//! Validation of requests, over HTTP alone: every kind of problem, all problems of a request at once, and no input in
//! the response.

use serde_json::{Value, json};

use super::{
    client::{ExecOutcome, SESSION},
    contract::{Target, is_lenient, members},
};

/// Text that must not appear in a response.
const INPUT_MARK: &str = "hunter2hunter2";

/// Returns the reported problems, as `type loc`, sorted.
#[track_caller]
fn problems(target: &Target, path: &str, body: &str) -> Vec<String> {
    let reply = target.post_text(path, body).expect_status(422);
    assert!(!reply.body.contains(INPUT_MARK), "the input is not echoed: {reply:?}");
    let detail = reply.json()["detail"].clone();
    let mut found: Vec<_> = detail
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| {
            assert_eq!(members(problem), ["loc", "msg", "type"]);
            assert!(!problem["msg"].as_str().unwrap().is_empty());
            format!("{} {}", problem["type"].as_str().unwrap(), problem["loc"])
        })
        .collect();
    found.sort_unstable();
    found
}

/// Returns a valid body with one field replaced.
fn body(path: &str, field: &str, value: Value) -> String {
    let mut body = json!({"sandbox_id": SESSION});
    if path == "/exec" {
        body["cmd"] = json!("no-such-thing");
    } else {
        body["commands"] = json!(["no-such-thing"]);
    }
    body[field] = value;
    body.to_string()
}

/// Returns true for values that the profile `compat` accepts in addition.
fn is_other_spelling(field: &str, value: &Value) -> bool {
    match field {
        "timeout" => *value == json!("30"),
        "stop_on_error" => [json!("yes"), json!(1)].contains(value),
        "commands" => value.as_array().is_some_and(|commands| commands.len() == 101),
        _ => false,
    }
}

#[test]
fn every_field_problem_has_type_and_location() {
    let target = Target::from_env();
    let long = "x".repeat(129);
    for (path, field, value, expected) in [
        ("/exec", "cmd", json!(5), r#"string_type ["body","cmd"]"#),
        ("/exec", "cmd", json!(null), r#"string_type ["body","cmd"]"#),
        ("/exec", "cmd", json!([INPUT_MARK]), r#"string_type ["body","cmd"]"#),
        ("/exec", "cmd", json!({"a": INPUT_MARK}), r#"string_type ["body","cmd"]"#),
        ("/exec", "timeout", json!("30"), r#"int_type ["body","timeout"]"#),
        ("/exec", "timeout", json!(INPUT_MARK), r#"int_type ["body","timeout"]"#),
        ("/exec", "timeout", json!(30.5), r#"int_type ["body","timeout"]"#),
        ("/exec", "timeout", json!([30]), r#"int_type ["body","timeout"]"#),
        ("/exec", "timeout", json!(true), r#"int_type ["body","timeout"]"#),
        ("/exec", "timeout", json!(0), r#"greater_than_equal ["body","timeout"]"#),
        ("/exec", "timeout", json!(-5), r#"greater_than_equal ["body","timeout"]"#),
        ("/exec", "timeout", json!(301), r#"less_than_equal ["body","timeout"]"#),
        ("/exec", "timeout", json!(1e300), r#"less_than_equal ["body","timeout"]"#),
        ("/exec", "sandbox_id", json!(5), r#"string_type ["body","sandbox_id"]"#),
        ("/exec", "sandbox_id", json!(""), r#"string_pattern_mismatch ["body","sandbox_id"]"#),
        ("/exec", "sandbox_id", json!("a/b"), r#"string_pattern_mismatch ["body","sandbox_id"]"#),
        ("/exec", "sandbox_id", json!(".."), r#"string_pattern_mismatch ["body","sandbox_id"]"#),
        ("/exec", "sandbox_id", json!("a\n"), r#"string_pattern_mismatch ["body","sandbox_id"]"#),
        ("/exec", "sandbox_id", json!("é"), r#"string_pattern_mismatch ["body","sandbox_id"]"#),
        ("/exec", "sandbox_id", json!(format!("{INPUT_MARK}!")), r#"string_pattern_mismatch ["body","sandbox_id"]"#),
        ("/exec", "cargo_id", json!("../a"), r#"string_pattern_mismatch ["body","cargo_id"]"#),
        ("/exec", "cargo_id", json!(["a"]), r#"string_type ["body","cargo_id"]"#),
        ("/exec_batch", "commands", json!("snapshot"), r#"list_type ["body","commands"]"#),
        ("/exec_batch", "commands", json!({"0": INPUT_MARK}), r#"list_type ["body","commands"]"#),
        ("/exec_batch", "commands", json!([]), r#"too_short ["body","commands"]"#),
        ("/exec_batch", "commands", json!(["snapshot", 5]), r#"string_type ["body","commands",1]"#),
        ("/exec_batch", "commands", json!(vec!["snapshot"; 101]), r#"too_long ["body","commands"]"#),
        ("/exec_batch", "timeout", json!(0), r#"greater_than_equal ["body","timeout"]"#),
        ("/exec_batch", "timeout", json!(601), r#"less_than_equal ["body","timeout"]"#),
        ("/exec_batch", "stop_on_error", json!("yes"), r#"bool_type ["body","stop_on_error"]"#),
        ("/exec_batch", "stop_on_error", json!(1), r#"bool_type ["body","stop_on_error"]"#),
        ("/exec_batch", "sandbox_id", json!("a b"), r#"string_pattern_mismatch ["body","sandbox_id"]"#),
    ] {
        if is_lenient(&target) && is_other_spelling(field, &value) {
            target.post_text(path, &body(path, field, value)).expect_status(200);
            continue;
        }
        assert_eq!(problems(&target, path, &body(path, field, value.clone())), [expected], "{path} {field}: {value}");
    }
    // An id that is too long or malformed is one problem.
    let found = problems(&target, "/exec", &body("/exec", "sandbox_id", json!(long)));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with(r#" ["body","sandbox_id"]"#) && found[0].starts_with("string_"), "{found:?}");
    // An overlong command is refused, by the contract or by the grammar.
    let reply =
        target.post_text("/exec", &body("/exec", "cmd", json!(format!("fill #a {}", INPUT_MARK.repeat(70_000)))));
    assert!(!reply.body.contains(INPUT_MARK));
    if reply.status == 200 {
        ExecOutcome::read(&reply.json()).fails_with(64);
    } else {
        assert_eq!(reply.expect_status(422).json()["detail"][0]["type"], json!("string_too_long"));
    }
}

#[test]
fn boundary_values_are_valid() {
    let target = Target::from_env();
    for (path, field, value) in [
        ("/exec", "timeout", json!(1)),
        ("/exec", "timeout", json!(300)),
        ("/exec", "timeout", json!(30.0)),
        ("/exec", "sandbox_id", json!("x".repeat(128))),
        ("/exec", "sandbox_id", json!("-_aZ9")),
        ("/exec", "cargo_id", json!("a")),
        ("/exec", "cargo_id", json!(null)),
        ("/exec_batch", "timeout", json!(600)),
        ("/exec_batch", "stop_on_error", json!(true)),
        ("/exec_batch", "commands", json!(vec!["no-such-thing"; 100])),
    ] {
        let answer = target.post_text(path, &body(path, field, value.clone())).expect_status(200).json();
        if path == "/exec" {
            ExecOutcome::read(&answer).fails_with(64);
        } else {
            assert_eq!(answer["completed_steps"], json!(1), "{field}: {value}");
        }
    }
}

#[test]
fn all_body_problems_are_reported_at_once() {
    let target = Target::from_env();
    let body = json!({"timeout": INPUT_MARK, "sandbox_id": format!("{INPUT_MARK}/.."), "cargo_id": 7}).to_string();
    assert_eq!(
        problems(&target, "/exec", &body),
        [
            r#"int_type ["body","timeout"]"#,
            r#"missing ["body","cmd"]"#,
            r#"string_pattern_mismatch ["body","sandbox_id"]"#,
            r#"string_type ["body","cargo_id"]"#,
        ]
    );
    let body =
        json!({"commands": [1, "snapshot", null], "timeout": 0, "stop_on_error": "maybe", "sandbox_id": SESSION})
            .to_string();
    assert_eq!(
        problems(&target, "/exec_batch", &body),
        [
            r#"bool_type ["body","stop_on_error"]"#,
            r#"greater_than_equal ["body","timeout"]"#,
            r#"string_type ["body","commands",0]"#,
            r#"string_type ["body","commands",2]"#,
        ]
    );
}

#[test]
fn body_that_is_not_an_object_is_one_problem() {
    let target = Target::from_env();
    for path in ["/exec", "/exec_batch"] {
        for wrong in ["[]", "5", "null", "\"hunter2hunter2\"", "true"] {
            assert_eq!(problems(&target, path, wrong), [r#"model_type ["body"]"#], "{wrong}");
        }
        for wrong in [
            "",
            "{",
            "{\"cmd\": hunter2hunter2}",
            "{\"cmd\": \"a\"} {}",
            "\u{feff}{}",
            "{\"cmd\": \"\\ud800\"}",
            "{'cmd': 1}",
        ] {
            let found = problems(&target, path, wrong);
            assert_eq!(found.len(), 1, "{wrong:?}: {found:?}");
            // The location is in bytes and never beyond the end.
            let location = found[0].strip_prefix("json_invalid [\"body\",").and_then(|rest| rest.strip_suffix(']'));
            let location: usize =
                location.and_then(|location| location.parse().ok()).unwrap_or_else(|| panic!("{wrong:?}: {found:?}"));
            assert!(location <= wrong.len(), "{wrong:?}: {found:?}");
        }
        // Nesting that is too deep for a parser is a problem and does not crash the server.
        let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
        assert_eq!(problems(&target, path, &deep).len(), 1);
        // Bytes that are not valid text.
        let mut bytes = target.request_bytes("POST", path, &["Content-Type: application/json"], "{\"cmd\": \"??\"}");
        let end = bytes.len();
        bytes[end - 4] = 0xff;
        assert_eq!(target.send(&bytes).expect("no response").status, 422);
    }
}

#[test]
fn duplicate_field_is_a_problem() {
    let target = Target::from_env();
    // Either the last value counts, as in JavaScript and Python, or the duplicate is a problem. Both values never
    // apply.
    let body = format!("{{\"cmd\": 5, \"cmd\": \"no-such-thing\", \"sandbox_id\": \"{SESSION}\"}}");
    let reply = target.post_text("/exec", &body);
    if reply.status == 200 {
        ExecOutcome::read(&reply.json()).fails_with(64);
    } else {
        reply.expect_status(422);
    }
}
