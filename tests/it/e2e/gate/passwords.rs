//! Values of password and one-time-code fields: in no answer, no log and no audit line.

use super::super::{processes::wait_for, server::Server};
use super::{agent_browsers, browser::GateBrowser, env, session_policy, shop, text_of};

/// Values of the page's secret fields: in its document, in frames and in shadow roots.
pub(super) const SECRETS: &[&str] = &[
    "pw-chinese-7Qx1",
    "pw-french-7Qx2",
    "739152",
    "pw-bare-7Qx3",
    "841963",
    "7Qx4",
    "pw-same-7Qx5",
    "pw-other-7Qx6",
    "pw-later-7Qx7",
    "pw-open-7Qx8",
    "pw-closed-7Qx9",
];

/// Commands that could show a value.
const READS: &[&[&str]] = &[
    &["snapshot"],
    &["snapshot", "-i"],
    &["snapshot", "-s", "body"],
    &["get", "text", "body"],
    &["get", "html", "body"],
    &["get", "html", "#open"],
    &["get", "attr", "#chinese", "value"],
    &["get", "attr", "#unlabelled", "value"],
    &["get", "attr", "#code", "value"],
    &["get", "text", "#copied"],
    &["get", "html", "#copied"],
    &["get", "attr", "#copied", "title"],
    &["get", "title"],
    &["get", "url"],
    &["tab"],
    &["wait", "--text", "Passwords"],
    &["is", "visible", "#chinese"],
];

pub(super) fn open(server: &Server) {
    server.call_within(60, "s", &["open", &shop("gate/passwords")]).ok();
    wait_for_frames(server);
}

/// Waits until the frames have loaded too: the load of the page ends with theirs.
fn wait_for_frames(server: &Server) {
    server.call_within(60, "s", &["wait", "--load", "load"]).ok();
}

/// Runs every reading command and returns each with the secrets that it shows.
pub(super) fn shown(server: &Server) -> Vec<String> {
    let mut shown = Vec::new();
    for argv in READS {
        let reply = server.call("s", argv);
        let text = text_of(&reply);
        shown.extend(
            SECRETS.iter().filter(|secret| text.contains(**secret)).map(|secret| format!("{argv:?}: {secret}")),
        );
    }
    let audit = server.env().audit();
    shown.extend(SECRETS.iter().filter(|secret| audit.contains(**secret)).map(|secret| format!("audit: {secret}")));
    shown
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_fields_are_masked_in_every_answer() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        let shown = shown(&server);
        assert!(shown.is_empty(), "{}: {shown:#?}", program.display());
        let page = server.call("s", &["snapshot"]).ok().page();
        assert!(page.contains("Readable text") && page.contains("Ada"), "control: the rest must be readable: {page}");
        let text = server.call("s", &["get", "attr", "#name", "value"]).ok();
        assert!(text.stdout.contains("Ada"), "control: {text:?}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn value_typed_into_secret_field_is_masked() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        server.call("s", &["fill", "#french", "typed-by-agent-7Qx"]).ok();
        server.call("s", &["fill", "#name", "typed-in-name-7Qx"]).ok();
        for argv in READS {
            let reply = server.call("s", argv);
            assert!(!text_of(&reply).contains("typed-by-agent-7Qx"), "{argv:?}: {reply:?}");
        }
        let page = server.call("s", &["snapshot"]).ok().page();
        assert!(page.contains("typed-in-name-7Qx"), "control: {page}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn failure_of_a_call_quotes_no_secret() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).with_short_action_timeout().serve();
        // The time of an action is short for what follows, and the first page with its frames may take longer on a busy machine.
        let is_open = || server.call_within(60, "s", &["open", &shop("gate/passwords")]).code == 0;
        wait_for("the page with its frames", || is_open().then_some(()));
        for argv in [
            &["click", "#nothing"][..],
            &["get", "text", "input[value='pw-chinese-7Qx1'] >> nothing"],
            &["wait", "#nothing"],
            &["select", "#chinese", "x"],
            &["check", "#chinese"],
            &["get", "attr", "input", "value"],
        ] {
            let reply = server.call_within(20, "s", argv);
            // The selector is the agent's own text.
            let quoted = |secret: &&&str| text_of(&reply).contains(**secret) && !argv.concat().contains(**secret);
            let shown: Vec<_> = SECRETS.iter().filter(quoted).collect();
            assert!(shown.is_empty(), "{argv:?}: {shown:?}: {reply:?}");
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_cannot_hide_its_secret_fields() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        // Elements with these names take the place of methods of the document, in every world.
        server.call_within(60, "s", &["open", &shop("gate/passwords?named")]).ok();
        wait_for_frames(&server);
        let page = server.call("s", &["get", "html", "body"]).ok().data();
        assert!(page["html"].as_str().unwrap().contains(r#"<img name="querySelectorAll">"#), "control: {page}");
        let shown = shown(&server);
        assert!(shown.is_empty(), "{}: {shown:#?}", program.display());
    }
}
