//! Services of the container: their users, and their recovery.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
};

use super::{
    super::{
        e2e::hosts::SHOP,
        harness::{
            processes::{self, Process, is_alive, wait_for},
            server::CallReply,
        },
    },
    base::{Stack, StackKind},
    request::post,
    sharing::acquire,
};

/// User ids of the server and of the browser.
const SERVER: u32 = 10_079;
const GEM: u32 = 1_000;
/// User id of the egress guard.
const GUARD: u32 = 10_119;

/// Start of the command line of every service that the image disables.
const UNWANTED: &str = "/usr/bin/python3 /opt/gem/stand-in-service ";

// --- recovery ----------------------------------------------------------------------

/// Repeats a call until one succeeds. Failures until then must have a clear message.
fn wait_until_call_works(stack: &Stack, what: &str) {
    let shop = format!("http://{SHOP}/");
    wait_for(&format!("a call that works after the end of {what}"), || {
        let reply = stack.try_call("recovery", &["open", &shop], 60);
        match reply.status {
            200 => {
                let answer = CallReply::read(&reply.json());
                if answer.code == 0 {
                    return Some(());
                }
                let clear = [69, 75, 124].contains(&answer.code) || !answer.stderr.trim().is_empty();
                assert!(clear, "after the end of {what}: {answer:?}");
            }
            503 => assert!(reply.body.contains("try again in a few seconds"), "{reply:?}"),
            // Nothing listens while nginx restarts, so there is no response.
            0 if what.starts_with("nginx") => {}
            _ => panic!("after the end of {what}: {reply:?}"),
        }
        None
    });
    stack.call("recovery", &["snapshot"]).ok();
}

fn only(found: Vec<Process>) -> Process {
    assert_eq!(found.len(), 1, "exactly one of them: {found:?}");
    found.into_iter().next().unwrap()
}

/// Kills processes and waits for their replacements.
fn kill_and_wait_for_restart(stack: &Stack, what: &str, find: impl Fn() -> Vec<Process>) {
    stack.begin("recovery");
    let old = find();
    assert!(!old.is_empty(), "there is {what} to end");
    processes::kill(&old);
    wait_until_call_works(stack, what);
    let new = wait_for(&format!("{what} again"), || Some(find()).filter(|new| !new.is_empty()));
    assert!(!old.iter().any(is_alive), "{old:?}");
    assert!(new.iter().all(|process| old.iter().all(|gone| gone.id != process.id)), "{old:?} {new:?}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn server_restarts() {
    let stack = acquire(StackKind::JwtExclusive);
    let _exclusive = stack.browser();
    kill_and_wait_for_restart(&stack, "browser-shell", || {
        vec![only(stack.processes_of("/usr/local/bin/browser-shell mcp"))]
    });
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn egress_guard_restarts() {
    let stack = acquire(StackKind::JwtExclusive);
    let _exclusive = stack.browser();
    kill_and_wait_for_restart(&stack, "the egress guard", || {
        vec![only(stack.processes_of("/usr/local/bin/browser-shell egress"))]
    });
}

// Requirement 5.1.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn egress_guard_has_no_privileges() {
    let stack = acquire(StackKind::Open);
    let guard = only(stack.processes_of("/usr/local/bin/browser-shell egress"));
    assert_eq!(sorted(privileges(guard.id)), no_privileges(GUARD));
    let variables = fs::read_to_string(format!("/proc/{}/environ", guard.id)).unwrap();
    let is_known = |one: &str| one.is_empty() || one.starts_with("PATH=") || one == "HOME=/workspace";
    assert!(variables.split('\0').all(is_known), "{variables:?}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn chromium_restarts() {
    let stack = acquire(StackKind::JwtExclusive);
    let _exclusive = stack.browser();
    kill_and_wait_for_restart(&stack, "Chromium", || {
        let all = stack.processes_of("/usr/lib/chromium/chromium ");
        all.into_iter().filter(|process| !process.command.contains(" --type=")).collect()
    });
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn nginx_restarts() {
    let stack = acquire(StackKind::JwtExclusive);
    let _exclusive = stack.browser();
    // Including the workers, which would continue without their master.
    kill_and_wait_for_restart(&stack, "nginx", || stack.processes_of("nginx: "));
}

// --- users and privileges -------------------------------------------------------------

/// Returns the lines of a process's status that describe its privileges.
fn privileges(id: i32) -> Vec<(String, String)> {
    let names = ["Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"];
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| names.contains(name))
        .map(|(name, value)| (name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// Returns the expected lines of a process with no privileges but its own user id.
fn no_privileges(user: u32) -> Vec<(String, String)> {
    let own = format!("{user} {user} {user} {user}");
    let none = "0".repeat(16);
    let row = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut rows = vec![row("Uid", &own), row("Gid", &own), row("Groups", ""), row("NoNewPrivs", "1")];
    rows.extend(["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(|name| row(name, &none)));
    rows.sort();
    rows
}

fn sorted(mut rows: Vec<(String, String)>) -> Vec<(String, String)> {
    rows.sort();
    rows
}

// Requirement 3.2.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn server_and_sessions_have_no_privileges() {
    let stack = acquire(StackKind::Open);
    let _exclusive = stack.browser();
    stack.begin("privileges");
    let server = only(stack.processes_of("/usr/local/bin/browser-shell mcp"));
    assert_eq!(sorted(privileges(server.id)), no_privileges(SERVER));
    // Includes agent-browser's daemon, which has left the server's process group.
    let own: Vec<Process> = stack
        .processes()
        .into_iter()
        .filter(|process| {
            let status = fs::read_to_string(format!("/proc/{}/status", process.id)).unwrap_or_default();
            status.lines().any(|line| line.starts_with(&format!("Uid:\t{SERVER}\t")))
        })
        .collect();
    assert!(own.iter().any(|process| process.id == server.id), "control: {own:?}");
    assert!(own.len() > 1, "control: the session has a process of its own: {own:?}");
    for process in &own {
        if is_alive(process) {
            assert_eq!(sorted(privileges(process.id)), no_privileges(SERVER), "{process:?}");
        }
    }
    // Control: other processes do have such privileges.
    let nginx = only(stack.processes_of("nginx: master process"));
    let all = privileges(nginx.id);
    assert!(all.contains(&("Uid".into(), "0 0 0 0".into())) && all.contains(&("NoNewPrivs".into(), "0".into())));
    assert!(!all.iter().any(|(name, value)| name.starts_with("CapEff") && value == &"0".repeat(16)), "{all:?}");
    stack.call("privileges", &["close"]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn browser_user_cannot_read_server_files() {
    let stack = acquire(StackKind::Open);
    let list = |user: u32, folder: &str| stack.inside_as(user, &["ls", "-A", folder]);
    for folder in ["/run/browser-shell", "/workspace"] {
        let refused = list(GEM, folder);
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{folder}: {refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("Permission denied"), "{refused:?}");
        let own = list(SERVER, folder);
        assert!(own.status.success(), "control: {own:?}");
    }
    let home = list(GEM, "/home/gem");
    assert!(home.status.success() && !home.stdout.is_empty(), "control: {home:?}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn only_server_names_sessions_of_guard_addresses() {
    let stack = acquire(StackKind::Open);
    let folder = "/run/browser-shell-egress";
    let file = format!("{folder}/127.0.1.64.test");
    for user in [GEM, GUARD] {
        let refused = stack.inside_as(user, &["touch", &file]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("Permission denied"), "{user}: {refused:?}");
        let list = stack.inside_as(user, &["ls", "-A", folder]);
        assert!(list.status.success(), "control: {list:?}");
    }
    let own = stack.inside_as(SERVER, &["sh", "-c", &format!("touch {file} && rm {file}")]);
    assert!(own.status.success(), "control: {own:?}");
    let connect = |number: u8| TcpStream::connect((Ipv4Addr::new(127, 0, 1, number), 8119));
    assert!(connect(65).is_err(), "control: the guard has 64 such addresses");
    let mut last = connect(64).unwrap();
    last.write_all(b"CONNECT example.com:443 HTTP/1.1\r\n\r\n").unwrap();
    let mut reply = String::new();
    last.read_to_string(&mut reply).unwrap();
    // A session may have it by now.
    assert!(reply.starts_with("HTTP/1.1 "), "{reply}");
}

// --- disabled services ----------------------------------------------------------------

/// Returns the listening ports that other machines could reach.
fn reachable_ports() -> Vec<u16> {
    let mut found = Vec::new();
    // The kernel writes the bytes of 127.0.0.0/8 backwards.
    for (file, loopback) in [("/proc/net/tcp", "7F"), ("/proc/net/tcp6", "00000000000000000000000001000000")] {
        for line in fs::read_to_string(PathBuf::from(file)).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (address, port) = fields[1].split_once(':').unwrap();
            // 0A is the state LISTEN.
            if fields[3] == "0A" && !address.ends_with(loopback) {
                found.push(u16::from_str_radix(port, 16).unwrap());
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Ports of the tests' own pages, which share the network.
const PAGES: [u16; 2] = [80, 81];

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn unneeded_base_services_do_not_run() {
    let stack = acquire(StackKind::Open);
    assert_eq!(stack.processes_of(UNWANTED), []);
    assert_eq!(reachable_ports(), [PAGES[0], PAGES[1], 8080], "only the wall may be reachable");
    assert!(stack.trap_log().is_empty(), "{}", stack.trap_log());
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn server_refuses_to_start_without_image_environment() {
    let stack = acquire(StackKind::WithoutImageEnv);
    let names = |stack: &Stack| {
        let all = stack.processes_of(UNWANTED).into_iter();
        let mut names: Vec<String> =
            all.filter_map(|process| process.command.split_whitespace().nth(2).map(str::to_owned)).collect();
        names.sort_unstable();
        names
    };
    wait_for("all of them", || {
        let wanted = ["code-server", "gost", "jupyter-lab", "mcp-server-browser", "nodejs-repl-20", "nodejs-repl-22"];
        let more = ["nodejs-repl-24", "opencode", "port-proxy", "web-terminal"];
        (names(&stack) == [wanted.as_slice(), more.as_slice()].concat()).then_some(())
    });
    wait_for("their ports", || (reachable_ports().len() > PAGES.len() + 1).then_some(()));
    assert!(stack.trap_log().contains("started"));
    // The server refuses to start next to these services.
    assert_eq!(stack.processes_of("/usr/local/bin/browser-shell mcp"), []);
    assert_eq!(post("/mcp", &[], &super::base::list()).status, 503);
    assert!(
        stack.logs().iter().any(|(name, text)| name == "browser-shell.log" && text.contains("browser-shell start:"))
    );
}
