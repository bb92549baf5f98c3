//! What all end-to-end tests share: the hosts, the one Chromium, and where the
//! parts from npm and Python lie.
//!
//! It must refuse to start outside of the test network, where "the internet"
//! would be the real one.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use super::{
    chromium::{Chromium, Tab},
    hosts::Hosts,
    server::Home,
};

/// The debugging port of the shared Chromium: the program's default.
pub(crate) const CDP_PORT: u16 = 9222;

/// The folder of the support files.
pub(crate) fn support() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e")
}

/// A file that `tests/e2e/setup` installs.
#[track_caller]
pub(crate) fn installed(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "`{}` is missing: run tests/e2e/setup", path.display());
    path
}

/// A binary of the lock file: of `package`, for this machine, with `libc` before its architecture.
fn binary(package: &str, libc: &str) -> PathBuf {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => panic!("agent-browser has no binary for `{other}`"),
    };
    let name = format!("node_modules/{package}/bin/agent-browser-linux-{libc}{machine}");
    installed(support().join(name))
}

/// The agent-browser of the pinned version, with a daemon in Node.
pub(crate) fn agent_browser() -> PathBuf {
    binary("agent-browser", "")
}

/// The newest agent-browser, one native program.
pub(crate) fn native() -> PathBuf {
    binary("agent-browser-native", "")
}

/// The same without libraries.
pub(crate) fn native_without_libraries() -> PathBuf {
    binary("agent-browser-native", "musl-")
}

/// A program of an npm package, run by Node.
pub(crate) fn node(script: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(installed(support().join(script)));
    command
}

/// The interpreter of the virtual environment with the official Python client.
pub(crate) fn python() -> Command {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/e2e/venv");
    Command::new(installed(home.join("bin/python")))
}

/// Fails outside of the test network.
#[track_caller]
pub(crate) fn require_test_network() {
    assert!(
        std::env::var_os("BROWSER_SHELL_TEST_NETWORK").is_some_and(|value| value == "1"),
        "this test needs the test network: run ./dev test, or put tests/e2e/in-test-network before the command"
    );
}

/// The hosts; the first test that asks starts them.
pub(crate) fn hosts() -> &'static Hosts {
    static HOSTS: OnceLock<Hosts> = OnceLock::new();
    HOSTS.get_or_init(|| {
        require_test_network();
        Hosts::start()
    })
}

/// The shared Chromium with a fresh tab, for one test at a time.
#[derive(Debug)]
pub(crate) struct Browser(MutexGuard<'static, Option<Chromium>>);

impl Browser {
    /// Waits for its turn; the first one starts Chromium and the hosts.
    pub(crate) fn take() -> Self {
        static SHARED: Mutex<Option<Chromium>> = Mutex::new(None);
        hosts();
        // a test that failed with Chromium in hand must not fail the others
        let mut turn = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        turn.get_or_insert_with(|| Chromium::start(CDP_PORT)).fresh_tab();
        Self(turn)
    }

    /// The address that the one tab shows.
    pub(crate) fn address(&self) -> String {
        let tabs = self.tabs();
        assert_eq!(tabs.len(), 1, "one tab, as at the start: {tabs:?}");
        tabs[0].url.clone()
    }

    /// Every open tab.
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        self.0.as_ref().unwrap().tabs()
    }
}

/// A home for one server under test, with the real agent-browser of the pinned version.
pub(crate) fn home() -> Home {
    home_with(&agent_browser())
}

/// The same with any.
pub(crate) fn home_with(agent_browser: &Path) -> Home {
    require_test_network();
    Home::new(agent_browser)
}
