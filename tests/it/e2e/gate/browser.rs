//! A Chromium of the test's own, whose debugging port the test may use.

use serde_json::{Value, json};

use super::{
    super::{
        super::egress::guard::EgressGuard,
        chromium::{Chromium, Tab},
        hosts::{NEWS, SHOP},
        server::free_port,
        test_env::Browser,
    },
    script::Replies,
};

/// Chromium, and the right to be the only one that tests use.
#[derive(Debug)]
pub(super) struct GateBrowser {
    chromium: Chromium,
    /// Guard that Chromium uses, which ends with this.
    _guard: Option<EgressGuard>,
    // Released last.
    _turn: Browser,
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
        Self { _guard: Some(guard), ..Self::start_with(&flags) }
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
        let turn = Browser::lock();
        Self { chromium: Chromium::start_with(free_port(), flags), _guard: None, _turn: turn }
    }

    pub(super) fn port(&self) -> u16 {
        self.chromium.port()
    }

    pub(super) fn id(&self) -> i32 {
        self.chromium.id()
    }

    pub(super) fn kill(&mut self) {
        self.chromium.kill();
    }

    /// Returns the pages of all sessions.
    pub(super) fn tabs(&self) -> Vec<Tab> {
        self.chromium.tabs()
    }

    /// Closes all tabs of all sessions and opens an empty one.
    pub(super) fn fresh_tab(&self) {
        self.chromium.fresh_tab();
    }

    /// Returns true if a page of any session is at this URL.
    pub(super) fn is_at(&self, url: &str) -> bool {
        self.tabs().iter().any(|tab| tab.url == url)
    }

    /// Runs a script against the debugging port, outside of any sandbox: the control of each attack.
    #[track_caller]
    pub(super) fn run(&self, steps: &Value) -> Replies {
        Replies::run(self.port(), steps)
    }

    /// Ends the process of a tab, or of a frame of another site in it: the first target whose URL ends so.
    #[track_caller]
    pub(super) fn crash(&self, end: &str) {
        let find = json!([{"ws": "browser"}, {"send": {"method": "Target.getTargets", "params": {"filter": [{}]}}}]);
        let targets = self.run(&find).result(1)["targetInfos"].as_array().unwrap().clone();
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
        self.run(&json!([{"ws": "browser"}, close])).result(1);
    }

    /// Returns the states of the windows of all tabs.
    #[track_caller]
    pub(super) fn window_states(&self) -> Vec<String> {
        let state = |tab: Tab| {
            let window = json!({"send": {"method": "Browser.getWindowForTarget", "params": {"targetId": tab.id}}});
            let replies = self.run(&json!([{"ws": "browser"}, window]));
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
                {"sleep": 300},
            ]));
            replies.result(2);
        }
    }

    /// Returns the ids of all contexts besides the default one.
    pub(super) fn contexts(&self) -> Vec<String> {
        let steps = json!([{"ws": "browser"}, {"send": {"method": "Target.getBrowserContexts"}}]);
        let replies = self.run(&steps);
        serde_json::from_value(replies.result(1)["browserContextIds"].clone()).unwrap()
    }

    /// Returns the ids of all targets.
    pub(super) fn targets(&self) -> Vec<String> {
        let steps = json!([{"ws": "browser"}, {"send": {"method": "Target.getTargets"}}]);
        let replies = self.run(&steps);
        let targets = replies.result(1)["targetInfos"].as_array().unwrap().iter();
        targets.map(|target| target["targetId"].as_str().unwrap().to_owned()).collect()
    }
}
