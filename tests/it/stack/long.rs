//! Connections that stay idle for longer than nginx's usual timeouts. These tests wait minutes, so only a part of
//! `./dev test all` runs them.

use super::{base::StackKind, request::Viewer, sharing::acquire};

#[test]
#[ignore = "needs the stack: run ./dev test all --part 7"]
fn long_call_and_idle_screen_stay_connected() {
    let stack = acquire(StackKind::Jwt);
    let mut viewer = Viewer::connect(&format!("?ticket={}", stack.ticket())).expect("the ticket must be valid");
    viewer.read_pixel();
    // 100 s by agent-browser's own clock, during which the viewer sends nothing and its ticket expires.
    stack.call_within(120, "long", &["click", "#fake-sleep-100000"]).ok();
    viewer.read_pixel();
    // Control: the command waits, and a call beyond its timeout is ended.
    stack.call_within(1, "long", &["click", "#fake-sleep-100000"]).fails_with(124);
}
