//! The grammar compared with agent-browser's own flag parser (spec [1.4]).
//!
//! The CLI of the pinned version must parse every accepted command exactly as intended: the same action and values,
//! our session and port, and nothing else. Requests that we send to the daemon directly must be identical. The test
//! acts as the session's daemon: it reads the CLI's requests from the socket and compares them with the command. It
//! proves nothing about the real daemon.

mod cases;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::{Arc, Mutex};
use std::thread;

use browser_shell_core::grammar::{COMPAT, Command, Profile, parse};
use browser_shell_core::grammar::{DaemonDialect, DaemonRequest};
use browser_shell_core::grammar::{GRAMMAR, NextStep, Plan, PlanOptions, ValueKind};
use browser_shell_core::output::{CapturedStream, RawOutput};
use browser_shell_core::policy::url;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use self::cases::{compat_cases, generated, to_lines, tool_cases};

/// The CLI sleeps before each command, so many run in parallel.
const LANES: usize = 8;

/// Subcommands that are answered without agent-browser.
const WITHOUT_CLI: &[&str] = &["dialog", "session", "--version", "--help"];

/// A path as the pipeline inserts it for a screenshot.
const PICTURE: &str = "/workspace/s/a.png";

/// A fake daemon of a session that records its requests.
struct Daemon {
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Daemon {
    fn start(folder: &Path, session: &str) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let listener = UnixListener::bind(folder.join(format!("{session}.sock"))).unwrap();
        std::fs::write(folder.join(format!("{session}.pid")), std::process::id().to_string()).unwrap();
        let kept = requests.clone();
        // Ends with the test process. The CLI also connects to check for a daemon.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), kept.clone());
                thread::spawn(move || serve(&stream, &kept));
            }
        });
        Self { requests }
    }

    /// Returns the requests so far, without their ids.
    fn requests(&self) -> Vec<Value> {
        let mut requests = self.requests.lock().unwrap().clone();
        for request in &mut requests {
            request.as_object_mut().unwrap().remove("id").expect("a request has no id");
        }
        requests
    }
}

fn serve(mut stream: &UnixStream, kept: &Mutex<Vec<Value>>) {
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let request: Value = serde_json::from_str(&line).expect("the CLI must send JSON");
        let answer = json!({ "id": request["id"], "success": true, "data": {} });
        kept.lock().unwrap().push(request);
        if writeln!(stream, "{answer}").is_err() {
            return;
        }
    }
}

/// Maximum time of an action that the native CLI is given.
const ACTION_TIMEOUT_MS: u64 = 7000;

fn agent_browser(package: &str) -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/e2e/node_modules/{package}/bin/agent-browser-linux-{machine}"));
    assert!(program.exists(), "`{}` is missing: run tests/e2e/setup", program.display());
    program
}

/// Runs the CLI with our fixed arguments and these elements, and returns its requests.
fn cli_requests(folder: &Path, session: &str, argv: &[String]) -> Vec<Value> {
    let daemon = Daemon::start(folder, session);
    let run = Process::new(agent_browser("agent-browser"))
        .args(["--session", session, "--cdp", "9222", "--json"])
        .args(argv)
        .env_clear()
        .env("HOME", folder)
        .env("AGENT_BROWSER_SOCKET_DIR", folder)
        .current_dir("/")
        .output()
        .unwrap();
    assert!(run.status.success(), "{argv:?}: {run:?}");
    daemon.requests()
}

/// Returns the requests of the native CLI. It replaces a daemon whose version or settings, which it reads from files, are not its own.
fn native_requests(folder: &Path, session: &str, argv: &[String]) -> Vec<Value> {
    let program = agent_browser("agent-browser-native");
    let version = Process::new(&program).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap().trim().trim_start_matches("agent-browser ").to_owned();
    let settings = json!({
        "action_policy": null, "confirm_actions": null, "debug": false, "default_timeout": ACTION_TIMEOUT_MS,
        "idle_timeout": null, "no_auto_dialog": false,
    });
    std::fs::write(folder.join(format!("{session}.version")), version).unwrap();
    std::fs::write(folder.join(format!("{session}.config")), settings.to_string()).unwrap();
    let daemon = Daemon::start(folder, session);
    let run = Process::new(program)
        .args(["--session", session, "--cdp", "9222", "--json"])
        .args(argv)
        .env_clear()
        .env("HOME", folder)
        .env("AGENT_BROWSER_SOCKET_DIR", folder)
        .env("AGENT_BROWSER_DEFAULT_TIMEOUT", ACTION_TIMEOUT_MS.to_string())
        .env("AGENT_BROWSER_NO_VERSION_CHECK", "1")
        .current_dir("/")
        .output()
        .unwrap();
    assert!(run.status.success(), "{argv:?}: {run:?}");
    daemon.requests()
}

/// Checks that the native CLI sends a command as it is sent directly to the daemon, if it is.
fn assert_native_request(folder: &Path, session: &str, command: &Command) {
    let dialect = DaemonDialect::Native { wait_timeout_ms: ACTION_TIMEOUT_MS };
    let Some(mapped) = DaemonRequest::from_command(command, dialect) else {
        assert_eq!(command.row.name, "tab", "{:?} has no mapping", command.to_argv());
        return;
    };
    let argv = command.to_argv();
    let asked = without_stray_flags(native_requests(folder, session, &argv));
    assert_eq!(asked[0], json!({ "action": "launch", "cdpPort": 9222 }), "{argv:?}");
    assert_eq!(asked[1..], [Value::Object(mapped.fields)], "{argv:?} sent directly to the native daemon");
}

/// Returns the expected requests of a command: the launch, then the action with exactly these fields.
fn expected_requests(command: &Command) -> Vec<Value> {
    vec![json!({ "action": "launch", "cdpPort": 9222 }), Value::Object(action(command))]
}

fn action(command: &Command) -> Map<String, Value> {
    let values: Vec<&str> = command.values().map(|(_, value)| value).collect();
    let argv = command.to_argv();
    let has = |flag: &str| argv.iter().any(|element| element == flag);
    let number = |text: &str| json!(text.trim_start_matches('+').parse::<u64>().unwrap());
    let of = |wanted: &dyn Fn(ValueKind) -> bool| command.value(wanted);
    let fields = match (command.row.name, command.form.word) {
        ("open", _) => json!({ "action": "navigate", "url": values[0] }),
        ("find", Some(locator)) => expected_find(command, locator, &values),
        ("cookies", Some("set")) => {
            json!({ "action": "cookies_set", "cookies": [{ "name": values[0], "value": values[1] }] })
        }
        ("cookies", Some("clear")) => json!({ "action": "cookies_clear" }),
        ("cookies", _) => json!({ "action": "cookies_get" }),
        ("tab", Some("new")) if values.is_empty() => json!({ "action": "tab_new" }),
        ("tab", Some("new")) => json!({ "action": "tab_new", "url": values[0] }),
        ("tab", Some("close")) if values.is_empty() => json!({ "action": "tab_close" }),
        ("tab", Some("close")) => json!({ "action": "tab_close", "index": number(values[0]) }),
        ("snapshot", _) => {
            let mut fields = json!({ "action": "snapshot" });
            let selector = of(&|kind| kind == ValueKind::Selector);
            let depth = of(&|kind| matches!(kind, ValueKind::Number(..)));
            let all = [
                ("interactive", has("-i").then(|| json!(true))),
                ("cursor", has("-C").then(|| json!(true))),
                ("compact", has("-c").then(|| json!(true))),
                ("maxDepth", depth.map(number)),
                ("selector", selector.map(Value::from)),
            ];
            for (name, value) in all {
                if let Some(value) = value {
                    fields[name] = value;
                }
            }
            fields
        }
        ("fill", _) => json!({ "action": "fill", "selector": values[0], "value": values[1] }),
        ("type", _) => json!({ "action": "type", "selector": values[0], "text": values[1] }),
        ("press", _) => json!({ "action": "press", "key": values[0] }),
        ("wait", _) if has("--text") => json!({ "action": "wait", "text": values[0] }),
        ("wait", _) if has("--url") => json!({ "action": "waitforurl", "url": values[0] }),
        ("wait", _) if has("--load") => json!({ "action": "waitforloadstate", "state": values[0] }),
        ("wait", _) if values[0].parse::<u64>().is_ok() => json!({ "action": "wait", "timeout": number(values[0]) }),
        ("wait", _) => json!({ "action": "wait", "selector": values[0] }),
        ("screenshot", _) => {
            let selector = of(&|kind| kind == ValueKind::Selector);
            json!({ "action": "screenshot", "path": PICTURE, "selector": selector, "fullPage": has("--full"), "annotate": false })
        }
        ("pdf", _) => json!({ "action": "pdf", "path": PICTURE }),
        ("select", _) if values.len() == 2 => json!({ "action": "select", "selector": values[0], "values": values[1] }),
        ("select", _) => json!({ "action": "select", "selector": values[0], "values": values[1..] }),
        ("get", Some("text")) => json!({ "action": "gettext", "selector": values[0] }),
        ("get", Some("html")) => json!({ "action": "innerhtml", "selector": values[0] }),
        ("get", Some("attr")) => json!({ "action": "getattribute", "selector": values[0], "attribute": values[1] }),
        ("get", Some("count")) => json!({ "action": "count", "selector": values[0] }),
        ("get", Some("value")) => json!({ "action": "inputvalue", "selector": values[0] }),
        ("get", Some("styles")) => json!({ "action": "styles", "selector": values[0] }),
        ("get", Some("box")) => json!({ "action": "boundingbox", "selector": values[0] }),
        ("get", Some(word)) => json!({ "action": word }),
        ("drag", _) => json!({ "action": "drag", "source": values[0], "target": values[1] }),
        ("is", Some(word)) => json!({ "action": format!("is{word}"), "selector": values[0] }),
        ("scroll", _) => {
            let direction = of(&|kind| matches!(kind, ValueKind::Word(_))).unwrap_or("down");
            let amount = of(&|kind| matches!(kind, ValueKind::Number(..))).map_or_else(|| json!(300), number);
            let mut fields = json!({ "action": "scroll", "direction": direction, "amount": amount });
            if let Some(selector) = of(&|kind| kind == ValueKind::Selector) {
                fields["selector"] = selector.into();
            }
            fields
        }
        ("tab", None) if !values.is_empty() => json!({ "action": "tab_switch", "index": number(values[0]) }),
        ("tab", _) => json!({ "action": "tab_list" }),
        ("close" | "back" | "forward" | "reload", _) => json!({ "action": command.row.name }),
        (name, _) => json!({ "action": name, "selector": values[0] }),
    };
    fields.as_object().unwrap().clone()
}

/// Returns the expected request of a `find`.
fn expected_find(command: &Command, locator: &str, values: &[&str]) -> Value {
    let argv = command.to_argv();
    // Flags come last, so that a text cannot be mistaken for a flag here.
    let flags = if values.contains(&"fill") { &[] } else { &argv[2..] };
    let exact = flags.iter().any(|element| element == "--exact");
    let mut fields = match locator {
        "role" => json!({ "action": "getbyrole", "role": values[0], "name": values[2], "exact": exact }),
        "text" => json!({ "action": "getbytext", "text": values[0], "exact": exact }),
        "label" => json!({ "action": "getbylabel", "label": values[0], "exact": exact }),
        "placeholder" => json!({ "action": "getbyplaceholder", "placeholder": values[0], "exact": exact }),
        "alt" => json!({ "action": "getbyalttext", "text": values[0], "exact": exact }),
        "title" => json!({ "action": "getbytitle", "text": values[0], "exact": exact }),
        "testid" => json!({ "action": "getbytestid", "testId": values[0] }),
        "first" => json!({ "action": "nth", "index": 0, "selector": values[0] }),
        "last" => json!({ "action": "nth", "index": -1, "selector": values[0] }),
        "nth" => json!({ "action": "nth", "index": values[0].parse::<u64>().unwrap(), "selector": values[1] }),
        other => panic!("unknown locator `{other}`"),
    };
    let action = usize::from(locator == "nth") + 1;
    fields["subaction"] = values[action].into();
    if values[action] == "fill" {
        fields["value"] = values[action + 1].into();
    }
    fields
}

/// Removes the flags that the CLI puts into `value` of a `find`. Its daemon reads `value` only for
/// `fill`.
fn without_stray_flags(mut asked: Vec<Value>) -> Vec<Value> {
    let action = asked[1].as_object_mut().unwrap();
    if action.get("subaction").is_some_and(|subaction| subaction != "fill")
        && let Some(value) = action.remove("value")
    {
        assert!(value.as_str().unwrap().starts_with("--"), "{value}");
    }
    asked
}

/// Returns the commands that the pipeline would run in order, if the command consists of steps.
fn steps(command: &Command) -> Option<Vec<Command>> {
    let mut plan = Plan::of(command, PlanOptions::default())?;
    let answer = json!({ "success": true, "data": { "box": { "x": 1, "y": 2, "width": 300, "height": 300 } } });
    let stdout = answer.to_string().into_bytes();
    let stdout = CapturedStream { total: stdout.len() as u64, bytes: stdout };
    let (mut steps, mut last) = (Vec::new(), None);
    while let NextStep::Run(command) = plan.next(last.take()) {
        steps.push(command);
        last = Some(RawOutput { exit_code: 0, stdout: stdout.clone(), stderr: CapturedStream::default() });
    }
    Some(steps)
}

/// Returns the command that the pipeline would run for these elements, if the grammar and the URL rules accept them.
fn accepted(profile: Profile, argv: &[String]) -> Option<Command> {
    let mut command = parse(profile, argv, |_| true).ok()?;
    if let Some(given) = command.value(|kind| kind == ValueKind::Url).map(str::to_owned) {
        command.set_value("URL", ValueKind::Url, url::parse(&given).ok()?.as_str().to_owned());
    }
    let file = command.form.positionals.iter().find(|positional| matches!(positional.kind, ValueKind::FileName(_)));
    if let Some(file) = file {
        command.set_value(file.name, file.kind, PICTURE.to_owned());
    }
    Some(command)
}

// Requirement 1.4.
#[test]
#[ignore = "needs agent-browser: run ./dev test"]
fn cli_parses_every_accepted_command_as_intended() {
    let tool_cases = [(Profile::Tool, tool_cases()), (Profile::Compat, compat_cases())];
    let mut lines = Vec::new();
    for ((profile, tool_cases), table) in tool_cases.into_iter().zip([GRAMMAR, COMPAT]) {
        for row in table.iter().filter(|row| !WITHOUT_CLI.contains(&row.name)) {
            for form in row.forms.iter().filter(|form| form.word.is_some() || row.forms.len() == 1) {
                let stands = |line: &Vec<String>| {
                    line[0] == row.name && form.word.is_none_or(|word| line.get(1).is_some_and(|given| given == word))
                };
                assert!(tool_cases.iter().any(stands), "add the new form `{}` to the cases", form.usage());
            }
        }
        lines.extend(tool_cases.into_iter().map(|line| (profile, line)));
        lines.extend(generated(profile, 240).into_iter().map(|line| (profile, line)));
    }
    let folder = TempDir::with_prefix("g").unwrap();
    thread::scope(|scope| {
        for lane in 0..LANES {
            let share = lines.iter().enumerate().skip(lane).step_by(LANES);
            let folder = folder.path();
            scope.spawn(move || {
                for (number, (profile, line)) in share {
                    let command = accepted(*profile, line).unwrap_or_else(|| panic!("{line:?} is not accepted"));
                    if let Some(steps) = steps(&command) {
                        for (step, command) in steps.iter().enumerate() {
                            let argv = command.to_argv();
                            let asked = cli_requests(folder, &format!("c{number}-{step}"), &argv);
                            let mapped = DaemonRequest::from_command(command, DaemonDialect::Node)
                                .expect("a step has no mapping");
                            assert_eq!(asked[1], Value::Object(mapped.fields), "{line:?}: the step {argv:?}");
                            assert_native_request(folder, &format!("n{number}-{step}"), command);
                        }
                        continue;
                    }
                    let argv = command.to_argv();
                    let asked = without_stray_flags(cli_requests(folder, &format!("c{number}"), &argv));
                    assert_eq!(asked, expected_requests(&command), "{line:?} as {argv:?}");
                    let mapped = DaemonRequest::from_command(&command, DaemonDialect::Node);
                    let mapped = mapped.expect("the form has no mapping");
                    assert_eq!(asked[1], Value::Object(mapped.fields), "{line:?} sent directly to the daemon");
                    assert_native_request(folder, &format!("n{number}"), &command);
                }
            });
        }
    });
}

// Requirement 1.4.
#[test]
#[ignore = "needs agent-browser: run ./dev test"]
fn cli_parses_commands_refused_by_grammar_differently() {
    let folder = TempDir::with_prefix("g").unwrap();
    let lines: &[(&[&str], &str)] = &[
        (&["fill", "@e1", "--cdp", "9333"], "another port"),
        (&["fill", "@e1", "--headed"], "text that vanishes"),
        (&["wait", "--text", "--url", "x"], "another action"),
        (&["click", "@e1", "--new-tab"], "a new tab"),
    ];
    for (number, (line, why)) in lines.iter().enumerate() {
        let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        for profile in [Profile::Tool, Profile::Strict, Profile::Compat] {
            assert!(accepted(profile, &line).is_none(), "{profile:?} {line:?}");
        }
        let asked = cli_requests(folder.path(), &format!("r{number}"), &line);
        let as_meant = [
            json!({ "action": "launch", "cdpPort": 9222 }),
            json!({ "action": line[0], "selector": "@e1", "value": line[2..].join(" ") }),
        ];
        assert_ne!(asked, as_meant, "{why}");
    }
    let asked = cli_requests(folder.path(), "port", &["fill".into(), "@e1".into(), "--cdp".into(), "9333".into()]);
    assert_eq!(asked[0]["cdpPort"], 9333, "control: a flag in a text must have an effect");
    assert_eq!(asked[1]["value"], "");
}

// Requirement 1.4.
#[test]
#[ignore = "needs agent-browser: run ./dev test"]
fn cli_parses_commands_refused_by_compat_differently() {
    let folder = TempDir::with_prefix("g").unwrap();
    let rows: &[(&[&str], Value)] = &[
        (
            &["find", "label", "Email", "fill", "x", "--exact"],
            json!({ "action": "getbylabel", "label": "Email", "subaction": "fill", "exact": true, "value": "x --exact" }),
        ),
        (
            &["find", "role", "textbox", "fill", "x", "--name", "a"],
            json!({ "action": "getbyrole", "role": "textbox", "subaction": "fill", "name": "a", "exact": false, "value": "x --name a" }),
        ),
        (
            &["find", "role", "button", "click"],
            json!({ "action": "getbyrole", "role": "button", "subaction": "click", "name": null, "exact": false }),
        ),
        (&["tab", "close", "second"], json!({ "action": "tab_close" })),
        (&["tab", "second"], json!({ "action": "tab_list" })),
    ];
    for (number, (line, misread)) in rows.iter().enumerate() {
        let line = to_lines(&[line]).remove(0);
        assert!(accepted(Profile::Compat, &line).is_none(), "{line:?}");
        assert_eq!(cli_requests(folder.path(), &format!("m{number}"), &line)[1], *misread, "{line:?}");
    }
    let line = to_lines(&[&["screenshot", "--full", "true", PICTURE]]).remove(0);
    let asked = cli_requests(folder.path(), "full", &line);
    assert_eq!(asked[1]["selector"], Value::Null, "the flag consumes the next word, so ours must be last: {asked:?}");
    let ours = accepted(Profile::Compat, &to_lines(&[&["screenshot", "--full", "true"]]).remove(0)).unwrap();
    let asked = cli_requests(folder.path(), "ours", &ours.to_argv());
    assert_eq!((&asked[1]["selector"], &asked[1]["fullPage"]), (&json!("true"), &json!(true)), "control: {asked:?}");
}
