//! Debian's Chromium with policy files, controlled over CDP.
//!
//! The files are mounted over `/etc/chromium` in a mount namespace of that Chromium, so the machine and other tests
//! are not affected. This also hides Debian's initial preferences, which disable some of the same features and would
//! make the control meaningless.

use std::{
    collections::VecDeque,
    fs::{self, File},
    net::{Ipv4Addr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::{
    e2e::chromium::WITHOUT_POPUPS,
    harness::{processes, server::PROGRAM},
};

/// Flags of Chromium. None of them has the effect of a policy.
const FLAGS: &[&str] = &[
    // The tests run as root, and Chromium's own sandbox refuses to start as root.
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    WITHOUT_POPUPS,
    "--remote-debugging-port=0",
    "--window-position=0,0",
    "--window-size=1280,800",
];

/// Shell script whose arguments are a folder, a file, and the command line of Chromium.
const BIND_AND_START: &str = "mount --bind \"$0\" /etc/chromium && mount --bind \"$1\" /etc/resolv.conf && shift && \
                              exec setpriv --pdeathsig KILL \"$@\"";

/// Names and contents of policy files.
pub(super) type Files = Vec<(String, String)>;

/// The file that sends all traffic through the egress guard.
const EGRESS: &str = "zz-browser-shell-egress.json";

/// Returns the image's files except the one for the egress guard, so that the effect of the others is visible without
/// it.
pub(super) fn ours() -> Files {
    let mut files = all();
    files.retain(|(name, _)| name != EGRESS);
    files
}

/// Returns only the file for the egress guard.
pub(super) fn egress() -> Files {
    let mut files = all();
    files.retain(|(name, _)| name == EGRESS);
    assert_eq!(files.len(), 1, "{EGRESS} is missing");
    files
}

/// Returns the image's files.
pub(super) fn all() -> Files {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rootfs/etc/browser/policies/managed");
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    let files: Files = fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap())).collect();
    assert!(!files.is_empty(), "no policy files");
    files
}

/// Returns all policies of the files as one object.
pub(super) fn merged(files: &Files) -> serde_json::Map<String, Value> {
    let mut all = serde_json::Map::new();
    for (name, text) in files {
        let policies: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
        for (policy, value) in policies {
            assert!(all.insert(policy.clone(), value).is_none(), "duplicate policy `{policy}` in {name}");
        }
    }
    all
}

/// Launch options of a Chromium.
#[derive(Debug, Clone, Default)]
pub(super) struct LaunchOptions<'a> {
    pub(super) flags: &'a [&'a str],
    /// Variables besides the usual ones.
    pub(super) environment: &'a [(&'a str, &'a str)],
    /// An X display; headless without one.
    pub(super) display: Option<&'a str>,
    /// A name server in place of that of the test network.
    pub(super) name_server: Option<Ipv4Addr>,
    /// Settings that the person made earlier: the file `Local State`.
    pub(super) local_state: Option<Value>,
    /// True for a start by our helper, which writes the settings of every Chromium that we start.
    pub(super) is_launched: bool,
}

/// Returns the command of our helper, without rules of the kernel: those have tests of their own.
fn launcher(profile: &Path) -> [String; 3] {
    let config = json!({ "connect": [], "landlock": 0, "seccomp": false, "profile": profile });
    [PROGRAM.to_owned(), "launch".to_owned(), config.to_string()]
}

/// A running Chromium, ended on drop.
#[derive(Debug)]
pub(super) struct Chromium {
    child: Child,
    port: u16,
    browser: String,
    home: TempDir,
}

impl Chromium {
    /// Starts Chromium and waits for its debugging port.
    pub(super) fn start(policies: &Files, options: &LaunchOptions) -> Self {
        assert!(
            std::env::var_os("BROWSER_SHELL_TEST_NETWORK").is_some_and(|value| value == "1"),
            "this test needs the test network: run ./dev test, or put tests/e2e/in-test-network before the command"
        );
        let home = TempDir::with_prefix("policies").unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("etc/policies/managed")).unwrap();
        for (name, text) in policies {
            fs::write(at("etc/policies/managed").join(name), text).unwrap();
        }
        let server = options.name_server.unwrap_or(Ipv4Addr::new(127, 0, 0, 53));
        fs::write(at("resolv.conf"), format!("nameserver {server}\noptions timeout:1 attempts:1\n")).unwrap();
        fs::create_dir(at("profile")).unwrap();
        if let Some(state) = &options.local_state {
            fs::write(at("profile/Local State"), state.to_string()).unwrap();
        }
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "--", "sh", "-c", BIND_AND_START])
            .args([at("etc"), at("resolv.conf")])
            .args(options.is_launched.then(|| launcher(&at("profile"))).into_iter().flatten())
            .arg("chromium")
            .args(FLAGS)
            .args(options.flags)
            .arg(format!("--user-data-dir={}", at("profile").display()))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .env("LANG", "C.UTF-8")
            .envs(options.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(at("stderr.log")).unwrap());
        match options.display {
            Some(display) => command.env("DISPLAY", display),
            None => command.arg("--headless=new"),
        };
        let mut child = command.arg("about:blank").spawn().expect("cannot start `unshare`: run tests/e2e/setup");
        let (port, browser) = processes::wait_for("the port of Chromium", || {
            if let Some(status) = child.try_wait().unwrap() {
                let log = fs::read_to_string(at("stderr.log")).unwrap_or_default();
                panic!("Chromium exited during startup with {status}:\n{log}");
            }
            let text = fs::read_to_string(at("profile/DevToolsActivePort")).ok()?;
            let (port, path) = text.split_once('\n')?;
            (!path.is_empty()).then(|| (port.parse().unwrap(), path.to_owned()))
        });
        Self { child, port, browser, home }
    }

    /// Connects to the browser itself.
    pub(super) fn browser(&self) -> Cdp {
        Cdp::connect(self.port, &self.browser)
    }

    /// Opens a tab on about:blank in the foreground. A background tab cannot open dialogs.
    pub(super) fn tab(&self) -> Cdp {
        self.attach(&self.new_tab(None))
    }

    /// Navigates a new tab to each address, and returns the errors. With `is_in_context`, the tab has a browser context of its own.
    /// Each address has a connection of its own, because Chromium ends those to some of its own pages.
    pub(super) fn navigate_all(&self, is_in_context: bool, urls: &[&str]) -> Vec<String> {
        let context = is_in_context.then(|| self.browser().request("Target.createBrowserContext", json!({})));
        let tab = self.new_tab(context.as_ref());
        urls.iter().map(|url| self.attach(&tab).navigate(url)).collect()
    }

    /// Opens a tab on about:blank in the foreground, in a browser context if one was made, and returns its id.
    fn new_tab(&self, context: Option<&Value>) -> String {
        let mut parameters = json!({ "url": "about:blank" });
        if let Some(context) = context {
            parameters["browserContextId"] = context["browserContextId"].clone();
        }
        let new = self.browser().request("Target.createTarget", parameters);
        let id = new["targetId"].as_str().unwrap();
        let mut tab = self.attach(id);
        tab.request("Page.bringToFront", json!({}));
        processes::wait_for("a tab in front", || (tab.run("document.visibilityState") == "visible").then_some(()));
        id.to_owned()
    }

    /// Attaches to the tab that was open at startup.
    pub(super) fn first_tab(&self) -> Cdp {
        let id = processes::wait_for("the first tab", || Some(self.pages().first()?.0.clone()));
        self.attach(&id)
    }

    fn attach(&self, id: &str) -> Cdp {
        let mut tab = Cdp::connect(self.port, &format!("/devtools/page/{id}"));
        tab.request("Page.enable", json!({}));
        tab
    }

    /// Returns ids and addresses of all pages, including those in other windows.
    pub(super) fn pages(&self) -> Vec<(String, String)> {
        let targets = self.browser().request("Target.getTargets", json!({}));
        let pages = targets["targetInfos"].as_array().unwrap().iter().filter(|target| target["type"] == "page");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        pages.map(|page| (text(&page["targetId"]), text(&page["url"]))).collect()
    }

    /// Returns the debugging port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the home folder.
    pub(super) fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have ended already. Either way it is reaped here.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A CDP connection.
#[derive(Debug)]
pub(super) struct Cdp {
    socket: WebSocket<TcpStream>,
    asked: u64,
    events: VecDeque<Value>,
}

impl Cdp {
    #[track_caller]
    fn connect(port: u16, path: &str) -> Self {
        Self::try_connect(port, path).unwrap_or_else(|| panic!("cannot connect to {path}"))
    }

    /// Connects; `None` if Chromium refuses.
    pub(super) fn try_connect(port: u16, path: &str) -> Option<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(processes::TEST_TIMEOUT)).unwrap();
        let (socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream).ok()?;
        Some(Self { socket, asked: 0, events: VecDeque::new() })
    }

    fn read(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("no message from Chromium") {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Runs a command that must succeed and returns its result.
    #[track_caller]
    pub(super) fn request(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let question = json!({ "id": self.asked, "method": method, "params": parameters });
        self.socket.send(Message::text(question.to_string())).unwrap();
        loop {
            let mut message = self.read();
            if message["id"] == self.asked {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.events.push_back(message);
        }
    }

    /// Returns the next event with this name that matches, and discards earlier events.
    pub(super) fn event(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut event = self.events.pop_front().unwrap_or_else(|| self.read());
            if event["method"] == method && fits(&event["params"]) {
                return event["params"].take();
            }
        }
    }

    /// Navigates as the address bar does and returns the error, or an empty string.
    pub(super) fn navigate(&mut self, url: &str) -> String {
        self.events.clear();
        let went = self.request("Page.navigate", json!({ "url": url }));
        went["errorText"].as_str().unwrap_or_default().to_owned()
    }

    /// Opens a page and waits until it has loaded.
    #[track_caller]
    pub(super) fn open(&mut self, url: &str) {
        assert_eq!(self.navigate(url), "", "{url} must open");
        self.event("Page.loadEventFired", |_| true);
    }

    /// Runs a script with a user gesture, awaits its promise and returns the value.
    #[track_caller]
    pub(super) fn run(&mut self, script: &str) -> Value {
        let mut message = self.request(
            "Runtime.evaluate",
            json!({ "expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true }),
        );
        assert!(message["exceptionDetails"].is_null(), "{script}: {}", message["exceptionDetails"]);
        message["result"]["value"].take()
    }

    /// Runs a script that returns text.
    #[track_caller]
    pub(super) fn text(&mut self, script: &str) -> String {
        let value = self.run(script);
        value.as_str().unwrap_or_else(|| panic!("{script} returned {value}")).to_owned()
    }
}
