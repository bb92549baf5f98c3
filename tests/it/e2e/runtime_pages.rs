//! What the pages say about the runtime, done: the skill `browser-runtime` and the how-to of the orchestrator, with the real
//! agent-browser and Chromium, in the order in which they stand there. `docs` has what needs no browser.
//!
//! - `json call` is a request to `/exec`, or with `commands` to `/exec_batch`. It must end with 0, unless an answer follows.
//!   `optional` says that the policy file has to enable it in the profile strict, `compat` that only that profile has it, both
//!   that it has to be enabled there. Where it is not there it must be refused, with a reason.
//! - `json answer` holds what must be in the answer to what stands before it; `…` in a text stands for any text, and `strict` or
//!   `compat` says whose answer it is.
//! - `sh request` and `python request` are run as they stand, with the runtime's address and workspace for those of the page.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    super::docs::{blocks, page},
    processes::{self, until},
    server::{Home, free_port},
    world::{self, Browser, CDP_PORT},
};

const SKILL: &str = "skills/browser-runtime/SKILL.md";
const BROWSER: &str = "skills/browser-runtime/references/browser.md";
const TOOLS: &str = "skills/browser-runtime/references/tools-reference.md";
const LIFECYCLE: &str = "skills/browser-runtime/references/skills-lifecycle.md";
const ORCHESTRATOR: &str = "docs/how-to/orchestrator.md";

/// What a page has for the address of a runtime and for the workspace.
const ADDRESS: &str = "127.0.0.1:8115";
const WORKSPACE: &str = "/workspace";

/// A runtime in one of its ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    profile: &'static str,
    /// Whether the policy file enables everything that is optional.
    enabled: bool,
    /// Whether calls go through MCP.
    mcp: bool,
    /// Whether agent-browser is the newest one, without Node.
    native: bool,
}

/// Each profile, with and without what a policy can enable, over both doors, with both agent-browsers: the pairs that read the
/// pages differently.
const WAYS: [Way; 3] = [
    Way { profile: "strict", enabled: false, mcp: false, native: true },
    Way { profile: "strict", enabled: true, mcp: true, native: false },
    Way { profile: "compat", enabled: true, mcp: false, native: false },
];

impl Way {
    fn policy(self) -> Value {
        if self.enabled {
            let optional = ["back", "forward", "reload", "get", "is", "scroll", "tab", "pdf"];
            json!({"subcommands": {"enable": optional}, "runtime": {"enable": ["cookies"]}})
        } else {
            json!({})
        }
    }

    /// Whether a call with these words behind `json call` is there.
    fn has(self, words: &str) -> bool {
        let (only_compat, optional) = (words.contains("compat"), words.contains("optional"));
        (!only_compat || self.profile == "compat")
            && (!optional || self.enabled || (self.profile == "compat" && !only_compat))
    }

    /// Whether an answer with these words behind `json answer` is one of this profile.
    fn is_meant_by(self, words: &str) -> bool {
        words.contains(self.profile) || !["strict", "compat"].iter().any(|profile| words.contains(profile))
    }
}

/// How commands begin that are there in every way, and stand in a batch beside those that it shows.
const COMMON: &[&str] = &["open ", "wait "];

/// A running `browser-shell runtime`.
#[derive(Debug)]
struct Runtime {
    child: Child,
    home: Home,
    address: String,
}

impl Runtime {
    /// In single mode with a Chromium of its own.
    fn start(way: Way) -> Self {
        Self::start_with(way, &[("BROWSER_SHELL_CDP_PORT", &free_port().to_string())])
    }

    fn start_with(way: Way, more: &[(&'static str, &str)]) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let guard = format!("127.0.0.1:{}", free_port());
        let program = if way.native { world::native() } else { world::agent_browser() };
        let home = world::home_with(&program)
            .with("BROWSER_SHELL_LISTEN", &address)
            .with("BROWSER_SHELL_EGRESS", guard)
            .with("BROWSER_SHELL_PROFILE", way.profile)
            .with("BROWSER_SHELL_SKILLS", "app/skills")
            .with("BROWSER_SHELL_CARGOS", "cargos")
            .with_policy(&way.policy())
            .impatient();
        let home = more.iter().fold(home, |home, (name, value)| home.with(name, value));
        for name in ["cargos/bay-cargo-7f3a", "app/skills"] {
            fs::create_dir_all(PathBuf::from(home.folder()).join(name)).unwrap();
        }
        // the one that is in the image
        let skill = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("skills/browser-runtime");
        let copied = Command::new("cp").arg("-R").arg(skill).arg("app/skills").current_dir(home.folder()).status();
        assert!(copied.unwrap().success());
        let log = fs::File::create(PathBuf::from(home.folder()).join("log")).unwrap();
        let mut child = home
            .command(&["runtime"])
            .current_dir(home.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        until("a healthy runtime", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the runtime ended: {}", log_of(&home));
            (ask(&address, "GET", "/health", &Value::Null)?.0 == 200).then_some(())
        });
        let runtime = Self { child, home, address };
        // the first call starts agent-browser, which a busy machine makes late
        let first = json!({"cmd": "snapshot", "sandbox_id": "my-sandbox"});
        until("a first answer", || (ask(&runtime.address, "POST", "/exec", &first)?.1["exit_code"] == 0).then_some(()));
        runtime
    }

    /// A request of a page, and what it was answered.
    fn call(&self, way: Way, request: &Value) -> Value {
        let is_batch = request.get("commands").is_some();
        let (path, body) = match (way.mcp, is_batch) {
            (false, false) => ("/exec", request.clone()),
            (false, true) => ("/exec_batch", request.clone()),
            (true, _) => {
                let name = if is_batch { "execute_browser_batch" } else { "execute_browser" };
                let params = json!({"name": name, "arguments": request});
                ("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            }
        };
        let (status, answer) = ask(&self.address, "POST", path, &body).expect("every request is answered");
        assert_eq!(status, 200, "{request}: {answer}");
        if way.mcp { answer["result"]["structuredContent"].clone() } else { answer }
    }

    /// Every command of a request that is not there in this way is refused, with a reason; those that are there are not asked.
    fn refuses(&self, way: Way, mut request: Value) {
        let answers = if let Some(commands) = request.get_mut("commands").and_then(Value::as_array_mut) {
            commands.retain(|command| !COMMON.iter().any(|common| command.as_str().unwrap().starts_with(common)));
            request["stop_on_error"] = false.into();
            self.call(way, &request)["results"].as_array().unwrap().clone()
        } else {
            let is_there = COMMON.iter().any(|common| request["cmd"].as_str().unwrap().starts_with(common));
            if is_there { Vec::new() } else { vec![self.call(way, &request)] }
        };
        for answer in answers {
            let refused = matches!(answer["exit_code"].as_i64(), Some(64 | 77)) && answer["stderr"] != "";
            assert!(refused, "{way:?}: this is not there, and must be refused: {answer}");
        }
    }

    /// What a program says with the runtime's address and workspace in place of the page's.
    fn run(&self, program: &str, text: &str) -> Value {
        let workspace = self.home.workspace();
        let text = text.replace(ADDRESS, &self.address).replace(WORKSPACE, workspace.to_str().unwrap());
        let output = Command::new(program).args(["-c", &text]).current_dir(self.home.folder()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{said}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&said).unwrap_or(Value::String(said.trim_end().to_owned()))
    }
}

impl Drop for Runtime {
    /// Ends it as an engine does.
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(writeln!(std::io::stderr(), "the runtime said:\n{}", log_of(&self.home)));
            drop(self.child.kill());
            drop(self.child.wait());
            return;
        }
        processes::signal(i32::try_from(self.child.id()).unwrap(), Signal::TERM);
        let status = until("the end of the runtime", || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}: {}", log_of(&self.home));
    }
}

fn log_of(home: &Home) -> String {
    fs::read_to_string(PathBuf::from(home.folder()).join("log")).unwrap()
}

/// Status and body of one request; `None` if nobody answers.
fn ask(address: &str, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(processes::SAFETY_NET)).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or(Value::String(body.to_owned()))))
}

/// Whether a page's answer is in the real one.
fn holds(page: &Value, real: &Value) -> bool {
    match (page, real) {
        (Value::Object(page), Value::Object(real)) => {
            page.iter().all(|(name, value)| real.get(name).is_some_and(|real| holds(value, real)))
        }
        (Value::Array(page), Value::Array(real)) => {
            page.len() == real.len() && page.iter().zip(real).all(|(page, real)| holds(page, real))
        }
        (Value::String(page), Value::String(real)) => is_like(page, real),
        _ => page == real,
    }
}

/// Whether a text is the one of a page, in which `…` stands for any text.
fn is_like(page: &str, real: &str) -> bool {
    let mut parts = page.split('…');
    let Some(mut rest) = real.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

/// Does what a page says, in order, and gives how many blocks that were, and what did not hold.
fn do_what_it_says(name: &str, runtime: &Runtime, way: Way, shared: bool) -> (usize, Vec<String>) {
    let blocks = blocks(&page(name));
    let (mut done, mut wrong) = (0, Vec::new());
    for (number, (info, body)) in blocks.iter().enumerate() {
        let read = |text: &str| -> Value {
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
        };
        let answer = match info.split_once(' ').unwrap_or((info, "")) {
            ("json", words) if words.starts_with("call") && words.contains("shared") == shared => {
                // the pages have the numbers of agent-browser 0.19, the other one counts otherwise
                if way.native && body.contains(" @e1 ") {
                    continue;
                }
                if !way.has(words) {
                    runtime.refuses(way, read(body));
                    continue;
                }
                runtime.call(way, &read(body))
            }
            ("sh", "request") if !shared => runtime.run("sh", body),
            ("python", "request") if !shared => runtime.run("python3", body),
            _ => continue,
        };
        let following = blocks[number + 1..].iter().take_while(|(info, _)| info.starts_with("json answer"));
        let meant: Vec<_> = following.filter(|(info, _)| way.is_meant_by(info)).map(|(_, body)| read(body)).collect();
        let is_good = match (answer.get("success"), answer.get("exit_code")) {
            (Some(success), _) => *success == true,
            (None, Some(code)) => *code == 0,
            (None, None) => true,
        };
        if (meant.is_empty() && !is_good) || !meant.iter().all(|expected| holds(expected, &answer)) {
            wrong.push(format!("{name}, {way:?}: {body}{meant:#?}\nis not in\n{answer:#}"));
        }
        done += 1;
    }
    (done, wrong)
}

fn holds_in_every_way(name: &str, least: usize) {
    // not because of the shared browser: a daemon gives up when too many start at once
    let _turn = Browser::take();
    let mut all = Vec::new();
    for way in WAYS {
        let runtime = Runtime::start(way);
        let (done, wrong) = do_what_it_says(name, &runtime, way, false);
        assert!(done >= least, "{name}, {way:?}: only {done} blocks were found");
        all.extend(wrong);
    }
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_4_3_what_the_skill_says_holds() {
    holds_in_every_way(SKILL, 7);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_4_3_what_the_skill_says_of_the_browser_holds() {
    holds_in_every_way(BROWSER, 25);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_4_3_what_the_skill_says_of_each_command_holds() {
    holds_in_every_way(TOOLS, 6);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_4_3_what_the_skill_says_of_skills_holds() {
    holds_in_every_way(LIFECYCLE, 3);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_4_1_what_the_page_for_operators_says_holds() {
    holds_in_every_way(ORCHESTRATOR, 5);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_4_1_what_the_page_for_operators_says_of_shared_mode_holds() {
    let _browser = Browser::take();
    let settings = [("BROWSER_SHELL_MODE", "shared"), ("BROWSER_SHELL_CDP_PORT", &CDP_PORT.to_string())];
    let runtime = Runtime::start_with(WAYS[0], &settings);
    assert_eq!(do_what_it_says(ORCHESTRATOR, &runtime, WAYS[0], true), (4, Vec::new()));
    let cargo = PathBuf::from(runtime.home.folder()).join("cargos/bay-cargo-7f3a/shots/a.png");
    assert!(fs::read(cargo).unwrap().starts_with(b"\x89PNG"), "it lies in the workspace that the request names");
}
