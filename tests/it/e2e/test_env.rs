//! Environment of all end-to-end tests: the hosts, the shared Chromium, and the programs from npm and Python.
//!
//! Nothing starts outside the test network, because requests would reach the real internet.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use super::{
    chromium::{Chromium, Tab},
    hosts::Hosts,
    server::TestEnv,
};

/// Debugging port of the shared Chromium: the program's default.
pub(crate) const CDP_PORT: u16 = 9222;

/// Returns the folder of the support files.
pub(crate) fn support() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e")
}

/// Returns the path of a file that `tests/e2e/setup` installs.
#[track_caller]
pub(crate) fn installed(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "`{}` is missing: run tests/e2e/setup", path.display());
    path
}

/// Returns a binary of `package` for this machine, with `libc` as the prefix of the architecture.
#[track_caller]
fn binary(package: &str, libc: &str) -> PathBuf {
    assert!(AgentBrowsers::read() != AgentBrowsers::None, "this test needs agent-browser, which is taken away");
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => panic!("agent-browser has no binary for `{other}`"),
    };
    let name = format!("node_modules/{package}/bin/agent-browser-linux-{libc}{machine}");
    installed(support().join(name))
}

/// Returns the pinned agent-browser, which has a daemon in Node.
pub(crate) fn agent_browser() -> PathBuf {
    binary("agent-browser", "")
}

/// Returns the newest agent-browser, a native program.
pub(crate) fn native() -> PathBuf {
    binary("agent-browser-native", "")
}

/// Returns the newest agent-browser, linked statically.
pub(crate) fn native_without_libraries() -> PathBuf {
    binary("agent-browser-native", "musl-")
}

/// Returns a path without agent-browser, for tests whose sessions all have the engine `cdp`. `./dev test all --part 7` runs the files that need
/// nothing of npm without it.
pub(crate) fn no_agent_browser() -> &'static Path {
    Path::new("/nonexistent/agent-browser")
}

/// Returns a command that runs a script of an npm package in Node.
pub(crate) fn node(script: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(installed(support().join(script)));
    command
}

/// Returns the Python interpreter of the virtual environment with the official client.
pub(crate) fn python() -> Command {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/e2e/venv");
    Command::new(installed(venv.join("bin/python")))
}

/// Returns the Python interpreter of the virtual environment with the agent libraries.
pub(crate) fn agent_libraries_python() -> Command {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/e2e/agent-libraries/bin/python");
    assert!(program.exists(), "`{}` is missing: run tests/e2e/setup extras", program.display());
    Command::new(program)
}

/// Fails if the sample of `benches/apps` is not installed.
#[track_caller]
pub(crate) fn require_applications() {
    for file in ["python/bin/django-admin", "npm/node_modules/bootstrap"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/apps").join(file);
        assert!(path.exists(), "`{}` is missing: run tests/e2e/setup extras", path.display());
    }
}

/// Returns a command that runs `prometheus` or `promtool`.
pub(crate) fn prometheus(program: &str) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/e2e/prometheus/usr/bin").join(program);
    assert!(path.exists(), "`{}` is missing: run tests/e2e/setup extras", path.display());
    Command::new(path)
}

/// Returns a command that runs pages in a bare Chromium and behind browser-shell.
pub(crate) fn platform_run() -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let server = root.join("target/platform/.made-from");
    assert!(server.exists(), "`{}` is missing: run tests/e2e/setup extras", server.display());
    let mut command = Command::new("python3");
    command.current_dir(root).arg("benches/platform/run");
    command
}

/// Fails outside the test network.
#[track_caller]
pub(crate) fn require_test_network() {
    assert!(
        std::env::var_os("BROWSER_SHELL_TEST_NETWORK").is_some_and(|value| value == "1"),
        "this test needs the test network: run ./dev test, or put tests/e2e/in-test-network before the command"
    );
}

/// Returns the hosts, which the first call starts.
pub(crate) fn hosts() -> &'static Hosts {
    static HOSTS: OnceLock<Hosts> = OnceLock::new();
    HOSTS.get_or_init(|| {
        require_test_network();
        Hosts::start()
    })
}

/// The right to be the only test that uses a Chromium.
#[derive(Debug)]
pub(crate) struct Turn(MutexGuard<'static, Option<Chromium>>);

impl Turn {
    /// Waits until no other test has the right. The first call starts the hosts.
    pub(crate) fn wait() -> Self {
        static SHARED: Mutex<Option<Chromium>> = Mutex::new(None);
        hosts();
        // A failed test must not fail the next ones.
        Self(SHARED.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Exclusive use of the shared Chromium, with a new tab.
#[derive(Debug)]
pub(crate) struct Browser(Turn);

impl Browser {
    /// Waits for exclusive use. The first call starts Chromium and the hosts.
    pub(crate) fn lock() -> Self {
        let mut turn = Turn::wait();
        turn.0.get_or_insert_with(|| Chromium::start(CDP_PORT)).fresh_tab();
        Self(turn)
    }

    /// Returns the address of the only tab.
    pub(crate) fn address(&self) -> String {
        let tabs = self.tabs();
        assert_eq!(tabs.len(), 1, "expected one tab: {tabs:?}");
        tabs[0].url.clone()
    }

    /// Returns all open tabs.
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        self.0.0.as_ref().unwrap().tabs()
    }
}

/// Variable that names the agent-browsers to test with.
const AGENT_BROWSERS: &str = "BROWSER_SHELL_TEST_AGENT_BROWSERS";

/// Values of [`AGENT_BROWSERS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentBrowsers {
    /// The one with a daemon in Node, which the image has.
    Default,
    /// The native one.
    Native,
    /// None, for tests that need none.
    None,
    /// Both, one after the other.
    All,
}

impl AgentBrowsers {
    /// Parses the value of the variable. Fails if it is not one of them.
    fn parse(value: Option<&OsStr>) -> Self {
        let Some(value) = value else { return Self::Default };
        match value.to_str() {
            Some("default") => Self::Default,
            Some("native") => Self::Native,
            Some("none") => Self::None,
            Some("all") => Self::All,
            _ => {
                panic!(
                    "`{AGENT_BROWSERS}` is `{}`: set it to `default`, `native`, `none` or `all`, or unset it",
                    value.display()
                )
            }
        }
    }

    fn read() -> Self {
        Self::parse(std::env::var_os(AGENT_BROWSERS).as_deref())
    }
}

/// Returns the agent-browsers that tests repeat what they do with, each with its value: the first value is that of the one with
/// a daemon in Node, the second that of the native one.
pub(crate) fn agent_browsers_with<T>([with_node, with_native]: [T; 2]) -> Vec<(PathBuf, T)> {
    match AgentBrowsers::read() {
        AgentBrowsers::Default | AgentBrowsers::None => vec![(agent_browser(), with_node)],
        AgentBrowsers::Native => vec![(native(), with_native)],
        AgentBrowsers::All => vec![(agent_browser(), with_node), (native(), with_native)],
    }
}

/// Returns the agent-browsers that tests repeat what they do with.
pub(crate) fn agent_browsers() -> Vec<PathBuf> {
    agent_browsers_with([(), ()]).into_iter().map(|(program, ())| program).collect()
}

/// Creates the environment of a server with the native agent-browser, for tests to which the version does not matter: it needs less time than
/// the one in Node.
pub(crate) fn default_env() -> TestEnv {
    env_with(&native())
}

/// Creates the environment of a server with the given agent-browser.
pub(crate) fn env_with(agent_browser: &Path) -> TestEnv {
    require_test_network();
    TestEnv::new(agent_browser)
}

#[test]
fn variable_names_the_agent_browsers_to_test_with() {
    let parse = |value: &str| AgentBrowsers::parse(Some(value.as_ref()));
    assert_eq!(AgentBrowsers::parse(None), AgentBrowsers::Default);
    assert_eq!(
        ["default", "native", "none", "all"].map(parse),
        [AgentBrowsers::Default, AgentBrowsers::Native, AgentBrowsers::None, AgentBrowsers::All]
    );
    for unknown in ["", "1", "node", "All"] {
        assert!(std::panic::catch_unwind(|| parse(unknown)).is_err(), "`{unknown}` must be refused");
    }
}
