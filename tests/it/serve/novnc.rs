//! Debian's noVNC in a real browser, as a person opens it through the public port.

use serde_json::json;

use super::super::{
    e2e::{chromium::Chromium, hosts::SHOP, test_env, viewer_tab::ViewerTab},
    harness::{processes::wait_for, server::free_port},
};
use super::real::{GREEN, open_color};
use super::server::{DRIVE_KEY, Server, WATCH_KEY};

/// Opens the viewer with a ticket, and waits until it shows the screen.
fn watch(tab: &mut ViewerTab, ticket: &str) {
    tab.open(&format!("/vnc/?ticket={ticket}"));
    tab.wait_until_connected_and_scaled();
    let canvas =
        "(() => { const c = document.querySelector('#noVNC_container canvas'); return `${c.width}x${c.height}`; })()";
    assert_eq!(tab.evaluate(canvas), "1280x800", "the size of the screen");
}

/// Presses a key in the window, which noVNC sends to the screen.
fn press(tab: &mut ViewerTab, key: &str) {
    let code = format!("Key{}", key.to_uppercase());
    for kind in ["keyDown", "keyUp"] {
        let event = json!({"type": kind, "key": key, "code": code, "text": key});
        tab.request("Input.dispatchKeyEvent", event);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn novnc_in_browser_shows_screen_and_passes_input_on() {
    check_novnc("xvnc");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn novnc_in_browser_shows_page_and_passes_input_on() {
    check_novnc("cast");
}

/// Returns the number of pixels with the color of the text that an empty screen shows.
fn text_pixels(tab: &mut ViewerTab) -> u64 {
    let count = "(() => {
        const canvas = document.querySelector('#noVNC_container canvas');
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return pixels.filter((value, at) => at % 4 == 0 && value == 0xc0).length;
    })()";
    tab.evaluate(count).as_u64().unwrap()
}

fn check_novnc(screen: &str) {
    let env =
        test_env::env_with(test_env::no_agent_browser()).with_policy(&json!({"subcommands": {"enable": ["get"]}}));
    test_env::hosts();
    let server = Server::start_with_keys(env.with("BROWSER_SHELL_SCREEN", screen));
    let browsers = [(); 2].map(|()| Chromium::start(free_port()));
    let [mut driving, mut watching] = [&browsers[0], &browsers[1]].map(|chromium| {
        let mut tab = ViewerTab::of(chromium, &format!("http://localhost:{}", server.port));
        tab.shrink();
        tab
    });
    driving.open("/vnc/");
    assert!(!driving.is_connected(), "a page without a ticket");
    for (tab, key) in [(&mut driving, DRIVE_KEY), (&mut watching, WATCH_KEY)] {
        watch(tab, &server.ticket(key));
        if screen == "cast" {
            wait_for("the text of an empty screen", || (text_pixels(tab) > 500).then_some(()));
        }
        let before = tab.color_share(GREEN);
        assert!(before < 0.01, "control: the color must not be visible yet: {before}");
    }
    open_color(&server, "s1", GREEN);
    for tab in [&mut driving, &mut watching] {
        // Chromium's own bars and the edges of the viewer cover the rest.
        wait_for("the page of the agent in the person's browser", || (tab.color_share(GREEN) > 0.4).then_some(()));
    }

    assert_eq!(server.call("s1", &["open", &format!("http://{SHOP}/")]).0, 0);
    assert_eq!(server.call("s1", &["click", "#name"]).0, 0);
    for tab in [&mut driving, &mut watching] {
        tab.evaluate("document.querySelector('#noVNC_container canvas').focus()");
    }
    wait_for("the typed text", || {
        press(&mut watching, "w");
        press(&mut driving, "q");
        server.call("s1", &["get", "value", "#name"]).1.contains('q').then_some(())
    });
    let (code, value) = server.call("s1", &["get", "value", "#name"]);
    assert!(code == 0 && !value.contains('w'), "{value}");
}
