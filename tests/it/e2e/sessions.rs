//! Parallel sessions. They share the browser's one tab and its cookies. Process, element references, files and
//! replies are separate.

use std::{collections::BTreeSet, thread};

use super::{
    hosts::SHOP,
    test_env::{self, Browser},
};
use crate::harness::cpu::CpuLimit;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn eight_concurrent_sessions_stay_separate() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("opener", &["open", &format!("http://{SHOP}/eight")]).ok();

    // Each session works on its own section of the page, with its own references.
    let pictures = thread::scope(|scope| {
        let desks: Vec<_> = (0..8)
            .map(|desk| {
                let server = &server;
                scope.spawn(move || {
                    let session = format!("desk-{desk}");
                    let call = |argv: &[&str]| {
                        let answer = server.call_within(90, &session, argv).ok();
                        assert_eq!(answer.session, session, "the reply must belong to the session");
                        answer
                    };
                    let seen = call(&["snapshot", "-i"]);
                    let choice = seen.reference("combobox", &format!("Choice {desk}"));
                    for value in [7 - desk, desk] {
                        call(&["select", &choice, &format!("v{value}")]);
                    }
                    call(&["wait", "--text", &format!("desk {desk}: v{} v{desk}", 7 - desk)]);
                    let own = call(&["snapshot", "-s", &format!("#desk{desk}")]).page();
                    for other in (0..8).filter(|other| *other != desk) {
                        assert!(!own.contains(&format!("Choice {other}")), "{session}: {own}");
                    }
                    // The same file name in every session, and a screenshot of its own section.
                    let shot = call(&["screenshot", &format!("#desk{desk}"), "desk.png"]);
                    let path = shot.data()["path"].as_str().unwrap().to_owned();
                    assert_eq!(std::fs::read(&path).unwrap(), shot.picture.unwrap(), "{session}");
                    path
                })
            })
            .collect();
        desks.into_iter().map(|desk| desk.join().unwrap()).collect::<BTreeSet<_>>()
    });
    assert_eq!(pictures.len(), 8, "each session must have its own file: {pictures:?}");

    let page = server.call("opener", &["snapshot"]).ok().page();
    for desk in 0..8 {
        let expected = format!("desk {desk}: v{} v{desk}", 7 - desk);
        assert!(page.contains(&expected), "`{expected}` in {page}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn calls_of_one_session_do_not_interleave() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("s", &["open", &format!("http://{SHOP}/")]).ok();
    // Typed key by key into one field: parallel calls would mix their letters.
    let words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"];
    let calls: Vec<_> = words.iter().map(|word| server.begin("s", &["type", "#name", word], Some(60))).collect();
    for call in calls {
        call.answer().ok();
    }
    let page = server.call("s", &["snapshot"]).ok().page();
    let name = page.lines().find(|line| line.contains("textbox \"Name\"")).unwrap();
    let (_, text) = name.rsplit_once(' ').unwrap();
    assert_eq!(text.len(), words.concat().len(), "{name}");
    for word in words {
        assert!(text.contains(word), "`{word}` in {name}");
    }
}

// Requirement 1.11.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn six_sessions_start_at_once_with_little_cpu() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    let env = server.env().shared();
    let id = server.id();
    let _limit = CpuLimit::new(id, move || env.processes(Some(id)));
    let sessions: Vec<_> = (0..6).map(|number| format!("s{number}")).collect();
    let calls: Vec<_> = sessions.iter().map(|session| server.begin(session, &["snapshot"], Some(120))).collect();
    // A call may be too short for six starts. Then the next one continues its start.
    for (session, call) in sessions.iter().zip(calls) {
        let mut answer = call.answer();
        while answer.stderr.contains("still starting") {
            answer = server.call_within(120, session, &["snapshot"]);
        }
        answer.ok();
    }
}
