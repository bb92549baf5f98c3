//! Pages that run behind this program as in a bare Chromium: those of `benches/platform/own`.
//!
//! `benches/platform/run` compares a checkout of web-platform-tests in the same way. `tests/e2e/setup extras` installs its server, for
//! `./dev test all` only.

use std::process::Stdio;

use serde_json::Value;

use super::{server::PROGRAM, test_env};

#[test]
#[ignore = "needs the test network and packages: run ./dev test all --part 7"]
fn own_pages_run_as_in_a_bare_chromium() {
    test_env::require_test_network();
    // The runner has a network of its own, which hides the folder for temporary files.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("results.json");
    // What it prints is shown in the output of a failed test.
    let status = test_env::platform_run()
        .args(["--own", "--patience", "2", "--program", PROGRAM, "--json"])
        .arg(&file)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status:?}");
    let results: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let all = &results["summary"]["all"];
    assert!(all["compared"].as_u64() >= Some(15), "{all}");
    // Control: a difference is found, and belongs to a row of docs/compatibility.md.
    assert_eq!(results["pages"]["/own/bfcache.html"]["kind"], "different", "{all}");
    assert!(all["known"].as_u64() >= Some(1) && all["different"] == 0, "{all}");
}
