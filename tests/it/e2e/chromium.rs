//! Debian's Chromium with its debugging port, as the tests need it.
//!
//! It starts with a profile of its own and without background traffic. It ends
//! with the test process, also when that is killed: the kernel ends it then.

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

/// The flags, and why each is there.
const FLAGS: &[&str] = &[
    "--headless=new",
    // the tests run as root, where Chromium's own sandbox refuses to start
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    // a page that comes back from this cache does not load, so `back` waits in vain
    "--disable-back-forward-cache",
    // nothing but what the tests open
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    // one pixel of the page is one pixel of the picture
    "--force-device-scale-factor=1",
    "--window-size=1280,800",
];

/// A tab as the debugging port lists it.
#[derive(Debug, Clone)]
pub(crate) struct Tab {
    pub(crate) id: String,
    pub(crate) url: String,
}

/// A running Chromium; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Chromium {
    child: Child,
    port: u16,
    // held for its Drop: the profile goes when Chromium is gone
    _profile: TempDir,
}

impl Chromium {
    /// Starts Chromium and waits until its debugging port answers.
    pub(crate) fn start(port: u16) -> Self {
        let profile = TempDir::with_prefix("chromium").unwrap();
        let log = profile.path().join("stderr.log");
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "chromium"])
            .args(FLAGS)
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
        let mut child = spawn_kept(command);
        processes::until("an answer of Chromium's debugging port", || {
            if let Some(status) = child.try_wait().unwrap() {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                panic!("Chromium ended at once with {status}:\n{said}");
            }
            ask(port, "GET", "/json/version")
        });
        Self { child, port, _profile: profile }
    }

    /// The pages that are open, the active one first.
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        let list = ask(self.port, "GET", "/json/list").expect("Chromium's debugging port must answer");
        let list = list.as_array().unwrap().iter();
        list.filter(|tab| tab["type"] == "page")
            .map(|tab| Tab { id: tab["id"].as_str().unwrap().to_owned(), url: tab["url"].as_str().unwrap().to_owned() })
            .collect()
    }

    /// Leaves exactly one tab, a new one on about:blank, whatever was open.
    pub(crate) fn fresh_tab(&self) {
        let old = self.tabs();
        let new = ask(self.port, "PUT", "/json/new?about:blank").expect("a new tab");
        for tab in old {
            ask(self.port, "GET", &format!("/json/close/{}", tab.id));
        }
        processes::until("one tab alone", || {
            let tabs = self.tabs();
            (tabs.len() == 1 && tabs[0].id == new["id"].as_str().unwrap()).then_some(())
        });
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // it may have ended by itself; either way it is reaped here
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One request to the debugging port; `None` when nobody answers there.
fn ask(port: u16, method: &str, path: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(processes::SAFETY_NET)).unwrap();
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
    // closing a tab answers with a sentence
    Some(serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// Starts a command from a thread that never ends. The kernel's "end with your
/// parent" counts the parent *thread*, and a test's own thread ends with it.
pub(crate) fn spawn_kept(command: Command) -> Child {
    type Job = (Command, Sender<std::io::Result<Child>>);
    static KEEPER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(|| {
        let (jobs, queue) = channel::<Job>();
        thread::spawn(move || {
            for (mut command, reply) in queue {
                reply.send(command.spawn()).unwrap();
            }
        });
        Mutex::new(jobs)
    });
    let (reply, child) = channel();
    keeper.lock().unwrap().send((command, reply)).unwrap();
    child.recv().unwrap().expect("`setpriv` must start: run tests/e2e/setup")
}
