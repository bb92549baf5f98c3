//! A Chromium whose debugging port the test may use.
//!
//! Starting one takes more processor time than most tests, so a test leaves its Chromium to the next one with the same
//! flags, with everything removed that pages and sessions can leave behind. One that a test sent commands to, crashed a
//! tab of or failed with is not passed on.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use super::{
    super::{
        super::egress::guard::EgressGuard,
        chromium::{Chromium, Tab},
        hosts::{INTRANET, NEWS, SHOP},
        processes::wait_for,
        server::free_port,
        test_env::Turn,
    },
    script::{OWN_PAGE, Replies, on_page, own_page, send},
};

/// Chromiums that the next test with these flags can use.
static KEPT: Mutex<Vec<(Vec<String>, Chromium)>> = Mutex::new(Vec::new());

/// Chromium, and the right to be the only one that tests use.
#[derive(Debug)]
pub(super) struct GateBrowser {
    /// Taken when this ends.
    chromium: Option<Chromium>,
    flags: Vec<String>,
    /// True once something was done to Chromium that [`renew`] does not undo.
    is_changed: AtomicBool,
    /// Guard that Chromium uses, which ends with this.
    guard: Option<EgressGuard>,
    // Released last.
    _turn: Turn,
}

impl GateBrowser {
    /// Starts Chromium without a proxy.
    pub(super) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts Chromium behind an egress guard, as in the image.
    pub(super) fn start_guarded() -> Self {
        let guard = EgressGuard::start(&json!({}));
        let flags = [format!("--proxy-server=http://{}", guard.address), "--proxy-bypass-list=<-loopback>".to_owned()];
        let mut browser = Self::start_with(&flags);
        browser.guard = Some(guard);
        browser
    }

    /// Starts Chromium with pages of the test network that count as secure, for service workers and the clipboard.
    pub(super) fn start_secure() -> Self {
        Self::start_with(&[format!("--unsafely-treat-insecure-origin-as-secure=http://{SHOP},http://{NEWS}")])
    }

    /// Starts Chromium without its limit of popups that a page opens by itself.
    pub(super) fn start_with_popups() -> Self {
        Self::start_with(&["--disable-popup-blocking".to_owned(), "--site-per-process".to_owned()])
    }

    fn start_with(flags: &[String]) -> Self {
        let turn = Turn::wait();
        let chromium = kept(flags).unwrap_or_else(|| Chromium::start_with(free_port(), flags));
        let (flags, is_changed) = (flags.to_vec(), AtomicBool::new(false));
        Self { chromium: Some(chromium), flags, is_changed, guard: None, _turn: turn }
    }

    /// Ends Chromium with this test.
    fn change(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    fn chromium(&self) -> &Chromium {
        self.chromium.as_ref().unwrap()
    }

    pub(super) fn port(&self) -> u16 {
        self.chromium().port()
    }

    pub(super) fn id(&self) -> i32 {
        self.change();
        self.chromium().id()
    }

    pub(super) fn kill(&mut self) {
        self.change();
        self.chromium.as_mut().unwrap().kill();
    }

    /// Returns the pages of all sessions.
    pub(super) fn tabs(&self) -> Vec<Tab> {
        self.chromium().tabs()
    }

    /// Closes all tabs of all sessions and opens an empty one.
    pub(super) fn fresh_tab(&self) {
        self.chromium().fresh_tab();
    }

    /// Returns true if a page of any session is at this URL.
    pub(super) fn is_at(&self, url: &str) -> bool {
        self.tabs().iter().any(|tab| tab.url == url)
    }

    /// Runs a script against the debugging port, outside of any sandbox: the control of each attack.
    #[track_caller]
    pub(super) fn run(&self, steps: &Value) -> Replies {
        self.change();
        self.ask(steps)
    }

    /// Runs a script that changes nothing besides tabs.
    #[track_caller]
    fn ask(&self, steps: &Value) -> Replies {
        Replies::run(self.port(), steps)
    }

    /// Ends the process of a tab, or of a frame of another site in it: the first target whose URL ends so.
    #[track_caller]
    pub(super) fn crash(&self, end: &str) {
        let find = json!([{"ws": "browser"}, {"send": {"method": "Target.getTargets", "params": {"filter": [{}]}}}]);
        let targets = self.ask(&find).result(1)["targetInfos"].as_array().unwrap().clone();
        let target = targets.iter().find(|target| target["url"].as_str().unwrap().ends_with(end));
        let target = target.unwrap_or_else(|| panic!("no target `{end}` in {targets:#?}"))["targetId"].clone();
        self.run(&json!([
            {"ws": "browser"},
            {
                "send": {"method": "Target.attachToTarget", "params": {"targetId": target, "flatten": true}},
                "let": {"CRASHED": "/result/sessionId"},
            },
            // It is never answered.
            {"send": {"method": "Page.crash", "session": "$CRASHED"}, "within": 300},
        ]));
    }

    /// Closes a tab, as a person does.
    #[track_caller]
    pub(super) fn close(&self, url: &str) {
        let tab = self.tabs().into_iter().find(|tab| tab.url == url).unwrap();
        let close = json!({"send": {"method": "Target.closeTarget", "params": {"targetId": tab.id}}});
        self.ask(&json!([{"ws": "browser"}, close])).result(1);
    }

    /// Returns the states of the windows of all tabs.
    #[track_caller]
    pub(super) fn window_states(&self) -> Vec<String> {
        let state = |tab: Tab| {
            let window = json!({"send": {"method": "Browser.getWindowForTarget", "params": {"targetId": tab.id}}});
            let replies = self.ask(&json!([{"ws": "browser"}, window]));
            replies.result(1)["bounds"]["windowState"].as_str().unwrap().to_owned()
        };
        self.tabs().into_iter().map(state).collect()
    }

    /// Minimizes the windows of all tabs.
    #[track_caller]
    pub(super) fn minimize(&self) {
        for tab in self.tabs() {
            let minimized = json!({"windowId": "$WINDOW", "bounds": {"windowState": "minimized"}});
            let replies = self.run(&json!([
                {"ws": "browser"},
                {
                    "send": {"method": "Browser.getWindowForTarget", "params": {"targetId": tab.id}},
                    "let": {"WINDOW": "/result/windowId"},
                },
                {"send": {"method": "Browser.setWindowBounds", "params": minimized}},
            ]));
            replies.result(2);
        }
        wait_for("minimized windows", || self.window_states().iter().all(|state| state == "minimized").then_some(()));
    }

    /// Asks the tab at this URL, by steps on the session named `$PAGE`. The first of them has the number 2.
    #[track_caller]
    pub(super) fn ask_tab(&self, url: &str, steps: &[Value]) -> Replies {
        let tab = self.tabs().into_iter().find(|tab| tab.url == url).unwrap();
        let attach = json!({
            "send": {"method": "Target.attachToTarget", "params": {"targetId": tab.id, "flatten": true}},
            "let": {"PAGE": "/result/sessionId"},
        });
        self.ask(&Value::from([&[json!({"ws": "browser"}), attach][..], steps].concat()))
    }

    /// Returns the ids of all contexts besides the default one.
    pub(super) fn contexts(&self) -> Vec<String> {
        let steps = json!([{"ws": "browser"}, {"send": {"method": "Target.getBrowserContexts"}}]);
        let replies = self.ask(&steps);
        serde_json::from_value(replies.result(1)["browserContextIds"].clone()).unwrap()
    }

    /// Returns the ids of all targets.
    pub(super) fn targets(&self) -> Vec<String> {
        let steps = json!([{"ws": "browser"}, {"send": {"method": "Target.getTargets"}}]);
        let replies = self.ask(&steps);
        let targets = replies.result(1)["targetInfos"].as_array().unwrap().iter();
        targets.map(|target| target["targetId"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for GateBrowser {
    fn drop(&mut self) {
        let is_kept = !self.is_changed.load(Ordering::Relaxed) && self.guard.is_none() && !std::thread::panicking();
        if let Some(chromium) = self.chromium.take().filter(|_| is_kept) {
            let kept = (std::mem::take(&mut self.flags), chromium);
            KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        }
    }
}

/// Returns a Chromium that an earlier test with these flags has left, as if it were new.
fn kept(flags: &[String]) -> Option<Chromium> {
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = all.iter().position(|(other, _)| other == flags)?;
    let (_, chromium) = all.swap_remove(place);
    renew(&chromium);
    Some(chromium)
}

/// Removes all contexts, tabs, cookies and stored data.
fn renew(chromium: &Chromium) {
    let listed =
        Replies::run(chromium.port(), &json!([{"ws": "browser"}, send("Target.getBrowserContexts", json!({}))]));
    let contexts = listed.result(1)["browserContextIds"].as_array().unwrap().clone();
    chromium.fresh_tab();
    let dispose = contexts.iter().map(|id| send("Target.disposeBrowserContext", json!({"browserContextId": id})));
    let clear = [SHOP, NEWS, INTRANET].map(|host| {
        on_page("Storage.clearDataForOrigin", json!({"origin": format!("http://{host}"), "storageTypes": "all"}))
    });
    let rest = [
        on_page("Network.clearBrowserCookies", json!({})),
        on_page("Network.clearBrowserCache", json!({})),
        send("Browser.resetPermissions", json!({})),
        send("Browser.setDownloadBehavior", json!({"behavior": "default"})),
    ];
    let steps: Vec<Value> = dispose.chain(clear).chain(rest).collect();
    let replies = Replies::run(chromium.port(), &own_page(&steps));
    for step in 0..steps.len() {
        replies.result(OWN_PAGE + step);
    }
}
