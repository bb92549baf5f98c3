//! Optional subcommands and forms on a real page, and answers as plain text.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    hosts::SHOP,
    server::{Server, TestEnv},
    test_env::{self, Browser},
};

/// Returns the recommended policy.
fn recommended() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/policy.recommended.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// Returns an environment under this policy for each agent-browser.
fn each(policy: &Value) -> Vec<TestEnv> {
    test_env::agent_browsers().iter().map(|program| test_env::env_with(program).with_policy(policy)).collect()
}

/// Policy that enables the same with answers as data.
fn data_policy() -> Value {
    json!({ "engine": "cdp", "subcommands": recommended()["subcommands"] })
}

fn words() -> String {
    format!("http://{SHOP}/words")
}

/// Calls the tool and returns text and error mark of a plain answer.
#[track_caller]
pub(super) fn plain(server: &Server, argv: &[&str]) -> (String, bool) {
    let result = plain_result(server, argv);
    (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
}

/// Calls the tool and returns its result.
#[track_caller]
fn plain_result(server: &Server, argv: &[&str]) -> Value {
    let arguments = json!({"name": "browser-shell", "arguments": {"session_id": "s", "argv": argv}});
    server.request("tools/call", &arguments)["result"].take()
}

// Requirement 7.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn optional_forms_work_on_a_real_page() {
    for env in each(&data_policy()) {
        let _browser = Browser::lock();
        let server = env.serve();
        server.wait_until_open("s");
        let call = |argv: &[&str]| server.call("s", argv).ok();
        let log = || call(&["get", "text", "#log"]).data()["text"].as_str().unwrap().to_owned();
        let fresh = || drop(call(&["open", &words()]));
        let value = |selector: &str| call(&["get", "value", selector]).data()["value"].clone();

        fresh();
        call(&["drag", "#tile", "#bin"]);
        assert_eq!(log(), "dropped tile;", "by selectors, with data");
        fresh();
        let seen = call(&["snapshot", "-i"]);
        let (hand, slot) = (seen.reference("button", "Hand"), seen.reference("button", "Slot"));
        assert_eq!(call(&["drag", &hand, &slot]).data(), json!({"dragged": true}));
        assert_eq!(log(), "taken;put;", "by references");

        fresh();
        assert_eq!(call(&["click", "#map", "--at", "150,20"]).data(), json!({"clicked": true}));
        assert_eq!(log(), "map 150,20;");
        let refusal = server.call("s", &["click", "#map", "--at", "200,20"]).fails_with(1);
        assert!(refusal.stderr.contains("is outside the element"), "{refusal:?}");

        fresh();
        call(&["focus", "#first"]);
        assert_eq!(call(&["press", "Tab", "3"]).data(), json!({"pressed": true}));
        assert_eq!(log(), "tab;tab;tab;");
        call(&["press", "x"]);
        assert_eq!(call(&["is", "visible", "#fourth"]).data()["visible"], true);
        assert!(value("#fourth").as_str().unwrap().contains('x'), "the fourth field has the focus");

        fresh();
        assert_eq!(value("#fourth"), "old words");
        assert_eq!(call(&["select-text", "#fourth"]).data(), json!({"selected": true}));
        call(&["press", "n"]);
        assert_eq!(value("#fourth"), "n", "what is typed replaces the selected text");

        fresh();
        assert_eq!(call(&["get", "text", "#seen"]).data()["text"], "not seen", "control");
        let deep = call(&["snapshot", "-i"]).reference("button", "Deep");
        assert_eq!(call(&["scroll", &deep]).data(), json!({"scrolled": true}));
        call(&["wait", "--text", "seen"]);
        assert!(call(&["get", "box", "#deep"]).data()["box"]["y"].as_f64().unwrap() < 800.0);

        fresh();
        call(&["hover", "#over"]);
        call(&["snapshot"]);
        assert_eq!(log(), "", "nothing moves the pointer after `hover`");
        call(&["hover", "#plain"]);
        assert_eq!(log(), "left;", "control");

        fresh();
        call(&["click", "#other"]);
        super::processes::wait_for("the other tab", || {
            let tabs = call(&["tab"]).data()["tabs"].as_array().unwrap().len();
            (tabs == 2).then_some(())
        });
        call(&["tab", "close", "1"]);
        assert_eq!(call(&["get", "title"]).data()["title"], "Words", "back in the first tab");

        let picture = call(&["screenshot", "--full"]).picture.unwrap();
        assert!(height(&picture) > 2500, "the whole page");
        assert!(height(&call(&["screenshot"]).picture.unwrap()) < 2500, "control: the window");
    }
}

/// Returns the height in the header of a PNG.
fn height(png: &[u8]) -> u32 {
    u32::from_be_bytes(png[20..24].try_into().unwrap())
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn optional_forms_are_refused_by_default() {
    for env in each(&json!({})) {
        let _browser = Browser::lock();
        let server = env.serve();
        server.wait_until_open("s");
        server.call("s", &["open", &words()]).ok();
        for (argv, code) in [
            (&["drag", "#tile", "#bin"][..], 77),
            (&["select-text", "#fourth"], 77),
            (&["tab", "close"], 77),
            (&["get", "value", "#fourth"], 77),
            (&["scroll", "#deep"], 77),
            (&["press", "Tab", "3"], 64),
            (&["click", "#map", "--at", "1,1"], 64),
            (&["screenshot", "--full"], 64),
            (&["mouse", "down"], 64),
        ] {
            let reply = server.call("s", argv);
            assert_eq!(reply.code, code, "{argv:?}: {reply:?}");
        }
        assert_eq!(server.call("s", &["press", "Tab"]).ok().data(), json!({"pressed": true}), "control");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn plain_answers_have_no_json_and_say_what_happened() {
    let mut policy = recommended();
    policy["browser"]["isolation"] = json!("shared");
    for env in each(&policy) {
        let _browser = Browser::lock();
        let server = env.serve();
        super::processes::wait_for("an open session", || (!plain(&server, &["snapshot"]).1).then_some(()));
        let ok = |argv: &[&str]| {
            let (text, is_error) = plain(&server, argv);
            assert!(!is_error, "{argv:?}: {text}");
            text
        };
        assert_eq!(ok(&["open", &words()]), format!("opened \"Words\" {}", words()));
        let tree = ok(&["snapshot", "-i"]);
        assert!(tree.contains("button \"Plain\" [") && !tree.contains("\"refs\""), "{tree}");
        assert_eq!(ok(&["click", "#plain"]), "clicked");
        assert_eq!(ok(&["get", "text", "#log"]).trim(), "plain;");
        assert_eq!(ok(&["is", "visible", "#plain"]), "true");
        assert_eq!(ok(&["fill", "#first", "a"]), "filled");
        let missing = format!("http://{SHOP}/no-such-page");
        assert!(ok(&["open", &missing]).ends_with(&format!("{missing} (HTTP 404)")));
        let (text, is_error) = plain(&server, &["open", "http://10.0.0.1/"]);
        assert!(is_error && text.starts_with("address-not-public"), "{text}");
        ok(&["open", &words()]);
        assert!(ok(&["click", "#same"]).starts_with("clicked"));
        ok(&["wait", "--url", "**/hello"]);
        let (text, is_error) = plain(&server, &["click", "Plain"]);
        assert!(is_error && text.contains("no HTML element"), "{text}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn plain_answer_has_its_picture_first_and_its_code() {
    for style in ["text", "text-with-code"] {
        let _browser = Browser::lock();
        let mut policy = recommended();
        policy["browser"]["isolation"] = json!("shared");
        policy["output"]["style"] = json!(style);
        let env = test_env::env_with(test_env::no_agent_browser()).with_short_action_timeout().with_policy(&policy);
        let server = env.serve();
        let has_structure = style == "text-with-code";
        let tools = server.request("tools/list", &json!({}));
        let schema = &tools["result"]["tools"][0]["outputSchema"];
        assert_eq!(
            schema["required"],
            if has_structure { json!(["exit_code", "code"]) } else { json!(null) },
            "{style}"
        );
        plain(&server, &["open", &words()]);
        for (argv, types, exit_code, code) in [
            (["screenshot", "a.png"], &["image", "text"] as &[_], 0, "ok"),
            (["click", "#nothing"], &["text"], 1, "element-not-found"),
            (["get", "cookies"], &["text"], 64, "argument-invalid"),
        ] {
            let result = plain_result(&server, &argv);
            let content = result["content"].as_array().unwrap();
            assert!(content.iter().map(|item| &item["type"]).eq(types), "{argv:?}: {content:?}");
            let details = json!({"browser-shell/exit_code": exit_code, "browser-shell/code": code});
            assert_eq!(result["_meta"], details, "{argv:?}");
            let structure = has_structure.then(|| json!({"exit_code": exit_code, "code": code}));
            assert_eq!(result.get("structuredContent"), structure.as_ref(), "{style} {argv:?}");
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn open_says_http_error_and_nothing_else_new() {
    for env in each(&json!({})) {
        let _browser = Browser::lock();
        let server = env.serve();
        server.wait_until_open("s");
        let missing = format!("http://{SHOP}/no-such-page");
        let data = server.call("s", &["open", &missing]).ok().data();
        assert_eq!((&data["status"], &data["url"]), (&json!(404), &json!(missing)));
        let data = server.call("s", &["open", &words()]).ok().data();
        assert_eq!(data, json!({"title": "Words", "url": words()}), "control");
    }
}
