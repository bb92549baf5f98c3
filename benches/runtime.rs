//! Benchmark of `browser-shell runtime` over HTTP, next to a bare spawn of the same command.
//!
//! It is fair in the same way as `spawn.rs`: one process measures both, in turns, with a command that is copied from a child of the
//! server. The client keeps its connections open, as an orchestrator does. A request lasts from sending it to having read the whole
//! response body. Nothing is built, parsed or printed while a measurement runs.
//!
//! It prints JSON, from which `benches/compare` makes the table. It does not judge figures.
//!
//! usage: runtime fake POLICY OTHER -- SERVER [ARG..]    with a stand-in that answers at once; the policy OTHER has no sandbox
//!        runtime browser PAGE -- SERVER [ARG..]         three commands on PAGE, with the real programs

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
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

#[allow(dead_code, reason = "each bench uses a part of it")]
mod side_by_side;

use side_by_side::{Bare, added, in_turn, in_turns, kib, micros, middle};

const STARTS: usize = 20;
const GETS: usize = 4_000;
const PAIRS: usize = 2_000;
const REFUSALS: usize = 2_000;
const ROUNDS: usize = 3;
const CALLS_A_ROUND: usize = 1_280;
const CLIENTS: [usize; 3] = [1, 8, 64];
/// Minimum number of commands before a server's memory is measured.
const ENOUGH: usize = 10_000;
const BROWSER_ROUNDS: usize = 30;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut halves = arguments.splitn(2, |argument| argument == "--");
    let (orders, server) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    // One thread: the client takes little CPU time from the server, and the same for every figure.
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let figures = match (orders, server) {
        ([mode, policy, bare_policy], [_, ..]) if mode == "fake" => fake(&client, server, policy, bare_policy),
        ([mode, page], [_, ..]) if mode == "browser" => browser(&client, server, page),
        // `cargo bench` runs every benchmark with `--bench` as the only argument.
        _ => {
            println!("run `benches/compare --runtime`, which runs this program");
            return;
        }
    };
    println!("{figures}");
}

type Client = tokio::runtime::Runtime;

fn fake(client: &Client, command: &[String], policy: &str, bare_policy: &str) -> Value {
    let browser = fake_browser();
    let of = |policy: &str| -> Vec<String> {
        let more =
            ["--mode", "shared", "--cdp-port", &browser.to_string(), "--max-sessions", "128", "--policy", policy];
        command.iter().cloned().chain(more.map(str::to_owned)).collect()
    };

    let (mut started, mut idle_kib) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let server = Server::start(client, &of(policy));
        started.push(server.until_healthy);
        idle_kib.push(kib(server.id(), "VmRSS"));
        server.stop();
    }
    idle_kib.sort_unstable();

    let mut server = Server::start(client, &of(policy));
    let mut connection = client.block_on(Connection::open(server.address));
    let mut get = |path: &str| -> Value {
        let ask = |connection: &mut Connection| client.block_on(connection.get(path, StatusCode::OK));
        (0..200).for_each(|_| _ = ask(&mut connection));
        micros(&(0..GETS).map(|_| ask(&mut connection)).collect::<Vec<_>>())
    };
    let (health, meta) = (get("/health"), get("/meta"));
    let confined = beside_bare(client, &mut server);
    let refused = refusals(client, &mut server, "eval 1", 64);
    let denied = refusals(client, &mut server, "open http://10.0.0.1/", 77);
    let confined_rates = rates(client, &mut server, None);
    let confined_memory = memory(client, &mut server, idle_kib[idle_kib.len() / 2]);
    server.stop();

    let mut server = Server::start(client, &of(bare_policy));
    let idle_unconfined = kib(server.id(), "VmRSS");
    let unconfined = beside_bare(client, &mut server);
    let bare = client.block_on(server.bare("wait", "1000"));
    let unconfined_rates = rates(client, &mut server, Some(&bare));
    let unconfined_memory = memory(client, &mut server, idle_unconfined);
    server.stop();

    json!({
        "start_us": micros(&started), "health_us": health, "meta_us": meta, "refusal_us": refused, "denial_us": denied,
        "confined": { "exec": confined, "rates": confined_rates, "memory": confined_memory },
        "unconfined": { "exec": unconfined, "rates": unconfined_rates, "memory": unconfined_memory },
    })
}

/// Measures `POST /exec` in turns with a bare spawn of the same command.
fn beside_bare(client: &Client, server: &mut Server) -> Value {
    const SNAPSHOT: [&str; 2] = ["snapshot", "-i"];
    let bare = client.block_on(server.bare("wait", "1000"));
    let mut connection = client.block_on(Connection::open(server.address));
    let body = exec("one", &SNAPSHOT.join(" "));
    let mut call = || client.block_on(connection.exec(&body, 0));
    for _ in 0..100 {
        call();
        bare.run(&SNAPSHOT);
    }
    let (ours, spawn) = in_turns(PAIRS, call, || bare.run(&SNAPSHOT));
    server.asked += PAIRS + 101;
    json!({ "call_us": micros(&ours), "spawn_us": micros(&spawn), "added_us": added(&ours, &spawn) })
}

fn refusals(client: &Client, server: &mut Server, cmd: &str, exit_code: i64) -> Value {
    let mut connection = client.block_on(Connection::open(server.address));
    let body = exec("one", cmd);
    let times: Vec<_> = (0..REFUSALS).map(|_| client.block_on(connection.exec(&body, exit_code))).collect();
    server.asked += REFUSALS;
    micros(&times)
}

/// Measures commands per second for several numbers of clients, each with its own connection and sandbox, and their
/// latency; the same command spawned by as many threads; and the latency of `/health` at the same time.
fn rates(client: &Client, server: &mut Server, bare: Option<&Bare>) -> Value {
    let mut rows = Vec::new();
    for clients in CLIENTS {
        let (mut ours, mut spawns, mut waited, mut health) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (took, waits, healths) = client.block_on(crowd(server.address, clients));
            server.asked += CALLS_A_ROUND + clients;
            ours.push(CALLS_A_ROUND as f64 / took.as_secs_f64());
            waited.extend(waits);
            health.extend(healths);
            if let Some(bare) = bare {
                spawns.push(bare.spawns_per_second(clients, CALLS_A_ROUND, &["snapshot", "-i"]));
            }
        }
        let spawns = (!spawns.is_empty()).then(|| middle(spawns));
        rows.push(json!({
            "clients": clients, "rate": middle(ours), "wait_us": micros(&waited), "health_us": micros(&health), "bare": spawns,
        }));
    }
    Value::Array(rows)
}

async fn crowd(address: SocketAddr, clients: usize) -> (Duration, Vec<Duration>, Vec<Duration>) {
    let mut ready = Vec::new();
    for number in 0..clients {
        let mut connection = Connection::open(address).await;
        let body = exec(&format!("lane-{number}"), "snapshot -i");
        connection.exec(&body, 0).await;
        ready.push((connection, body));
    }
    let mut asking = Connection::open(address).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let health = tokio::spawn({
        let is_over = is_over.clone();
        async move {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                times.push(asking.get("/health", StatusCode::OK).await);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            times
        }
    });
    let left = Arc::new(AtomicUsize::new(CALLS_A_ROUND));
    let start = Instant::now();
    let lanes: Vec<_> = ready
        .into_iter()
        .map(|(mut connection, body)| {
            let left = left.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    times.push(connection.exec(&body, 0).await);
                }
                times
            })
        })
        .collect();
    let mut waits = Vec::new();
    for lane in lanes {
        waits.extend(lane.await.expect("a client failed"));
    }
    let took = start.elapsed();
    is_over.store(true, Ordering::Relaxed);
    (took, waits, health.await.expect("the health client failed"))
}

/// Measures the server's memory after enough commands.
fn memory(client: &Client, server: &mut Server, idle_kib: u64) -> Value {
    while server.asked < ENOUGH {
        client.block_on(crowd(server.address, 8));
        server.asked += CALLS_A_ROUND + 8;
    }
    json!({
        "idle_kib": idle_kib, "after_kib": kib(server.id(), "VmRSS"), "most_kib": kib(server.id(), "VmHWM"),
        "anonymous_kib": kib(server.id(), "RssAnon"), "threads": kib(server.id(), "Threads"), "asked": server.asked,
    })
}

/// Measures three commands with the real programs. The bare command uses the daemon of the runtime's session, so that
/// both find the same page in the same state.
fn browser(client: &Client, command: &[String], page: &str) -> Value {
    let server = Server::start(client, command);
    let idle_kib = kib(server.id(), "VmRSS");
    // The first call of a session always uses the CLI.
    let bare = client.block_on(server.bare("open", page));
    let mut connection = client.block_on(Connection::open(server.address));
    let steps: [&[&str]; 3] = [&["open", page], &["get", "title"], &["snapshot", "-i"]];
    let bodies = steps.map(|step| exec("bench", &step.join(" ")));
    let mut times = vec![(Vec::new(), Vec::new()); steps.len()];
    for round in 0..=BROWSER_ROUNDS {
        for (number, step) in steps.iter().enumerate() {
            let (mut ours, mut spawn) = (Duration::ZERO, Duration::ZERO);
            let call = || ours = client.block_on(connection.exec(&bodies[number], 0));
            in_turn(round, call, || spawn = bare.run(step));
            // The first round is a warm-up.
            if round > 0 {
                times[number].0.push(ours);
                times[number].1.push(spawn);
            }
        }
    }
    let rows: Vec<_> = steps
        .iter()
        .zip(times)
        .map(|(step, (ours, spawn))| {
            let name = if step[0] == "open" { "open".to_owned() } else { step.join(" ") };
            json!([name, micros(&ours), micros(&spawn), added(&ours, &spawn)])
        })
        .collect();
    let figures = json!({
        "rows": rows, "start_us": micros(&[server.until_healthy]), "idle_kib": idle_kib,
        "after_kib": kib(server.id(), "VmRSS"), "most_kib": kib(server.id(), "VmHWM"),
    });
    server.stop();
    figures
}

fn exec(sandbox: &str, cmd: &str) -> Bytes {
    json!({"cmd": cmd, "sandbox_id": sandbox}).to_string().into()
}

struct Server {
    child: Child,
    address: SocketAddr,
    /// Time from the start to the first healthy response.
    until_healthy: Duration,
    asked: usize,
}

impl Server {
    fn start(client: &Client, command: &[String]) -> Self {
        let address = free_address();
        let start = Instant::now();
        let child = Command::new(&command[0])
            .args(&command[1..])
            .args(["--listen", &address.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("cannot start the server");
        client.block_on(async {
            while tokio::net::TcpStream::connect(address).await.is_err() {
                assert!(start.elapsed() < Duration::from_mins(1), "the server does not listen");
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            let mut connection = Connection::open(address).await;
            while connection.ask(Method::GET, "/health", Bytes::new()).await.1 != StatusCode::OK {
                assert!(start.elapsed() < Duration::from_mins(1), "the server does not become healthy");
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        });
        Self { child, address, until_healthy: start.elapsed(), asked: 0 }
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    /// Copies the command that the server runs, in the middle of a call.
    async fn bare(&self, subcommand: &'static str, argument: &str) -> Bare {
        let mut connection = Connection::open(self.address).await;
        let body = exec("bench", &format!("{subcommand} {argument}"));
        let call = tokio::spawn(async move { connection.exec(&body, 0).await });
        let server = self.id();
        let learning = tokio::task::spawn_blocking(move || Bare::learn(server, subcommand));
        let bare = learning.await.expect("no child was found");
        call.await.expect("the call failed");
        bare
    }

    fn stop(mut self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("the server is gone");
        let status = self.child.wait().expect("cannot wait for the server");
        assert!(status.success(), "the server ended with {status}");
    }
}

/// A persistent connection.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Connection {
    async fn open(address: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(address).await.expect("cannot connect to the server");
        stream.set_nodelay(true).expect("a TCP stream");
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("a connection");
        tokio::spawn(connection);
        Self { sender, host: address.to_string() }
    }

    async fn ask(&mut self, method: Method, path: &str, body: Bytes) -> (Duration, StatusCode, Bytes) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .expect("a request");
        let start = Instant::now();
        let response = self.sender.send_request(request).await.expect("no response");
        let status = response.status();
        let body = response.into_body().collect().await.expect("no response body").to_bytes();
        (start.elapsed(), status, body)
    }

    async fn get(&mut self, path: &str, expected: StatusCode) -> Duration {
        let (took, status, body) = self.ask(Method::GET, path, Bytes::new()).await;
        assert_eq!(status, expected, "{path}: {body:?}");
        took
    }

    async fn exec(&mut self, body: &Bytes, exit_code: i64) -> Duration {
        let (took, status, answer) = self.ask(Method::POST, "/exec", body.clone()).await;
        let reply: Value = serde_json::from_slice(&answer).expect("the reply must be JSON");
        assert_eq!((status, reply["exit_code"].as_i64()), (StatusCode::OK, Some(exit_code)), "{body:?}: {reply}");
        took
    }
}

/// Returns a port that is free now.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

/// Starts a stand-in for a browser without a tab and returns its port. It serves until this program ends.
fn fake_browser() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|count| count > 0) {}
            let body = if head.contains(" /json/version ") {
                r#"{"Browser":"Stand-in/1"}"#
            } else if head.contains(" /json/new") {
                r#"{"id":"A"}"#
            } else {
                "[]"
            };
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    port
}
