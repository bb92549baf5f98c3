//! Permissions of pages: all are denied.

use serde_json::{Value, json};

use super::{
    browser::{Cdp, LaunchOptions},
    control_and_guarded,
    hosts::{LOCAL, Site},
};
use crate::harness::processes::wait_for;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_permissions_are_denied_without_prompt() {
    // An origin that browsers trust like one over TLS.
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = control_and_guarded(&LaunchOptions::default());
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
fn devices_and_screen_capture_are_refused_without_dialog() {
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = control_and_guarded(&LaunchOptions::default());
    for (call, error) in [
        ("navigator.usb.requestDevice({ filters: [] })", "NotFoundError"),
        ("navigator.serial.requestPort()", "NotFoundError"),
        ("navigator.mediaDevices.getDisplayMedia({ video: true })", "NotAllowedError"),
    ] {
        let mut tab = guarded.tab();
        tab.open(&local.url("/"));
        assert_eq!(tab.text(&format!("{call}.then(() => 'granted', error => error.name)")), error, "{call}");
        // The control opens a dialog, so its promise is pending when the page answers another request. On a busy
        // machine, the dialog may close because its tab was not in the foreground yet.
        let asked = format!("{call}.then(() => document.title = 'granted', error => document.title = error.name)");
        wait_for("control: a dialog", || {
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
    let [control, guarded] = control_and_guarded(&LaunchOptions::default());
    let script = "Translator.availability({ sourceLanguage: 'en', targetLanguage: 'de' })";
    for (chromium, answer) in [(&control, "downloadable"), (&guarded, "unavailable")] {
        let mut tab = chromium.tab();
        tab.open(&local.url("/"));
        assert_eq!(tab.run(script), Value::from(answer));
    }
}
