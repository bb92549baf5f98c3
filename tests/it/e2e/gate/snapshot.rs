//! Snapshots that the control gate reads: what they show, and references that keep their meaning.

use serde_json::{Value, json};

use super::{
    super::{
        hosts::{NEWS, SHOP},
        processes::wait_for,
        server::{CallReply, Server},
    },
    agent_browsers,
    browser::GateBrowser,
    env, only_hosts, session_policy, shop, test_env, text_of,
};

/// Returns a policy by which the gate reads pages.
fn gate_policy() -> Value {
    let mut policy = session_policy();
    policy["snapshot"] = json!({ "engine": "gate" });
    policy
}

/// Elements of the page that a person could act on, by role and name.
const ELEMENTS: &[(&str, &str)] = &[
    ("button", "Size: 42"),
    ("link", "Breaking: markets fall"),
    ("button", "Note #2 {a} [b] \"c\""),
    ("textbox", "Name"),
    ("textbox", "Secret"),
    ("textbox", "Code"),
    ("checkbox", "Agree"),
    ("textbox", "Day"),
    ("combobox", "Size"),
    ("textbox", "Letter"),
    ("button", "More"),
    ("clickable", "Plain but clickable"),
    ("clickable", "Card"),
    ("button", "Only"),
    ("clickable", "Quiet"),
    ("button", "Open shadow"),
    ("button", "Closed shadow"),
    ("button", "In a frame"),
    ("button", "Inner button"),
];

fn open_elements(server: &Server) {
    server.call_within(60, "s", &["open", &shop("gate/elements")]).ok();
    wait_for("the frame of the other host", || {
        server.call("s", &["snapshot"]).ok().page().contains("Text of the other host").then_some(())
    });
}

/// Returns the references of a snapshot, by role and name.
fn references(reply: &CallReply) -> Vec<(String, Value)> {
    let refs = reply.data()["refs"].as_object().unwrap().clone();
    refs.into_iter().collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn snapshot_of_the_gate_has_every_element() {
    let browser = GateBrowser::start();
    let server = env(&browser, &test_env::native(), &gate_policy()).serve();
    open_elements(&server);
    let all = server.call("s", &["snapshot"]).ok();
    let interactive = server.call("s", &["snapshot", "-i"]).ok();
    for (role, name) in ELEMENTS {
        assert_eq!(all.reference(role, name), interactive.reference(role, name), "{role} {name}");
    }
    let page = interactive.page();
    assert_eq!(all.data()["origin"], shop("gate/elements").as_str());
    for line in [
        "- textbox \"Day\"",
        "[type=\"date\"] [format=\"YYYY-MM-DD\"] [value=\"2011-03-21\"]",
        "[value=\"Medium\"] [options=[\"Small\",\"Medium\",\"Large\"]]",
        "[value=\"Dear reader\"]",
        "[required] [value=\"Ann\"]",
        "[class=\"icon trash\"]",
        "- canvas [ref=",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert_eq!(page.matches("link \"remove\"").count(), 2, "{page}");
    assert!(page.contains("[near=\"One\"]") && page.contains("[near=\"Two\"]"), "{page}");
    for absent in ["hunter2", "445566", "\u{2022}", "Hidden text", "button \"Inert\"", "Invisible"] {
        assert!(!page.contains(absent), "{absent}: {page}");
    }
    let all = all.page();
    let heading = all.lines().find(|line| line.starts_with("- heading \"Order: #1 \\\"today\\\"\" [ref="));
    assert!(heading.is_some_and(|line| line.ends_with("[level=1]")), "{all}");
    assert!(!all.contains("hunter2") && !all.contains("Invisible"), "{all}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn elements_of_the_same_name_are_told_apart() {
    let browser = GateBrowser::start();
    let server = env(&browser, &test_env::native(), &gate_policy()).serve();
    server.call_within(60, "s", &["open", &shop("gate/alike")]).ok();
    let page = server.call("s", &["snapshot", "-i"]).ok().page();
    let shown: Vec<_> = page
        .lines()
        .filter_map(|line| {
            let (element, near) = line.split_once(" [near=")?;
            let (element, _) = element.split_once(" [ref=")?;
            Some(format!("{} {}", element.strip_prefix("- ")?, near.strip_suffix(']')?.replace('"', "'")))
        })
        .collect();
    assert!(!shown.is_empty(), "{page}");
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn references_keep_their_element() {
    let browser = GateBrowser::start();
    let server = env(&browser, &test_env::native(), &gate_policy()).serve();
    open_elements(&server);
    let first = server.call("s", &["snapshot", "-i"]).ok();
    let victim = first.reference("button", "Victim");
    let part = server.call("s", &["snapshot", "-i", "-s", "#list"]).ok();
    assert_eq!(references(&part).len(), 2, "{part:?}");
    for reference in references(&part) {
        assert!(references(&first).contains(&reference), "{reference:?}");
    }
    assert!(server.call("s", &["snapshot", "-s", &victim]).ok().page().contains("\"Victim\""), "control");
    assert_eq!(references(&server.call("s", &["snapshot", "-i"]).ok()), references(&first));
    server.call("s", &["click", "#remove"]).ok();
    let gone = server.call("s", &["snapshot", "-s", &victim]).fails_with(1);
    assert!(gone.stderr.contains("is gone; take a snapshot"), "{gone:?}");
    let other = first.reference("button", "Size: 42");
    assert!(server.call("s", &["snapshot", "-s", &other]).ok().page().contains("Size: 42"));
    // Another document of the same page.
    open_elements(&server);
    let second = server.call("s", &["snapshot", "-i"]).ok();
    let numbers = |reply: &CallReply| references(reply).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
    assert!(numbers(&second).iter().all(|number| !numbers(&first).contains(number)), "{second:?}");
    server.call("s", &["snapshot", "-s", &other]).fails_with(1);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn selector_without_element_says_so() {
    let browser = GateBrowser::start();
    let server = env(&browser, &test_env::native(), &gate_policy()).serve();
    open_elements(&server);
    let absent = server.call("s", &["snapshot", "-s", "#nothing"]).fails_with(1);
    // The page shows a secret: the selector is not repeated, since a mask in it would confirm a guess.
    assert!(absent.stderr.contains("no element matches `...`"), "{absent:?}");
    let other = server.call("s", &["snapshot", "-s", "xpath=//button"]).fails_with(1);
    assert!(other.stderr.contains("secret-observable"), "{other:?}");
    server.call("s", &["open", &shop("hello")]).ok();
    let empty = server.call("s", &["snapshot", "-i"]).ok();
    let has_elements = !references(&empty).is_empty();
    assert_eq!(empty.page().starts_with("(no interactive elements"), !has_elements, "{empty:?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn refused_frame_is_in_no_snapshot() {
    let browser = GateBrowser::start();
    let server = env(&browser, &test_env::native(), &gate_policy()).serve();
    // Control: with all hosts allowed, the frame is read.
    open_elements(&server);
    let mut policy = only_hosts(&[SHOP]);
    policy["snapshot"] = json!({ "engine": "gate" });
    server.env().write_policy(&policy.to_string());
    for argv in [&["snapshot"][..], &["snapshot", "-i"], &["snapshot", "-s", "body"]] {
        let reply = server.call("s", argv);
        assert!(!text_of(&reply).contains("Inner button") && !text_of(&reply).contains("other host"), "{reply:?}");
    }
    let opened = server.call("s", &["open", &shop("gate/elements")]).ok();
    let reply = server.call("s", &["snapshot"]).ok();
    assert!(reply.page().contains("Size: 42"), "the rest must be readable: {reply:?}");
    assert!(!text_of(&reply).contains("Inner button"), "{reply:?}");
    let texts = text_of(&opened) + &text_of(&reply);
    assert!(texts.contains(NEWS), "an answer must say which frame was left out: {texts}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn snapshot_reads_the_tab_of_agent_browser() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &gate_policy()).serve();
        open_elements(&server);
        server.call("s", &["click", "#tab"]).ok();
        let origin = || server.call("s", &["snapshot"]).ok().data()["origin"].as_str().unwrap().to_owned();
        wait_for("the new tab", || (origin() == shop("hello")).then_some(()));
        assert_eq!(server.call("s", &["get", "url"]).ok().data()["url"], shop("hello").as_str(), "control");
        server.call("s", &["tab"]).ok();
        assert_eq!(origin(), shop("hello"), "a list changes nothing");
        server.call("s", &["tab", "0"]).ok();
        assert_eq!(origin(), shop("gate/elements"));
        server.call("s", &["tab"]).ok();
        assert_eq!(origin(), shop("gate/elements"), "a list changes nothing");
        server.call("s", &["tab", "1"]).ok();
        assert_eq!(origin(), shop("hello"));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn tabs_have_the_same_numbers_and_answers_in_all_versions() {
    let answers: Vec<_> = agent_browsers()
        .into_iter()
        .map(|program| {
            let browser = GateBrowser::start();
            let server = env(&browser, &program, &gate_policy()).serve();
            open_elements(&server);
            server.call("s", &["click", "#tab"]).ok();
            let listed = json!({"active": 1, "tabs": [
                {"active": false, "index": 0, "title": "Elements", "url": shop("gate/elements")},
                {"active": true, "index": 1, "title": "shop.example.com", "url": shop("hello")},
            ]});
            wait_for("the new tab in the list", || (server.call("s", &["tab"]).ok().data() == listed).then_some(()));
            let calls: [&[&str]; 10] = [
                &["tab", "list"],
                &["tab", "0"],
                &["tab", "list"],
                &["tab", "1"],
                &["tab", "7"],
                &["tab", "close", "7"],
                &["tab", "close"],
                &["tab", "close"],
                &["tab", "close", "0"],
                &["tab"],
            ];
            calls.map(|argv| {
                let reply = server.call("s", argv);
                (argv.join(" "), reply.code, reply.stdout, reply.stderr)
            })
        })
        .collect();
    let first = &answers[0];
    for other in &answers {
        assert_eq!(first, other);
    }
    assert!(first[4].1 == 1 && first[4].3.contains("no tab 7"), "{first:?}");
    assert!(first[6].2.contains(r#"{"closed":1,"remaining":1}"#), "{first:?}");
    assert!(first[7].3.contains("the last tab stays open"), "{first:?}");
}
