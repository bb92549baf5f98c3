//! The newest agent-browser, a native program instead of a CLI with a Node daemon. Agents see the same replies, and
//! the same limits hold.
//!
//! Only a selection of tests, because the rest of the suite does not depend on agent-browser.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use browser_shell_core::grammar::{GRAMMAR, SubcommandSpec};
use serde_json::{Value, json};

use super::{
    chromium::Chromium,
    hosts::{INTRANET, NEWS, SHOP},
    processes,
    server::{CallReply, Server, TestEnv},
    test_env::{self, Browser},
};

/// Subcommands that the policy file must enable.
const OPTIONAL: [&str; 11] =
    ["back", "forward", "reload", "get", "is", "scroll", "tab", "pdf", "dialog", "drag", "select-text"];

fn env() -> TestEnv {
    test_env::env_with(&test_env::native())
}

fn env_with_optional_subcommands() -> TestEnv {
    env().with_policy(&json!({"subcommands": {"enable": OPTIONAL}}))
}

fn shop() -> String {
    format!("http://{SHOP}/")
}

/// Returns the listening TCP sockets of processes, by inode.
fn listening(processes: &[processes::Process]) -> BTreeSet<String> {
    let mut listeners = BTreeSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let table = fs::read_to_string(table).unwrap_or_default();
        let fields = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        // 0A is the state LISTEN.
        listeners.extend(fields.filter(|fields| fields[3] == "0A").map(|fields| format!("socket:[{}]", fields[9])));
    }
    let files = processes.iter().filter_map(|process| fs::read_dir(format!("/proc/{}/fd", process.id)).ok());
    let names = files.flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    names.map(|name| name.display().to_string()).filter(|name| listeners.contains(name)).collect()
}

/// Returns the session's socket, found by name in the runtime folder.
fn socket_of(env: &TestEnv, session: &str) -> PathBuf {
    let folders = fs::read_dir(Path::new(env.folder()).join("run/s")).unwrap();
    let name = format!("{session}.sock");
    folders
        .flatten()
        .map(|folder| folder.path().join(&name))
        .find(|path| path.exists())
        .expect("no socket of the session")
}

/// Sends a request directly to a session's daemon, as an attacker who controls agent-browser's CLI could.
fn daemon_request(socket: &Path, request: &Value) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(processes::TEST_TIMEOUT)).unwrap();
    writeln!(stream, "{request}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

// Requirement 1.6.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn native_agent_browser_gives_same_replies_as_pinned_version() {
    let browser = Browser::lock();
    let server = env_with_optional_subcommands().serve();
    let call = |argv: &[&str]| server.call("s", argv).ok();
    let tall = format!("http://{NEWS}/tall");

    assert_eq!(call(&["open", &shop()]).data(), json!({"title": "Shop", "url": shop()}));
    let seen = call(&["snapshot", "-i"]);
    assert_eq!(seen.data()["origin"], shop());
    let name = seen.reference("textbox", "Name");
    let save = seen.reference("button", "Save");
    for (argv, data) in [
        (&["fill", &name, "hunter2"][..], json!({"filled": true})),
        (&["type", "#note", "-5"], json!({"typed": true})),
        (&["press", "Tab"], json!({"pressed": true})),
        (&["check", "#gift"], json!({"checked": true})),
        (&["select", "#size", "l"], json!({"selected": ["l"]})),
        (&["click", &save], json!({"clicked": true})),
        (&["hover", "#over"], json!({"hovered": true})),
        (&["focus", "#note"], json!({"focused": true})),
        (&["dblclick", "#twice"], json!({"clicked": true})),
        (&["click", "#later"], json!({"clicked": true})),
        (&["wait", "#arrived"], json!({"waited": true})),
        (&["wait", "--text", "It has arrived"], json!({"waited": true})),
        (&["wait", "50"], json!({"waited": true})),
        (&["wait", "--load", "load"], json!({"state": "load"})),
        (&["wait", "--url", "**/arrived"], json!({"url": format!("{}arrived", shop())})),
        (&["get", "count", "h1"], json!({"count": 1})),
        (&["get", "title"], json!({"title": "Shop"})),
        (&["is", "checked", "#gift"], json!({"checked": true, "origin": format!("{}arrived", shop())})),
    ] {
        let mut expected = data;
        let mut got = call(argv).data();
        // Versions differ in whether a reply contains its origin.
        for data in [&mut expected, &mut got] {
            data.as_object_mut().unwrap().remove("origin");
        }
        assert_eq!(got, expected, "{argv:?}");
    }
    let page = call(&["snapshot"]).page();
    for text in ["saved hunter2/-5/l/gift=true", "hover", "dblclick"] {
        assert!(page.contains(text), "`{text}` in {page}");
    }

    let shot = call(&["screenshot", "shot.png"]);
    let path = shot.data()["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with(server.env().workspace().join("s").to_str().unwrap()), "{path}");
    assert_eq!(Some(fs::read(&path).unwrap()), shot.picture);
    assert_eq!(shot.data().as_object().unwrap().len(), 1, "{}", shot.stdout);

    call(&["open", &tall]);
    let boxed = call(&["get", "box", "h1"]).data()["box"].clone();
    assert_eq!(boxed.as_object().unwrap().keys().collect::<Vec<_>>(), ["height", "width", "x", "y"]);
    call(&["scroll", "down", "600"]);
    call(&["wait", "--text", "at more"]);
    let mut tabs = call(&["tab"]).data();
    // The tab may be listed before its title is known.
    tabs["tabs"][0].as_object_mut().unwrap().remove("title").unwrap();
    assert_eq!(tabs, json!({"active": 0, "tabs": [{"active": true, "index": 0, "url": tall}]}));
    assert_eq!(call(&["tab", "0"]).data()["url"], tall);
    let refusal = server.call("s", &["tab", "7"]).fails_with(1);
    assert!(refusal.stderr.contains("no tab 7"), "{refusal:?}");
    assert_eq!(call(&["back"]).data()["url"], format!("{}arrived", shop()));
    assert_eq!(browser.address(), format!("{}arrived", shop()));

    let audit = server.env().audit();
    assert!(!audit.contains("hunter2"), "{audit}");
    server.call("s", &["close"]).ok();
    assert_eq!(server.processes(), []);
    assert_eq!(browser.address(), format!("{}arrived", shop()), "Chromium must keep running and show its page");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn native_refusals_are_ours_and_refused_landing_is_left() {
    let browser = Browser::lock();
    let server = env().serve();
    let call = |argv: &[&str]| server.call("s", argv);
    let hello = format!("http://{NEWS}/hello");
    call(&["open", &shop()]).ok();
    for flag in ["--cdp", "--pin-tab"] {
        // Its command line would take the text for a flag.
        call(&["fill", "#name", flag]).fails_with(64);
    }
    call(&["fill", "#name", "-cdp"]).ok();
    assert!(call(&["snapshot"]).ok().page().contains("-cdp"), "control");
    call(&["open", &hello]).ok();
    for (argv, code) in [
        (&["eval", "1"][..], 64),
        (&["open", "http://10.20.30.40/"], 77),
        (&["open", "file:///etc/passwd"], 77),
        (&["screenshot", "../out.png"], 64),
        (&["wait", "-f", "true"], 64),
    ] {
        call(argv).fails_with(code);
    }
    assert_eq!(browser.address(), hello);
    let refusal = call(&["open", &format!("http://{SHOP}/to?http://{INTRANET}/hello")]).fails_with(77);
    assert!(!format!("{refusal:?}").contains("Hello from"), "{refusal:?}");
    assert_eq!(browser.address(), hello, "the page stays where it was");
    let harmless = format!("http://{SHOP}/to?{hello}");
    assert_eq!(call(&["open", &harmless]).ok().data()["url"], hello, "control");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn native_timeout_exits_124_and_keeps_other_sessions() {
    let browser = Browser::lock();
    let server = env().serve();
    server.call("first", &["open", &shop()]).ok();
    server.call("other", &["snapshot"]).ok();
    let daemons = server.processes().len();
    server.call_within(3, "first", &["open", &format!("http://{SHOP}/never")]).fails_with(124);
    assert_eq!(server.processes().len(), daemons - 1, "only the daemon of the call may have ended");
    server.call("first", &["open", &shop()]).ok();
    server.call("first", &["close"]).ok();
    assert!(server.call("other", &["snapshot"]).ok().page().contains("nothing saved"));
    assert_eq!(browser.address(), shop());
    server.call("other", &["close"]).ok();
    assert_eq!(server.processes(), []);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn native_calls_exit_69_until_chromium_is_back() {
    test_env::hosts();
    // Not the shared browser, which other tests use.
    let port = 9334;
    let server = env().with("BROWSER_SHELL_CDP_PORT", port.to_string()).serve();
    let open = || server.call("s", &["open", &shop()]);
    open().fails_with(69);
    let chromium = Chromium::start(port);
    open().ok();
    drop(chromium);
    for argv in [&["snapshot"][..], &["open", &shop()], &["click", "#save"], &["screenshot"]] {
        let failure = server.call("s", argv).fails_with(69);
        assert!(failure.picture.is_none(), "{failure:?}");
    }
    let _chromium = Chromium::start(port);
    open().ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
}

fn assert_works_in(program: &Path, sandbox: &Value, status: &str) {
    let _browser = Browser::lock();
    let server = test_env::env_with(program).with_policy(&json!({ "sandbox": sandbox })).serve();
    server.call("s", &["open", &shop()]).ok();
    server.call("s", &["fill", "#name", "Ada"]).ok();
    server.call("s", &["click", "#save"]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("saved Ada"));
    assert!(server.call("s", &["screenshot"]).ok().picture.is_some());
    let confined = status != "off";
    let processes = server.processes();
    let daemon = processes.iter().find(|process| {
        let program = fs::read_link(format!("/proc/{}/exe", process.id)).unwrap_or_default();
        program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-browser"))
    });
    let daemon = daemon.unwrap_or_else(|| panic!("no daemon in: {processes:#?}"));
    let kernels = fs::read_to_string(format!("/proc/{}/status", daemon.id)).unwrap();
    assert_eq!(kernels.contains("Seccomp:\t2"), confined);
    // Without a sandbox, the daemon streams the screen to any client on a loopback port.
    assert_eq!(listening(&processes).is_empty(), confined, "control: without a sandbox it must listen");
    let audit = server.env().audit();
    assert!(audit.lines().all(|line| line.contains(&format!(r#""sandbox":"{status}""#))), "{audit}");
    if confined {
        assert_writes_only_own_files(&server);
    }
    server.call("s", &["close"]).ok();
    assert_eq!(server.processes(), []);
}

/// Requests screenshots directly from the daemon, without the grammar.
fn assert_writes_only_own_files(server: &Server) {
    let socket = socket_of(server.env(), "s");
    let outside = Path::new(server.env().folder()).join("outside.png");
    let neighbour = server.env().workspace().join("other");
    fs::create_dir(&neighbour).unwrap();
    // The gate refuses what a daemon does while no call of its session runs.
    let shoot = |path: &Path| {
        processes::wait_for("an answer while a call runs", || {
            let call = server.begin("s", &["wait", "100"], None);
            let answer = daemon_request(&socket, &json!({"id": "1", "action": "screenshot", "path": path}));
            call.answer().ok();
            (!answer.to_string().contains("no call of the session runs")).then_some(answer)
        })
    };
    for path in [outside, neighbour.join("a.png"), "/mnt/outside.png".into()] {
        let answer = shoot(&path);
        assert!(answer["success"] == false && !path.exists(), "{}: {answer}", path.display());
    }
    let own = server.env().workspace().join("s/own.png");
    let answer = shoot(&own);
    assert!(answer["success"] == true && own.exists(), "control: {answer}");
    // It cannot start another browser either, because only its own program can be executed.
    let answer =
        daemon_request(&socket, &json!({"id": "2", "action": "launch", "executablePath": "/usr/bin/chromium"}));
    let started = server.processes().into_iter().filter(|process| process.command.contains("chromium"));
    assert_eq!(started.collect::<Vec<_>>(), [], "{answer}");
}

// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn native_agent_browser_works_in_sandbox_without_extra_rights() {
    let (native, bare) = (test_env::native(), test_env::native_without_libraries());
    let landlock = json!({"backend": "landlock", "require": true});
    let bubblewrap = json!({"backend": "bubblewrap", "require": true});
    assert_works_in(&native, &landlock, "landlock:full");
    assert_works_in(&native, &bubblewrap, "bubblewrap:full");
    assert_works_in(&bare, &landlock, "landlock:full");
    assert_works_in(&bare, &bubblewrap, "bubblewrap:full");
    assert_works_in(&native, &json!({"enabled": false}), "off");
}

/// Runs agent-browser's CLI directly, under the action policy that our program wrote, in another session.
fn run_cli_directly(env: &TestEnv, folder: &Path, argv: &[&str]) -> Output {
    Command::new(test_env::native())
        .args(["--session", "bare", "--cdp", "9222", "--json"])
        .args(argv)
        .env_clear()
        .envs([("HOME", folder), ("TMPDIR", folder), ("AGENT_BROWSER_SOCKET_DIR", folder)])
        .env("AGENT_BROWSER_ACTION_POLICY", Path::new(env.folder()).join("run/action-policy.json"))
        .env("AGENT_BROWSER_DEFAULT_TIMEOUT", "1000")
        .env("AGENT_BROWSER_NO_VERSION_CHECK", "1")
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn native_action_policy_allows_only_grammar_table() {
    const DENIED: &str = "denied by policy";
    let _browser = Browser::lock();
    let server = env_with_optional_subcommands().with_short_action_timeout().serve();
    let call = |argv: &[&str]| -> CallReply { server.call("s", argv) };
    call(&["open", &shop()]).ok();
    let allowed: &[&[&str]] = &[
        &["open", &shop()],
        &["snapshot"],
        &["click", "#save"],
        &["fill", "#name", "x"],
        &["type", "#name", "x"],
        &["press", "Tab"],
        &["wait", "10"],
        &["wait", "h1"],
        &["wait", "--text", "Shop"],
        &["wait", "--url", "**"],
        &["wait", "--load", "load"],
        &["screenshot"],
        &["dblclick", "#twice"],
        &["hover", "#over"],
        &["focus", "#note"],
        &["check", "#gift"],
        &["uncheck", "#gift"],
        &["select", "#size", "l"],
        &["reload"],
        &["get", "text", "h1"],
        &["get", "html", "h1"],
        &["get", "attr", "h1", "id"],
        &["get", "url"],
        &["get", "title"],
        &["get", "count", "h1"],
        &["get", "box", "h1"],
        &["is", "visible", "h1"],
        &["is", "enabled", "h1"],
        &["is", "checked", "#gift"],
        &["scroll", "down"],
        &["tab"],
        &["tab", "list"],
        &["tab", "0"],
        &["pdf"],
        &["get", "value", "#note"],
        &["drag", "#over", "#twice"],
        &["dialog", "dismiss"],
        &["back"],
        &["forward"],
        &["close"],
    ];
    let named: BTreeSet<_> = allowed.iter().map(|argv| argv[0]).collect();
    let has_form = |row: &&SubcommandSpec| row.forms.iter().any(|form| !form.is_of_cdp());
    let table: BTreeSet<_> = GRAMMAR.iter().filter(has_form).map(|row| row.name).collect();
    assert_eq!(named, table, "every row of the grammar must be tested");
    for argv in allowed {
        let answer = call(argv);
        assert!(!answer.stderr.contains(DENIED), "{argv:?}: {answer:?}");
        // The history may be empty, and no dialog is open.
        assert!(answer.code == 0 || ["back", "forward", "dialog"].contains(&argv[0]), "{argv:?}: {answer:?}");
    }

    let folder = tempfile::TempDir::with_prefix("bare").unwrap();
    let run = |argv: &[&str]| {
        let output = run_cli_directly(server.env(), folder.path(), argv);
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let control = run(&["get", "title"]);
    assert!(control.contains(r#""success":true"#), "control: {control}");
    for argv in [
        &["eval", "1"][..],
        &["cookies", "get"],
        &["cookies", "set", "a", "b"],
        &["storage", "local"],
        &["state", "save", "x.json"],
        &["upload", "#name", "/etc/passwd"],
        &["download", "a", "x"],
        &["network", "requests"],
        &["network", "route", "**"],
        &["set", "viewport", "100", "100"],
        &["set", "offline", "on"],
        &["tab", "new"],
        &["window", "new"],
        &["stream", "enable"],
        &["trace", "start"],
        &["record", "start", "x.webm"],
        &["profiler", "start"],
        &["console"],
        &["errors"],
        &["frame", "main"],
        &["dialog", "accept"],
        &["mouse", "wheel", "1", "1"],
        &["keyboard", "type", "x"],
        &["clipboard", "read"],
        &["get", "cdp-url"],
        &["get", "styles", "h1"],
        &["wait", "--fn", "true"],
        &["wait", "--download"],
        &["find", "role", "button", "click"],
        &["diff", "snapshot"],
        &["highlight", "h1"],
    ] {
        let output = run(argv);
        assert!(output.contains(DENIED), "{argv:?}: {output}");
    }
    run(&["close"]);
    processes::wait_for("the end of the daemon", || {
        processes::belonging_to(folder.path(), &[]).is_empty().then_some(())
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn doctor_names_detected_agent_browser() {
    let _browser = Browser::lock();
    for (program, kind) in [
        (test_env::native(), "one native program"),
        (test_env::native_without_libraries(), "one native program without libraries"),
        (test_env::agent_browser(), "with a daemon in Node"),
    ] {
        let run = test_env::env_with(&program).with_policy(&json!({})).run(&["doctor", "--json"]);
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        let found = |name: &str| {
            let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap();
            assert_eq!(check["ok"], true, "{check}");
            check["found"].as_str().unwrap().to_owned()
        };
        assert!(found("agent-browser").ends_with(kind), "{report}");
        assert_eq!(found("node").contains("not needed"), kind.contains("native"), "{report}");
    }
}
