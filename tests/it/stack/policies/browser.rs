//! Debian's Chromium with a set of policy files, and what to ask it over CDP.
//!
//! The files are bound over `/etc/chromium` in a mount namespace of that one
//! Chromium, so the machine and the other tests never see them. Debian's own
//! initial preferences are hidden too: they turn off a part of what the policies
//! turn off, and a control would prove nothing with them.

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

use crate::harness::processes;

/// The flags, and why each is there. None of them turns off what a policy does.
const FLAGS: &[&str] = &[
    // the tests run as root, where Chromium's own sandbox refuses to start
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--window-position=0,0",
    "--window-size=1280,800",
];

/// The arguments of this shell: a folder, a file, then Chromium's own.
const BIND_AND_START: &str = "mount --bind \"$0\" /etc/chromium && mount --bind \"$1\" /etc/resolv.conf && shift && \
                              exec setpriv --pdeathsig KILL chromium \"$@\"";

/// The policy files of a Chromium: names and contents.
pub(super) type Files = Vec<(String, String)>;

/// The file that sends everything through the egress guard.
const EGRESS: &str = "zz-browser-shell-egress.json";

/// The files as they go into the image, but for the one about the egress guard: what each of these does shows without it.
pub(super) fn ours() -> Files {
    let mut files = all();
    files.retain(|(name, _)| name != EGRESS);
    files
}

/// The file about the egress guard alone.
pub(super) fn egress() -> Files {
    let mut files = all();
    files.retain(|(name, _)| name == EGRESS);
    assert_eq!(files.len(), 1, "{EGRESS} is there");
    files
}

/// The files as they go into the image.
pub(super) fn all() -> Files {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rootfs/etc/browser/policies/managed");
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    let files: Files = fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap())).collect();
    assert!(!files.is_empty(), "there are policy files");
    files
}

/// All policies of the files, as one object.
pub(super) fn merged(files: &Files) -> serde_json::Map<String, Value> {
    let mut all = serde_json::Map::new();
    for (name, text) in files {
        let policies: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
        for (policy, value) in policies {
            assert!(all.insert(policy.clone(), value).is_none(), "`{policy}` stands twice, again in {name}");
        }
    }
    all
}

/// What else a Chromium starts with.
#[derive(Debug, Default)]
pub(super) struct Setting<'a> {
    pub(super) flags: &'a [&'a str],
    /// An X display; without one it runs headless.
    pub(super) display: Option<&'a str>,
    /// A name server instead of the one of the test network.
    pub(super) name_server: Option<Ipv4Addr>,
    /// What the person chose in the settings earlier: the file `Local State`.
    pub(super) local_state: Option<Value>,
}

/// A running Chromium; dropping it ends it.
#[derive(Debug)]
pub(super) struct Chromium {
    child: Child,
    port: u16,
    browser: String,
    home: TempDir,
}

impl Chromium {
    /// Starts Chromium and waits until it says where its debugging port is.
    pub(super) fn start(policies: &Files, setting: &Setting) -> Self {
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
        let server = setting.name_server.unwrap_or(Ipv4Addr::new(127, 0, 0, 53));
        fs::write(at("resolv.conf"), format!("nameserver {server}\noptions timeout:1 attempts:1\n")).unwrap();
        fs::create_dir(at("profile")).unwrap();
        if let Some(state) = &setting.local_state {
            fs::write(at("profile/Local State"), state.to_string()).unwrap();
        }
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "--", "sh", "-c", BIND_AND_START])
            .args([at("etc"), at("resolv.conf")])
            .args(FLAGS)
            .args(setting.flags)
            .arg(format!("--user-data-dir={}", at("profile").display()))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(at("stderr.log")).unwrap());
        match setting.display {
            Some(display) => command.env("DISPLAY", display),
            None => command.arg("--headless=new"),
        };
        let mut child = command.arg("about:blank").spawn().expect("`unshare` must start: run tests/e2e/setup");
        let (port, browser) = processes::until("the port of Chromium", || {
            if let Some(status) = child.try_wait().unwrap() {
                let said = fs::read_to_string(at("stderr.log")).unwrap_or_default();
                panic!("Chromium ended at once with {status}:\n{said}");
            }
            let text = fs::read_to_string(at("profile/DevToolsActivePort")).ok()?;
            let (port, path) = text.split_once('\n')?;
            (!path.is_empty()).then(|| (port.parse().unwrap(), path.to_owned()))
        });
        Self { child, port, browser, home }
    }

    /// A connection to the browser itself.
    pub(super) fn browser(&self) -> Cdp {
        Cdp::connect(self.port, &self.browser)
    }

    /// A new tab on about:blank, in front: what has a dialog is refused behind another tab.
    pub(super) fn tab(&self) -> Cdp {
        let new = self.browser().ask("Target.createTarget", json!({ "url": "about:blank" }));
        let mut tab = self.attach(new["targetId"].as_str().unwrap());
        tab.ask("Page.bringToFront", json!({}));
        processes::until("a tab in front", || (tab.run("document.visibilityState") == "visible").then_some(()));
        tab
    }

    /// The one tab that it started with.
    pub(super) fn first_tab(&self) -> Cdp {
        let id = processes::until("the first tab", || Some(self.pages().first()?.0.clone()));
        self.attach(&id)
    }

    fn attach(&self, id: &str) -> Cdp {
        let mut tab = Cdp::connect(self.port, &format!("/devtools/page/{id}"));
        tab.ask("Page.enable", json!({}));
        tab
    }

    /// The ids and addresses of all pages, those of other windows too.
    pub(super) fn pages(&self) -> Vec<(String, String)> {
        let targets = self.browser().ask("Target.getTargets", json!({}));
        let pages = targets["targetInfos"].as_array().unwrap().iter().filter(|target| target["type"] == "page");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        pages.map(|page| (text(&page["targetId"]), text(&page["url"]))).collect()
    }

    /// The port of its CDP.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Its home folder.
    pub(super) fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // it may have ended by itself; either way it is reaped here
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One connection of CDP.
#[derive(Debug)]
pub(super) struct Cdp {
    socket: WebSocket<TcpStream>,
    asked: u64,
    events: VecDeque<Value>,
}

impl Cdp {
    #[track_caller]
    fn connect(port: u16, path: &str) -> Self {
        Self::try_connect(port, path).unwrap_or_else(|| panic!("Chromium lets nobody connect to {path}"))
    }

    /// `None` when Chromium refuses.
    pub(super) fn try_connect(port: u16, path: &str) -> Option<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(processes::SAFETY_NET)).unwrap();
        let (socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream).ok()?;
        Some(Self { socket, asked: 0, events: VecDeque::new() })
    }

    fn read(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("an answer of Chromium") {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// A command that has to work; its result.
    #[track_caller]
    pub(super) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let question = json!({ "id": self.asked, "method": method, "params": parameters });
        self.socket.send(Message::text(question.to_string())).unwrap();
        loop {
            let mut said = self.read();
            if said["id"] == self.asked {
                assert!(said["error"].is_null(), "{method}: {}", said["error"]);
                return said["result"].take();
            }
            self.events.push_back(said);
        }
    }

    /// The next event of this name that fits; earlier ones are forgotten.
    pub(super) fn event(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut event = self.events.pop_front().unwrap_or_else(|| self.read());
            if event["method"] == method && fits(&event["params"]) {
                return event["params"].take();
            }
        }
    }

    /// Goes to a URL as the address bar does; the error, or nothing.
    pub(super) fn navigate(&mut self, url: &str) -> String {
        self.events.clear();
        let went = self.ask("Page.navigate", json!({ "url": url }));
        went["errorText"].as_str().unwrap_or_default().to_owned()
    }

    /// Opens a page and waits until it has loaded.
    #[track_caller]
    pub(super) fn open(&mut self, url: &str) {
        assert_eq!(self.navigate(url), "", "{url} must open");
        self.event("Page.loadEventFired", |_| true);
    }

    /// What a script says, when its promise is kept; scripts run as if the person had clicked.
    #[track_caller]
    pub(super) fn run(&mut self, script: &str) -> Value {
        let mut said = self.ask(
            "Runtime.evaluate",
            json!({ "expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true }),
        );
        assert!(said["exceptionDetails"].is_null(), "{script}: {}", said["exceptionDetails"]);
        said["result"]["value"].take()
    }

    /// The same, for a script that gives a text.
    #[track_caller]
    pub(super) fn text(&mut self, script: &str) -> String {
        let said = self.run(script);
        said.as_str().unwrap_or_else(|| panic!("{script} gave {said}")).to_owned()
    }
}
