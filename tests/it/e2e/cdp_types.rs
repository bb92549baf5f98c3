//! Types of the debugging protocol, compared with the installed Chromium.

use super::chromium::{Chromium, debug_request};
use super::server::free_port;
use crate::cdp_types::compare;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cdp_types_match_installed_chromium() {
    let chromium = Chromium::start(free_port());
    let protocol = debug_request(chromium.port(), "GET", "/json/protocol").expect("a description of the protocol");
    let comparison = compare(&protocol);
    for part in &comparison.deprecated {
        println!("deprecated: {part}");
    }
    assert_eq!(comparison.problems, Vec::<String>::new());
}
