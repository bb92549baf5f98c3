use super::*;
use crate::os::exec::find_on_path;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn process_without_environment_is_not_owned() {
    // By its full path, since a child without variables has no PATH.
    let sleep = find_on_path("sleep").expect("sleep on PATH");
    let mut child = Command::new(sleep).arg("600").env_clear().spawn().expect("started");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a number");
    while environment_range(pid).is_none_or(|(_, end)| end == 0) {
        std::thread::yield_now();
    }
    assert_eq!(ownership(pid, &marker_entries(Path::new("/"))), Ownership::Other);
    child.kill().expect("ended");
    // It ends some time after the signal, and stays a zombie until somebody else waits for it.
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("waited");
    assert_eq!(ownership(pid, &marker_entries(Path::new("/"))), Ownership::Other, "also as a zombie");
    child.wait().expect("waited");
    let (start, end) = environment_range(rustix::process::getpid()).expect("own");
    assert!(start < end, "control: this process has variables");
}

/// The parent continues before the kernel shows the child's variables. A scan without `uncertain` would miss about one
/// process in a thousand, more on a busy machine.
#[test]
fn new_process_is_found_or_reported_as_unsure() {
    let dir = tempfile::tempdir().expect("a folder");
    for round in 0..500 {
        let mut command = Command::new("sleep");
        // Setting the user forces a fork: a child of vfork shares our memory and would show our variables. A session's
        // processes are started by each other and share the marker anyway.
        command.arg("600").env(MARKER, dir.path()).uid(rustix::process::geteuid().as_raw());
        let mut child = command.spawn().expect("started");
        let found = scan(dir.path());
        let is_found =
            found.marked.iter().any(|process| process.pid.as_raw_nonzero().get().cast_unsigned() == child.id());
        child.kill().expect("ended");
        child.wait().expect("waited");
        assert!(is_found || !found.uncertain.is_empty(), "round {round}");
        assert!(scan(&dir.path().join("other")).marked.is_empty(), "control: only those with the marker");
    }
}

/// A single scan is unsure in about one of fifty cases while programs start, of whatever session.
#[tokio::test]
async fn starting_programs_of_others_are_not_taken_for_the_script() {
    let dir = tempfile::tempdir().expect("a folder");
    let has_ended = Arc::new(AtomicBool::new(false));
    let starters: Vec<_> = (0..4)
        .map(|_| {
            let has_ended = has_ended.clone();
            std::thread::spawn(move || {
                while !has_ended.load(Ordering::Relaxed) {
                    // Setting the user forces a fork, as above.
                    Command::new("true").uid(rustix::process::geteuid().as_raw()).status().expect("ran");
                }
            })
        })
        .collect();
    for round in 0..500 {
        assert!(!runs_script(dir.path(), "daemon.js").await, "round {round}");
    }
    std::fs::write(dir.path().join("daemon.js"), "sleep 600; true").expect("written");
    let mut daemon =
        Command::new("/bin/sh").arg(dir.path().join("daemon.js")).env(MARKER, dir.path()).spawn().expect("started");
    assert!(runs_script(dir.path(), "daemon.js").await, "control");
    assert!(end_marked(dir.path()).await);
    daemon.wait().expect("waited");
    has_ended.store(true, Ordering::Relaxed);
    for starter in starters {
        starter.join().expect("ended");
    }
}

#[test]
fn socket_belongs_to_the_session_whose_folder_its_process_has() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = rustix::fs::fstat(&stream).unwrap().st_ino;
    let folders = ["/run/one", "/run/two"].map(PathBuf::from);
    assert_eq!(holder_of_socket(socket, &folders), None, "this process is no session's");
    let mut command = Command::new("sleep");
    // Setting the user forces a fork, as above.
    command.arg("600").env(SOCKET_MARKER, &folders[1]).uid(rustix::process::geteuid().as_raw());
    let mut child = command.stdin(OwnedFd::from(stream)).spawn().unwrap();
    while holder_of_socket(socket, &folders).is_none() {
        std::thread::yield_now();
    }
    assert_eq!(holder_of_socket(socket, &folders), Some(1));
    assert_eq!(holder_of_socket(socket, &folders[..1]), None, "another session");
    assert_eq!(holder_of_socket(socket + 1_000_000, &folders), None, "another socket");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns a scan that found this process with the marker.
fn found() -> Scan {
    let pid = rustix::process::getpid();
    let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    Scan { marked: vec![MarkedProcess { pid, handle }], uncertain: Vec::new() }
}

#[test]
fn process_is_killed_however_long_scans_take() {
    let began = Instant::now();
    let mut ending = Ending::new(began);
    assert_eq!(ending.next(&found(), began), NextSignal::Signal(Signal::TERM));
    let late = began + Duration::from_mins(1);
    assert_eq!(ending.next(&found(), late), NextSignal::Signal(Signal::KILL), "the second look came late");
    assert_eq!(ending.next(&found(), late + KILL_TIMEOUT), NextSignal::Signal(Signal::KILL));
    assert_eq!(ending.next(&found(), late + KILL_TIMEOUT + POLL_INTERVAL), NextSignal::Stop(false));
    assert_eq!(ending.next(&Scan::default(), late), NextSignal::Stop(true), "control");
}

#[test]
fn program_that_is_always_starting_is_not_awaited_for_ever() {
    let began = Instant::now();
    let mut ending = Ending::new(began);
    let uncertain = Scan { marked: Vec::new(), uncertain: vec![rustix::process::getpid()] };
    assert!(matches!(ending.next(&uncertain, began + TERM_TIMEOUT), NextSignal::Signal(_)));
    let end = began + TERM_TIMEOUT + KILL_TIMEOUT + POLL_INTERVAL;
    assert_eq!(ending.next(&uncertain, end), NextSignal::Stop(true));
}

#[tokio::test]
async fn process_that_ignores_the_request_to_end_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; while :; do sleep 1; done";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).env(MARKER, dir.path()).uid(rustix::process::geteuid().as_raw());
    let mut child = command.spawn().unwrap();
    assert!(end_marked(dir.path()).await);
    assert_eq!(child.wait().unwrap().code(), None, "a signal ended it");
}

#[test]
fn member_of_a_group_has_its_parent_and_threads() {
    let mut command = Command::new("sleep");
    let mut child = command.arg("600").process_group(0).spawn().unwrap();
    let group = Pid::from_child(&child);
    let member = members_of(group).next().unwrap();
    assert_eq!((member.id, member.parent, member.threads), (group, Some(rustix::process::getpid()), 1));
    child.kill().unwrap();
    child.wait().unwrap();
    let own_group = rustix::process::getpgrp();
    let threads = || GroupMember::read(rustix::process::getpid(), own_group).unwrap().threads;
    let (send, receive) = std::sync::mpsc::channel::<()>();
    let waiting = std::thread::spawn(move || receive.recv());
    // The test itself has another thread than the first.
    assert!(threads() >= 3, "{}", threads());
    drop(send);
    assert!(waiting.join().unwrap().is_err());
}
