//! Sessions of the guard's addresses: whose rules apply, what audit lines say, and which files are not believed.
//!
//! The files are written as the control gate writes them. Each refusal has a control.

use std::{
    fs::{self, Permissions},
    net::SocketAddr,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    process::Command,
};

use browser_shell::testing::{SessionAddress, SessionAddresses};
use browser_shell_core::auth::Subject;
use browser_shell_core::session_id::SessionId;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::guard::{EgressGuard, GuardClient, code, echo, loopback};
use crate::harness::{processes::wait_for, server::PROGRAM};

/// A guard with addresses for sessions, and the writer of their files.
#[derive(Debug)]
struct GuardOfSessions {
    guard: EgressGuard,
    addresses: SessionAddresses,
    folder: TempDir,
}

impl GuardOfSessions {
    fn start(policy: &Value, count: u8) -> Self {
        let folder = TempDir::with_prefix("sessions").unwrap();
        let guard = EgressGuard::start_for_sessions(policy, folder.path(), count);
        let addresses = SessionAddresses::create(folder.path(), guard.address.port(), count).unwrap();
        Self { guard, addresses, folder }
    }

    fn session(&self, id: &str) -> (SessionAddress, GuardClient) {
        self.session_with(&SessionId::new(id).unwrap())
    }

    fn session_with(&self, id: &SessionId) -> (SessionAddress, GuardClient) {
        let address = self.addresses.allocate(id).expect("a free address");
        let client = GuardClient { address: address.proxy() };
        (address, client)
    }

    /// Returns a client of an address that no session was given.
    fn client(&self, number: u8) -> GuardClient {
        GuardClient { address: SocketAddr::from(([127, 0, 1, number], self.guard.address.port())) }
    }

    /// Returns the file of an address.
    fn file(&self, number: u8) -> PathBuf {
        self.folder.path().join(format!("127.0.1.{number}"))
    }
}

// Requirement 5.1.
#[test]
fn rules_of_one_session_apply_to_its_connections_only() {
    let mut policy = loopback();
    policy["sessions"] = json!([{"match": "a-*", "open": {"deny_hosts": ["127.0.0.1"]}}]);
    let guard = GuardOfSessions::start(&policy, 3);
    let to = echo().to_string();
    let (_a, a) = guard.session("a-1");
    let (_b, b) = guard.session("b-1");
    assert_eq!(a.connect_code(&to), "host-denied");
    // Control: another session, and connections of no session.
    b.tunnel(&to);
    guard.guard.tunnel(&to);
    // Denying more wins, wherever it is written.
    policy["open"]["deny_hosts"] = json!(["127.0.0.1"]);
    policy["sessions"] = json!([{"match": "b-*", "open": {"allow_hosts": ["127.0.0.1"]}}]);
    guard.guard.write_policy(&policy.to_string());
    assert_eq!(b.connect_code(&to), "host-denied");
}

// Requirement 1.14.
#[test]
fn connection_audit_line_names_the_session() {
    let guard = GuardOfSessions::start(&loopback(), 2);
    let to = echo().to_string();
    let (_one, one) = guard.session("one");
    let (_two, two) = guard.session("two");
    drop((one.tunnel(&to), two.tunnel(&to), guard.guard.tunnel(&to)));
    two.connect_code("10.0.0.1:443");
    let lines = wait_for("four audit lines", || {
        let mut lines: Vec<_> =
            guard.guard.audit().iter().map(|line| [&line["session"], &line["code"]].map(Value::clone)).collect();
        lines.sort_by_key(|line| json!(line).to_string());
        (lines.len() == 4).then_some(lines)
    });
    assert_eq!(
        json!(lines),
        json!([["one", "allowed"], ["two", "address-not-public"], ["two", "allowed"], [null, "allowed"]])
    );
}

#[test]
fn connection_audit_line_names_the_owner_of_the_session() {
    let guard = GuardOfSessions::start(&loopback(), 3);
    let to = echo().to_string();
    let owned = |name: &str| SessionId::new("one").unwrap().owned_by(Subject::new(name).unwrap());
    let (_alice, alice) = guard.session_with(&owned("alice"));
    let (_bob, bob) = guard.session_with(&owned("bob"));
    let (_nobody, nobody) = guard.session("one");
    drop((alice.tunnel(&to), bob.tunnel(&to), nobody.tunnel(&to)));
    let lines = wait_for("three audit lines", || {
        let mut lines: Vec<_> =
            guard.guard.audit().iter().map(|line| json!([line["session"], line["subject"]]).to_string()).collect();
        lines.sort();
        (lines.len() == 3).then_some(lines)
    });
    assert_eq!(lines, [r#"["one","alice"]"#, r#"["one","bob"]"#, r#"["one",null]"#]);
}

#[test]
fn connection_to_address_without_session_is_refused() {
    let guard = GuardOfSessions::start(&loopback(), 2);
    let to = echo().to_string();
    let reply = guard.client(1).send(format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes());
    assert!(reply.starts_with("HTTP/1.1 403 "), "{reply}");
    assert_eq!(code(&reply), "session-unknown");
    let line = guard.guard.audit_line("the line of the refusal", |line| line["code"] == "session-unknown");
    assert_eq!((&line["session"], &line["end"]), (&Value::Null, &json!("refused")));

    let (address, client) = guard.session("one");
    client.tunnel(&to);
    drop(address);
    assert_eq!(client.connect_code(&to), "session-unknown", "the session has ended");
}

#[test]
fn replaced_file_applies_to_the_next_connection() {
    let mut policy = loopback();
    policy["sessions"] = json!([{"match": "denied", "open": {"deny_hosts": ["127.0.0.1"]}}]);
    let guard = GuardOfSessions::start(&policy, 1);
    let to = echo().to_string();
    let (first, client) = guard.session("denied");
    assert_eq!(client.connect_code(&to), "host-denied");
    drop(first);
    let (second, again) = guard.session("allowed");
    assert_eq!(second.proxy(), client.address);
    again.tunnel(&to);
}

#[test]
fn links_and_invalid_session_files_are_refused() {
    let guard = GuardOfSessions::start(&loopback(), 1);
    let to = echo().to_string();
    let (client, file) = (guard.client(1), guard.file(1));
    let elsewhere = TempDir::new().unwrap();
    let target = elsewhere.path().join("session");
    fs::write(&target, "one\n").unwrap();
    symlink(&target, &file).unwrap();
    assert_eq!(client.connect_code(&to), "session-unknown", "a link");
    fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    assert_eq!(client.connect_code(&to), "session-unknown", "a pipe");
    fs::remove_file(&file).unwrap();
    for text in [
        "",
        "\n",
        "..",
        "a/b",
        "one\n\n",
        "one\ntwo\nthree\n",
        " one",
        "one\r\n",
        &"x".repeat(129),
        &"x".repeat(1_000_000),
    ] {
        fs::write(&file, text).unwrap();
        assert_eq!(client.connect_code(&to), "session-unknown", "{:?}", text.get(..20));
    }
    fs::write(&file, [0xff]).unwrap();
    assert_eq!(client.connect_code(&to), "session-unknown", "not UTF-8");
    // Control: the same content as that of the link's target. Names of tenants may be longer than an agent's.
    for text in ["one\n", "one", "one\nowner\n", &"x".repeat(128)] {
        fs::write(&file, text).unwrap();
        client.tunnel(&to);
    }
}

#[test]
fn no_session_address_is_reachable_through_the_guard() {
    let guard = GuardOfSessions::start(&loopback(), 2);
    let port = guard.guard.address.port();
    let (_one, client) = guard.session("one");
    for address in ["127.0.1.1", "127.0.1.2", "127.0.1.250", "127.0.0.1", "[::ffff:127.0.1.1]"] {
        for client in [client, *guard.guard] {
            assert_eq!(client.connect_code(&format!("{address}:{port}")), "guard-itself", "{address}");
        }
    }
    // Control: another port of such an address.
    let listener = std::net::TcpListener::bind("127.0.1.2:0").unwrap();
    client.tunnel(&listener.local_addr().unwrap().to_string());
}

#[test]
fn guard_starts_only_with_a_folder_that_others_cannot_write() {
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("sessions");
    let start = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["egress", "--listen", "127.0.0.1:0"]).args(arguments).env_clear();
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let sessions = ["--sessions", at.to_str().unwrap(), "--session-addresses", "1"];
    assert!(start(&sessions).contains("no such file or folder"));
    fs::create_dir(&at).unwrap();
    for mode in [0o775, 0o757, 0o1777] {
        fs::set_permissions(&at, Permissions::from_mode(mode)).unwrap();
        assert!(start(&sessions).contains("other users can write to the folder"), "{mode:o}");
    }
    assert!(start(&["--session-addresses", "1"]).contains("--sessions"), "no folder");
    assert!(start(&["--session-addresses", "251", "--sessions", "/"]).contains("251"));
    // Control: the guard starts when the mode is right.
    fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
    EgressGuard::start_for_sessions(&json!({}), &at, 1).connect();
}
