//! Choice of the transport, against daemons that are processes: this test binary, started again with the session marker and the
//! name of a script, so that it passes all checks of a daemon.

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

use crate::agent_browser::transport::TransportState;
use crate::config::Settings;
use crate::os::exec::tests::write_script;
use crate::sandbox::Unconfined;
use browser_shell_core::grammar::{Command, Profile, parse_for_daemon};
use browser_shell_core::output::CommandResult;

const STAND_IN: &str = "agent_browser::auto::tests::stand_in_session_daemon";
const SOCKET: &str = "BROWSER_SHELL_TEST_SOCKET";
const BEHAVIOR: &str = "BROWSER_SHELL_TEST_BEHAVIOR";

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

/// Stand-in for a session's daemon, in its own process.
#[test]
#[ignore = "started by the other tests here, as a daemon"]
fn stand_in_session_daemon() {
    let (Some(socket), Ok(behavior)) = (std::env::var_os(SOCKET), std::env::var(BEHAVIOR)) else { return };
    let listener = UnixListener::bind(&socket).expect("bound");
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o700)).expect("set");
    println!("\nready");
    for mut stream in listener.incoming().map_while(Result::ok) {
        let lines = BufReader::new(stream.try_clone().expect("cloned")).lines();
        for line in lines.map_while(Result::ok) {
            let request: Value = serde_json::from_str(&line).expect("JSON");
            let launches = request["action"] == "launch";
            if behavior == "slow" && !launches {
                std::thread::sleep(Duration::from_mins(10));
            }
            if behavior == "dies" && !launches {
                std::process::exit(1);
            }
            let answer = match behavior.as_str() {
                "unconnected" => json!({ "id": request["id"], "success": false, "error": "Failed to connect via CDP" }),
                "failing" if !launches => {
                    json!({ "id": request["id"], "success": false, "error": "page.goto: net::ERR_FAILED" })
                }
                "gone" | "going" if !launches => {
                    let method = if behavior == "gone" { "browserContext.newPage" } else { "page.click" };
                    let error = format!("{method}: Target page, context or browser has been closed");
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

/// Session with a CLI that records each run, and a transport that supports its daemon.
struct TestEnv {
    root: TempDir,
    session: SessionPaths,
    transport: AutoTransport,
    state: TransportState,
    cancel: CancellationToken,
}

impl TestEnv {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let path = |name: &str| root.path().join(name);
        let program = path("agent-browser");
        let script = format!(
            "#!/bin/sh\necho \"$6\" >> '{}'\n[ ! -e '{}' ] || {{ echo '{{\"success\":false,\"error\":\"no element\"}}'; exit 1; }}\necho '{{\"success\":true,\"data\":{{\"by\":\"cli\"}},\"error\":null}}'\n",
            path("runs").display(),
            path("fail").display()
        );
        write_script(&program, &script);
        std::fs::write(path("daemon.js"), "").expect("written");
        let arguments = ["test".into(), "--agent-browser".into(), program.into_os_string()];
        let settings = Arguments::parse_from(arguments).settings;
        let script = path("daemon.js").canonicalize().expect("there");
        let daemon = OnceCell::const_new_with(Some(SupportedDaemon {
            version: "test",
            program: direct::DaemonProgram::Script(script),
        }));
        let session =
            SessionPaths { key: "s".to_owned(), sockets: root.path().to_owned(), private: path("k"), files: path("w") };
        session.make().expect("made");
        let transport =
            AutoTransport { daemon, ..AutoTransport::new(CliTransport::new(&settings, path("policy.json"))) };
        Self { root, session, transport, state: TransportState::default(), cancel: CancellationToken::new() }
    }

    /// Creates an environment in which the first call has succeeded.
    async fn with_ready_daemon() -> Self {
        let env = Self::new();
        env.call(&["snapshot"]).await.expect("ran");
        assert_eq!(env.take_runs(), ["snapshot"]);
        env
    }

    /// Starts a daemon with this behavior.
    fn daemon(&self, behavior: &str) -> Daemon {
        self.process(behavior, &self.session.tmp(), &self.path("daemon.js"))
    }

    fn process(&self, behavior: &str, marker: &std::path::Path, script: &std::path::Path) -> Daemon {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"))
            .arg(script.canonicalize().expect("there"))
            .args([STAND_IN, "--exact", "--ignored", "--nocapture"])
            .env("TMPDIR", marker)
            .env(SOCKET, self.session.socket())
            .env(BEHAVIOR, behavior)
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
        let command: Command = parse_for_daemon(Profile::Tool, &argv, |_| true).expect("accepted");
        let (session, cancel, state) = (&self.session, &self.cancel, &self.state);
        self.transport
            .run(Invocation { session, command: &command, timeout, cancel, state, cdp_port: 1, sandbox: &Unconfined })
            .await
    }

    /// Returns the program that answered a call, and the transport that the audit line names.
    async fn transport_of(&self, argv: &[&str]) -> (String, Option<&'static str>) {
        let answer = CommandResult::parse(&self.call(argv).await.expect("ran"));
        (answer.body.render(100).replace(['{', '}', '"', '\n'], "").replace("by:", ""), self.state.take_transport())
    }

    /// Returns and forgets the subcommands that the CLI was run with.
    fn take_runs(&self) -> Vec<String> {
        let runs = std::fs::read_to_string(self.path("runs")).unwrap_or_default();
        let _ = std::fs::remove_file(self.path("runs"));
        runs.lines().map(str::to_owned).collect()
    }
}

/// Daemon that ends when it is dropped.
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

fn is(transport: &(String, Option<&'static str>), wanted: (&str, Option<&str>)) -> bool {
    (transport.0.as_str(), transport.1) == wanted
}

#[tokio::test]
async fn first_call_uses_cli_and_later_calls_use_daemon() {
    let env = TestEnv::new();
    let _daemon = env.daemon("good");
    assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI));
    for argv in [&["click", "@e1"][..], &["snapshot"], &["close"]] {
        assert!(is(&env.transport_of(argv).await, DAEMON), "{argv:?}");
    }
    assert_eq!(env.take_runs(), ["click"]);
}

#[tokio::test]
async fn unsupported_agent_browser_always_uses_cli() {
    let mut env = TestEnv::new();
    env.transport.daemon = OnceCell::const_new_with(None);
    let _daemon = env.daemon("good");
    for _ in 0..3 {
        assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI));
    }
}

#[tokio::test]
async fn cli_failure_keeps_next_call_on_cli() {
    let env = TestEnv::new();
    let _daemon = env.daemon("good");
    std::fs::write(env.path("fail"), "").expect("written");
    env.call(&["click", "@e1"]).await.expect("ran");
    std::fs::remove_file(env.path("fail")).expect("removed");
    assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI));
    assert!(is(&env.transport_of(&["click", "@e1"]).await, DAEMON));
}

// Requirement 1.4.
#[tokio::test]
async fn text_that_cli_would_parse_as_flag_never_reaches_cli() {
    let refused = async |env: &TestEnv, wanted: bool, argv: &[&str]| {
        let error = env.call(argv).await.expect_err("refused");
        assert!(matches!(error, ExecError::NotByCli { later } if later == wanted), "{error:?}");
        assert_eq!(env.take_runs(), Vec::<String>::new());
    };
    let fill = ["fill", "@e1", "--cdp=1"];
    let env = TestEnv::new();
    let daemon = env.daemon("good");
    refused(&env, true, &fill).await;
    env.call(&["snapshot"]).await.expect("ran");
    env.take_runs();
    assert!(is(&env.transport_of(&fill).await, DAEMON));
    drop(daemon);
    refused(&env, true, &fill).await;

    let env = TestEnv::with_ready_daemon().await;
    let _daemon = env.daemon("confused");
    refused(&env, true, &["wait", "--text", "--json"]).await;

    let mut env = TestEnv::with_ready_daemon().await;
    env.transport.daemon = OnceCell::const_new_with(None);
    assert!(!env.transport.can_bypass_cli());
    refused(&env, false, &fill).await;
}

#[tokio::test]
async fn missing_daemon_is_started_by_cli() {
    let env = TestEnv::with_ready_daemon().await;
    assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI), "no socket");
    drop(env.daemon("good"));
    assert!(env.session.socket().exists(), "control: a stale one");
    assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI));
    assert_eq!(env.take_runs(), ["click", "click"]);
}

#[tokio::test]
async fn possibly_executed_action_is_not_repeated() {
    for behavior in ["dies", "confused"] {
        let env = TestEnv::with_ready_daemon().await;
        let _daemon = env.daemon(behavior);
        for argv in [&["click", "@e1"][..], &["fill", "@e1", "x"], &["press", "Enter"], &["open", "https://a.example/"]]
        {
            if behavior == "dies" && argv[0] != "click" {
                continue;
            }
            env.state.set_daemon_ready(true);
            let error = env.call(argv).await.expect_err("unknown");
            assert!(matches!(error, ExecError::Unknown), "{argv:?}: {error}");
            assert_eq!(env.state.take_transport(), Some("daemon"));
        }
        assert_eq!(env.take_runs(), Vec::<String>::new(), "{behavior}");
        assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI), "the next call takes the CLI");
    }
}

#[tokio::test]
async fn repeatable_action_is_retried_after_ending_old_daemon() {
    for behavior in ["dies", "confused"] {
        let env = TestEnv::with_ready_daemon().await;
        let mut daemon = env.daemon(behavior);
        assert!(is(&env.transport_of(&["snapshot"]).await, CLI), "{behavior}");
        assert_eq!(env.take_runs(), ["snapshot"]);
        assert!(daemon.has_ended(), "{behavior}");
    }
}

#[tokio::test]
async fn missing_browser_is_reported_and_next_call_uses_cli() {
    let env = TestEnv::with_ready_daemon().await;
    let _daemon = env.daemon("unconnected");
    let output = env.call(&["click", "@e1"]).await.expect("answered");
    assert!(CommandResult::parse(&output).is_browser_unavailable());
    assert_eq!(env.take_runs(), Vec::<String>::new());
    assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI));
}

#[tokio::test]
async fn call_after_failed_navigation_uses_cli() {
    let env = TestEnv::with_ready_daemon().await;
    let _daemon = env.daemon("failing");
    for argv in [&["open", "https://a.example/"][..], &["back"], &["reload"]] {
        env.state.set_daemon_ready(true);
        let output = env.call(argv).await.expect("answered");
        assert_eq!((output.exit_code, env.state.take_transport()), (1, Some("daemon")), "{argv:?}");
        assert!(is(&env.transport_of(&["snapshot"]).await, CLI), "{argv:?}");
    }
    env.call(&["click", "@e1"]).await.expect("answered");
    env.call(&["click", "@e1"]).await.expect("answered");
    assert_eq!(env.state.take_transport(), Some("daemon"), "control: any other failure changes nothing");
}

#[tokio::test]
async fn open_interrupted_by_error_page_is_retried_by_cli() {
    let env = TestEnv::with_ready_daemon().await;
    let _daemon = env.daemon("overtaken");
    assert!(is(&env.transport_of(&["open", "https://a.example/"]).await, CLI));
    assert_eq!(env.take_runs(), ["open"]);
    env.state.set_daemon_ready(true);
    let output = env.call(&["click", "@e1"]).await.expect("answered");
    assert_eq!(output.exit_code, 1, "control: only an open");
}

#[tokio::test]
async fn ended_browser_falls_back_to_cli_if_action_did_not_run() {
    for (behavior, argv, transport) in [
        ("gone", &["click", "@e1"][..], "cli"),
        ("gone", &["snapshot"], "cli"),
        ("going", &["snapshot"], "cli"),
        ("going", &["open", "https://a.example/"], "cli"),
        ("going", &["click", "@e1"], "daemon"),
    ] {
        let env = TestEnv::with_ready_daemon().await;
        let _daemon = env.daemon(behavior);
        let output = env.call(argv).await.expect("answered");
        assert_eq!(env.state.take_transport(), Some(transport), "{behavior} {argv:?}");
        assert_eq!(output.exit_code, i32::from(transport == "daemon"), "{behavior} {argv:?}");
    }
}

#[tokio::test]
async fn foreign_daemon_is_never_contacted() {
    let env = TestEnv::with_ready_daemon().await;
    let other_script = env.path("other");
    std::fs::write(&other_script, "").expect("written");
    for (marker, script, reason) in [
        (env.path("elsewhere"), env.path("daemon.js"), "no session marker"),
        (env.session.tmp(), other_script, "not the supported daemon"),
    ] {
        let mut process = env.process("good", &marker, &script);
        env.state.set_daemon_ready(true);
        assert!(is(&env.transport_of(&["click", "@e1"]).await, CLI), "{reason}");
        assert!(!env.session.socket().exists(), "{reason}: the CLI must not find it either");
        assert_eq!(
            process.has_ended(),
            marker == env.session.tmp(),
            "{reason}: only a process with the marker is ended"
        );
    }
    let _daemon = env.daemon("good");
    env.state.set_daemon_ready(true);
    assert!(is(&env.transport_of(&["click", "@e1"]).await, DAEMON), "control");
}

// Requirement 1.10.
#[tokio::test]
async fn daemon_call_ends_on_timeout_or_cancel() {
    let env = TestEnv::with_ready_daemon().await;
    let _daemon = env.daemon("slow");
    let error = env.call_within(Duration::from_millis(300), &["snapshot"]).await.expect_err("timed out");
    assert!(matches!(error, ExecError::TimedOut), "{error}");
    env.state.set_daemon_ready(true);
    let cancel = env.cancel.clone();
    let (result, ()) = tokio::join!(env.call(&["click", "@e1"]), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    });
    assert!(matches!(result, Err(ExecError::Cancelled)));
    assert_eq!(env.take_runs(), Vec::<String>::new(), "the CLI does not run a command that has started");
}
