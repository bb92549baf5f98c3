//! Pages that say too much.

use serde_json::Value;

use super::{
    hosts::SHOP,
    processes,
    world::{self, Browser},
};

/// [1.7]: characters of each stream.
const LIMIT: usize = 30_000;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_megabyte_of_text_is_cut_to_valid_json() {
    let _browser = Browser::take();
    let server = world::home().serve();
    server.call("s", &["open", &format!("http://{SHOP}/big?1")]).ok();
    let answer = server.call("s", &["snapshot"]).ok();
    let length = answer.stdout.chars().count();
    assert!(length <= LIMIT, "{length} characters");
    assert!(length > LIMIT / 2, "the room is used: {length} characters");
    // the parts that were small are whole, and the long one says that it was cut
    let data: Value = answer.data();
    assert_eq!(data["origin"], format!("http://{SHOP}/big?1"));
    let page = answer.page();
    assert!(page.contains("heading \"Big\"") && page.contains("text of a very long page"), "{page}");
    assert!(page.ends_with(" characters cut]"), "a mark at the end: {page}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn twenty_megabytes_of_text_do_not_fill_the_server() {
    let _browser = Browser::take();
    let server = world::home().with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "25000").serve();
    server.call_within(120, "s", &["open", &format!("http://{SHOP}/big?20")]).ok();
    let answer = server.call_within(120, "s", &["snapshot"]);
    assert!(answer.stdout.chars().count() <= LIMIT, "{} characters", answer.stdout.chars().count());
    assert!(answer.stderr.chars().count() <= LIMIT, "{} characters", answer.stderr.chars().count());
    assert!(!answer.stdout.is_empty() || !answer.stderr.is_empty(), "the agent learns something: {answer:?}");
    let peak = processes::peak_memory(server.id());
    assert!(peak < 96 << 20, "8 MiB of output are read at most, yet the server took {peak} bytes");

    // the server and the session live on
    server.call("s", &["open", &format!("http://{SHOP}/")]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
}
