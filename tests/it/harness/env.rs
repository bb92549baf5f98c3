//! Files and settings of one server under test, and the stand-in for agent-browser.

use std::{
    ffi::OsString,
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpSocket;

use super::{
    processes,
    server::{HttpServer, Server},
    tabs::Tabs,
};

/// The binary under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_browser-shell");

/// Files and settings of one server, all in a temporary folder.
#[derive(Debug)]
pub(crate) struct TestEnv {
    folder: Arc<TempDir>,
    settings: Vec<(&'static str, OsString)>,
}

impl TestEnv {
    /// Creates an environment with an empty policy, so the defaults apply.
    pub(crate) fn new(agent_browser: &Path) -> Self {
        let folder = Arc::new(TempDir::with_prefix("env").unwrap());
        let below = |name: &str| folder.path().join(name).into_os_string();
        let settings = vec![
            ("BROWSER_SHELL_AGENT_BROWSER", agent_browser.as_os_str().to_owned()),
            ("BROWSER_SHELL_POLICY", below("policy.json")),
            ("BROWSER_SHELL_WORKSPACE", below("workspace")),
            ("BROWSER_SHELL_RUNTIME_DIR", below("run")),
            ("BROWSER_SHELL_AUDIT", below("audit.jsonl")),
        ];
        fs::create_dir(folder.path().join("workspace")).unwrap();
        fs::write(folder.path().join("policy.json"), "{}").unwrap();
        Self { folder, settings }
    }

    /// Adds a setting, by the name of its environment variable.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// Removes a setting.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.settings.retain(|(other, _)| *other != name);
        self
    }

    /// Returns the same files and settings for a second server.
    pub(crate) fn shared(&self) -> Self {
        Self { folder: Arc::clone(&self.folder), settings: self.settings.clone() }
    }

    /// Sets a short action timeout, for tests in which elements are missing.
    pub(crate) fn with_short_action_timeout(self) -> Self {
        self.with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "2000")
    }

    /// Writes the policy file.
    pub(crate) fn with_policy(self, policy: &Value) -> Self {
        self.write_policy(&policy.to_string());
        self
    }

    /// Replaces the policy file atomically, as editors do.
    pub(crate) fn write_policy(&self, text: &str) {
        let new = self.folder.path().join("policy.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.folder.path().join("policy.json")).unwrap();
    }

    /// Returns the folder that contains everything else.
    pub(crate) fn folder(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// Returns the folder that contains the session folders.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Returns the audit log.
    pub(crate) fn audit(&self) -> String {
        fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap_or_default()
    }

    /// Returns the settings as environment variables, for clients that start the server themselves.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
        let settings = self.settings.iter();
        settings.map(|(name, value)| ((*name).to_owned(), value.to_str().unwrap().to_owned())).chain([path])
    }

    /// Returns a command that runs the program with these settings and no other environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env_clear().envs(self.variables());
        command
    }

    /// Runs the program and waits until it exits.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Returns every process of this environment except the server.
    pub(crate) fn processes(&self, server: Option<i32>) -> Vec<processes::Process> {
        processes::belonging_to(self.folder.path(), &Vec::from_iter(server))
    }

    /// Starts `browser-shell mcp` and completes the MCP handshake.
    pub(crate) fn serve(self) -> Server {
        Server::start(self)
    }

    /// Starts `browser-shell mcp --http` and waits until it is healthy.
    pub(crate) fn serve_http(self) -> HttpServer {
        self.serve_http_on(free_port())
    }

    /// Starts `browser-shell mcp --http` on this port and waits until it is healthy.
    pub(crate) fn serve_http_on(self, port: u16) -> HttpServer {
        HttpServer::start(self, port)
    }

    /// Writes a file next to the policy file and returns its path.
    pub(crate) fn write_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for TestEnv {
    /// Fails if a process outlives its server.
    fn drop(&mut self) {
        if thread::panicking() {
            processes::kill(&self.processes(None));
            return;
        }
        if Arc::strong_count(&self.folder) > 1 {
            // The processes may belong to another server. The last owner checks.
            return;
        }
        // Daemons take a moment to exit.
        let end = Instant::now() + processes::TEST_TIMEOUT;
        loop {
            let left = self.processes(None);
            if left.is_empty() {
                return;
            }
            if Instant::now() > end {
                processes::kill(&left);
                panic!("processes were left after the server ended: {left:#?}");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns a free loopback port.
///
/// Returns the same port again only after thousands of others, because a server with several ports would otherwise conflict with itself.
pub(crate) fn free_port() -> u16 {
    // Below the ports that the kernel gives to connections and to listeners without a port of their own, which would take this one before
    // the program that gets it has started.
    const FIRST: u32 = 20_000;
    const COUNT: u32 = 12_000;
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        // Two test programs at once begin at different ones.
        let number = std::process::id() * 97 + GIVEN.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST + number % COUNT).unwrap();
        // Bound, and never listened at: a program that another test starts in this moment has a copy of the socket until it is executed,
        // and a port where one listens is refused to others.
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        if socket.bind((Ipv4Addr::LOCALHOST, port).into()).is_ok() {
            return port;
        }
    }
}

/// Returns the path of the stand-in for agent-browser, which `cargo test` builds next to the program.
pub(crate) fn stand_in() -> PathBuf {
    let program = Path::new(PROGRAM).with_file_name("examples").join("fake-agent-browser");
    assert!(program.exists(), "`{}` is missing: cargo build --example fake-agent-browser", program.display());
    program
}

/// Returns the debugging port of a stand-in for Chromium with one tab, which the first call starts in this process.
pub(crate) fn debugging_port() -> String {
    static PORT: OnceLock<u16> = OnceLock::new();
    let port = PORT.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(|| {
            let executor = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
            executor.block_on(Tabs::new(&["about:blank"]).serve(listener)).unwrap();
        });
        port
    });
    port.to_string()
}

/// Creates an environment for tests without a browser: the stand-ins for agent-browser and for Chromium.
/// The sandbox is off, because the stand-in runs shells and writes files that agent-browser would not.
pub(crate) fn stand_in_env() -> TestEnv {
    TestEnv::new(&stand_in())
        .with("BROWSER_SHELL_CDP_PORT", debugging_port())
        .with_policy(&json!({"sandbox": {"enabled": false}}))
}

/// Creates the same environment with the default sandbox. The stand-in is installed like an agent-browser that needs
/// Node, because the programs that test the sandbox are written for Node.
pub(crate) fn confined_env() -> TestEnv {
    let env = TestEnv::new(&stand_in()).with("BROWSER_SHELL_CDP_PORT", debugging_port());
    let package = env.folder.path().join("package");
    let program = package.join("bin/agent-browser");
    for folder in ["bin", "dist"] {
        fs::create_dir_all(package.join(folder)).unwrap();
    }
    // Copied by another process: a file that this process has open for writing cannot be executed, even if only a
    // child process inherited the descriptor.
    let copied = Command::new("cp").arg(stand_in()).arg(&program).status().unwrap();
    assert!(copied.success(), "cannot copy the stand-in to `{}`", program.display());
    env.with("BROWSER_SHELL_AGENT_BROWSER", program)
}
