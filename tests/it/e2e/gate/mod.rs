//! The control gate from outside: attacks by a compromised agent-browser, and what pages and sessions can do.
//!
//! `cdp-attacker` takes the place of agent-browser in its sandbox and sends what a script asks. Each script also runs
//! outside of the sandbox against Chromium's own debugging port, where it must succeed.

mod access;
mod acting;
mod answers;
mod attacks;
mod boxes;
mod browser;
mod clipboard;
mod cutting;
mod dialogs;
mod documents;
mod downloads;
mod dragging;
mod edges;
mod events;
mod failures;
mod forging;
mod frames;
mod framing;
mod hands;
mod history;
mod input;
mod isolation;
mod kept;
mod leaks;
mod levels;
mod loading;
mod masking;
mod methods;
mod navigation;
mod others;
pub(crate) mod pages;
mod passwords;
mod passwords_copied;
mod pdfs;
mod permissions;
mod pictures;
mod pressing;
mod probing;
mod programs;
mod random;
mod reading;
mod runtime;
mod saved_state;
mod script;
mod selectors;
mod shapes;
mod shared_endpoint;
mod snapshot;
mod tabs;
mod tabs_lost;
mod takers;
mod words;
mod workers;

use std::path::{Path, PathBuf};

use browser_shell_core::grammar::Profile;
use serde_json::{Value, json};

use self::{browser::GateBrowser, script::Replies};
use super::{
    hosts::SHOP,
    processes::wait_for,
    server::{CallReply, PROGRAM, Server, TestEnv},
    test_env::{self, agent_browsers, agent_browsers_with},
};

/// Subcommands that the tests enable.
const OPTIONAL: &[&str] = &["back", "forward", "reload", "get", "is", "scroll", "tab"];

/// Returns the program that stands in for a compromised agent-browser.
fn attacker() -> PathBuf {
    let program = Path::new(PROGRAM).with_file_name("examples").join("cdp-attacker");
    assert!(program.exists(), "`{}` is missing: cargo build --example cdp-attacker", program.display());
    program
}

/// Returns a policy with an isolated context for each session, and agent-browser fully confined.
fn session_policy() -> Value {
    json!({
        "browser": {"isolation": "session"},
        "subcommands": {"enable": OPTIONAL},
        "sandbox": {"backend": "landlock", "require": true},
    })
}

/// Returns a policy with an isolated context for each session, our own engine, and all forms.
fn own_policy() -> Value {
    let mut enabled: Vec<_> = OPTIONAL.to_vec();
    enabled.extend(["drag", "select-text", "pdf", "dialog"]);
    enabled.extend(Profile::Tool.optional_forms());
    json!({ "engine": "cdp", "browser": { "isolation": "session" }, "subcommands": { "enable": enabled } })
}

/// Returns the same policy with one jar and tab for all sessions.
fn shared_policy() -> Value {
    let mut policy = session_policy();
    policy["browser"]["isolation"] = "shared".into();
    policy
}

/// Creates the environment of a server in front of a browser.
fn env(browser: &GateBrowser, program: &Path, policy: &Value) -> TestEnv {
    test_env::env_with(program).with("BROWSER_SHELL_CDP_PORT", browser.port().to_string()).with_policy(policy)
}

/// Starts a server whose agent-browser is the attacker.
fn attacked(browser: &GateBrowser) -> Server {
    env(browser, &attacker(), &session_policy()).serve()
}

/// Runs a script in the sandbox of a session.
#[track_caller]
fn attack(server: &Server, session: &str, steps: &Value) -> Replies {
    let text = steps.to_string();
    let call = || server.call_within(110, session, &["fill", "@e1", &text]);
    // Without a page, the first command of a session says that there is none, and runs nothing.
    let first = Some(call()).filter(|reply| !reply.stderr.starts_with("page-lost: this server has no page"));
    Replies::read(first.unwrap_or_else(call).ok().data())
}

/// Opens an empty page in a session, for calls that begin to act.
#[track_caller]
fn open_blank(server: &Server, session: &str) {
    server.call_within(60, session, &["open", "about:blank"]).ok();
}

/// Returns the URL of a page of the shop.
fn shop(path: &str) -> String {
    format!("http://{SHOP}/{path}")
}

/// Returns a policy that allows documents of these hosts only.
fn only_hosts(hosts: &[&str]) -> Value {
    let mut policy = session_policy();
    policy["open"] = json!({ "allow_hosts": hosts });
    policy
}

/// Returns everything that a reply shows.
fn text_of(reply: &CallReply) -> String {
    format!("{}\n{}", reply.stdout, reply.stderr)
}

/// Returns everything that an answer and the ones after it show until this text appears. A report may follow the answer to
/// the call that caused it.
fn shown_until(server: &Server, reply: &CallReply, text: &str) -> String {
    shown_by_calls_until(text_of(reply), text, |argv| text_of(&server.call("s", argv)))
}

/// The same with what was `shown`, and with calls by `show`.
fn shown_by_calls_until(mut shown: String, text: &str, show: impl Fn(&[&str]) -> String) -> String {
    wait_for(&format!("the report `{text}`"), || {
        if shown.contains(text) {
            return Some(());
        }
        shown.push_str(&show(&["wait", "100"]));
        None
    });
    shown
}

/// Clicks and returns everything that answers show until this text appears.
fn click_until(server: &Server, element: &str, text: &str) -> String {
    shown_until(server, &server.call("s", &["click", element]).ok(), text)
}
