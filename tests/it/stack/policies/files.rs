//! What pages could put on the machine or take from it: downloads, the file
//! system API, extensions. And the reader of PDF files, which has to stay.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    browser::{Chromium, Setting, ours},
    hosts::{LOCAL, SHOP, Site},
    pair,
};
use crate::harness::processes::until;

/// Names of the files in the folder for downloads; there may be no folder.
fn downloads(chromium: &Chromium) -> Vec<String> {
    let folder = std::fs::read_dir(chromium.home().join("Downloads")).into_iter().flatten();
    let mut names: Vec<_> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn downloads_leave_no_file() {
    let attachment = "Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=sent.txt\r\n";
    let shop = Site::start(SHOP, vec![("/sent", attachment, b"content".to_vec())]);
    let save = "{ const link = document.createElement('a');
        link.href = URL.createObjectURL(new Blob(['content']));
        link.download = 'made.txt';
        link.click() }";
    let [control, guarded] = pair(&Setting::default());
    for (chromium, end, files) in
        [(&control, "completed", &["made.txt", "sent.txt"] as &[&str]), (&guarded, "canceled", &[])]
    {
        let mut browser = chromium.browser();
        // tells of downloads, and leaves it to the browser what becomes of them
        browser.ask("Browser.setDownloadBehavior", json!({ "behavior": "default", "eventsEnabled": true }));
        let mut tab = chromium.tab();
        tab.open(&shop.url("/"));
        assert_eq!(tab.navigate(&shop.url("/sent")), "net::ERR_ABORTED", "a download, not a page");
        let over = |state: &Value| state["state"] != "inProgress";
        assert_eq!(browser.event("Browser.downloadProgress", over)["state"], end, "sent.txt");
        tab.run(save);
        assert_eq!(browser.event("Browser.downloadProgress", over)["state"], end, "made.txt");
        // what was refused leaves a temporary file for a moment
        until("the folder as it stays", || (downloads(chromium) == files).then_some(()));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_file_system_api_is_off() {
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = pair(&Setting::default());
    for call in ["showOpenFilePicker()", "showSaveFilePicker()", "showDirectoryPicker()"] {
        let ask = |chromium: &Chromium| {
            let mut tab = chromium.tab();
            tab.open(&local.url("/"));
            tab.text(&format!("{call}.then(() => 'opened', error => error.name)"))
        };
        assert_eq!(ask(&guarded), "NotAllowedError", "{call}");
        // without a screen a dialog is cancelled as soon as it opens; where the machine is busy, its tab may not be in
        // front yet
        until("control: a dialog", || (ask(&control) == "AbortError").then_some(()));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_extension_is_loaded() {
    let shop = Site::start(SHOP, Vec::new());
    let folder = TempDir::with_prefix("extension").unwrap();
    let manifest = json!({
        "manifest_version": 3, "name": "test", "version": "1",
        "content_scripts": [{ "matches": ["http://*/*"], "js": ["script.js"], "run_at": "document_end" }],
    });
    std::fs::write(folder.path().join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(folder.path().join("script.js"), "document.title = 'extended'").unwrap();
    let load = format!("--load-extension={}", folder.path().display());
    let setting = Setting { flags: &[&load], ..Setting::default() };
    let [control, guarded] = pair(&setting);
    for (chromium, title) in [(&control, "extended"), (&guarded, "page")] {
        let mut tab = chromium.tab();
        tab.open(&shop.url("/"));
        assert_eq!(tab.text("document.title"), title);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pdf_files_can_still_be_read() {
    let paper = || {
        let chromium = Chromium::start(&ours(), &Setting::default());
        let mut tab = chromium.tab();
        tab.open("data:text/html,hello");
        let printed = tab.ask("Page.printToPDF", json!({}));
        BASE64_STANDARD.decode(printed["data"].as_str().unwrap()).unwrap()
    };
    let shop = Site::start(SHOP, vec![("/paper.pdf", "Content-Type: application/pdf\r\n", paper())]);
    let chromium = Chromium::start(&ours(), &Setting::default());
    let mut tab = chromium.tab();
    tab.open(&shop.url("/paper.pdf"));
    // the reader is an extension of Chromium's own; a frame in it gets the file once it runs
    until("the file in its reader", || {
        let targets = chromium.browser().ask("Target.getTargets", json!({ "filter": [{ "type": "iframe" }] }));
        let frames = targets["targetInfos"].as_array().unwrap();
        frames.iter().any(|frame| frame["url"] == shop.url("/paper.pdf")).then_some(())
    });
}
