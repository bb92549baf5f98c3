//! Values of secret fields after the page itself has copied or revealed them.

use super::{
    super::{processes::wait_for, server::Server, test_env},
    agent_browsers,
    browser::GateBrowser,
    env, own_policy,
    passwords::{open, shown},
    session_policy, shop, text_of,
};

/// Commands that show a page with a code in boxes.
const CODE_READS: &[&[&str]] = &[
    &["snapshot"],
    &["get", "text", "body"],
    &["get", "html", "#boxes"],
    &["get", "html", "#groups"],
    &["get", "text", "#groups"],
];

/// The same with our own engine.
const OWN_CODE_READS: &[&[&str]] = &[
    &["snapshot", "-i"],
    &["snapshot", "-s", "#boxes"],
    &["snapshot", "--find", "4"],
    &["get", "count", "text=4"],
    &["get", "count", "text=482"],
];

/// Clicks until a command shows the effect: now and then a click of version 0.19 on this page has none.
fn click_until(server: &Server, selector: &str, check: &[&str], effect: &str) {
    wait_for("the effect of a click", || {
        server.call("s", &["click", selector]).ok();
        server.call("s", check).ok().stdout.contains(effect).then_some(())
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn copies_of_secret_values_are_masked() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        // As text, attribute, title and URL, in which the value has other spellings.
        click_until(&server, "#copy", &["get", "text", "#copied"], "***");
        let shown = shown(&server);
        assert!(shown.is_empty(), "{}: {shown:#?}", program.display());
        let text = server.call("s", &["get", "text", "#copied"]).ok();
        assert!(text.stdout.contains("copied") && text.stdout.contains("***"), "control: {text:?}");
        assert!(browser.tabs().iter().any(|tab| tab.url.contains("pw-french-7Qx2")), "control: {:?}", browser.tabs());
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn screenshot_of_revealed_password_is_refused() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        // A field that is not a password now is one of the page's secrets still.
        server.call("s", &["fill", "#code", ""]).ok();
        assert!(server.call("s", &["screenshot"]).ok().picture.is_some(), "control: nothing is shown as text");
        click_until(&server, "#reveal", &["get", "attr", "#chinese", "type"], "\"text\"");
        for argv in [&["screenshot"][..], &["screenshot", "#chinese", "a.png"]] {
            let reply = server.call("s", argv);
            assert_ne!(reply.code, 0, "{argv:?}: {reply:?}");
            assert!(
                reply.stderr.starts_with("plain-value-visible: ") && reply.picture.is_none(),
                "{argv:?}: {reply:?}"
            );
        }
        assert!(!server.env().workspace().join("s/a.png").exists());
        let shown = shown(&server);
        assert!(shown.is_empty(), "{}: {shown:#?}", program.display());
        click_until(&server, "#reveal", &["get", "attr", "#chinese", "type"], "\"password\"");
        wait_for("control: a picture of the hidden password", || {
            server.call("s", &["screenshot"]).picture.is_some().then_some(())
        });
    }
}

/// Opens the page with a code in boxes, and returns what commands show of it.
fn code_shown(server: &Server, query: &str, reads: &[&[&str]]) -> Vec<String> {
    server.call_within(60, query, &["open", &shop(&format!("gate/otp?{query}"))]).ok();
    reads.iter().map(|argv| text_of(&server.call(query, argv)).replace(query, "QUERY")).collect()
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn code_in_boxes_is_masked_digit_by_digit() {
    let other = (agent_browsers().into_iter().next_back().unwrap(), session_policy(), "agent-browser");
    let own = (test_env::no_agent_browser().to_owned(), own_policy(), "cdp");
    for (program, mut policy, engine) in [own, other] {
        policy["engine"] = engine.into();
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &policy).serve();
        let reads = if engine == "cdp" { [CODE_READS, OWN_CODE_READS].concat() } else { CODE_READS.to_vec() };
        let [first, second, none] = ["first", "second", "none"].map(|query| code_shown(&server, query, &reads));
        for (position, argv) in reads.iter().enumerate() {
            // No digit of the two codes is the same at its place.
            assert_eq!(first[position], second[position], "{engine}: {argv:?}");
            assert_ne!(first[position], none[position], "control: {engine}: {argv:?}");
        }
        assert!(
            first[1].contains("Code: ***-***") && none[1].contains("Code: 482-913"),
            "{engine}: {first:?} {none:?}"
        );
        let picture = server.call("first", &["screenshot"]);
        assert!(picture.stderr.starts_with("plain-value-visible: "), "{engine}: {picture:?}");
        assert!(server.call("none", &["screenshot"]).ok().picture.is_some(), "control: {engine}");
        // What the agent typed itself is masked in no other text.
        code_shown(&server, "empty", &[]);
        server.call("empty", &["fill", "#field", "482913"]).ok();
        let typed = text_of(&server.call("empty", &["get", "text", "#groups"]).ok());
        assert!(typed.contains("482-913"), "{engine}: {typed}");
    }
}
