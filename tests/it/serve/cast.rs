//! `--screen cast`: Debian's Chromium without a display, whose pages viewers see, in the test network.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use browser_shell_core::rfb::jpeg_size;
use serde_json::{Value, json};

use super::super::{
    e2e::{hosts::SHOP, test_env},
    harness::{processes::wait_for, server::TestEnv},
};
use super::server::{DRIVE_KEY, Server, WATCH_KEY};
use super::viewer::{PICTURES, Update, Viewer};

fn settings(env: TestEnv) -> TestEnv {
    test_env::hosts();
    let env = env.with_policy(&json!({"subcommands": {"enable": ["get"]}}));
    env.with("BROWSER_SHELL_SCREEN", "cast").with("BROWSER_SHELL_XVNC", "/nonexistent")
}

fn start() -> Server {
    Server::start_with_keys(settings(test_env::env_with(test_env::no_agent_browser())))
}

fn connect(server: &Server, key: &str, query: &str) -> Viewer {
    let query = format!("ticket={}{query}", server.ticket(key));
    Viewer::connect_with(server.port, &query, &PICTURES).expect("connected")
}

fn open(server: &Server, session: &str, path: &str) {
    let (code, text) = server.call(session, &["open", &format!("http://{SHOP}{path}")]);
    assert_eq!(code, 0, "{text}");
}

/// Returns the picture of a page that has come to rest.
fn settled_picture(viewer: &mut Viewer) -> Vec<u8> {
    wait_for("a picture that does not change", || {
        let picture = viewer.picture();
        (viewer.picture() == picture).then_some(picture)
    })
}

/// Waits until a viewer sees a picture.
fn wait_for_picture(viewer: &mut Viewer, picture: &[u8]) {
    wait_for("the picture", || (viewer.picture() == picture).then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cast_shows_the_page_of_the_last_or_the_named_session() {
    let server = start();
    assert!(server.processes("Xvnc").is_empty());
    let mut early = connect(&server, WATCH_KEY, "");
    assert_eq!((early.size, early.name.as_str()), ((1280, 800), "browser-shell: no page yet (page only)"));
    assert_eq!(early.update(false), Update::Black);

    open(&server, "s1", "/color?0bd44f");
    let name = "browser-shell: page of session s1 (page only)";
    assert_eq!(early.update(true), Update::Name(name.to_owned()));
    let green = settled_picture(&mut early);
    assert_eq!(green[..3], [0xff, 0xd8, 0xff], "a JPEG");
    let mut viewer = connect(&server, WATCH_KEY, "");
    let mut first = connect(&server, WATCH_KEY, "&session=s1");
    assert_eq!(first.name, name);
    wait_for_picture(&mut viewer, &green);
    wait_for_picture(&mut first, &green);
    let (_, sides) = server.call("s1", &["get", "box", "html"]);
    assert!(sides.contains(&viewer.size.0.to_string()), "{sides} {:?}", viewer.size);

    // A change is sent without a request for everything.
    open(&server, "s1", "/color?d4110b");
    let red = wait_for("a change", || match viewer.update(true) {
        Update::Jpeg(jpeg) if jpeg != green => Some(settled_picture(&mut viewer)),
        _ => None,
    });
    assert_ne!(red, green);
    open(&server, "s1", "/color?0bd44f");
    wait_for_picture(&mut viewer, &green);

    // Another session is seen by those who named none.
    open(&server, "s2", "/color?d4110b");
    wait_for_picture(&mut viewer, &red);
    assert_eq!(viewer.name, "browser-shell: page of session s2 (page only)");
    assert_eq!(first.picture(), green);
    assert_eq!(connect(&server, WATCH_KEY, "&session=s3").update(false), Update::Black);

    for query in ["&session=", "&session=a/b", "&session=s1&session=s1"] {
        let query = format!("ticket={}{query}", server.ticket(WATCH_KEY));
        assert_eq!(Viewer::connect_with(server.port, &query, &PICTURES).err(), Some(400), "{query}");
    }
    let raw_only = Viewer::connect(server.port, &server.ticket(WATCH_KEY)).expect("connected");
    assert_eq!(raw_only.closed_after(&[3, 0, 0, 0, 0, 0, 0, 1, 0, 1]), 1003);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cast_gives_the_page_input_of_those_who_may_drive_it() {
    let server = start();
    open(&server, "s1", "/");
    let mut driver = connect(&server, DRIVE_KEY, "");
    let mut watcher = connect(&server, WATCH_KEY, "");
    driver.picture();
    watcher.picture();
    let (code, text) = server.call("s1", &["get", "box", "#name"]);
    assert_eq!(code, 0, "{text}");
    // The output is a text that is JSON.
    let output = serde_json::Deserializer::from_str(&text).into_iter::<String>().next().expect(&text).expect(&text);
    let answer: Value = serde_json::from_str(&output).expect(&output);
    let side = |name: &str| answer["box"][name].as_f64().expect(&output);
    let center = |start: f64, length: f64| {
        let at = start + length / 2.0;
        (0_u16..4096).find(|pixel| f64::from(*pixel) >= at).expect("a point")
    };
    let point = (center(side("x"), side("width")), center(side("y"), side("height")));
    wait_for("the typed text", || {
        for (viewer, character) in [(&mut watcher, b'w'), (&mut driver, b'q')] {
            viewer.click(point);
            viewer.key(character);
        }
        server.call("s1", &["get", "value", "#name"]).1.contains('q').then_some(())
    });
    let (code, value) = server.call("s1", &["get", "value", "#name"]);
    assert!(code == 0 && !value.contains('w'), "{value}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_a_leaving_viewer_holds_is_released() {
    let server = start();
    open(&server, "s1", "/gate/held");
    assert_eq!(server.call("s1", &["click", "#name"]).0, 0);
    let mut driver = connect(&server, DRIVE_KEY, "");
    driver.picture();
    let wait_until_held = |what: &str| {
        wait_for(what, || server.call("s1", &["get", "title"]).1.contains(&format!("held: {what}")).then_some(()));
    };
    driver.hold(b'q', (9, 9));
    wait_until_held("q 0");
    drop(driver);
    wait_until_held("nothing");
}

/// A message of a viewer may come in any pieces, behind one that is left out and in the middle of another.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pieces_of_input_are_no_input_while_watching() {
    let server = start();
    open(&server, "s1", "/");
    assert_eq!(server.call("s1", &["click", "#name"]).0, 0);
    let mut driver = connect(&server, DRIVE_KEY, "");
    let mut watcher = connect(&server, WATCH_KEY, "");
    driver.picture();
    watcher.picture();
    wait_for("the typed text", || {
        for (viewer, character) in [(&mut watcher, b'w'), (&mut driver, b'q')] {
            let cut_text = [&[6, 0, 0, 0, 0, 0, 0, 8][..], &[4, 1, 0, 0, 0, 0, 0, character]].concat();
            let key = |down| [4, down, 0, 0, 0, 0, 0, character];
            let sent = [&cut_text[..], &key(1), &key(0)].concat();
            viewer.give_in_pieces(&sent, 1);
            viewer.give_in_pieces(&sent, 5);
        }
        server.call("s1", &["get", "value", "#name"]).1.contains('q').then_some(())
    });
    // Both are still served.
    watcher.picture();
    let (code, value) = server.call("s1", &["get", "value", "#name"]);
    assert!(code == 0 && !value.contains('w'), "{value}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cast_gives_pages_the_size_of_the_screen() {
    let env = settings(test_env::env_with(test_env::no_agent_browser()));
    let server = Server::start_with_keys(env.with("BROWSER_SHELL_SCREEN_SIZE", "1000x700"));
    let size = (1000, 700);
    let mut viewer = connect(&server, WATCH_KEY, "");
    assert_eq!(viewer.size, size, "before there is a page");
    // Also of pages in tabs and windows that a page opens.
    open(&server, "s1", "/gate/size");
    for (click, address) in [(None, "/gate/size"), (Some("#tab"), "?tab"), (Some("#window"), "?window")] {
        if let Some(selector) = click {
            assert_eq!(server.call("s1", &["click", selector]).0, 0);
        }
        wait_for("the size in the page", || {
            let is_open = server.call("s1", &["get", "url"]).1.contains(address);
            let (_, title) = server.call("s1", &["get", "title"]);
            (is_open && title.contains("1000x700")).then_some(())
        });
        let jpeg = settled_picture(&mut viewer);
        assert_eq!((viewer.size, jpeg_size(&jpeg)), (size, Some(size)), "{address}");
    }
}

const BOB_KEY: &str = "0123456789-other-0123456789";
const ADMIN_KEY: &str = "0123456789-admin-0123456789";

/// Returns a policy by which sessions belong to everybody (`any`) or to their subjects (`own`).
fn access_policy(sessions: &str) -> Value {
    json!({"access": {"sessions": sessions}, "browser": {"isolation": "session"}})
}

/// Waits until a viewer is shown that there is no page.
fn wait_for_black(viewer: &mut Viewer) {
    wait_for("the black screen", || (viewer.update(true) == Update::Black).then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cast_shows_subjects_the_pages_of_their_own_sessions() {
    let env = settings(test_env::env_with(test_env::no_agent_browser())).with_policy(&access_policy("own"));
    let keys = [("ada", "drive", DRIVE_KEY), ("bob", "drive", BOB_KEY), ("eve", "watch", WATCH_KEY)];
    let server = Server::start_with_key_list(env, &[&keys[..], &[("root", "admin", ADMIN_KEY)]].concat());
    let open_as = |key: &str, color: &str| {
        let (code, text) = server.call_with(Some(key), "s1", &["open", &format!("http://{SHOP}/color?{color}")]);
        assert_eq!(code, 0, "{text}");
    };
    // Each subject has a session with the same name.
    let mut ada = connect(&server, DRIVE_KEY, "");
    let mut eve = connect(&server, WATCH_KEY, "");
    assert_eq!(eve.name, "browser-shell: your sessions have no page yet (page only)");
    open_as(DRIVE_KEY, "0bd44f");
    let green = settled_picture(&mut ada);
    assert_eq!(ada.name, "browser-shell: page of session s1 of ada (page only)");
    let mut admin = connect(&server, ADMIN_KEY, "&session=s1");
    wait_for_picture(&mut admin, &green);
    open_as(BOB_KEY, "d4110b");
    let mut bob = connect(&server, BOB_KEY, "&session=s1");
    let red = settled_picture(&mut bob);
    assert_ne!(red, green);
    assert_eq!(bob.name, "browser-shell: page of session s1 of bob (page only)");
    wait_for_picture(&mut admin, &red);
    let ticket = server.ticket_as(&format!("X-AIO-API-Key: {DRIVE_KEY}"), r#"{"scope":"watch"}"#);
    let query = format!("ticket={ticket}&session=s1");
    let mut watching = Viewer::connect_with(server.port, &query, &PICTURES).expect("connected");
    wait_for_picture(&mut watching, &green);
    for _ in 0..5 {
        assert_eq!(ada.picture(), green);
        assert_eq!(eve.update(false), Update::Black);
        assert_eq!(connect(&server, WATCH_KEY, "&session=s1").update(false), Update::Black);
    }

    // A viewer sees what the policy says now, and nothing without one.
    server.env().write_policy(&access_policy("any").to_string());
    wait_for_picture(&mut eve, &red);
    wait_for_picture(&mut ada, &red);
    server.env().write_policy(&access_policy("own").to_string());
    wait_for_black(&mut eve);
    wait_for_picture(&mut ada, &green);
    server.env().write_policy("{");
    for viewer in [&mut ada, &mut bob, &mut admin] {
        wait_for_black(viewer);
    }
    let query = format!("ticket={}", server.ticket(DRIVE_KEY));
    assert_eq!(Viewer::connect_with(server.port, &query, &PICTURES).err(), Some(403));
    let audit = server.env().audit();
    let refusal = r#""right":"watch-screen","subject":"ada","code":"policy-invalid""#;
    assert!(audit.contains(refusal), "{audit}");
    server.env().write_policy(&access_policy("own").to_string());
    wait_for_picture(&mut ada, &green);
    assert_eq!(eve.update(false), Update::Black);
}

/// Returns the number of bytes that a server has read so far, most of them from Chromium.
fn bytes_read(server: &Server) -> u64 {
    number(&format!("/proc/{}/io", server.id()), "rchar:")
}

/// Returns the number of bytes that wait to be sent or read on the way from a port of this machine, by the port at the other end.
fn waiting_bytes(port: u16) -> HashMap<u16, u64> {
    let mut waiting = HashMap::new();
    for line in std::fs::read_to_string("/proc/net/tcp").unwrap().lines().skip(1) {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let end = |address: &str| u16::from_str_radix(address.rsplit(':').next().unwrap(), 16).unwrap();
        let (sent, received) = words[4].split_once(':').unwrap();
        match (end(words[1]), end(words[2])) {
            (own, other) if own == port => *waiting.entry(other).or_default() += number(sent),
            (own, other) if other == port => *waiting.entry(own).or_default() += number(received),
            _ => {}
        }
    }
    waiting
}

/// Returns the memory of a server, in KiB.
fn memory(server: &Server) -> u64 {
    number(&format!("/proc/{}/status", server.id()), "VmRSS:")
}

/// Returns the number in a line of a file of the kernel.
fn number(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect(line)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn chromium_makes_pictures_only_while_somebody_watches() {
    let server = start();
    open(&server, "s1", "/gate/noise");
    let mut viewers = [connect(&server, WATCH_KEY, ""), connect(&server, DRIVE_KEY, "")].map(Some);
    // A busy machine takes longer to make as many pictures.
    let mut watch = |count: usize, least: u64| {
        let (before, start) = (bytes_read(&server), Instant::now());
        let read = wait_for("pictures", || {
            for viewer in viewers.iter_mut().flatten() {
                viewer.picture();
            }
            thread::sleep(Duration::from_millis(50));
            let read = bytes_read(&server) - before;
            (read >= least && start.elapsed() > Duration::from_secs(2)).then_some(read)
        });
        if let Some(viewer) = viewers.get_mut(count) {
            *viewer = None;
        }
        read
    };
    let with_two = watch(0, 1_000_000);
    let with_one = watch(1, 1_000_000);
    // What was on its way comes late on a busy machine.
    let without = wait_for("no pictures while nobody watches", || Some(watch(2, 0)).filter(|read| *read < 50_000));
    eprintln!("bytes from Chromium: {with_two} for two viewers, {with_one} for one, {without} for none in 2 s");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn many_requests_for_a_picture_are_few_for_chromium() {
    let server = start();
    open(&server, "s1", "/color?0bd44f");
    let mut viewer = connect(&server, WATCH_KEY, "");
    let green = settled_picture(&mut viewer);
    let before = bytes_read(&server);
    viewer.ask_often(20_000);
    for _ in 0..200 {
        viewer.ask_often(10);
    }
    // Each of them would be two answers of Chromium and a picture.
    assert_eq!(viewer.picture(), green);
    let read = bytes_read(&server) - before;
    eprintln!("{read} bytes read by the server, and a picture of {} bytes", green.len());
    assert!(read < 3_000_000, "{read}");
    // The viewer sees what follows.
    open(&server, "s1", "/color?d4110b");
    wait_for("a change", || (viewer.picture() != green).then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn frozen_viewers_use_no_memory_and_stop_nobody() {
    let server = start();
    open(&server, "s1", "/gate/noise");
    let mut viewer = connect(&server, DRIVE_KEY, "");
    let freeze = || {
        let frozen = connect(&server, WATCH_KEY, "");
        frozen.narrow();
        frozen
    };
    let mut frozen: Vec<_> = (0..4).map(|_| freeze()).collect();
    // They ask on and on, and read nothing.
    let mut watch = |least: usize| {
        let mut received = 0;
        wait_for("pictures", || {
            for _ in 0..5 {
                for frozen in &mut frozen {
                    frozen.ask();
                }
                if let Update::Jpeg(jpeg) = viewer.update(true) {
                    received += jpeg.len();
                }
            }
            (received > least).then_some(received)
        })
    };
    wait_for("pictures that wait for each of them", || {
        watch(4_000_000);
        (waiting_bytes(server.port).values().filter(|bytes| **bytes > 0).count() >= 4).then_some(())
    });
    let memory_before = memory(&server);
    let received = watch(12_000_000);
    let growth = (memory(&server).saturating_sub(memory_before) * 1024).try_into().unwrap_or(usize::MAX);
    eprintln!("another viewer got {received} bytes; {memory_before} KiB and {growth} bytes more");
    // What the server kept for them would be four times as much.
    assert!(growth < received, "{growth} bytes more after {received} bytes of pictures");
    let (code, text) = server.call("s1", &["get", "title"]);
    assert!(code == 0 && text.contains("Noise"), "{text}");
    // Chromium makes none for them alone.
    drop(viewer);
    let mut alone = freeze();
    wait_for("no pictures for frozen viewers", || {
        let (read_before, start) = (bytes_read(&server), Instant::now());
        while start.elapsed() < Duration::from_secs(2) {
            assert!(alone.ask(), "the connection has ended early");
            thread::sleep(Duration::from_millis(50));
        }
        (bytes_read(&server) - read_before < 50_000).then_some(())
    });
    // It moves no more.
    open(&server, "s1", "/gate/size");
    frozen.push(alone);
    wait_for("the end of connections on which nobody reads", || {
        frozen.iter_mut().all(|frozen| !frozen.ask()).then_some(())
    });
}
