//! The ways that calls take, against daemons that are processes of their own: this test binary, started once more, with the
//! session's mark and under the name of a script, so that all that is checked of a daemon is checked here too.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use clap::Parser;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::argv::{Command, Dialect, parse_for_daemon};
use crate::output::Answer;
use crate::sandbox::Bare;
use crate::transport::Link;

const PLAYED: &str = "transport::auto::tests::plays_the_daemon";
const SOCKET: &str = "BROWSER_SHELL_TEST_SOCKET";
const PART: &str = "BROWSER_SHELL_TEST_PART";

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

/// Plays a session's daemon in a process of its own; nothing to test by itself.
#[test]
#[ignore = "started by the other tests here, as a daemon"]
fn plays_the_daemon() {
    let (Some(socket), Ok(part)) = (std::env::var_os(SOCKET), std::env::var(PART)) else { return };
    let listener = UnixListener::bind(&socket).expect("bound");
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o700)).expect("set");
    println!("\nready");
    for mut stream in listener.incoming().map_while(Result::ok) {
        let lines = BufReader::new(stream.try_clone().expect("cloned")).lines();
        for line in lines.map_while(Result::ok) {
            let request: Value = serde_json::from_str(&line).expect("JSON");
            let launches = request["action"] == "launch";
            if part == "slow" && !launches {
                std::thread::sleep(Duration::from_mins(10));
            }
            if part == "dies" && !launches {
                std::process::exit(1);
            }
            let answer = match part.as_str() {
                "unconnected" => json!({ "id": request["id"], "success": false, "error": "Failed to connect via CDP" }),
                "failing" if !launches => {
                    json!({ "id": request["id"], "success": false, "error": "page.goto: net::ERR_FAILED" })
                }
                "gone" | "going" if !launches => {
                    let who = if part == "gone" { "browserContext.newPage" } else { "page.click" };
                    let error = format!("{who}: Target page, context or browser has been closed");
                    json!({ "id": request["id"], "success": false, "error": error })
                }
                "overtaken" if !launches => {
                    let by = r#"is interrupted by another navigation to "chrome-error://chromewebdata/""#;
                    let error = format!(r#"page.goto: Navigation to "https://a.example/" {by}"#);
                    json!({ "id": request["id"], "success": false, "error": error })
                }
                "confused" if !launches => json!({ "id": "b0", "success": true, "data": {} }),
                _ => json!({ "id": request["id"], "success": true, "data": { "by": "daemon" } }),
            };
            let _ = writeln!(stream, "{answer}");
        }
    }
}

/// A session with a CLI that notes each run, and a transport for which a daemon's script is proved.
struct World {
    root: TempDir,
    session: SessionPlaces,
    transport: Auto,
    link: Link,
    cancel: CancellationToken,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let path = |name: &str| root.path().join(name);
        let program = path("agent-browser");
        let script = format!(
            "#!/bin/sh\necho \"$6\" >> '{}'\n[ ! -e '{}' ] || {{ echo '{{\"success\":false,\"error\":\"no element\"}}'; exit 1; }}\necho '{{\"success\":true,\"data\":{{\"by\":\"cli\"}},\"error\":null}}'\n",
            path("runs").display(),
            path("fail").display()
        );
        std::fs::write(&program, script).expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("set");
        std::fs::write(path("daemon.js"), "").expect("written");
        let arguments = ["test".into(), "--agent-browser".into(), program.into_os_string()];
        let settings = Arguments::parse_from(arguments).settings;
        let script = path("daemon.js").canonicalize().expect("there");
        let proof = OnceCell::const_new_with(Some(Proof { version: "test", script }));
        let session = SessionPlaces {
            key: "s".to_owned(),
            sockets: root.path().to_owned(),
            private: path("k"),
            files: path("w"),
        };
        session.make().expect("made");
        let transport = Auto { proof, ..Auto::new(&settings, Cli::new(&settings, path("policy.json"))) };
        Self { root, session, transport, link: Link::default(), cancel: CancellationToken::new() }
    }

    /// The same after a first call that went well.
    async fn warm() -> Self {
        let world = Self::new();
        world.call(&["snapshot"]).await.expect("ran");
        assert_eq!(world.take_runs(), ["snapshot"]);
        world
    }

    /// Starts a daemon that plays this part.
    fn daemon(&self, part: &str) -> Daemon {
        self.process(part, &self.session.tmp(), &self.path("daemon.js"))
    }

    fn process(&self, part: &str, mark: &std::path::Path, script: &std::path::Path) -> Daemon {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"))
            .arg(script.canonicalize().expect("there"))
            .args([PLAYED, "--exact", "--ignored", "--nocapture"])
            .env("TMPDIR", mark)
            .env(SOCKET, self.session.socket())
            .env(PART, part)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        assert!(lines.any(|line| line.expect("text") == "ready"), "the daemon listens");
        Daemon(child)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    async fn call(&self, argv: &[&str]) -> Result<RawOutput, ExecError> {
        self.call_within(Duration::from_mins(1), argv).await
    }

    async fn call_within(&self, timeout: Duration, argv: &[&str]) -> Result<RawOutput, ExecError> {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        let command: Command = parse_for_daemon(Dialect::Tool, &argv, |_| true).expect("accepted");
        let (session, cancel, link) = (&self.session, &self.cancel, &self.link);
        self.transport.run(Invocation { session, command: &command, timeout, cancel, link, sandbox: &Bare }).await
    }

    /// Who answered a call, and which way the audit line says it took.
    async fn way(&self, argv: &[&str]) -> (String, Option<&'static str>) {
        let answer = Answer::read(&self.call(argv).await.expect("ran"));
        (answer.body.render(100).replace(['{', '}', '"'], "").replace("by:", ""), self.link.take_way())
    }

    /// What the CLI was run with since this was asked last.
    fn take_runs(&self) -> Vec<String> {
        let runs = std::fs::read_to_string(self.path("runs")).unwrap_or_default();
        let _ = std::fs::remove_file(self.path("runs"));
        runs.lines().map(str::to_owned).collect()
    }
}

/// A daemon; dropping it ends it.
struct Daemon(Child);

impl Daemon {
    fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("waited").is_some()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const DAEMON: (&str, Option<&str>) = ("daemon", Some("daemon"));
const CLI: (&str, Option<&str>) = ("cli", Some("cli"));

fn is(way: &(String, Option<&'static str>), wanted: (&str, Option<&str>)) -> bool {
    (way.0.as_str(), way.1) == wanted
}

#[tokio::test]
async fn the_first_call_goes_through_the_cli_and_later_ones_to_the_daemon() {
    let world = World::new();
    let _daemon = world.daemon("good");
    assert!(is(&world.way(&["click", "@e1"]).await, CLI));
    for argv in [&["click", "@e1"][..], &["snapshot"], &["close"]] {
        assert!(is(&world.way(argv).await, DAEMON), "{argv:?}");
    }
    assert_eq!(world.take_runs(), ["click"]);
}

#[tokio::test]
async fn what_is_not_proved_goes_through_the_cli_for_ever() {
    let mut world = World::new();
    world.transport.proof = OnceCell::const_new_with(None);
    let _daemon = world.daemon("good");
    for _ in 0..3 {
        assert!(is(&world.way(&["click", "@e1"]).await, CLI));
    }
}

#[tokio::test]
async fn a_failure_of_the_cli_keeps_the_next_call_there() {
    let world = World::new();
    let _daemon = world.daemon("good");
    std::fs::write(world.path("fail"), "").expect("written");
    world.call(&["click", "@e1"]).await.expect("ran");
    std::fs::remove_file(world.path("fail")).expect("removed");
    assert!(is(&world.way(&["click", "@e1"]).await, CLI));
    assert!(is(&world.way(&["click", "@e1"]).await, DAEMON));
}

#[tokio::test]
async fn spec_1_4_a_text_that_the_cli_would_take_for_its_own_never_gets_there() {
    let refused = async |world: &World, wanted: bool, argv: &[&str]| {
        let error = world.call(argv).await.expect_err("refused");
        assert!(matches!(error, ExecError::NotByCli { later } if later == wanted), "{error:?}");
        assert_eq!(world.take_runs(), Vec::<String>::new());
    };
    let fill = ["fill", "@e1", "--cdp=1"];
    let world = World::new();
    let daemon = world.daemon("good");
    refused(&world, true, &fill).await;
    world.call(&["snapshot"]).await.expect("ran");
    world.take_runs();
    assert!(is(&world.way(&fill).await, DAEMON));
    drop(daemon);
    refused(&world, true, &fill).await;

    let world = World::warm().await;
    let _daemon = world.daemon("confused");
    refused(&world, true, &["wait", "--text", "--json"]).await;

    let mut world = World::warm().await;
    world.transport.proof = OnceCell::const_new_with(None);
    assert!(!world.transport.can_pass_the_cli());
    refused(&world, false, &fill).await;
}

#[tokio::test]
async fn without_a_daemon_the_cli_starts_one() {
    let world = World::warm().await;
    assert!(is(&world.way(&["click", "@e1"]).await, CLI), "no socket");
    drop(world.daemon("good"));
    assert!(world.session.socket().exists(), "control: a stale one");
    assert!(is(&world.way(&["click", "@e1"]).await, CLI));
    assert_eq!(world.take_runs(), ["click", "click"]);
}

#[tokio::test]
async fn an_action_that_may_have_been_done_is_not_done_again() {
    for part in ["dies", "confused"] {
        let world = World::warm().await;
        let _daemon = world.daemon(part);
        for argv in [&["click", "@e1"][..], &["fill", "@e1", "x"], &["press", "Enter"], &["open", "https://a.example/"]]
        {
            if part == "dies" && argv[0] != "click" {
                continue;
            }
            world.link.set_warm(true);
            let error = world.call(argv).await.expect_err("unknown");
            assert!(matches!(error, ExecError::Unknown), "{argv:?}: {error}");
            assert_eq!(world.link.take_way(), Some("daemon"));
        }
        assert_eq!(world.take_runs(), Vec::<String>::new(), "{part}");
        assert!(is(&world.way(&["click", "@e1"]).await, CLI), "the next call goes through the CLI");
    }
}

#[tokio::test]
async fn what_can_be_repeated_is_asked_once_more_with_the_old_daemon_gone() {
    for part in ["dies", "confused"] {
        let world = World::warm().await;
        let mut daemon = world.daemon(part);
        assert!(is(&world.way(&["snapshot"]).await, CLI), "{part}");
        assert_eq!(world.take_runs(), ["snapshot"]);
        assert!(daemon.has_ended(), "{part}");
    }
}

#[tokio::test]
async fn a_browser_that_is_gone_is_said_and_the_next_call_goes_through_the_cli() {
    let world = World::warm().await;
    let _daemon = world.daemon("unconnected");
    let output = world.call(&["click", "@e1"]).await.expect("answered");
    assert!(Answer::read(&output).is_browser_gone());
    assert_eq!(world.take_runs(), Vec::<String>::new());
    assert!(is(&world.way(&["click", "@e1"]).await, CLI));
}

#[tokio::test]
async fn after_a_navigation_that_failed_the_next_call_has_the_patience_of_the_cli() {
    let world = World::warm().await;
    let _daemon = world.daemon("failing");
    for argv in [&["open", "https://a.example/"][..], &["back"], &["reload"]] {
        world.link.set_warm(true);
        let output = world.call(argv).await.expect("answered");
        assert_eq!((output.exit_code, world.link.take_way()), (1, Some("daemon")), "{argv:?}");
        assert!(is(&world.way(&["snapshot"]).await, CLI), "{argv:?}");
    }
    world.call(&["click", "@e1"]).await.expect("answered");
    world.call(&["click", "@e1"]).await.expect("answered");
    assert_eq!(world.link.take_way(), Some("daemon"), "control: any other failure changes nothing");
}

#[tokio::test]
async fn an_open_that_an_error_page_overtook_is_done_by_the_cli() {
    let world = World::warm().await;
    let _daemon = world.daemon("overtaken");
    assert!(is(&world.way(&["open", "https://a.example/"]).await, CLI));
    assert_eq!(world.take_runs(), ["open"]);
    world.link.set_warm(true);
    let output = world.call(&["click", "@e1"]).await.expect("answered");
    assert_eq!(output.exit_code, 1, "control: only an open");
}

#[tokio::test]
async fn a_browser_that_has_just_ended_is_the_business_of_the_cli_unless_something_may_have_been_done() {
    for (part, argv, way) in [
        ("gone", &["click", "@e1"][..], "cli"),
        ("gone", &["snapshot"], "cli"),
        ("going", &["snapshot"], "cli"),
        ("going", &["open", "https://a.example/"], "cli"),
        ("going", &["click", "@e1"], "daemon"),
    ] {
        let world = World::warm().await;
        let _daemon = world.daemon(part);
        let output = world.call(argv).await.expect("answered");
        assert_eq!(world.link.take_way(), Some(way), "{part} {argv:?}");
        assert_eq!(output.exit_code, i32::from(way == "daemon"), "{part} {argv:?}");
    }
}

#[tokio::test]
async fn who_is_not_the_sessions_daemon_is_not_spoken_to() {
    let world = World::warm().await;
    let others = world.path("other");
    std::fs::write(&others, "").expect("written");
    for (mark, script, why) in [
        (world.path("elsewhere"), world.path("daemon.js"), "no mark of the session"),
        (world.session.tmp(), others, "not the files that were proved"),
    ] {
        let mut stranger = world.process("good", &mark, &script);
        world.link.set_warm(true);
        assert!(is(&world.way(&["click", "@e1"]).await, CLI), "{why}");
        assert!(!world.session.socket().exists(), "{why}: the CLI must not find it either");
        assert_eq!(stranger.has_ended(), mark == world.session.tmp(), "{why}: only what has the mark is ended");
    }
    let _daemon = world.daemon("good");
    world.link.set_warm(true);
    assert!(is(&world.way(&["click", "@e1"]).await, DAEMON), "control");
}

#[tokio::test]
async fn spec_1_10_a_call_ends_when_its_time_is_over_or_the_client_gives_up() {
    let world = World::warm().await;
    let _daemon = world.daemon("slow");
    let error = world.call_within(Duration::from_millis(300), &["snapshot"]).await.expect_err("timed out");
    assert!(matches!(error, ExecError::TimedOut), "{error}");
    world.link.set_warm(true);
    let cancel = world.cancel.clone();
    let (result, ()) = tokio::join!(world.call(&["click", "@e1"]), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    });
    assert!(matches!(result, Err(ExecError::Cancelled)));
    assert_eq!(world.take_runs(), Vec::<String>::new(), "the CLI does not try what is under way");
}
