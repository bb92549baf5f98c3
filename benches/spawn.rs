//! Benchmark of the MCP server over stdio, next to a bare spawn of the same command.
//!
//! The program is designed for a fair comparison. The same process measures both, in turns, so that load on the machine affects both.
//! The bare command is copied from a child of the server while it runs: program, arguments, environment and working directory are
//! the same. Nothing is parsed, built or printed while a measurement runs.
//!
//! It prints JSON, from which `benches/compare` makes the table. It does not judge figures.
//!
//! usage: spawn fake -- SERVER [ARG..]            figures with a stand-in that answers at once
//!        spawn browser PAGE -- SERVER [ARG..]    each subcommand on PAGE, with the real programs

#![allow(missing_docs, reason = "a program, not a library")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a figure from a broken run is worse than none"
)]
#![allow(clippy::print_stdout, reason = "its output is its purpose")]
#![allow(clippy::cast_precision_loss, reason = "counts of calls are small")]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[allow(dead_code, reason = "each bench uses a part of it")]
mod side_by_side;

use side_by_side::{Bare, added, in_turn, in_turns, kib, micros, middle};

const STARTS: usize = 40;
const PAIRS: usize = 2_000;
const REFUSALS: usize = 4_000;
const ROUNDS: usize = 5;
const CALLS_A_ROUND: usize = 800;
const LANES: [usize; 4] = [1, 2, 4, 8];
const BROWSER_ROUNDS: usize = 30;
const BROWSER_SESSIONS: usize = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut halves = arguments.splitn(2, |argument| argument == "--");
    let (orders, server) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let figures = match (orders, server) {
        ([mode], [_, ..]) if mode == "fake" => fake(server),
        ([mode, page], [_, ..]) if mode == "browser" => browser(server, page),
        // `cargo bench` runs every benchmark with `--bench` as the only argument.
        _ => {
            println!("run `benches/compare`, which runs this program");
            return;
        }
    };
    println!("{figures}");
}

fn fake(command: &[String]) -> Value {
    let mut started = Vec::new();
    let (mut idle_kib, mut list_bytes) = (Vec::new(), 0);
    for _ in 0..STARTS {
        let start = Instant::now();
        let mut server = Server::start(command);
        let (_, list) = server.ask("tools/list", &json!({}));
        started.push(start.elapsed());
        idle_kib.push(server.rss_kib());
        list_bytes = list["result"].to_string().len();
        server.stop();
    }
    idle_kib.sort_unstable();

    let mut server = Server::start(command);
    let bare = server.bare();
    let snapshot = ["snapshot", "-i"];
    for _ in 0..100 {
        server.call("one", &snapshot);
        bare.run(&snapshot);
    }
    let (ours, spawn) = in_turns(PAIRS, || server.call("one", &snapshot), || bare.run(&snapshot));
    let refusals: Vec<_> = (0..REFUSALS).map(|_| server.expect("one", &["eval", "1"], 64)).collect();
    let denials: Vec<_> = (0..REFUSALS).map(|_| server.expect("one", &["open", "http://10.0.0.1/"], 77)).collect();

    let mut rates = vec![(Vec::new(), Vec::new()); LANES.len()];
    for _ in 0..ROUNDS {
        for (lanes, (ours, spawn)) in LANES.iter().zip(&mut rates) {
            ours.push(server.calls_per_second(*lanes, &snapshot));
            spawn.push(bare.spawns_per_second(*lanes, CALLS_A_ROUND, &snapshot));
        }
    }
    let rates: Vec<_> =
        LANES.iter().zip(rates).map(|(lanes, (ours, spawn))| json!([lanes, middle(ours), middle(spawn)])).collect();
    let after_kib = server.rss_kib();
    let calls = server.asked;
    server.stop();
    json!({
        "start_us": micros(&started), "idle_kib": idle_kib[idle_kib.len() / 2], "list_bytes": list_bytes,
        "call_us": micros(&ours), "spawn_us": micros(&spawn), "added_us": added(&ours, &spawn),
        "refusal_us": micros(&refusals), "denial_us": micros(&denials),
        "rates": rates, "after_kib": after_kib, "asked": calls,
    })
}

/// Measures every subcommand that is enabled by default. The bare command uses the daemon of our session, so that
/// both find the same page in the same state. Only the first call of a session and `close` need separate daemons.
fn browser(command: &[String], page: &str) -> Value {
    let mut server = Server::start(command);
    let workspace = PathBuf::from(std::env::var_os("BROWSER_SHELL_WORKSPACE").expect("BROWSER_SHELL_WORKSPACE is set"));
    server.call("bench", &["open", page]);
    let bare = server.bare();
    let picture = workspace.join("bare.png").to_string_lossy().into_owned();
    let steps: [&[&str]; 14] = [
        &["open", page],
        &["snapshot", "-i"],
        &["click", "#button"],
        &["dblclick", "#button"],
        &["hover", "#button"],
        &["focus", "#name"],
        &["fill", "#name", "some text"],
        &["type", "#name", "more"],
        &["press", "End"],
        &["check", "#box"],
        &["uncheck", "#box"],
        &["select", "#choice", "b"],
        &["wait", "#button"],
        &["screenshot"],
    ];
    let mut times = vec![(Vec::new(), Vec::new()); steps.len()];
    for round in 0..BROWSER_ROUNDS {
        for (step, (ours, spawn)) in steps.iter().zip(&mut times) {
            let with_path = [step[0], &picture];
            let bare_step: &[&str] = if step[0] == "screenshot" { &with_path } else { step };
            in_turn(round, || ours.push(server.call("bench", step)), || spawn.push(bare.run(bare_step)));
        }
    }
    let mut rows: Vec<_> = steps.iter().zip(times).map(|(step, (ours, spawn))| row(step[0], &ours, &spawn)).collect();

    let bare = bare.moved_below(&workspace.join("bare"));
    server.call("bench", &["close"]);
    let (mut our_first, mut our_close) = (Vec::new(), Vec::new());
    let (mut first, mut close, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..BROWSER_SESSIONS {
        in_turn(
            round,
            || {
                our_first.push(server.call("bench", &["open", page]));
                our_close.push(server.call("bench", &["close"]));
            },
            || {
                first.push(bare.run(&["open", page]));
                let start = Instant::now();
                close.push(bare.run(&["close"]));
                // The next first call must not meet a daemon that is still ending. With our server that cannot
                // happen.
                bare.wait_for_end();
                gone.push(start.elapsed());
            },
        );
    }
    rows.push(row("open, first of a session", &our_first, &first));
    rows.push(row("close", &our_close, &close));
    rows.push(row("close, until the daemon has ended", &our_close, &gone));
    server.stop();
    json!({ "rows": rows })
}

fn row(name: &str, ours: &[Duration], spawn: &[Duration]) -> Value {
    json!([name, micros(ours), micros(spawn)])
}

struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: usize,
}

impl Server {
    fn start(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("cannot start the server");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut server = Self { child, input, output, asked: 0 };
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}),
        );
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        server
    }

    fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.input.as_mut().unwrap().write_all(line.as_bytes()).expect("cannot write to the server");
    }

    fn receive(&mut self, line: &mut String) {
        line.clear();
        assert!(self.output.read_line(line).expect("cannot read from the server") > 0, "the server is gone");
    }

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.asked += 1;
        json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}).to_string()
    }

    fn ask(&mut self, method: &str, params: &Value) -> (Duration, Value) {
        let request = self.request(method, params);
        let mut answer = String::with_capacity(1 << 16);
        let start = Instant::now();
        self.send(&request);
        self.receive(&mut answer);
        let took = start.elapsed();
        let answer: Value = serde_json::from_str(&answer).expect("the reply must be JSON");
        assert_eq!(answer["id"], self.asked, "the reply has another id: {answer}");
        (took, answer)
    }

    fn call(&mut self, session: &str, argv: &[&str]) -> Duration {
        self.expect(session, argv, 0)
    }

    fn expect(&mut self, session: &str, argv: &[&str], code: i64) -> Duration {
        let (took, answer) = self.ask("tools/call", &tool(session, argv));
        assert_eq!(answer["result"]["structuredContent"]["exit_code"], code, "{argv:?}: {answer}");
        took
    }

    /// Measures calls per second with `lanes` sessions, each with one call in progress.
    fn calls_per_second(&mut self, lanes: usize, argv: &[&str]) -> f64 {
        let sessions: Vec<String> = (0..lanes).map(|lane| format!("lane-{lane}")).collect();
        for session in &sessions {
            self.call(session, argv);
        }
        let mut waiting = std::collections::HashMap::new();
        let mut answer = String::new();
        let start = Instant::now();
        for session in &sessions {
            let request = self.request("tools/call", &tool(session, argv));
            waiting.insert(self.asked, session);
            self.send(&request);
        }
        for done in 1..=CALLS_A_ROUND {
            self.receive(&mut answer);
            let reply: Value = serde_json::from_str(&answer).expect("the reply must be JSON");
            assert_eq!(reply["result"]["isError"], false, "{reply}");
            let id = usize::try_from(reply["id"].as_u64().unwrap()).unwrap();
            let session = waiting.remove(&id).expect("the reply has an unknown id");
            if done + waiting.len() < CALLS_A_ROUND {
                let request = self.request("tools/call", &tool(session, argv));
                waiting.insert(self.asked, session);
                self.send(&request);
            }
        }
        CALLS_A_ROUND as f64 / start.elapsed().as_secs_f64()
    }

    fn rss_kib(&self) -> u64 {
        kib(self.child.id(), "VmRSS")
    }

    /// Copies the command that the server runs, in the middle of a call.
    fn bare(&mut self) -> Bare {
        let request = self.request("tools/call", &tool("bench", &["wait", "1000"]));
        self.send(&request);
        let bare = Bare::learn(self.child.id(), "wait");
        self.receive(&mut String::new());
        bare
    }

    fn stop(mut self) {
        drop(self.input.take());
        let status = self.child.wait().expect("cannot wait for the server");
        assert!(status.success(), "the server ended with {status}");
    }
}

fn tool(session: &str, argv: &[&str]) -> Value {
    json!({"name": "browser-shell", "arguments": {"session_id": session, "argv": argv}})
}
