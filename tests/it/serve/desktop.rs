//! Pages see a desktop with a mouse, on every screen.

use serde_json::json;

use super::super::{
    e2e::{hosts::SHOP, test_env},
    harness::processes::wait_for,
};
use super::server::Server;

/// Media queries of the page that hold with a mouse.
const MOUSE: &str = "(hover: hover) (any-hover: hover) (pointer: fine) (any-pointer: fine)";

/// Tests what the page of sessions sees, in its first tab and in a tab and a window that it opens.
fn assert_seen(screen: &str, size: &str, settings: &[(&'static str, &str)]) {
    test_env::hosts();
    let env = test_env::env_with(test_env::no_agent_browser());
    let env = env.with_policy(&json!({"subcommands": {"enable": ["get"]}})).with("BROWSER_SHELL_SCREEN", screen);
    let env = settings.iter().fold(env, |env, (name, value)| env.with(name, *value));
    let server = Server::start_with_keys(env);
    for session in ["s1", "s2"] {
        let address = format!("http://{SHOP}/gate/size");
        let (code, text) = server.call(session, &["open", &address]);
        assert_eq!(code, 0, "{text}");
        for (click, address) in [(None, "/gate/size"), (Some("#tab"), "?tab"), (Some("#window"), "?window")] {
            if let Some(selector) = click {
                assert_eq!(server.call(session, &["click", selector]).0, 0);
            }
            wait_for("the page", || server.call(session, &["get", "url"]).1.contains(address).then_some(()));
            // A window of its own has other bars on a display.
            let is_measured = screen != "xvnc" || address != "?window";
            let seen = if is_measured { format!("{size} {MOUSE}") } else { MOUSE.to_owned() };
            wait_for(&format!("`{seen}` in the page `{address}` of {session} on {screen}"), || {
                let (_, text) = server.call(session, &["get", "text", "#seen"]);
                text.contains(&seen).then_some(())
            });
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_without_a_screen_see_a_desktop() {
    assert_seen("none", "1280x800", &[]);
    assert_seen("none", "1000x700", &[("BROWSER_SHELL_SCREEN_SIZE", "1000x700")]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_of_a_cast_see_a_desktop() {
    assert_seen("cast", "1280x800", &[]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_on_a_screen_see_a_desktop() {
    // Chromium's bars and border take a part of the screen.
    assert_seen("xvnc", "1279x712", &[]);
    assert_seen("xvnc", "1280x800", &[("BROWSER_SHELL_SCREEN_SIZE", "1281x888")]);
}
