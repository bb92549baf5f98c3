//! Values of secret fields after the page itself has copied or revealed them.

use super::{
    super::{processes::wait_for, server::Server},
    agent_browsers,
    browser::GateBrowser,
    env,
    passwords::{open, shown},
    session_policy,
};

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
