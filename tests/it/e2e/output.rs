//! Pages with very long output.

use serde_json::Value;

use super::{
    hosts::SHOP,
    processes,
    test_env::{self, Browser},
};

/// Characters of each output stream (spec [1.7]).
const LIMIT: usize = 30_000;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn megabyte_of_text_is_truncated_to_valid_json() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("s", &["open", &format!("http://{SHOP}/big?1")]).ok();
    let answer = server.call("s", &["snapshot"]).ok();
    let length = answer.stdout.chars().count();
    assert!(length <= LIMIT, "{length} characters");
    assert!(length > LIMIT / 2, "the limit must be used: {length} characters");
    // Small values are complete, and the long value ends with a truncation mark.
    let data: Value = answer.data();
    assert_eq!(data["origin"], format!("http://{SHOP}/big?1"));
    let page = answer.page();
    assert!(page.contains("heading \"Big\"") && page.contains("text of a very long page"), "{page}");
    assert!(page.ends_with(" characters cut]"), "no truncation mark: {page}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn twenty_megabytes_of_text_do_not_exhaust_memory() {
    let _browser = Browser::lock();
    let server = test_env::default_env().with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "25000").serve();
    // On a busy machine, the page takes longer to load than agent-browser waits for it.
    server.call_within(120, "s", &["open", &format!("http://{SHOP}/big?20")]);
    let is_loaded = || server.call_within(120, "s", &["wait", "--load", "load"]).code == 0;
    processes::wait_for("the page", || is_loaded().then_some(()));
    let answer = server.call_within(120, "s", &["snapshot"]);
    assert!(answer.stdout.chars().count() <= LIMIT, "{} characters", answer.stdout.chars().count());
    assert!(answer.stderr.chars().count() <= LIMIT, "{} characters", answer.stderr.chars().count());
    assert!(!answer.stdout.is_empty() || !answer.stderr.is_empty(), "the reply must not be empty: {answer:?}");
    let peak = processes::peak_memory(server.id());
    // At most 8 MiB of output are read. The control gate carries the whole message of Chromium, about 60 MB of JSON, to the daemon.
    // Buffers of such a message grow by copies of themselves.
    assert!(peak < 640 << 20, "the server used {peak} bytes");

    // The server and the session remain usable.
    server.call("s", &["open", &format!("http://{SHOP}/")]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
}
