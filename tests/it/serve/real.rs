//! The real agent-browser, Debian's Chromium and Xvnc, on pages of the test network.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::{
    credentials::signer::Signer,
    e2e::{hosts::SHOP, test_env},
    harness::processes::{self, wait_for},
};
use super::server::{DRIVE_KEY, Server, WATCH_KEY, bearer, stand_in_settings};
use super::viewer::Viewer;

pub(super) const GREEN: [u8; 3] = [0x0b, 0xd4, 0x4f];
const RED: [u8; 3] = [0xd4, 0x11, 0x0b];

/// Waits until most of the middle line of the screen has a color.
fn wait_for_color(viewer: &mut Viewer, color: [u8; 3]) {
    wait_for("the color on the screen", || {
        let line = viewer.read_line(viewer.size.1 / 2);
        (line.iter().filter(|pixel| **pixel == color).count() * 2 > line.len()).then_some(())
    });
}

pub(super) fn open_color(server: &Server, session: &str, color: [u8; 3]) {
    let [red, green, blue] = color;
    let color = format!("{red:02x}{green:02x}{blue:02x}");
    let (code, text) = server.call(session, &["open", &format!("http://{SHOP}/color?{color}")]);
    assert_eq!(code, 0, "{text}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn screen_shows_pages_takes_input_and_survives_its_display() {
    let env =
        test_env::env_with(test_env::no_agent_browser()).with_policy(&json!({"subcommands": {"enable": ["get"]}}));
    test_env::hosts();
    let mut server = Server::start_with_keys(env);
    open_color(&server, "s1", GREEN);
    let connect = |server: &Server, key| Viewer::connect(server.port, &server.ticket(key)).expect("connected");
    let mut viewer = connect(&server, DRIVE_KEY);
    assert_eq!(viewer.size, (1280, 800));
    wait_for_color(&mut viewer, GREEN);
    // A second viewer does not end the first one. The window of the last call is in front.
    let mut second = connect(&server, WATCH_KEY);
    open_color(&server, "s2", RED);
    wait_for_color(&mut second, RED);
    assert_eq!(server.call("s1", &["snapshot"]).0, 0);
    wait_for_color(&mut viewer, GREEN);

    // Each ticket opens the screen once, and the opener's page needs one.
    assert_eq!(Viewer::connect(server.port, "").err(), Some(401));
    let ticket = server.ticket(DRIVE_KEY);
    assert!(Viewer::connect(server.port, &ticket).is_ok(), "control");
    assert_eq!(Viewer::connect(server.port, &ticket).err(), Some(401));
    assert_eq!(server.request("GET /vnc/").0, 401);
    let (status, page) = server.request(&format!("GET /vnc/?ticket={}", server.ticket(WATCH_KEY)));
    assert!(status == 200 && page.contains("noVNC"), "{page}");
    assert_eq!(server.request("GET /vnc/core/rfb.js").0, 200, "noVNC's own files need none");

    // Input of a person arrives in the page that the agent reads, but not that of one who may only watch.
    assert_eq!(server.call("s1", &["open", &format!("http://{SHOP}/")]).0, 0);
    assert_eq!(server.call("s1", &["click", "#name"]).0, 0);
    wait_for("the typed text", || {
        second.key(b'w');
        viewer.key(b'q');
        server.call("s1", &["get", "value", "#name"]).1.contains('q').then_some(())
    });
    let (code, value) = server.call("s1", &["get", "value", "#name"]);
    assert!(code == 0 && !value.contains('w'), "{value}");
    assert_eq!(viewer.closed_after(&[250, 0, 1, 2]), 1008, "a request to shut the machine down");

    // Nobody else can reach the display.
    let folder = server.runtime_folder().join("d");
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    // One that has ended, and one that is stopped.
    for signal in [Signal::KILL, Signal::STOP] {
        let display = server.processes("Xvnc").into_iter().next().expect("a display");
        assert!(display.command.contains("-auth") && display.command.contains("-rfbport -1"), "{display:?}");
        processes::signal(display.id, signal);
        wait_for("another display", || server.processes("Xvnc").into_iter().find(|now| now.id != display.id));
        let open = || server.call("s3", &["open", &format!("http://{SHOP}/")]).0;
        wait_for("another Chromium", || (open() == 0).then_some(()));
        server.wait_until_healthy();
    }
    open_color(&server, "s3", RED);
    wait_for_color(&mut connect(&server, DRIVE_KEY), RED);

    server.kill();
    wait_for("the end of display and Chromium", || {
        (server.processes("Xvnc").is_empty() && server.processes("chromium").is_empty()).then_some(())
    });
}

/// Runs the attack against a server, and returns the number of good rows, and the bad ones.
fn attack(server: &Server, options: &[&str]) -> (u64, Vec<Value>) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aio-base/attack.py");
    let url = format!("http://localhost:{}", server.port);
    let output = Command::new("python3").arg(&script).args([&url, "--random", "300", "--json"]).args(options).output();
    let report: Value = serde_json::from_slice(&output.unwrap().stdout).expect("a report");
    let rows = report["rows"].as_array().unwrap().iter();
    (report["summary"]["ok"].as_u64().unwrap(), rows.filter(|row| row["verdict"] == "BAD").cloned().collect())
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn attack_script_finds_nothing_open_at_public_port() {
    test_env::require_test_network();
    let settings = || stand_in_settings().without("BROWSER_SHELL_SCREEN");
    let server = Server::start(settings());
    let (ok, bad) = attack(&server, &["--serve"]);
    assert!(ok > 2000 && bad.is_empty(), "{ok} ok, {bad:#?}");
    // Control: a server that should ask for credentials, and does not.
    assert!(attack(&server, &["--auth", "on"]).1.len() > 50);
    drop(server);
    let server = Server::start_with_keys(settings());
    let (ok, bad) = attack(&server, &["--serve", "--auth", "on", "--api-key", DRIVE_KEY]);
    assert!(ok > 4000 && bad.is_empty(), "{ok} ok, {bad:#?}");
    drop(server);
    let signer = Signer::p256(9);
    let server = Server::start_with_tokens(settings(), &signer);
    let token = bearer(&signer, "drive", 3600);
    let token = token.trim_start_matches("Authorization: Bearer ");
    let (ok, bad) = attack(&server, &["--serve", "--auth", "on", "--token", token]);
    assert!(ok > 4000 && bad.is_empty(), "{ok} ok, {bad:#?}");
    drop(server);
    let server = Server::start_with_keys(settings().with("BROWSER_SHELL_SCREEN", "cast"));
    let (ok, bad) = attack(&server, &["--serve", "--auth", "on", "--api-key", DRIVE_KEY]);
    assert!(ok > 4000 && bad.is_empty(), "{ok} ok, {bad:#?}");
}
