//! Downloads: none is written, and the attempt is reported.

use std::{fs, path::Path};

use super::{
    super::{hosts, processes::wait_for},
    agent_browsers,
    browser::GateBrowser,
    env, session_policy, shop, shown_until, text_of,
};
use super::{
    pages::DOWNLOAD,
    script::{evaluate, loaded, meet, on_page, own_page, send},
};

/// Returns the files below a folder that contain the bytes of a download.
fn written_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            found.extend(written_below(&path));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            // Chromium's own cache of the server's answer is no download.
            let is_cache = path.components().any(|part| part.as_os_str() == "Cache_Data");
            if !is_cache && String::from_utf8_lossy(&bytes).contains(DOWNLOAD) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Returns every file of the test network's temporary folder, and of this machine's usual one, with a download.
fn written() -> Vec<String> {
    let folders = [std::env::temp_dir(), "/tmp".into(), "/dev/shm".into()];
    let mut found: Vec<_> = folders.iter().flat_map(|folder| written_in(folder)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the files of one folder that are younger than this process.
fn written_in(folder: &Path) -> Vec<String> {
    // Source files and programs of this repository contain the bytes, and may be below it.
    let is_repository = |path: &Path| Path::new(env!("CARGO_MANIFEST_DIR")).starts_with(path);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let names = ["env", "chromium", "org.chromium", ".org.chromium", "playwright"];
    let is_ours = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        names.iter().any(|prefix| name.starts_with(prefix)) && !is_repository(path)
    };
    entries.filter(|path| path.is_dir() && is_ours(path)).flat_map(|path| written_below(&path)).collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn download_writes_nothing_and_is_reported() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        for (element, name) in
            [("#attachment", "file.txt"), ("#named", "named.txt"), ("#blob", "blob.txt"), ("#many", "many-0.txt")]
        {
            server.call_within(60, "s", &["open", &shop("gate/downloads")]).ok();
            shown_until(&server, &server.call("s", &["click", element]), name);
            let page = server.call("s", &["snapshot"]).ok().page();
            assert!(page.contains("Downloads"), "{element}: the page must stay: {page}");
            assert_eq!(written(), Vec::<String>::new(), "{}, {element}", program.display());
        }
        let quiet = server.call("s", &["snapshot"]).ok();
        assert!(!text_of(&quiet).contains(".txt"), "control: an attempt is reported once: {quiet:?}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn browser_itself_would_write_these_downloads() {
    let browser = GateBrowser::start();
    for element in ["attachment", "named", "blob"] {
        let folder = tempfile::TempDir::with_prefix("env-control").unwrap();
        // The behavior is that of a session, which ends with the script: it waits until the test names the same meeting.
        let (url, meeting) = (shop("gate/downloads"), format!("downloaded-{element}"));
        let steps = own_page(&[
            send(
                "Browser.setDownloadBehavior",
                serde_json::json!({"behavior": "allow", "downloadPath": folder.path()}),
            ),
            on_page("Page.navigate", serde_json::json!({ "url": url })),
            loaded(&url),
            evaluate(&format!("document.getElementById('{element}').click()")),
            meet(&meeting),
        ]);
        std::thread::scope(|scope| {
            scope.spawn(|| browser.run(&steps));
            wait_for("control: a written download", || (!written_below(folder.path()).is_empty()).then_some(()));
            hosts::meet(&meeting);
        });
        assert!(!written().is_empty(), "control: the search must find it");
    }
}
