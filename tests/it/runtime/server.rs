//! A `browser-shell runtime` under test: its folders, its process, and everything that it started.
//!
//! Each has a folder of its own for everything; when it is dropped, it is told to end as a container engine does it, must end
//! with 0 and leave no process behind. A test in which one stays fails.

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
        e2e::{chromium::spawn_kept, world},
        harness::{
            processes::{self, Process, until},
            server::{Home, PROGRAM, free_port, stand_in},
        },
    },
    door::Door,
};

/// A runtime that is not started yet.
#[derive(Debug)]
pub(crate) struct Setup {
    home: Home,
    arguments: Vec<String>,
    port: u16,
    cdp: u16,
    beside: Option<Beside>,
    token: Option<String>,
    // held until it has ended
    _turn: Option<MutexGuard<'static, ()>>,
}

/// A browser that a test started.
#[derive(Debug)]
struct Beside(Child);

impl Setup {
    fn new(home: Home, chromium: &str) -> Self {
        let (port, cdp) = (free_port(), free_port());
        let below = |name: &str| Path::new(home.folder()).join(name);
        for name in ["cargos", "skills", "orders"] {
            fs::create_dir(below(name)).unwrap();
        }
        fs::write(below("orders/starts"), "").unwrap();
        let program = below("chromium");
        fs::write(&program, format!("#!/bin/sh\nexec {chromium} \"$@\"\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (cargos, skills) = (below("cargos"), below("skills"));
        let home = home
            .with("BROWSER_SHELL_LISTEN", format!("127.0.0.1:{port}"))
            .with("BROWSER_SHELL_CDP_PORT", cdp.to_string())
            .with("BROWSER_SHELL_CHROMIUM", program)
            .with("BROWSER_SHELL_CARGOS", cargos)
            .with("BROWSER_SHELL_SKILLS", skills)
            .with("BROWSER_SHELL_EGRESS", format!("127.0.0.1:{}", free_port()));
        Self { home, arguments: vec!["runtime".to_owned()], port, cdp, beside: None, token: None, _turn: None }
    }

    /// Single mode with the stand-ins, without a sandbox: the stand-in runs shells, which agent-browser does not.
    pub(crate) fn stand_in() -> Self {
        let chromium = stand_in().with_file_name("fake-chromium");
        assert!(chromium.exists(), "`{}` is missing: cargo build --example fake-chromium", chromium.display());
        let home = Home::new(&stand_in());
        let orders = Path::new(home.folder()).join("orders");
        let command = format!("{} --orders={}", chromium.display(), orders.display());
        Self::new(home, &command).policy(&json!({}))
    }

    /// Shared mode with the stand-ins; the browser is not the runtime's own.
    pub(crate) fn shared() -> Self {
        let mut setup = Self::stand_in().with("BROWSER_SHELL_MODE", "shared");
        setup.start_browser();
        setup
    }

    /// Single mode with the real agent-browser and Debian's Chromium; one at a time, which is as many as a small machine starts
    /// before agent-browser gives up waiting.
    pub(crate) fn real() -> Self {
        Self::with_agent_browser(world::home())
    }

    /// The same with the newest agent-browser, one native program.
    pub(crate) fn native() -> Self {
        Self::with_agent_browser(world::home_with(&world::native()))
    }

    fn with_agent_browser(home: Home) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        world::hosts();
        // a test that failed in its turn must not fail the others
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self { _turn: Some(turn), ..Self::new(home, "chromium") }
    }

    /// Starts the browser that a runtime in shared mode does not start itself.
    pub(crate) fn start_browser(&mut self) {
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL"])
            .arg(self.folder().join("chromium"))
            .arg(format!("--remote-debugging-port={}", self.cdp))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.beside = Some(Beside(spawn_kept(command)));
        until("the browser's port", || std::net::TcpStream::connect(("127.0.0.1", self.cdp)).ok());
    }

    /// The same with one more setting, by its variable.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<std::ffi::OsString>) -> Self {
        self.home = self.home.with(name, value);
        self
    }

    /// The same with more arguments.
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The same with a policy file; the stand-in needs to be without a sandbox.
    pub(crate) fn policy(mut self, policy: &Value) -> Self {
        let mut policy = policy.clone();
        policy["sandbox"] = json!({"enabled": false});
        self.home = self.home.with_policy(&policy);
        self
    }

    /// The same with a token for every path but `/health`.
    pub(crate) fn token(mut self, token: &str) -> Self {
        let file = self.folder().join("token");
        fs::write(&file, format!("{token}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        self.token = Some(token.to_owned());
        self.with("BROWSER_SHELL_TOKEN_FILE", file)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        PathBuf::from(self.home.folder())
    }

    /// Where it will be asked.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where the workspace is on this machine; agents see it as `/workspace`.
    pub(crate) fn mount(&self) -> PathBuf {
        self.home.workspace()
    }

    /// A command that starts it, for a test that looks at how it fails to.
    pub(crate) fn command(&self) -> std::process::Command {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.home.command(&arguments)
    }

    /// Starts it and waits until it is healthy.
    pub(crate) fn start(self) -> Runtime {
        let runtime = self.start_now();
        runtime.until_healthy();
        runtime
    }

    /// Starts it and waits until it answers, healthy or not.
    pub(crate) fn start_now(self) -> Runtime {
        let log = fs::File::create(self.folder().join("log")).unwrap();
        let mut child = self.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let door = Door::new(&self.url(), self.token.clone());
        let log = self.folder().join("log");
        until("an answer of the runtime", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the runtime ended at once: {}", fs::read_to_string(&log).unwrap());
            std::net::TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
        Runtime { child, door, setup: Some(self), ended: None }
    }
}

/// A running one.
#[derive(Debug)]
pub(crate) struct Runtime {
    child: Child,
    door: Door,
    setup: Option<Setup>,
    ended: Option<ExitStatus>,
}

impl Deref for Runtime {
    type Target = Door;

    fn deref(&self) -> &Door {
        &self.door
    }
}

impl Runtime {
    fn setup(&self) -> &Setup {
        self.setup.as_ref().unwrap()
    }

    /// Waits until `/health` says so, as an orchestrator does.
    pub(crate) fn until_healthy(&self) {
        until("a healthy runtime", || (self.health().0 == 200).then_some(()));
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.setup().folder()
    }

    /// Where the workspace of single mode is on this machine.
    pub(crate) fn mount(&self) -> PathBuf {
        self.setup().mount()
    }

    /// A folder below the one of everything.
    pub(crate) fn below(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn audit(&self) -> String {
        self.setup().home.audit()
    }

    pub(crate) fn write_policy(&self, policy: &Value) {
        self.setup().home.write_policy(&policy.to_string());
    }

    /// What it wrote on standard error.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.below("log")).unwrap()
    }

    /// The debugging port of its browser.
    pub(crate) fn cdp(&self) -> u16 {
        self.setup().cdp
    }

    /// How often Chromium was started, of the stand-in.
    pub(crate) fn starts(&self) -> usize {
        fs::read_to_string(self.below("orders/starts")).unwrap().lines().count()
    }

    /// Gives an order to the stand-in for Chromium, or takes it back.
    pub(crate) fn order(&self, name: &str, given: bool) {
        let file = self.below("orders").join(name);
        if given {
            fs::write(file, "").unwrap();
        } else {
            fs::remove_file(file).unwrap();
        }
    }

    /// The first process of its own Chromium: its child that has the debugging port on its command line.
    pub(crate) fn chromium(&self) -> Option<Process> {
        processes::children_of(self.id()).into_iter().find(|child| child.command.contains("--remote-debugging-port"))
    }

    /// Everything that it started and that lives: its descendants, and who carries its folder in environment or arguments.
    pub(crate) fn started(&self) -> Vec<Process> {
        let mut found = descendants_of(self.id());
        let marked = processes::belonging_to(&self.folder(), &[self.id()]);
        found.extend(marked);
        found.sort_unstable_by_key(|process| process.id);
        found.dedup_by_key(|process| process.id);
        let beside = self.setup().beside.as_ref().map(|beside| i32::try_from(beside.0.id()).unwrap());
        found.retain(|process| Some(process.id) != beside);
        found
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        processes::signal(self.id(), signal);
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let status = until("the end of the runtime", || self.child.try_wait().unwrap());
        self.ended = Some(status);
        status
    }

    /// Ends it, and gives its folders to another one.
    pub(crate) fn again(mut self) -> Self {
        self.end();
        let setup = self.setup.take().unwrap();
        setup.start()
    }

    /// Ends what a runtime in shared mode did not start.
    pub(crate) fn end_browser(&mut self) {
        drop(self.setup.as_mut().unwrap().beside.take().expect("a browser of the test's own"));
    }

    /// Starts it again.
    pub(crate) fn start_browser(&mut self) {
        self.setup.as_mut().unwrap().start_browser();
    }

    fn end(&mut self) {
        let started = self.started();
        if self.ended.is_none() {
            self.signal(Signal::TERM);
            let status = self.wait();
            assert!(status.success(), "SIGTERM ends it with 0, this is {status}: {}", self.log());
        }
        until(&format!("the end of {started:?}"), || (!started.iter().any(processes::lives)).then_some(()));
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // without a setup another runtime has taken over
        if self.setup.is_some() {
            if thread::panicking() {
                drop(writeln!(std::io::stderr(), "the runtime said:\n{}", self.log()));
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

impl Drop for Beside {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The living processes below one, however deep.
fn descendants_of(parent: i32) -> Vec<Process> {
    let mut found = Vec::new();
    for child in processes::children_of(parent) {
        found.extend(descendants_of(child.id));
        found.push(child);
    }
    found
}

/// The program under test, for tests that ask it what it is called and how it is told to run.
pub(crate) fn program() -> std::process::Command {
    let mut command = std::process::Command::new(PROGRAM);
    command.env_clear();
    command
}
