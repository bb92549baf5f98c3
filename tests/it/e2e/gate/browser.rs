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
