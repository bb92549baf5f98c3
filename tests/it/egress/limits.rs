//! Limits of the guard: many, slow, silent, half-closed and greedy clients.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
};

use browser_shell::testing::SessionAddresses;
use browser_shell_core::session_id::SessionId;
use serde_json::json;

use super::guard::{EgressGuard, GuardClient, TestHost, code, echo, echo_on, loopback};
use crate::harness::processes::wait_for;

fn with_limits(limits: serde_json::Value) -> serde_json::Value {
    let mut policy = loopback();
    policy["egress"] = json!({ "limits": limits });
    policy
}

#[test]
fn two_hundred_tunnels_carry_their_own_bytes() {
    let guard = EgressGuard::start(&loopback());
    let to = echo().to_string();
    let mut tunnels: Vec<_> = (0..200).map(|_| guard.tunnel(&to)).collect();
    for (number, tunnel) in tunnels.iter_mut().enumerate() {
        write!(tunnel, "{number:05}").unwrap();
    }
    for (number, tunnel) in tunnels.iter_mut().enumerate().rev() {
        let mut bytes = [0; 5];
        tunnel.read_exact(&mut bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), format!("{number:05}"));
    }
}

#[test]
fn guard_reports_busy_beyond_connection_limit() {
    let guard = EgressGuard::start(&with_limits(json!({"max_connections": 2})));
    let to = echo().to_string();
    let first = guard.tunnel(&to);
    let _second = guard.tunnel(&to);
    let reply = guard.send(format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes());
    assert!(reply.starts_with("HTTP/1.1 503 "), "{reply}");
    assert_eq!(code(&reply), "busy");
    drop(first);
    // Control: the connection has become available again.
    wait_for("a free connection", || {
        let mut stream = guard.connect();
        write!(stream, "CONNECT {to} HTTP/1.1\r\n\r\n").unwrap();
        super::guard::read_head(&mut stream).starts_with("HTTP/1.1 200 ").then_some(())
    });
}

#[test]
fn one_session_cannot_take_all_connections() {
    let folder = tempfile::TempDir::new().unwrap();
    let guard = EgressGuard::start_for_sessions(&with_limits(json!({"max_connections": 4})), folder.path(), 2);
    let addresses = SessionAddresses::create(folder.path(), guard.address.port(), 2).unwrap();
    let sessions = ["one", "two"].map(|id| addresses.allocate(&SessionId::new(id).unwrap()).unwrap());
    let [one, two] = sessions.each_ref().map(|session| GuardClient { address: session.proxy() });
    let to = echo().to_string();
    let _held = [one.tunnel(&to), one.tunnel(&to)];
    assert_eq!(one.connect_code(&to), "busy");
    // Control: the other half is for others, until the limit of all is reached.
    let _others = [two.tunnel(&to), guard.tunnel(&to)];
    assert_eq!(two.connect_code(&to), "busy");
    let busy = wait_for("two refusals", || {
        let lines = guard.audit();
        let busy: Vec<_> =
            lines.iter().filter(|line| line["code"] == "busy").map(|line| line["session"].clone()).collect();
        (busy.len() == 2).then_some(busy)
    });
    assert_eq!(json!(busy), json!(["one", "two"]));
}

#[test]
fn tunnel_directions_close_independently() {
    let guard = EgressGuard::start(&loopback());
    let mut tunnel = guard.tunnel(&echo().to_string());
    tunnel.write_all(b"all that I say").unwrap();
    tunnel.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    tunnel.read_to_string(&mut text).unwrap();
    assert_eq!(text, "all that I say");
    let line = guard.audit_line("the end of the tunnel", |line| line["code"] == "allowed");
    assert_eq!(json!([line["bytes_up"], line["bytes_down"], line["end"]]), json!([14, 14, "closed"]));
}

#[test]
fn disconnected_client_frees_its_connection_slot() {
    let guard = EgressGuard::start(&loopback());
    // A host that sends nothing and does not notice that the client is gone.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let held = thread::spawn(move || listener.incoming().flatten().take(2).collect::<Vec<_>>());
    let mut asked = guard.connect();
    write!(asked, "GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    let tunnel = guard.tunnel(&at.to_string());
    let held = held.join().unwrap();
    assert_eq!(guard.audit(), <[serde_json::Value; 0]>::default(), "control: both must be open");
    drop((asked, tunnel));
    let ends = wait_for("the end of both", || {
        let mut ends: Vec<_> = guard.audit().iter().map(|line| line["end"].clone()).collect();
        ends.sort_by_key(ToString::to_string);
        (ends.len() == 2).then_some(ends)
    });
    assert_eq!(ends.last(), Some(&json!("idle")), "a half-closed tunnel has a shorter idle timeout: {ends:?}");
    drop(held);
}

#[test]
fn only_idle_connections_are_closed() {
    let guard = EgressGuard::start(&with_limits(json!({"idle_sec": 3})));
    let to = echo().to_string();
    let mut idle = guard.tunnel(&to);
    let mut busy = guard.tunnel(&to);
    let still = thread::spawn(move || {
        let mut bytes = [0];
        // Sends a byte now and then until the other tunnel has ended.
        loop {
            busy.write_all(b"x").unwrap();
            busy.read_exact(&mut bytes).unwrap();
            thread::sleep(std::time::Duration::from_millis(50));
            if guard.audit().iter().any(|line| line["end"] == "idle") {
                busy.write_all(b"y").unwrap();
                busy.read_exact(&mut bytes).unwrap();
                return (bytes, guard);
            }
        }
    });
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0, "the guard must close it");
    let (last, guard) = still.join().unwrap();
    assert_eq!(last, *b"y", "control");
    // An incomplete head does not hold a connection either.
    let mut slow = guard.connect();
    slow.write_all(b"GET http://").unwrap();
    let mut text = String::new();
    slow.read_to_string(&mut text).unwrap();
    assert_eq!(code(&text), "timed-out");
}

#[test]
fn connection_is_cut_at_byte_limit() {
    let guard = EgressGuard::start(&with_limits(json!({"max_bytes": 100_000})));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || while stream.write_all(&[b'x'; 4096]).is_ok() {});
        }
    });
    let mut bytes = Vec::new();
    let _ = guard.tunnel(&to).read_to_end(&mut bytes);
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    let line = guard.audit_line("the end of the tunnel", |line| line["end"] == "too-many-bytes");
    assert!(line["bytes_down"].as_u64().unwrap() >= 100_000, "{line}");

    guard.write_policy(&loopback().to_string());
    let mut bytes = vec![0; 1_000_000];
    guard.tunnel(&to).read_exact(&mut bytes).expect("control: no limit");
}

// Requirement 2.1.
#[test]
fn open_tunnel_ends_when_the_policy_no_longer_allows_it() {
    let guard = EgressGuard::start(&loopback());
    let ends = || guard.audit().iter().filter(|line| line["end"] == "policy-changed").count();
    let has_ended = |tunnel: &mut TcpStream| tunnel.read(&mut [0]).unwrap_or(0) == 0;
    let (mut kept, mut refused) =
        (guard.tunnel(&echo().to_string()), guard.tunnel(&echo_on("127.0.0.2:0").to_string()));
    guard.write_policy(r#"{"open": {"allow_cidrs": ["127.0.0.1/32"]}}"#);
    assert!(has_ended(&mut refused));
    kept.write_all(b"x").unwrap();
    kept.read_exact(&mut [0]).expect("control: the changed policy allows it");
    // No policy allows nothing.
    guard.write_policy("{");
    assert!(has_ended(&mut kept));
    wait_for("the audit lines", || (ends() == 2).then_some(()));
    guard.log_line("no policy is in force");
    guard.write_policy(&loopback().to_string());
    guard.log_line("the policy is in force again");
}

#[test]
fn slow_reader_slows_only_its_own_connection() {
    const SIZE: usize = 32 * 1024 * 1024;
    let guard = EgressGuard::start(&loopback());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || drop(stream.write_all(&vec![7; SIZE])));
        }
    });
    let mut slow = guard.tunnel(&to);
    let mut fast = guard.tunnel(&to);
    let mut bytes = Vec::new();
    fast.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), SIZE, "the other connection must not be delayed");
    // Unread data must not be buffered.
    let held = std::fs::read_to_string(format!("/proc/{}/status", guard.id())).unwrap();
    let kib: usize = held
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
        .unwrap();
    assert!(kib * 1024 < SIZE * 2, "{kib} KiB");
    let mut bytes = Vec::new();
    slow.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), SIZE, "no byte may be lost");
}

#[test]
fn request_head_size_is_limited() {
    let host = TestHost::start("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let guard = EgressGuard::start(&with_limits(json!({"max_header_bytes": 4096})));
    let request = |size: usize| {
        let at = host.address;
        guard.send(format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nX: {}\r\n\r\n", "x".repeat(size)).as_bytes())
    };
    assert_eq!(code(&request(5000)), "proxy-request-invalid");
    assert_eq!(code(&request(3_000_000)), "proxy-request-invalid");
    assert!(request(3000).starts_with("HTTP/1.1 200 "), "control");
    let lines = "X: y\r\n".repeat(201);
    let many = format!("GET http://{0}/ HTTP/1.1\r\nHost: {0}\r\n{lines}\r\n", host.address);
    assert_eq!(code(&guard.send(many.as_bytes())), "proxy-request-invalid");
}
