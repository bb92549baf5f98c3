//! Examples in the pages about the runtime, executed in page order with the real agent-browser and Chromium: the
//! skill `browser-runtime` and the how-to for orchestrators. `docs` checks everything that needs no browser.
//!
//! - `json call` is a request to `/exec`, or with `commands` to `/exec_batch`. It must succeed unless a `json answer`
//!   follows. `optional` marks commands that the policy file must enable in the profile `strict`, `compat` marks
//!   commands that only that profile has, and both together mark commands that it has only when enabled. Where a
//!   command does not exist, it must be refused with a reason.
//! - `json answer` is a part of the expected reply to the preceding block. `…` matches any text, and `strict` or
//!   `compat` limits the block to that profile.
//! - `sh request` and `python request` are executed, with the address and workspace of the page replaced by those of
//!   the runtime.

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
    processes::{self, wait_for},
    server::{TestEnv, free_port},
    test_env::{self, Browser, CDP_PORT},
};

const SKILL: &str = "skills/browser-runtime/SKILL.md";
const BROWSER: &str = "skills/browser-runtime/references/browser.md";
const TOOLS: &str = "skills/browser-runtime/references/tools-reference.md";
const LIFECYCLE: &str = "skills/browser-runtime/references/skills-lifecycle.md";
const ORCHESTRATOR: &str = "docs/how-to/orchestrator.md";

/// Address and workspace of the runtime in the pages.
const ADDRESS: &str = "127.0.0.1:8115";
const WORKSPACE: &str = "/workspace";

/// One configuration of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Variant {
    profile: &'static str,
    /// The policy file enables everything that is optional.
    enabled: bool,
    /// Calls use MCP.
    mcp: bool,
    /// agent-browser is the newest version, without Node.
    native: bool,
}

/// Each profile, with and without optional commands, over both front ends, with both versions of agent-browser: the
/// combinations that read the pages differently.
const VARIANTS: [Variant; 3] = [
    Variant { profile: "strict", enabled: false, mcp: false, native: true },
    Variant { profile: "strict", enabled: true, mcp: true, native: false },
    Variant { profile: "compat", enabled: true, mcp: false, native: false },
];

impl Variant {
    /// The pages show the answers of agent-browser.
    fn policy(self) -> Value {
        if self.enabled {
            let optional = ["back", "forward", "reload", "get", "is", "scroll", "tab", "pdf", "dialog"];
            json!({"engine": "agent-browser", "subcommands": {"enable": optional}, "runtime": {"enable": ["cookies"]}})
        } else {
            json!({"engine": "agent-browser"})
        }
    }

    /// Returns true if a call with these words after `json call` exists.
    fn has(self, words: &str) -> bool {
        let (only_compat, optional) = (words.contains("compat"), words.contains("optional"));
        (!only_compat || self.profile == "compat")
            && (!optional || self.enabled || (self.profile == "compat" && !only_compat))
    }

    /// Returns true if an answer with these words after `json answer` applies to this profile.
    fn is_addressed_by(self, words: &str) -> bool {
        words.contains(self.profile) || !["strict", "compat"].iter().any(|profile| words.contains(profile))
    }
}

/// Prefixes of commands that exist in every variant. A batch may contain them next to the commands that it shows.
const COMMON: &[&str] = &["open ", "wait "];

/// A running `browser-shell runtime`.
#[derive(Debug)]
struct Runtime {
    child: Child,
    env: TestEnv,
    address: String,
}

impl Runtime {
    /// Starts it in single mode with its own Chromium.
    fn start(variant: Variant) -> Self {
        Self::start_with(variant, &[("BROWSER_SHELL_CDP_PORT", &free_port().to_string())])
    }

    fn start_with(variant: Variant, more: &[(&'static str, &str)]) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let guard = format!("127.0.0.1:{}", free_port());
        let program = if variant.native { test_env::native() } else { test_env::agent_browser() };
        let env = test_env::env_with(&program)
            .with("BROWSER_SHELL_LISTEN", &address)
            .with("BROWSER_SHELL_EGRESS", guard)
            .with("BROWSER_SHELL_PROFILE", variant.profile)
            .with("BROWSER_SHELL_SKILLS", "app/skills")
            .with("BROWSER_SHELL_CARGOS", "cargos")
            // Beside other programs, an act that works can take many seconds; the examples wait for few elements that do not exist.
            .with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "25000")
            .with_policy(&variant.policy());
        let env = more.iter().fold(env, |env, (name, value)| env.with(name, value));
        for name in ["cargos/bay-cargo-7f3a", "app/skills"] {
            fs::create_dir_all(PathBuf::from(env.folder()).join(name)).unwrap();
        }
        // The skill that is part of the image.
        let skill = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("skills/browser-runtime");
        let copied = Command::new("cp").arg("-R").arg(skill).arg("app/skills").current_dir(env.folder()).status();
        assert!(copied.unwrap().success());
        let log = fs::File::create(PathBuf::from(env.folder()).join("log")).unwrap();
        let mut child = env
            .command(&["runtime"])
            .current_dir(env.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        wait_for("a healthy runtime", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the runtime exited during startup: {}", log_of(&env));
            (http_request(&address, "GET", "/health", &Value::Null)?.0 == 200).then_some(())
        });
        let runtime = Self { child, env, address };
        // The first call starts agent-browser, which takes long on a busy machine.
        let first = json!({"cmd": "snapshot", "sandbox_id": "my-sandbox"});
        wait_for("the first reply", || {
            (http_request(&runtime.address, "POST", "/exec", &first)?.1["exit_code"] == 0).then_some(())
        });
        runtime
    }

    /// Sends a request of a page and returns the reply.
    fn call(&self, variant: Variant, request: &Value) -> Value {
        let is_batch = request.get("commands").is_some();
        let (path, body) = match (variant.mcp, is_batch) {
            (false, false) => ("/exec", request.clone()),
            (false, true) => ("/exec_batch", request.clone()),
            (true, _) => {
                let name = if is_batch { "execute_browser_batch" } else { "execute_browser" };
                let params = json!({"name": name, "arguments": request});
                ("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            }
        };
        let (status, answer) = http_request(&self.address, "POST", path, &body).expect("no reply to the request");
        assert_eq!(status, 200, "{request}: {answer}");
        if variant.mcp { answer["result"]["structuredContent"].clone() } else { answer }
    }

    /// Checks that the runtime refuses, with a reason, every command of a request that does not exist in this
    /// variant.
    fn assert_refused(&self, variant: Variant, mut request: Value) {
        let answers = if let Some(commands) = request.get_mut("commands").and_then(Value::as_array_mut) {
            commands.retain(|command| !COMMON.iter().any(|common| command.as_str().unwrap().starts_with(common)));
            request["stop_on_error"] = false.into();
            self.call(variant, &request)["results"].as_array().unwrap().clone()
        } else {
            let is_there = COMMON.iter().any(|common| request["cmd"].as_str().unwrap().starts_with(common));
            if is_there { Vec::new() } else { vec![self.call(variant, &request)] }
        };
        for answer in answers {
            let refused = matches!(answer["exit_code"].as_i64(), Some(64 | 77)) && answer["stderr"] != "";
            assert!(refused, "{variant:?}: must be refused: {answer}");
        }
    }

    /// Runs a script of a page with the address and workspace of this runtime, and returns its output.
    fn run(&self, program: &str, text: &str) -> Value {
        let workspace = self.env.workspace();
        let text = text.replace(ADDRESS, &self.address).replace(WORKSPACE, workspace.to_str().unwrap());
        let output = Command::new(program).args(["-c", &text]).current_dir(self.env.folder()).output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{stdout}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&stdout).unwrap_or(Value::String(stdout.trim_end().to_owned()))
    }
}

impl Drop for Runtime {
    /// Ends it with SIGTERM, as a container engine does.
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(writeln!(std::io::stderr(), "log of the runtime:\n{}", log_of(&self.env)));
            drop(self.child.kill());
            drop(self.child.wait());
            return;
        }
        processes::signal(i32::try_from(self.child.id()).unwrap(), Signal::TERM);
        let status = wait_for("the end of the runtime", || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}: {}", log_of(&self.env));
    }
}

fn log_of(env: &TestEnv) -> String {
    fs::read_to_string(PathBuf::from(env.folder()).join("log")).unwrap()
}

/// Sends a request and returns status and body; `None` without a response.
fn http_request(address: &str, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(processes::TEST_TIMEOUT)).unwrap();
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

/// Returns true if the real value contains the value of the page.
fn matches_page(page: &Value, real: &Value) -> bool {
    match (page, real) {
        (Value::Object(page), Value::Object(real)) => {
            page.iter().all(|(name, value)| real.get(name).is_some_and(|real| matches_page(value, real)))
        }
        (Value::Array(page), Value::Array(real)) => {
            page.len() == real.len() && page.iter().zip(real).all(|(page, real)| matches_page(page, real))
        }
        (Value::String(page), Value::String(real)) => matches_text(page, real),
        _ => page == real,
    }
}

/// Returns true if a text matches the text of a page, in which `…` matches any text.
fn matches_text(page: &str, real: &str) -> bool {
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

/// Runs the examples of a page in order. Returns the number of blocks and the mismatches.
fn run_page(name: &str, runtime: &Runtime, variant: Variant, shared: bool) -> (usize, Vec<String>) {
    let blocks = blocks(&page(name));
    let (mut done, mut wrong) = (0, Vec::new());
    for (number, (info, body)) in blocks.iter().enumerate() {
        let read = |text: &str| -> Value {
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
        };
        let answer = match info.split_once(' ').unwrap_or((info, "")) {
            ("json", words) if words.starts_with("call") && words.contains("shared") == shared => {
                // The pages use the element numbers of agent-browser 0.19. Other versions number differently.
                if variant.native && body.contains(" @e1 ") {
                    continue;
                }
                if !variant.has(words) {
                    runtime.assert_refused(variant, read(body));
                    continue;
                }
                runtime.call(variant, &read(body))
            }
            ("sh", "request") if !shared => runtime.run("sh", body),
            ("python", "request") if !shared => runtime.run("python3", body),
            _ => continue,
        };
        let following = blocks[number + 1..].iter().take_while(|(info, _)| info.starts_with("json answer"));
        let expected_answers: Vec<_> =
            following.filter(|(info, _)| variant.is_addressed_by(info)).map(|(_, body)| read(body)).collect();
        let is_good = match (answer.get("success"), answer.get("exit_code")) {
            (Some(success), _) => *success == true,
            (None, Some(code)) => *code == 0,
            (None, None) => true,
        };
        if (expected_answers.is_empty() && !is_good)
            || !expected_answers.iter().all(|expected| matches_page(expected, &answer))
        {
            wrong.push(format!("{name}, {variant:?}: {body}{expected_answers:#?}\ndoes not match\n{answer:#}"));
        }
        done += 1;
    }
    (done, wrong)
}

fn assert_page_holds(name: &str, least: usize) {
    // Not for the shared browser: a daemon gives up when too many start at the same time.
    let _turn = Browser::lock();
    let mut all = Vec::new();
    for variant in VARIANTS {
        let runtime = Runtime::start(variant);
        let (done, wrong) = run_page(name, &runtime, variant, false);
        assert!(done >= least, "{name}, {variant:?}: only {done} blocks were found");
        all.extend(wrong);
    }
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

// Requirement 4.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn runtime_skill_examples_work() {
    assert_page_holds(SKILL, 7);
}

// Requirement 4.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn browser_reference_examples_work() {
    assert_page_holds(BROWSER, 25);
}

// Requirement 4.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn tools_reference_examples_work() {
    assert_page_holds(TOOLS, 6);
}

// Requirement 4.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn skills_reference_examples_work() {
    assert_page_holds(LIFECYCLE, 3);
}

// Requirement 4.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn orchestrator_page_examples_work() {
    assert_page_holds(ORCHESTRATOR, 5);
}

// Requirement 4.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn orchestrator_page_shared_tenancy_examples_work() {
    let _browser = Browser::lock();
    let settings = [("BROWSER_SHELL_MODE", "shared"), ("BROWSER_SHELL_CDP_PORT", &CDP_PORT.to_string())];
    let runtime = Runtime::start_with(VARIANTS[0], &settings);
    assert_eq!(run_page(ORCHESTRATOR, &runtime, VARIANTS[0], true), (4, Vec::new()));
    let cargo = PathBuf::from(runtime.env.folder()).join("cargos/bay-cargo-7f3a/shots/a.png");
    assert!(fs::read(cargo).unwrap().starts_with(b"\x89PNG"), "the file must be in the requested cargo");
}
