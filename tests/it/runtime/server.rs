//! A `browser-shell runtime` under test: its folders, its process, and all processes that it started.
//!
//! Each runtime has a separate temporary folder. When dropped, it receives SIGTERM as from a container engine. The
//! test fails unless it exits with 0 and leaves no process behind.

use std::{
    fs,
    io::Write,
    ops::Deref,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    super::{
        e2e::{chromium::spawn_from_permanent_thread, test_env},
        harness::{
            processes::{self, Process, wait_for},
            server::{PROGRAM, TestEnv, free_port, stand_in},
        },
    },
    client::HttpClient,
};

/// Configuration of a runtime that has not been started.
#[derive(Debug)]
pub(crate) struct Setup {
    env: TestEnv,
    arguments: Vec<String>,
    port: u16,
    cdp: u16,
    external_browser: Option<ExternalBrowser>,
    token: Option<String>,
    // Held until the runtime has ended.
    exclusive: Option<MutexGuard<'static, ()>>,
}

/// A browser that the test started, not the runtime.
#[derive(Debug)]
struct ExternalBrowser(Child);

/// Returns a policy with the engine that a stand-in for agent-browser needs, unless it names another one.
fn of_stand_in(policy: &Value) -> Value {
    let mut policy = policy.clone();
    if policy.get("engine").is_none() {
        policy["engine"] = "agent-browser".into();
    }
    policy
}

impl Setup {
    fn new(env: TestEnv, chromium: &str) -> Self {
        let (port, cdp) = (free_port(), free_port());
        let below = |name: &str| Path::new(env.folder()).join(name);
        for name in ["cargos", "skills"] {
            fs::create_dir(below(name)).unwrap();
        }
        // In a folder of its own, which Chromium may read.
        fs::create_dir_all(below("browser-program/control")).unwrap();
        let program = below("browser-program/chromium");
        fs::write(&program, format!("#!/bin/sh\nexec {chromium} \"$@\"\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (cargos, skills) = (below("cargos"), below("skills"));
        let env = env
            .with("BROWSER_SHELL_LISTEN", format!("127.0.0.1:{port}"))
            .with("BROWSER_SHELL_CDP_PORT", cdp.to_string())
            .with("BROWSER_SHELL_CHROMIUM", program)
            .with("BROWSER_SHELL_CARGOS", cargos)
            .with("BROWSER_SHELL_SKILLS", skills)
            .with("BROWSER_SHELL_EGRESS", format!("127.0.0.1:{}", free_port()));
        Self {
            env,
            arguments: vec!["runtime".to_owned()],
            port,
            cdp,
            external_browser: None,
            token: None,
            exclusive: None,
        }
    }

    /// Creates a runtime in single mode with the stand-ins. The sandbox is off, because the stand-in runs shells,
    /// which agent-browser does not.
    pub(crate) fn stand_in() -> Self {
        let chromium = stand_in().with_file_name("fake-chromium");
        assert!(chromium.exists(), "`{}` is missing: cargo build --example fake-chromium", chromium.display());
        let env = TestEnv::new(&stand_in());
        let folder = Path::new(env.folder()).join("browser-program");
        fs::create_dir(&folder).unwrap();
        let copy = folder.join("fake-chromium");
        fs::hard_link(&chromium, &copy).or_else(|_| fs::copy(&chromium, &copy).map(|_| ())).unwrap();
        let command = format!("{} --control-dir={}", copy.display(), folder.join("control").display());
        Self::new(env, &command).policy(&json!({}))
    }

    /// Creates a runtime in shared mode with the stand-ins and an external browser.
    pub(crate) fn shared() -> Self {
        let mut setup = Self::stand_in().with("BROWSER_SHELL_MODE", "shared");
        setup.start_browser();
        setup
    }

    /// Creates a runtime in single mode with the real agent-browser and Debian's Chromium. Only one runs at a time:
    /// with more, agent-browser reaches its own startup timeout on a small machine.
    pub(crate) fn real() -> Self {
        Self::with_agent_browser(test_env::default_env())
    }

    /// Creates the same with the newest agent-browser, a native program.
    pub(crate) fn native() -> Self {
        Self::with_agent_browser(test_env::env_with(&test_env::native()))
    }

    /// Creates the same with another program in place of agent-browser.
    pub(crate) fn with_program(program: &Path) -> Self {
        Self::with_agent_browser(test_env::env_with(program).with_policy(&json!({ "engine": "agent-browser" })))
    }

    fn with_agent_browser(env: TestEnv) -> Self {
        static REAL_BROWSER: Mutex<()> = Mutex::new(());
        test_env::hosts();
        // A failed test must not fail the next ones.
        let exclusive = REAL_BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
        Self { exclusive: Some(exclusive), ..Self::new(env, "chromium") }
    }

    /// Starts the browser, which a runtime in shared mode does not start itself.
    pub(crate) fn start_browser(&mut self) {
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL"])
            .arg(self.folder().join("browser-program/chromium"))
            .arg(format!("--remote-debugging-port={}", self.cdp))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.external_browser = Some(ExternalBrowser(spawn_from_permanent_thread(command)));
        wait_for("the browser's port", || std::net::TcpStream::connect(("127.0.0.1", self.cdp)).ok());
    }

    /// Adds a setting, by the name of its environment variable.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<std::ffi::OsString>) -> Self {
        self.env = self.env.with(name, value);
        self
    }

    /// Removes a setting.
    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.env = self.env.without(name);
        self
    }

    /// Returns the debugging port of the browser.
    pub(crate) fn cdp(&self) -> u16 {
        self.cdp
    }

    /// Adds command-line arguments.
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// Writes the policy file. The sandbox is off for the stand-in.
    pub(crate) fn policy(mut self, policy: &Value) -> Self {
        let mut policy = of_stand_in(policy);
        policy["sandbox"] = json!({"enabled": false});
        self.env = self.env.with_policy(&policy);
        self
    }

    /// Requires a token for every path except `/health`.
    pub(crate) fn token(mut self, token: &str) -> Self {
        let file = self.folder().join("token");
        fs::write(&file, format!("{token}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        self.token = Some(token.to_owned());
        self.with("BROWSER_SHELL_TOKEN_FILE", file)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        PathBuf::from(self.env.folder())
    }

    /// Returns the base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the workspace on this machine. Agents see it as `/workspace`.
    pub(crate) fn mount(&self) -> PathBuf {
        self.env.workspace()
    }

    /// Returns the start command, for tests of startup errors.
    pub(crate) fn command(&self) -> std::process::Command {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.env.command(&arguments)
    }

    /// Starts the runtime and waits until it is healthy.
    pub(crate) fn start(self) -> Runtime {
        let runtime = self.start_unready();
        runtime.wait_until_healthy();
        runtime
    }

    /// Starts the runtime and waits until it accepts connections, healthy or not.
    pub(crate) fn start_unready(self) -> Runtime {
        let log = fs::File::create(self.folder().join("log")).unwrap();
        let mut child = self.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let client = HttpClient::new(&self.url(), self.token.clone());
        let log = self.folder().join("log");
        wait_for("the runtime's port", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the runtime exited during startup: {}", fs::read_to_string(&log).unwrap());
            std::net::TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
        Runtime { child, client, setup: Some(self), ended: None }
    }
}

/// A running runtime.
#[derive(Debug)]
pub(crate) struct Runtime {
    child: Child,
    client: HttpClient,
    setup: Option<Setup>,
    ended: Option<ExitStatus>,
}

impl Deref for Runtime {
    type Target = HttpClient;

    fn deref(&self) -> &HttpClient {
        &self.client
    }
}

impl Runtime {
    fn setup(&self) -> &Setup {
        self.setup.as_ref().unwrap()
    }

    /// Waits until `/health` reports it as healthy, as an orchestrator does.
    pub(crate) fn wait_until_healthy(&self) {
        wait_for("a healthy runtime", || (self.health().0 == 200).then_some(()));
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.setup().folder()
    }

    /// Returns the workspace of single mode on this machine.
    pub(crate) fn mount(&self) -> PathBuf {
        self.setup().mount()
    }

    /// Returns a path below the temporary folder.
    pub(crate) fn below(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn audit(&self) -> String {
        self.setup().env.audit()
    }

    pub(crate) fn write_policy(&self, policy: &Value) {
        let is_stand_in = self.setup().exclusive.is_none();
        let policy = if is_stand_in { of_stand_in(policy) } else { policy.clone() };
        self.setup().env.write_policy(&policy.to_string());
    }

    /// Returns the standard error output.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.below("log")).unwrap()
    }

    /// Returns the debugging port of the browser.
    pub(crate) fn cdp(&self) -> u16 {
        self.setup().cdp
    }

    /// Returns the number of starts of the stand-in for Chromium.
    pub(crate) fn starts(&self) -> usize {
        let profiles = [self.mount().join(".browser/profile"), self.below("run/b/browser/profile")];
        let starts = profiles.iter().filter_map(|profile| fs::read_to_string(profile.join("starts")).ok());
        starts.map(|starts| starts.lines().count()).sum()
    }

    /// Sets or clears a control file of the stand-in for Chromium.
    pub(crate) fn set_control_file(&self, name: &str, present: bool) {
        let file = self.below("browser-program/control").join(name);
        if present {
            fs::write(file, "").unwrap();
        } else {
            fs::remove_file(file).unwrap();
        }
    }

    /// Returns the main process of its Chromium: the child with the debugging pipe in its arguments.
    pub(crate) fn chromium(&self) -> Option<Process> {
        processes::children_of(self.id()).into_iter().find(|child| child.command.contains("--remote-debugging-pipe"))
    }

    /// Returns all running processes that it started: its descendants, and processes with its folder in their
    /// environment.
    pub(crate) fn started(&self) -> Vec<Process> {
        let mut found = processes::descendants_of(self.id());
        let marked = processes::belonging_to(&self.folder(), &[self.id()]);
        found.extend(marked);
        found.sort_unstable_by_key(|process| process.id);
        found.dedup_by_key(|process| process.id);
        let external_browser = self
            .setup()
            .external_browser
            .as_ref()
            .map(|external_browser| i32::try_from(external_browser.0.id()).unwrap());
        found.retain(|process| Some(process.id) != external_browser);
        found
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        processes::signal(self.id(), signal);
    }

    /// Waits until it has exited.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let status = wait_for("the end of the runtime", || self.child.try_wait().unwrap());
        self.ended = Some(status);
        status
    }

    /// Ends it and starts another runtime with the same folders.
    pub(crate) fn restart(mut self) -> Self {
        self.end();
        let setup = self.setup.take().unwrap();
        setup.start()
    }

    /// Ends the browser that the test started.
    pub(crate) fn end_browser(&mut self) {
        drop(self.setup.as_mut().unwrap().external_browser.take().expect("the test must have started a browser"));
    }

    /// Starts the external browser again.
    pub(crate) fn start_browser(&mut self) {
        self.setup.as_mut().unwrap().start_browser();
    }

    fn end(&mut self) {
        let started = self.started();
        if self.ended.is_none() {
            self.signal(Signal::TERM);
            let status = self.wait();
            assert!(status.success(), "SIGTERM must end it with 0, not {status}: {}", self.log());
        }
        wait_for(&format!("the end of {started:?}"), || (!started.iter().any(processes::is_alive)).then_some(()));
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Without a setup, another runtime has taken over.
        if self.setup.is_some() {
            if thread::panicking() {
                drop(writeln!(std::io::stderr(), "log of the runtime:\n{}", self.log()));
                let started = self.started();
                drop(self.child.kill());
                drop(self.child.wait());
                processes::kill(&started);
            } else {
                self.end();
            }
        }
    }
}

impl Drop for ExternalBrowser {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Returns a command that runs the program under test with an empty environment.
pub(crate) fn program() -> std::process::Command {
    let mut command = std::process::Command::new(PROGRAM);
    command.env_clear();
    command
}
