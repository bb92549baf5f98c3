//! What runs inside and as whom, and that it comes back by itself.

use std::{fs, path::PathBuf};

use super::{
    super::{
        e2e::hosts::SHOP,
        harness::{
            processes::{self, Process, lives, until},
            server::Answer,
        },
    },
    base::{Kind, Stack, enter},
    request::post,
};

/// The user of the server, and that of the browser.
const SERVER: u32 = 10_079;
const GEM: u32 = 1_000;
/// The user of the egress guard.
const GUARD: u32 = 10_119;

/// How each of the services that the image does not want begins.
const UNWANTED: &str = "/usr/bin/python3 /opt/gem/stand-in-service ";

// --- back by itself --------------------------------------------------------------

/// Calls until one works. One that does not has to say so in words for an agent.
fn works_again(stack: &Stack, what: &str) {
    let shop = format!("http://{SHOP}/");
    until(&format!("a call that works after the end of {what}"), || {
        let reply = stack.try_call("recovery", &["open", &shop], 60);
        match reply.status {
            200 => {
                let answer = Answer::read(&reply.json());
                if answer.code == 0 {
                    return Some(());
                }
                let clear = [69, 75, 124].contains(&answer.code) || !answer.stderr.trim().is_empty();
                assert!(clear, "after the end of {what}: {answer:?}");
            }
            503 => assert!(reply.body.contains("try again in a few seconds"), "{reply:?}"),
            // nobody listens while nginx is started again: no answer can say so
            0 if what.starts_with("nginx") => {}
            _ => panic!("after the end of {what}: {reply:?}"),
        }
        None
    });
    stack.call("recovery", &["snapshot"]).ok();
}

fn one(found: Vec<Process>) -> Process {
    assert_eq!(found.len(), 1, "exactly one of them: {found:?}");
    found.into_iter().next().unwrap()
}

/// Kills processes, and waits for others in their place.
fn killed(stack: &Stack, what: &str, find: impl Fn() -> Vec<Process>) {
    stack.begin("recovery");
    let old = find();
    assert!(!old.is_empty(), "there is {what} to end");
    processes::kill(&old);
    works_again(stack, what);
    let new = until(&format!("{what} again"), || Some(find()).filter(|new| !new.is_empty()));
    assert!(!old.iter().any(lives), "{old:?}");
    assert!(new.iter().all(|process| old.iter().all(|gone| gone.id != process.id)), "{old:?} {new:?}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn the_server_comes_back() {
    let stack = enter(Kind::HurtJwt);
    let _turn = stack.browser();
    killed(&stack, "browser-shell", || vec![one(stack.processes_of("/usr/local/bin/browser-shell mcp"))]);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn the_egress_guard_comes_back() {
    let stack = enter(Kind::HurtJwt);
    let _turn = stack.browser();
    killed(&stack, "the egress guard", || vec![one(stack.processes_of("/usr/local/bin/browser-shell egress"))]);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_5_1_the_guard_has_no_rights() {
    let stack = enter(Kind::Open);
    let guard = one(stack.processes_of("/usr/local/bin/browser-shell egress"));
    assert_eq!(sorted(rights(guard.id)), nothing(GUARD));
    let variables = fs::read_to_string(format!("/proc/{}/environ", guard.id)).unwrap();
    assert!(variables.split('\0').all(|one| one.is_empty() || one.starts_with("PATH=")), "{variables:?}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn chromium_comes_back() {
    let stack = enter(Kind::HurtJwt);
    let _turn = stack.browser();
    killed(&stack, "Chromium", || {
        let all = stack.processes_of("/usr/lib/chromium/chromium ");
        all.into_iter().filter(|process| !process.command.contains(" --type=")).collect()
    });
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn nginx_comes_back() {
    let stack = enter(Kind::HurtJwt);
    let _turn = stack.browser();
    // the workers too: without their master they would go on by themselves
    killed(&stack, "nginx", || stack.processes_of("nginx: "));
}

// --- as whom -----------------------------------------------------------------------

/// The lines of a process's status that say what it may do.
fn rights(id: i32) -> Vec<(String, String)> {
    let names = ["Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"];
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| names.contains(name))
        .map(|(name, value)| (name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// Nothing but its own number.
fn nothing(user: u32) -> Vec<(String, String)> {
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

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_3_2_the_server_and_its_sessions_have_no_rights() {
    let stack = enter(Kind::Open);
    let _turn = stack.browser();
    stack.begin("rights");
    let server = one(stack.processes_of("/usr/local/bin/browser-shell mcp"));
    assert_eq!(sorted(rights(server.id)), nothing(SERVER));
    // agent-browser's daemon, which has left the server's process group
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
        if lives(process) {
            assert_eq!(sorted(rights(process.id)), nothing(SERVER), "{process:?}");
        }
    }
    // control: others do have what is looked for
    let nginx = one(stack.processes_of("nginx: master process"));
    let all = rights(nginx.id);
    assert!(all.contains(&("Uid".into(), "0 0 0 0".into())) && all.contains(&("NoNewPrivs".into(), "0".into())));
    assert!(!all.iter().any(|(name, value)| name.starts_with("CapEff") && value == &"0".repeat(16)), "{all:?}");
    stack.call("rights", &["close"]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn the_browsers_user_cannot_read_what_the_server_has() {
    let stack = enter(Kind::Open);
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

// --- what does not run ---------------------------------------------------------------

/// Ports on which something listens that other machines could reach.
fn reachable() -> Vec<u16> {
    let mut found = Vec::new();
    for (file, loopback) in [("/proc/net/tcp", "0100007F"), ("/proc/net/tcp6", "00000000000000000000000001000000")] {
        for line in fs::read_to_string(PathBuf::from(file)).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (address, port) = fields[1].split_once(':').unwrap();
            // 0A: it listens; 127.0.0.53 has the tests' name server, which speaks UDP
            if fields[3] == "0A" && address != loopback {
                found.push(u16::from_str_radix(port, 16).unwrap());
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The port of the tests' own pages, which have the same network.
const PAGES: u16 = 80;

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn services_that_nobody_wants_do_not_run() {
    let stack = enter(Kind::Open);
    assert_eq!(stack.processes_of(UNWANTED), []);
    assert_eq!(reachable(), [PAGES, 8080], "the wall is all that others can reach");
    assert!(stack.trap().is_empty(), "{}", stack.trap());
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn without_the_images_environment_they_would_run_and_the_tool_would_not() {
    let stack = enter(Kind::Bare);
    let names = |stack: &Stack| {
        let all = stack.processes_of(UNWANTED).into_iter();
        let mut names: Vec<String> =
            all.filter_map(|process| process.command.split_whitespace().nth(2).map(str::to_owned)).collect();
        names.sort_unstable();
        names
    };
    until("all of them", || {
        let wanted = ["code-server", "gost", "jupyter-lab", "mcp-server-browser", "nodejs-repl-20", "nodejs-repl-22"];
        let more = ["nodejs-repl-24", "opencode", "port-proxy", "web-terminal"];
        (names(&stack) == [wanted.as_slice(), more.as_slice()].concat()).then_some(())
    });
    until("their ports", || (reachable().len() > 2).then_some(()));
    assert!(stack.trap().contains("started"));
    // the server would rather not start at all than beside them
    assert_eq!(stack.processes_of("/usr/local/bin/browser-shell mcp"), []);
    assert_eq!(post("/mcp", &[], &super::base::list()).status, 503);
    assert!(
        stack.logs().iter().any(|(name, text)| name == "browser-shell.log" && text.contains("browser-shell start:"))
    );
}
