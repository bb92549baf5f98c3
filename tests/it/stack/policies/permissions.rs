//! What pages may ask the person for: nothing.

use serde_json::{Value, json};

use super::{
    browser::{Cdp, Setting},
    hosts::{LOCAL, Site},
    pair,
};
use crate::harness::processes::until;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_are_denied_without_a_prompt() {
    // an origin that browsers trust as much as one over TLS
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = pair(&Setting::default());
    let state = |tab: &mut Cdp, name: &str| {
        let question = json!({ "name": name, "userVisibleOnly": true });
        tab.text(&format!("navigator.permissions.query({question}).then(answer => answer.state)"))
    };
    let (mut without, mut with) = (control.tab(), guarded.tab());
    without.open(&local.url("/"));
    with.open(&local.url("/"));
    for (name, usual) in [
        ("geolocation", "prompt"),
        ("notifications", "prompt"),
        ("push", "prompt"),
        ("camera", "prompt"),
        ("microphone", "prompt"),
        ("clipboard-read", "prompt"),
        ("idle-detection", "prompt"),
        ("local-fonts", "prompt"),
        ("window-management", "prompt"),
        ("accelerometer", "granted"),
        ("gyroscope", "granted"),
        ("magnetometer", "granted"),
    ] {
        assert_eq!(state(&mut without, name), usual, "control: {name}");
        assert_eq!(state(&mut with, name), "denied", "{name}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn devices_and_the_screen_are_refused_without_a_dialog() {
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = pair(&Setting::default());
    for (call, error) in [
        ("navigator.usb.requestDevice({ filters: [] })", "NotFoundError"),
        ("navigator.serial.requestPort()", "NotFoundError"),
        ("navigator.mediaDevices.getDisplayMedia({ video: true })", "NotAllowedError"),
    ] {
        let mut tab = guarded.tab();
        tab.open(&local.url("/"));
        assert_eq!(tab.text(&format!("{call}.then(() => 'granted', error => error.name)")), error, "{call}");
        // the control has a dialog open, and so is still waiting when the page answers something else; where the
        // machine is busy, the dialog may close because its tab was not in front yet
        let asked = format!("{call}.then(() => document.title = 'granted', error => document.title = error.name)");
        until("control: a dialog", || {
            let mut tab = control.tab();
            tab.open(&local.url("/"));
            tab.run(&format!("void {asked}"));
            tab.run("fetch('/').then(answer => answer.text()).then(() => null)");
            (tab.text("document.title") == "page").then_some(())
        });
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_models_are_downloaded_for_pages() {
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = pair(&Setting::default());
    let ask = "Translator.availability({ sourceLanguage: 'en', targetLanguage: 'de' })";
    for (chromium, answer) in [(&control, "downloadable"), (&guarded, "unavailable")] {
        let mut tab = chromium.tab();
        tab.open(&local.url("/"));
        assert_eq!(tab.run(ask), Value::from(answer));
    }
}
