//! Debian's Chromium with a debugging port, for end-to-end tests.
//!
//! It has a separate profile and no background traffic. The kernel ends it together with the test process, even if
//! that is killed.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{
        Mutex, OnceLock,
        mpsc::{Sender, channel},
    },
    thread,
};

use serde_json::Value;
use tempfile::TempDir;

use super::processes;

/// Flag for the images' choice of features: these popups start a renderer for each window, which takes as long as the rest of Chromium's
/// start. Another flag of this name replaces it.
pub(crate) const WITHOUT_POPUPS: &str = "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// Flag against a fault of Chromium 156: a collection of garbage ends renderers in which scripts of agent-browser 0.19 ran.
const WITHOUT_RECLAIM: &str = "--js-flags=--no-reclaim-unmodified-wrappers";

/// Flags of Chromium.
const FLAGS: &[&str] = &[
    "--headless=new",
    // The tests run as root, and Chromium's own sandbox refuses to start as root.
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    // A page from this cache does not fire a load event, so `back` would wait until its timeout.
    "--disable-back-forward-cache",
    // No traffic except that of the tests.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    WITHOUT_POPUPS,
    WITHOUT_RECLAIM,
    // Chromium's own windows change at once, as in the product.
    "--animation-duration-scale=0",
    // One pixel of the page is one pixel of a screenshot.
    "--force-device-scale-factor=1",
    "--window-size=1280,800",
];

/// A tab, as listed by the debugging port.
#[derive(Debug, Clone)]
pub(crate) struct Tab {
    pub(crate) id: String,
    pub(crate) url: String,
}

/// A running Chromium, ended on drop.
#[derive(Debug)]
pub(crate) struct Chromium {
    child: Child,
    port: u16,
    // Kept until Chromium has ended, then removed.
    _profile: TempDir,
}

impl Chromium {
    /// Starts Chromium and waits until its debugging port responds.
    pub(crate) fn start(port: u16) -> Self {
        Self::start_with(port, &[])
    }

    /// Starts Chromium with more flags.
    pub(crate) fn start_with(port: u16, flags: &[String]) -> Self {
        let profile = TempDir::with_prefix("chromium").unwrap();
        let log = profile.path().join("stderr.log");
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "chromium"])
            .args(FLAGS)
            .args(flags)
            .arg(format!("--remote-debugging-port={port}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        let mut child = spawn_from_permanent_thread(command);
        processes::wait_for("a response of Chromium's debugging port", || {
            if let Some(status) = child.try_wait().unwrap() {
                let stderr = std::fs::read_to_string(&log).unwrap_or_default();
                panic!("Chromium exited during startup with {status}:\n{stderr}");
            }
            debug_request(port, "GET", "/json/version")
        });
        Self { child, port, _profile: profile }
    }

    /// Returns the debugging port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Kills Chromium and waits until it has ended.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the open pages, the active one first.
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        let list = debug_request(self.port, "GET", "/json/list").expect("no response of Chromium's debugging port");
        let list = list.as_array().unwrap().iter();
        list.filter(|tab| tab["type"] == "page")
            .map(|tab| Tab { id: tab["id"].as_str().unwrap().to_owned(), url: tab["url"].as_str().unwrap().to_owned() })
            .collect()
    }

    /// Closes all tabs and leaves one new tab on about:blank.
    pub(crate) fn fresh_tab(&self) {
        let old = self.tabs();
        let new = debug_request(self.port, "PUT", "/json/new?about:blank").expect("no new tab");
        for tab in old {
            debug_request(self.port, "GET", &format!("/json/close/{}", tab.id));
        }
        processes::wait_for("a single tab", || {
            let tabs = self.tabs();
            (tabs.len() == 1 && tabs[0].id == new["id"].as_str().unwrap()).then_some(())
        });
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have ended already. Either way it is reaped here.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a request to the debugging port; `None` without a response.
pub(crate) fn debug_request(port: u16, method: &str, path: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(processes::TEST_TIMEOUT)).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").ok()?;
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // The response to closing a tab is plain text.
    Some(serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// Spawns a command from a thread that never ends. The kernel's parent-death signal depends on the parent *thread*,
/// and the thread of a test ends with the test.
pub(crate) fn spawn_from_permanent_thread(command: Command) -> Child {
    type Job = (Command, Sender<std::io::Result<Child>>);
    static SPAWNER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, queue) = channel::<Job>();
        thread::spawn(move || {
            for (mut command, reply) in queue {
                reply.send(command.spawn()).unwrap();
            }
        });
        Mutex::new(jobs)
    });
    let (reply, child) = channel();
    spawner.lock().unwrap().send((command, reply)).unwrap();
    child.recv().unwrap().expect("cannot start `setpriv`: run tests/e2e/setup")
}
