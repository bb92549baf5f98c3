//! The attacker's web site, the hosts that it wants, and one Chromium behind the guard.

use std::{
    net::{IpAddr, TcpListener},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

use super::super::{
    browser::{Cdp, Chromium, Files, Setting, egress},
    hosts::{EMPTY, Log, SHOP, serve},
};
use crate::{egress::guard::Guard, harness::processes::until};

/// A web site that writes down every connection and every path, and says what it is asked to say:
/// `/html?HEX`, `/js?HEX` and `/css?HEX` are documents, `/to?URL` is a redirect that keeps the method, everything else is an
/// empty page that any origin may read.
#[derive(Debug)]
pub(super) struct Web {
    pub(super) log: Log,
    pub(super) port: u16,
    name: String,
}

impl Web {
    /// `port` 0 is any.
    pub(super) fn start(address: IpAddr, name: &str, port: u16) -> Self {
        let listener = TcpListener::bind((address, port)).expect("an address of the test network, a free port");
        let port = listener.local_addr().unwrap().port();
        let log = serve(listener, give);
        Self { log, port, name: name.to_owned() }
    }

    /// A URL of this site.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.name, self.port)
    }

    /// `host:port`.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.name, self.port)
    }

    /// A document on this site.
    pub(super) fn document(&self, kind: &str, text: &str) -> String {
        let hex = text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        self.url(&format!("/{kind}?{hex}"))
    }
}

fn give(path: &str) -> (String, Vec<u8>) {
    let (route, query) = path.split_once('?').unwrap_or((path, ""));
    let unhex = || -> Vec<u8> {
        let digits = query.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
        digits.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
    };
    let (kind, body) = match route {
        "/html" => ("text/html", unhex()),
        "/js" => ("text/javascript", unhex()),
        "/css" => ("text/css", unhex()),
        "/to" => return (format!("HTTP/1.1 307 Away\r\nLocation: {query}\r\n"), Vec::new()),
        _ => ("text/html", EMPTY.to_vec()),
    };
    let open = "Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n";
    (format!("Content-Type: {kind}\r\n{open}"), body)
}

/// The guard has the one port that the policy names, so there is one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The guard on its port, and a Chromium that has the image's policy for it, and none that would help.
#[derive(Debug)]
pub(super) struct Guarded {
    // the browser ends first
    pub(super) chromium: Chromium,
    pub(super) guard: Guard,
    pub(super) shop: Web,
    first: String,
    _turn: MutexGuard<'static, ()>,
}

/// Chromium's own rules for local addresses are off: what stops an attack here is the guard alone.
pub(super) const NO_HELP: &[&str] = &[
    "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights,PrivateNetworkAccessRespectPreflightResults,PrivateNetworkAccessForWorkers,PrivateNetworkAccessForNavigations,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
    "--disable-popup-blocking",
    // the test network has no interface but that one
    "--allow-loopback-in-peer-connection",
];

impl Guarded {
    pub(super) fn start(policy: &Value) -> Self {
        Self::start_with(policy, &egress(), &[])
    }

    pub(super) fn start_with(policy: &Value, files: &Files, flags: &[&str]) -> Self {
        Self::behind(|| Guard::start_on("127.0.0.1:8119", policy), files, flags)
    }

    pub(super) fn behind(guard: impl FnOnce() -> Guard, files: &Files, flags: &[&str]) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = guard();
        let shop = Web::start(SHOP.0.into(), SHOP.1, 0);
        // workers of the background want an origin over TLS, or one that is treated so
        let secure = format!("--unsafely-treat-insecure-origin-as-secure={}", shop.url(""));
        let flags: Vec<&str> = NO_HELP.iter().chain(flags).copied().chain([secure.as_str()]).collect();
        let chromium = Chromium::start(files, &Setting { flags: &flags, ..Setting::default() });
        let first = until("the first tab", || Some(chromium.pages().first()?.0.clone()));
        Self { chromium, guard, shop, first, _turn: turn }
    }

    /// How often the guard has refused this port so far.
    pub(super) fn refusals(&self, port: u16) -> usize {
        let codes = ["address-not-public", "host-not-public"];
        let fits = |line: &Value| line["port"] == port && codes.iter().any(|code| line["code"] == *code);
        self.guard.audit().iter().filter(|line| fits(line)).count()
    }

    /// A tab on an empty page of the attacker.
    pub(super) fn tab(&self) -> Cdp {
        let mut tab = self.chromium.tab();
        tab.open(&self.shop.url("/"));
        tab
    }

    /// Does something in a tab of its own, waits for what must come of it, and closes the tab.
    pub(super) fn attempt(&self, awaited: &str, act: impl FnOnce(&mut Cdp), came: impl Fn() -> bool) {
        let mut tab = self.tab();
        act(&mut tab);
        until(awaited, || came().then_some(()));
        // windows that it opened, too
        let mut browser = self.chromium.browser();
        for (id, _) in self.chromium.pages().into_iter().filter(|(id, _)| *id != self.first) {
            browser.ask("Target.closeTarget", json!({ "targetId": id }));
        }
    }
}

/// Waits until the page that a tab shows says this.
pub(super) fn until_it_says(tab: &mut Cdp, text: &str) {
    until(&format!("a page that says `{text}`"), || {
        let said = tab.text("document.documentElement ? document.documentElement.innerText : ''");
        said.contains(text).then_some(())
    });
}
