//! A part of the benchmark of applications (`benches/apps`), whose state shows whether an agent did what was asked: Django and
//! component libraries, unmodified.
//!
//! `tests/e2e/setup extras` installs the packages for `./dev test all` only. `web_tasks_are_solved_by_references` is in every run.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{server::PROGRAM, test_env};

/// Tasks of each kind of page that these applications have: a login, forms with several rows, windows, dialogs, calendars, lists
/// that are sorted by dragging, an editor, and tables.
const TASKS: [&str; 16] = [
    "bootstrap/accordion",
    "bootstrap/dropdown",
    "bootstrap/side-panel",
    "datatables/page-and-size",
    "datatables/search-and-press",
    "django-admin/inline-row",
    "django-admin/login-wrong-then-right",
    "django-admin/lookup-popup",
    "django-popup/popup-login",
    "django-rest-framework/html-form",
    "flatpickr/day",
    "flatpickr/range",
    "quill/bold-words",
    "sortable/reorder",
    "sweetalert/confirm",
    "sweetalert/prompt-with-error",
];

#[test]
#[ignore = "needs the test network and large packages: run ./dev test all --part 7"]
fn tasks_in_real_applications_are_solved() {
    test_env::require_test_network();
    test_env::require_applications();
    drop(test_env::native());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("episodes.json");
    let status = Command::new("python3")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["benches/apps/run", "--cdp-port", "9338", "--app-port", "8338", "--verbose", "--json"])
        .arg(&file)
        .args(["--contestant", "browser-shell cdp", "--program", PROGRAM])
        .args(TASKS.iter().flat_map(|task| ["--only", task]))
        // Shown in the output of a failed test.
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    let result: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let episodes = result["episodes"]["browser-shell cdp"].as_array().unwrap();
    let names: Vec<_> = episodes.iter().map(|episode| episode["task"].as_str().unwrap()).collect();
    assert!(TASKS.iter().all(|task| names.contains(task)), "{names:?}");
    let failed: Vec<_> = episodes.iter().filter(|episode| episode["solved"] != true).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
