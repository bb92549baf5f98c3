//! The attacker's web site, its target hosts, and a Chromium behind the guard.

use std::{
    net::{IpAddr, TcpListener},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU16, Ordering},
    },
};

use serde_json::{Value, json};

use super::super::{
    browser::{Cdp, Chromium, Files, LaunchOptions, egress},
    hosts::{EMPTY, Log, SHOP, serve},
};
use crate::{egress::guard::EgressGuard, harness::processes::wait_for};

/// Next port of a site, below those that the kernel gives to connections, one of which may have it at another address.
static NEXT_PORT: AtomicU16 = AtomicU16::new(21_000);

/// A web site that logs every connection and path and serves requested content: `/html?HEX`, `/js?HEX` and `/css?HEX`
/// are documents, `/to?URL` is a redirect that keeps the method, and everything else is an empty page with open CORS.
#[derive(Debug)]
pub(super) struct LoggingSite {
    pub(super) log: Log,
    pub(super) port: u16,
    name: String,
}

impl LoggingSite {
    /// Starts a site; `port` 0 selects one that is free, of other addresses too.
    pub(super) fn start(address: IpAddr, name: &str, port: u16) -> Self {
        let bind = |port: u16| TcpListener::bind((address, port));
        let listener = match port {
            0 => (0..100).find_map(|_| bind(NEXT_PORT.fetch_add(1, Ordering::Relaxed)).ok()),
            port => bind(port).ok(),
        };
        let listener = listener.expect("an address of the test network, a free port");
        let port = listener.local_addr().unwrap().port();
        let log = serve(listener, respond);
        Self { log, port, name: name.to_owned() }
    }

    /// Returns a URL of this site.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.name, self.port)
    }

    /// Returns `host:port`.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.name, self.port)
    }

    /// Returns the URL of a document with this text.
    pub(super) fn document(&self, kind: &str, text: &str) -> String {
        let hex = text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        self.url(&format!("/{kind}?{hex}"))
    }
}

fn respond(path: &str) -> (String, Vec<u8>) {
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

/// The policy names the guard's only port, so one guard runs at a time.
static PORT_IN_USE: Mutex<()> = Mutex::new(());

/// The guard on its port, and a Chromium with the image's policy for the guard and no other protection.
#[derive(Debug)]
pub(super) struct GuardedChromium {
    // Dropped in this order: the browser ends first.
    pub(super) chromium: Chromium,
    pub(super) guard: EgressGuard,
    pub(super) shop: LoggingSite,
    first: String,
    _exclusive: MutexGuard<'static, ()>,
}

/// Flags that disable Chromium's own rules for local addresses, so that only the guard can stop an attack.
pub(super) const DISABLED_PROTECTIONS: &[&str] = &[
    "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights,PrivateNetworkAccessRespectPreflightResults,PrivateNetworkAccessForWorkers,PrivateNetworkAccessForNavigations,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--disable-popup-blocking",
    // The test network has no other interface.
    "--allow-loopback-in-peer-connection",
];

impl GuardedChromium {
    pub(super) fn start(policy: &Value) -> Self {
        Self::start_with(policy, &egress(), &[])
    }

    pub(super) fn start_with(policy: &Value, files: &Files, flags: &[&str]) -> Self {
        let options = LaunchOptions { flags, ..LaunchOptions::default() };
        Self::start_behind(|| EgressGuard::start_on("127.0.0.1:8119", policy), files, &options)
    }

    pub(super) fn start_behind(guard: impl FnOnce() -> EgressGuard, files: &Files, options: &LaunchOptions) -> Self {
        let turn = PORT_IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = guard();
        let shop = LoggingSite::start(SHOP.0.into(), SHOP.1, 0);
        // Service workers need an origin over TLS, or one that is treated as such.
        let secure = format!("--unsafely-treat-insecure-origin-as-secure={}", shop.url(""));
        let flags: Vec<&str> =
            DISABLED_PROTECTIONS.iter().chain(options.flags).copied().chain([secure.as_str()]).collect();
        let chromium = Chromium::start(files, &LaunchOptions { flags: &flags, ..options.clone() });
        let first = wait_for("the first tab", || Some(chromium.pages().first()?.0.clone()));
        Self { chromium, guard, shop, first, _exclusive: turn }
    }

    /// Returns the number of connections to this port that the guard has refused.
    pub(super) fn refusals(&self, port: u16) -> usize {
        let codes = ["address-not-public", "host-not-public"];
        let fits = |line: &Value| line["port"] == port && codes.iter().any(|code| line["code"] == *code);
        self.guard.audit().iter().filter(|line| fits(line)).count()
    }

    /// Opens a tab on an empty page of the attacker.
    pub(super) fn tab(&self) -> Cdp {
        let mut tab = self.chromium.tab();
        tab.open(&self.shop.url("/"));
        tab
    }

    /// Runs an action in a new tab, waits for its effect, and closes the tab.
    pub(super) fn attempt(&self, awaited: &str, act: impl FnOnce(&mut Cdp), came: impl Fn() -> bool) {
        let mut tab = self.tab();
        act(&mut tab);
        wait_for(awaited, || came().then_some(()));
        // Including windows that it opened.
        let mut browser = self.chromium.browser();
        for (id, _) in self.chromium.pages().into_iter().filter(|(id, _)| *id != self.first) {
            browser.request("Target.closeTarget", json!({ "targetId": id }));
        }
    }
}

/// Waits until the page in a tab contains this text.
pub(super) fn wait_for_page_text(tab: &mut Cdp, text: &str) {
    wait_for(&format!("a page that says `{text}`"), || {
        let shown = tab.text("document.documentElement ? document.documentElement.innerText : ''");
        shown.contains(text).then_some(())
    });
}
