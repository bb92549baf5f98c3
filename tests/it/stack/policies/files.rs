//! File access of pages: downloads, the File System API and extensions. The PDF viewer must still work.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    browser::{Chromium, LaunchOptions, ours},
    control_and_guarded,
    hosts::{LOCAL, SHOP, Site},
};
use crate::harness::processes::wait_for;

/// Returns the file names in the download folder, if it exists.
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
    let [control, guarded] = control_and_guarded(&LaunchOptions::default());
    for (chromium, end, files) in
        [(&control, "completed", &["made.txt", "sent.txt"] as &[&str]), (&guarded, "canceled", &[])]
    {
        let mut browser = chromium.browser();
        // Enables download events without changing the download behavior.
        browser.request("Browser.setDownloadBehavior", json!({ "behavior": "default", "eventsEnabled": true }));
        let mut tab = chromium.tab();
        tab.open(&shop.url("/"));
        assert_eq!(tab.navigate(&shop.url("/sent")), "net::ERR_ABORTED", "a download, not a page");
        let over = |state: &Value| state["state"] != "inProgress";
        assert_eq!(browser.event("Browser.downloadProgress", over)["state"], end, "sent.txt");
        tab.run(save);
        assert_eq!(browser.event("Browser.downloadProgress", over)["state"], end, "made.txt");
        // A refused download leaves a temporary file for a moment.
        wait_for("the folder as it stays", || (downloads(chromium) == files).then_some(()));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn file_system_api_is_off() {
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = control_and_guarded(&LaunchOptions::default());
    for call in ["showOpenFilePicker()", "showSaveFilePicker()", "showDirectoryPicker()"] {
        let result_of = |chromium: &Chromium| {
            let mut tab = chromium.tab();
            tab.open(&local.url("/"));
            tab.text(&format!("{call}.then(() => 'opened', error => error.name)"))
        };
        assert_eq!(result_of(&guarded), "NotAllowedError", "{call}");
        // Headless, a dialog is cancelled when it opens. On a busy machine, the tab may not be in the foreground yet.
        wait_for("control: a dialog", || (result_of(&control) == "AbortError").then_some(()));
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
    let options = LaunchOptions { flags: &[&load], ..LaunchOptions::default() };
    let [control, guarded] = control_and_guarded(&options);
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
        let chromium = Chromium::start(&ours(), &LaunchOptions::default());
        let mut tab = chromium.tab();
        tab.open("data:text/html,hello");
        let printed = tab.request("Page.printToPDF", json!({}));
        BASE64_STANDARD.decode(printed["data"].as_str().unwrap()).unwrap()
    };
    let shop = Site::start(SHOP, vec![("/paper.pdf", "Content-Type: application/pdf\r\n", paper())]);
    let chromium = Chromium::start(&ours(), &LaunchOptions::default());
    let mut tab = chromium.tab();
    tab.open(&shop.url("/paper.pdf"));
    // The PDF viewer is a built-in extension. A frame in it receives the file once it runs.
    wait_for("the file in its reader", || {
        let targets = chromium.browser().request("Target.getTargets", json!({ "filter": [{ "type": "iframe" }] }));
        let frames = targets["targetInfos"].as_array().unwrap();
        frames.iter().any(|frame| frame["url"] == shop.url("/paper.pdf")).then_some(())
    });
}
