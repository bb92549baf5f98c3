//! The grammar against the real flag parser of agent-browser (spec [1.4]).
//!
//! Whatever the grammar accepts, the CLI of the pinned version must read exactly as it is meant: the same action, the same
//! values, our session, our port, and nothing more; and what is asked straight of the daemon must be the very same. The test
//! plays the session's daemon: it takes the CLI's requests off the socket and compares them with what the command says. It
//! does not prove what the real daemon does with them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::{Arc, Mutex};
use std::thread;

use browser_shell::argv::request::Request;
use browser_shell::argv::table::{GRAMMAR, Kind};
use browser_shell::argv::{COMPAT, Command, Dialect, parse};
use browser_shell::policy::url;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The CLI sleeps before each command, so many run side by side.
const LANES: usize = 8;

/// A path as the pipeline puts it behind a screenshot.
const PICTURE: &str = "/workspace/s/a.png";

/// Plays the daemon of a session and keeps what it is asked.
struct Daemon {
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Daemon {
    fn start(folder: &Path, session: &str) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let listener = UnixListener::bind(folder.join(format!("{session}.sock"))).unwrap();
        std::fs::write(folder.join(format!("{session}.pid")), std::process::id().to_string()).unwrap();
        let kept = requests.clone();
        // It ends with the test process; the CLI connects to see whether a daemon is there, too.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), kept.clone());
                thread::spawn(move || serve(&stream, &kept));
            }
        });
        Self { requests }
    }

    /// The requests so far, without their ids.
    fn requests(&self) -> Vec<Value> {
        let mut requests = self.requests.lock().unwrap().clone();
        for request in &mut requests {
            request.as_object_mut().unwrap().remove("id").expect("every request has an id");
        }
        requests
    }
}

fn serve(mut stream: &UnixStream, kept: &Mutex<Vec<Value>>) {
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let request: Value = serde_json::from_str(&line).expect("the CLI sends JSON");
        let answer = json!({ "id": request["id"], "success": true, "data": {} });
        kept.lock().unwrap().push(request);
        if writeln!(stream, "{answer}").is_err() {
            return;
        }
    }
}

fn agent_browser() -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/e2e/node_modules/agent-browser/bin/agent-browser-linux-{machine}"));
    assert!(program.exists(), "`{}` is missing: run tests/e2e/setup", program.display());
    program
}

/// Runs the CLI on the elements behind our fixed ones, and gives the requests it made.
fn ask(folder: &Path, session: &str, argv: &[String]) -> Vec<Value> {
    let daemon = Daemon::start(folder, session);
    let run = Process::new(agent_browser())
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

/// What a daemon should be asked for a command: the launch, then the action with exactly these fields.
fn meant(command: &Command) -> Vec<Value> {
    vec![json!({ "action": "launch", "cdpPort": 9222 }), Value::Object(action(command))]
}

fn action(command: &Command) -> Map<String, Value> {
    let values: Vec<&str> = command.values().map(|(_, value)| value).collect();
    let argv = command.to_argv();
    let has = |flag: &str| argv.iter().any(|element| element == flag);
    let number = |text: &str| json!(text.trim_start_matches('+').parse::<u64>().unwrap());
    let of = |wanted: &dyn Fn(Kind) -> bool| command.value(wanted);
    let fields = match (command.row.name, command.form.word) {
        ("open", _) => json!({ "action": "navigate", "url": values[0] }),
        ("find", Some(locator)) => found(command, locator, &values),
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
            let selector = of(&|kind| kind == Kind::Selector);
            let depth = of(&|kind| matches!(kind, Kind::Number(..)));
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
            let selector = of(&|kind| kind == Kind::Selector);
            json!({ "action": "screenshot", "path": PICTURE, "selector": selector, "fullPage": has("--full"), "annotate": false })
        }
        ("pdf", _) => json!({ "action": "pdf", "path": PICTURE }),
        ("select", _) if values.len() == 2 => json!({ "action": "select", "selector": values[0], "values": values[1] }),
        ("select", _) => json!({ "action": "select", "selector": values[0], "values": values[1..] }),
        ("get", Some("text")) => json!({ "action": "gettext", "selector": values[0] }),
        ("get", Some("html")) => json!({ "action": "innerhtml", "selector": values[0] }),
        ("get", Some("attr")) => json!({ "action": "getattribute", "selector": values[0], "attribute": values[1] }),
        ("get", Some("count")) => json!({ "action": "count", "selector": values[0] }),
        ("get", Some("box")) => json!({ "action": "boundingbox", "selector": values[0] }),
        ("get", Some(word)) => json!({ "action": word }),
        ("is", Some(word)) => json!({ "action": format!("is{word}"), "selector": values[0] }),
        ("scroll", _) => {
            let direction = of(&|kind| matches!(kind, Kind::Word(_))).unwrap_or("down");
            let amount = of(&|kind| matches!(kind, Kind::Number(..))).map_or_else(|| json!(300), number);
            let mut fields = json!({ "action": "scroll", "direction": direction, "amount": amount });
            if let Some(selector) = of(&|kind| kind == Kind::Selector) {
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

/// What `find` should ask for.
fn found(command: &Command, locator: &str, values: &[&str]) -> Value {
    let argv = command.to_argv();
    // The flags stand behind everything else, so that a text cannot be taken for one here.
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
        other => panic!("a new locator, `{other}`"),
    };
    let action = usize::from(locator == "nth") + 1;
    fields["subaction"] = values[action].into();
    if values[action] == "fill" {
        fields["value"] = values[action + 1].into();
    }
    fields
}

/// Takes out what the CLI of 0.19 puts into `value` of a `find` with flags and its daemon reads for `fill` alone.
fn without_stray_flags(mut asked: Vec<Value>) -> Vec<Value> {
    let action = asked[1].as_object_mut().unwrap();
    if action.get("subaction").is_some_and(|subaction| subaction != "fill")
        && let Some(value) = action.remove("value")
    {
        assert!(value.as_str().unwrap().starts_with("--"), "{value}");
    }
    asked
}

/// The command that the pipeline would pass on for these elements, if the grammar and the URL rules accept them.
fn accepted(dialect: Dialect, argv: &[String]) -> Option<Command> {
    let mut command = parse(dialect, argv, |_| true).ok()?;
    if let Some(given) = command.value(|kind| kind == Kind::Url).map(str::to_owned) {
        command.put("URL", Kind::Url, url::parse(&given).ok()?.as_str().to_owned());
    }
    let file = command.form.positionals.iter().find(|positional| matches!(positional.kind, Kind::FileName(_)));
    if let Some(file) = file {
        command.put(file.name, file.kind, PICTURE.to_owned());
    }
    Some(command)
}

/// Every form of the table once, and texts on which parsers fall out.
fn by_hand() -> Vec<Vec<String>> {
    const LINES: &[&[&str]] = &[
        &["open", "https://example.com/a?b=--cdp#c"],
        &["open", "about:blank"],
        &["open", "example.com:8080/--session"],
        &["snapshot"],
        &["snapshot", "-i", "-c", "-d", "3", "-s", "#main > p"],
        &["click", "@e1"],
        &["click", "text=--json"],
        &["dblclick", "a[href='--cdp']"],
        &["hover", "#a"],
        &["focus", "#a"],
        &["check", "#a"],
        &["uncheck", "#a"],
        &["fill", "@e1", ""],
        &["fill", "@e1", "true"],
        &["fill", "@e1", "--"],
        &["fill", "@e1", "-"],
        &["fill", "@e1", "-x"],
        &["fill", "@e1", "--foo=--cdp=1"],
        &["fill", "@e1", " --cdp"],
        &["fill", "@e1", "--cdp "],
        &["fill", "@e1", "--CDP"],
        &["fill", "@e1", "two\nlines\r\n"],
        &["fill", "@e1", "\"quoted\" 'text' \\ $HOME `id` ; | & \u{1f600}"],
        &["type", "#a", "-n"],
        &["type", "#a", "--foo"],
        &["press", "Control+a"],
        &["press", "-"],
        &["press", "+"],
        &["wait", "#done"],
        &["wait", "0"],
        &["wait", "+5"],
        &["wait", "24999"],
        &["wait", "--text", "--done"],
        &["wait", "--text", "-1"],
        &["wait", "--text", ""],
        &["wait", "--url", "**/done"],
        &["wait", "--load", "networkidle"],
        &["screenshot"],
        &["screenshot", "b.png"],
        &["screenshot", "#main"],
        &["screenshot", "button"],
        &["screenshot", "./x"],
        &["screenshot", "@e1", "b.png"],
        &["close"],
        &["select", "#a", "one"],
        &["select", "#a", "one", "--two", "-3", ""],
        &["back"],
        &["forward"],
        &["reload"],
        &["get", "text", "#a"],
        &["get", "html", "#a"],
        &["get", "attr", "#a", "href"],
        &["get", "url"],
        &["get", "title"],
        &["get", "count", "a"],
        &["get", "box", "#a"],
        &["is", "visible", "#a"],
        &["is", "enabled", "#a"],
        &["is", "checked", "#a"],
        &["scroll"],
        &["scroll", "up", "5", "-s", "#a"],
        &["tab"],
        &["tab", "list"],
        &["tab", "3"],
        &["pdf"],
        &["pdf", "b.pdf"],
    ];
    to_lines(LINES)
}

/// Every form of the compat table once.
fn by_hand_of_compat() -> Vec<Vec<String>> {
    const LINES: &[&[&str]] = &[
        &["find", "role", "button", "click", "--name", "Submit"],
        &["find", "role", "--exact", "checkbox", "check", "--name", "I agree; $HOME"],
        &["find", "role", "link", "hover", "--exact", "--name", "true"],
        &["find", "text", "Sign in", "click"],
        &["find", "text", "click", "hover", "--exact"],
        &["find", "label", "Email", "click"],
        &["find", "label", "Agree", "check", "--exact"],
        &["find", "label", "Email", "fill", "a@b.example"],
        &["find", "label", "Email", "fill", ""],
        &["find", "label", "Email", "fill", "-x"],
        &["find", "label", "fill", "fill", "true"],
        &["find", "placeholder", "Search", "click"],
        &["find", "placeholder", "Search", "click", "--exact"],
        &["find", "placeholder", "Search", "fill", "two\nlines  and \"quotes\""],
        &["find", "alt", "Logo", "click"],
        &["find", "alt", "Logo", "hover", "--exact"],
        &["find", "title", "Close", "click", "--exact"],
        &["find", "title", "Close", "hover"],
        &["find", "testid", "submit-btn", "click"],
        &["find", "testid", "submit-btn", "check"],
        &["find", "testid", "submit-btn", "hover"],
        &["find", "testid", "submit-btn", "fill", "x"],
        &["find", "first", ".item", "click"],
        &["find", "first", ".item", "text"],
        &["find", "first", ".item", "fill", "--"],
        &["find", "last", "li > a", "hover"],
        &["find", "last", "li", "check"],
        &["find", "last", "li", "fill", "x"],
        &["find", "nth", "0", "@e1", "text"],
        &["find", "nth", "2", "li", "click"],
        &["find", "nth", "999", "li", "fill", "x"],
        &["snapshot", "-i", "-C"],
        &["snapshot", "--cursor", "-c", "-d", "3", "-s", "#a"],
        &["tab"],
        &["tab", "list"],
        &["tab", "3"],
        &["tab", "new"],
        &["tab", "new", "https://example.com/a?b=--cdp#c"],
        &["tab", "new", "about:blank"],
        &["tab", "close"],
        &["tab", "close", "0"],
        &["scrollintoview", "#footer"],
        &["screenshot"],
        &["screenshot", "--full"],
        &["screenshot", "-f", "b.png"],
        &["screenshot", "true", "--full"],
        &["screenshot", "--full", "false", "/workspace/dir/b.png"],
        &["screenshot", "#main", "dir/b c.png"],
        &["pdf", "/workspace/out/b.pdf"],
        &["cookies"],
        &["cookies", "get"],
        &["cookies", "set", "a", "b=c; d"],
        &["cookies", "set", "a", "true"],
        &["cookies", "clear"],
    ];
    to_lines(LINES)
}

fn to_lines(lines: &[&[&str]]) -> Vec<Vec<String>> {
    lines.iter().map(|line| line.iter().map(|word| (*word).to_owned()).collect()).collect()
}

/// Accepted commands out of elements that are likely to hit something, the same in every run.
fn generated(dialect: Dialect, count: usize) -> Vec<Vec<String>> {
    const COMPAT: &[&str] = &["find", "tab", "cookies", "scrollintoview", "screenshot", "snapshot"];
    let text = prop_oneof![
        3 => proptest::sample::select(vec![
            "true", "false", "-", "--", "---", "-5", "--foo", "--x=y", "-i", "-s", "-d", "-t", "--fn", "--text", "--new-tab", "--clear", "=", "a=b",
            "open", "close", "@e1", "#a", "3", "100", "", " ", "a b", "a.png", "../a.png", "/etc/passwd", "*", "?", "$(id)", "\u{2014}cdp", "\u{e9}", "\t",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,16}",
        1 => "-{0,3}[a-z=-]{0,12}",
    ];
    let known = proptest::sample::select(vec![
        "role",
        "text",
        "label",
        "placeholder",
        "alt",
        "title",
        "testid",
        "first",
        "last",
        "nth",
        "click",
        "fill",
        "check",
        "hover",
        "--name",
        "--exact",
        "new",
        "close",
        "get",
        "set",
        "clear",
        "--full",
        "-f",
        "-C",
        "dir/a.png",
    ]);
    let text = if dialect == Dialect::Compat {
        prop_oneof![known.prop_map(str::to_owned), text].boxed()
    } else {
        text.boxed()
    };
    let tool = [
        "fill",
        "type",
        "select",
        "press",
        "wait",
        "click",
        "snapshot",
        "screenshot",
        "scroll",
        "get",
        "is",
        "tab",
        "hover",
    ];
    let words = if dialect == Dialect::Compat { COMPAT } else { &tool };
    let word = proptest::sample::select(words.to_vec());
    let line = (word, proptest::collection::vec(text, 0..6)).prop_map(|(word, rest)| {
        let mut line = vec![word.to_owned()];
        line.extend(rest);
        line
    });
    let mut runner = TestRunner::deterministic();
    let mut lines = Vec::new();
    while lines.len() < count {
        let candidate = line.new_tree(&mut runner).unwrap().current();
        if accepted(dialect, &candidate).is_some() && !lines.contains(&candidate) {
            lines.push(candidate);
        }
    }
    lines
}

#[test]
#[ignore = "needs agent-browser: run ./dev test"]
fn spec_1_4_the_cli_reads_every_accepted_command_as_it_is_meant() {
    let by_hand = [(Dialect::Tool, by_hand()), (Dialect::Compat, by_hand_of_compat())];
    let mut lines = Vec::new();
    for ((dialect, by_hand), table) in by_hand.into_iter().zip([GRAMMAR, COMPAT]) {
        for row in table {
            for form in row.forms.iter().filter(|form| form.word.is_some() || row.forms.len() == 1) {
                let stands = |line: &Vec<String>| {
                    line[0] == row.name && form.word.is_none_or(|word| line.get(1).is_some_and(|given| given == word))
                };
                assert!(by_hand.iter().any(stands), "the table has a new form, `{}`: add it here", form.usage());
            }
        }
        lines.extend(by_hand.into_iter().map(|line| (dialect, line)));
        lines.extend(generated(dialect, 240).into_iter().map(|line| (dialect, line)));
    }
    let folder = TempDir::with_prefix("g").unwrap();
    thread::scope(|scope| {
        for lane in 0..LANES {
            let share = lines.iter().enumerate().skip(lane).step_by(LANES);
            let folder = folder.path();
            scope.spawn(move || {
                for (number, (dialect, line)) in share {
                    let command = accepted(*dialect, line).unwrap_or_else(|| panic!("{line:?} is not accepted"));
                    let argv = command.to_argv();
                    let asked = without_stray_flags(ask(folder, &format!("c{number}"), &argv));
                    assert_eq!(asked, meant(&command), "{line:?} as {argv:?}");
                    let mapped = Request::of(&command).expect("every form has a mapping");
                    assert_eq!(asked[1], Value::Object(mapped.fields), "{line:?} straight to the daemon");
                }
            });
        }
    });
}

#[test]
#[ignore = "needs agent-browser: run ./dev test"]
fn spec_1_4_what_the_grammar_refuses_really_is_read_differently() {
    let folder = TempDir::with_prefix("g").unwrap();
    let lines: &[(&[&str], &str)] = &[
        (&["fill", "@e1", "--cdp", "9333"], "another port"),
        (&["fill", "@e1", "--headed"], "text that vanishes"),
        (&["wait", "--text", "--url", "x"], "another action"),
        (&["click", "@e1", "--new-tab"], "a new tab"),
    ];
    for (number, (line, why)) in lines.iter().enumerate() {
        let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        for dialect in [Dialect::Tool, Dialect::Strict, Dialect::Compat] {
            assert!(accepted(dialect, &line).is_none(), "{dialect:?} {line:?}");
        }
        let asked = ask(folder.path(), &format!("r{number}"), &line);
        let as_meant = [
            json!({ "action": "launch", "cdpPort": 9222 }),
            json!({ "action": line[0], "selector": "@e1", "value": line[2..].join(" ") }),
        ];
        assert_ne!(asked, as_meant, "{why}");
    }
    let asked = ask(folder.path(), "port", &["fill".into(), "@e1".into(), "--cdp".into(), "9333".into()]);
    assert_eq!(asked[0]["cdpPort"], 9333, "control: the test sees what a flag in a text does");
    assert_eq!(asked[1]["value"], "");
}

#[test]
#[ignore = "needs agent-browser: run ./dev test"]
fn spec_1_4_what_compat_refuses_really_is_read_differently() {
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
        (&["tab", "close", "t2"], json!({ "action": "tab_close" })),
        (&["tab", "t2"], json!({ "action": "tab_list" })),
    ];
    for (number, (line, misread)) in rows.iter().enumerate() {
        let line = to_lines(&[line]).remove(0);
        assert!(accepted(Dialect::Compat, &line).is_none(), "{line:?}");
        assert_eq!(ask(folder.path(), &format!("m{number}"), &line)[1], *misread, "{line:?}");
    }
    let line = to_lines(&[&["screenshot", "--full", "true", PICTURE]]).remove(0);
    let asked = ask(folder.path(), "full", &line);
    assert_eq!(asked[1]["selector"], Value::Null, "the flag takes the word behind it, so ours stands last: {asked:?}");
    let ours = accepted(Dialect::Compat, &to_lines(&[&["screenshot", "--full", "true"]]).remove(0)).unwrap();
    let asked = ask(folder.path(), "ours", &ours.to_argv());
    assert_eq!((&asked[1]["selector"], &asked[1]["fullPage"]), (&json!("true"), &json!(true)), "control: {asked:?}");
}
