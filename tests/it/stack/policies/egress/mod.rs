//! Attacks by pages in a real Chromium behind the real guard (spec [5.1]): none reaches a private address or a
//! loopback service. Chromium has only the image's policy for the guard, so nothing else can stop an attack.
//!
//! Each attack runs three times in the same Chromium: against an allowed host, which must see it; against a private
//! host, which must see nothing while the guard logs the attempt; and against the private host again after the policy
//! file allows it.

mod attacks;
mod capture;
mod names;
mod web;
mod webrtc;

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
};

use serde_json::{Value, json};

use self::attacks::{ATTACKS, attack, reached};
use self::web::{GuardedChromium, LoggingSite, wait_for_page_text};
use super::{
    browser::{Cdp, Chromium, Files, LaunchOptions, egress},
    hosts::{INTRANET, NEWS, SHOP, silent_udp},
    network::gather,
};
use crate::{
    egress::guard::EgressGuard,
    harness::{processes::wait_for, server::PROGRAM},
};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Ways that make each kind of connection.
const CONNECTIONS: &[&str] = &["opened directly", "fetch over TLS", "WebSocket", "worker", "TURN over TCP"];

/// Ways that stand for the others of their kind: documents, frames, parts of a page, hints, scripts.
const KINDS: &[&str] = &["redirect", "form", "iframe", "image that redirects", "preconnect", "fetch", "service worker"];

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_kind_of_connection_reaches_a_private_host() {
    assert_private_host_is_out_of_reach(&[CONNECTIONS, KINDS].concat());
}

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_page_technique_reaches_a_private_host() {
    let all: Vec<_> = ATTACKS.iter().map(|(name, _)| *name).collect();
    assert_private_host_is_out_of_reach(&all);
}

/// Tries these ways at an allowed host and at a private one.
fn assert_private_host_is_out_of_reach(ways: &[&str]) {
    let guarded = GuardedChromium::start(&json!({}));
    let news = LoggingSite::start(NEWS.0.into(), NEWS.1, 0);
    let private = LoggingSite::start(INTRANET.0.into(), INTRANET.1, 0);
    let way_of = |name: &str| ATTACKS.iter().find(|(known, _)| *known == name).expect(name).1;
    for (index, name) in ways.iter().enumerate() {
        let (way, path, seen) = (way_of(name), format!("/a{index}x"), news.log.lines().len());
        guarded.attempt(
            &format!("control: {name} at an allowed host"),
            |tab| attack(&guarded.shop, tab, way, &news, &path),
            || reached(&news, name, &path, seen),
        );
        let before = guarded.refusals(private.port);
        guarded.attempt(
            &format!("{name} at the guard"),
            |tab| attack(&guarded.shop, tab, way, &private, &path),
            || guarded.refusals(private.port) > before,
        );
        assert_eq!(private.log.lines(), <[&str; 0]>::default(), "{name}");
    }
    // Control: only the policy file differs. Of the ways, which all work at an allowed host, each kind of connection is enough.
    guarded.guard.write_policy(&json!({"open": {"allow_cidrs": ["10.0.0.0/8"]}}).to_string());
    for (index, name) in CONNECTIONS.iter().enumerate() {
        let (way, path, before) = (way_of(name), format!("/b{index}x"), private.log.lines().len());
        guarded.attempt(
            &format!("control: {name} where the file allows it"),
            |tab| attack(&guarded.shop, tab, way, &private, &path),
            || reached(&private, name, &path, before),
        );
    }
}

/// All notations of the loopback services' addresses, and names that resolve to them.
const SPELLINGS: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
    "127.9.9.9",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "localhost",
    "LOCALHOST.",
    "a.b.localhost",
    "loop.example.com",
    "LOOP.example.com",
];

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_reach_no_loopback_service_in_any_spelling() {
    let guarded = GuardedChromium::start(&json!({}));
    // The ports of the base's shell, CDP and the tool.
    let traps = [8091, 9222, 9223, 8079].map(|port| {
        let v4 = LoggingSite::start(LOOPBACK, "127.0.0.1", port);
        (port, v4, LoggingSite::start(Ipv6Addr::LOCALHOST.into(), "[::1]", port))
    });
    let post = |tab: &mut Cdp, url: &str| {
        let url = json!(url);
        tab.run(&format!(
            "fetch({url}, {{ method: 'POST', mode: 'no-cors', body: '{{}}' }}).then(() => 'through', () => 'refused')"
        ))
    };
    let quiet = || traps.iter().all(|(_, v4, v6)| v4.log.lines().is_empty() && v6.log.lines().is_empty());
    let mut tab = guarded.tab();
    for (port, ..) in &traps {
        for host in SPELLINGS {
            // The guard's refusal is a response too, so the page cannot tell the difference. The services must see
            // nothing.
            post(&mut tab, &format!("http://{host}:{port}/v1/shell/exec"));
            assert!(quiet(), "{host}:{port}");
        }
    }
    // Control: public hosts of both families are reachable.
    for (address, name) in
        [(SHOP.0.into(), SHOP.1), ("2606:2800:21f::20".parse::<IpAddr>().unwrap(), "six.example.org")]
    {
        let public = LoggingSite::start(address, name, 0);
        post(&mut tab, &public.url("/public"));
        assert!(public.log.has("/public"), "control: {name}");
    }
    // The browser's own debugging port, as a request and as a page.
    let own = guarded.chromium.port();
    let before = guarded.refusals(own);
    post(&mut tab, &format!("http://127.0.0.1:{own}/json/new"));
    tab.navigate(&format!("http://127.0.0.1:{own}/json/list"));
    wait_for_page_text(&mut tab, "address-not-public");
    assert!(guarded.refusals(own) >= before + 2);
    // The guard's own port.
    tab.navigate("http://127.0.0.1:8119/status");
    wait_for_page_text(&mut tab, "guard-itself");
    // A person sees the reason of the refusal.
    tab.navigate(&format!("http://{}/x?secret", INTRANET.1));
    wait_for_page_text(&mut tab, "This page was not opened");
    wait_for_page_text(&mut tab, "10.20.30.40");

    // Control: the same requests with a policy that allows loopback.
    guarded
        .guard
        .write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8", "::1", "::ffff:127.0.0.0/104"]}}).to_string());
    let mut tab = guarded.tab();
    for (port, v4, v6) in &traps {
        for host in SPELLINGS {
            let count = || v4.log.lines().len() + v6.log.lines().len();
            let before = count();
            // 127.9.9.9 is allowed, but nothing listens there.
            post(&mut tab, &format!("http://{host}:{port}/v1/shell/exec"));
            assert_eq!(count() > before, *host != "127.9.9.9", "control: {host}:{port}");
        }
    }
    tab.navigate("http://127.0.0.1:8119/status");
    wait_for_page_text(&mut tab, "guard-itself");
    tab.navigate(&format!("http://127.0.0.1:{own}/json/version"));
    wait_for_page_text(&mut tab, "webSocketDebuggerUrl");
}

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_datagram_bypasses_the_guard() {
    // With the flags of image.env, which contribute to this, and without a WebRTC policy.
    let flags = image_flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let guarded = GuardedChromium::start_with(&json!({}), &egress(), &flags);
    let (seen, port) = silent_udp(INTRANET.0, 0);
    let gather = gather(&format!("{}:{port}", INTRANET.0), Some(2000));
    let transport = format!(
        "(async () => {{ const t = new WebTransport('https://{}:{port}/'); t.closed.catch(() => 0); return await Promise.race([t.ready.then(() => 'open', () => 'refused'), new Promise(done => setTimeout(done, 2000, 'silent'))]) }})()",
        INTRANET.0
    );
    let mut tab = guarded.tab();
    assert_eq!(tab.text(&gather), "", "no candidate may contain an address");
    assert_ne!(tab.text(&transport), "open");
    assert_eq!(seen.lines(), <[&str; 0]>::default());

    // Control: a Chromium without the guard.
    let secure = format!("--unsafely-treat-insecure-origin-as-secure={}", guarded.shop.url(""));
    let loose: Vec<&str> = web::DISABLED_PROTECTIONS.iter().copied().chain([secure.as_str()]).collect();
    let control = Chromium::start(&Files::new(), &LaunchOptions { flags: &loose, ..LaunchOptions::default() });
    let mut tab = control.tab();
    tab.open(&guarded.shop.url("/"));
    tab.run(&format!("{{ {gather}; undefined }}"));
    wait_for("control: a question to the STUN server", || seen.has("datagram").then_some(()));
    let before = seen.lines().len();
    let (other, port) = silent_udp(INTRANET.0, 0);
    tab.run(&format!("{{ new WebTransport('https://{}:{port}/').ready.catch(() => 0); undefined }}", INTRANET.0));
    wait_for("control: a QUIC handshake", || other.has("datagram").then_some(()));
    assert!(seen.lines().len() >= before);
}

/// Returns the proxy and network flags of `image.env`.
fn image_flags() -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("rootfs/image.env")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("BROWSER_COMMANDLINE_ARGS=")).expect("Chromium's flags");
    let wanted = ["--proxy-", "--disable-quic", "--webrtc-", "--force-webrtc-"];
    let flags: Vec<_> =
        line.split(' ').filter(|flag| wanted.iter().any(|start| flag.starts_with(start))).map(str::to_owned).collect();
    assert_eq!(flags.len(), 5, "{flags:?}");
    flags
}

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn flags_or_policy_alone_route_all_traffic_through_guard() {
    let private = LoggingSite::start(INTRANET.0.into(), INTRANET.1, 0);
    let local = LoggingSite::start(LOOPBACK, "127.0.0.1", 0);
    let pac = LoggingSite::start(NEWS.0.into(), NEWS.1, 0);
    let pac_flag = format!("--proxy-pac-url={}", pac.url("/proxy.pac"));
    let own = image_flags();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    // Policy files and flags. The last rows have flags that somebody might add.
    let rows: [(Files, Vec<&str>); 6] = [
        (Files::new(), own),
        (egress(), vec![]),
        (egress(), vec!["--no-proxy-server"]),
        (egress(), vec!["--proxy-server=direct://", "--proxy-bypass-list=*"]),
        (egress(), vec!["--proxy-auto-detect"]),
        (egress(), vec![&pac_flag]),
    ];
    for (files, flags) in rows {
        let guarded = GuardedChromium::start_with(&json!({}), &files, &flags);
        let mut tab = guarded.tab();
        for target in [&private, &local] {
            tab.navigate(&target.url("/"));
            wait_for_page_text(&mut tab, "was not opened");
        }
        assert_eq!(guarded.refusals(private.port) + guarded.refusals(local.port), 2, "{flags:?}");
    }
    for web in [&private, &local, &pac] {
        assert_eq!(web.log.lines(), <[&str; 0]>::default());
    }
    // Control: without policy and flags, requests go directly to the hosts, and the PAC file is loaded.
    let control = Chromium::start(&Files::new(), &LaunchOptions::default());
    for target in [&private, &local] {
        control.tab().open(&target.url("/"));
        assert!(target.log.has("/"), "control");
    }
    let control = Chromium::start(&Files::new(), &LaunchOptions { flags: &[&pac_flag], ..LaunchOptions::default() });
    control.tab().navigate(&private.url("/"));
    wait_for("control: the PAC file", || pac.log.has("/proxy.pac").then_some(()));
}

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn browser_reaches_nothing_without_guard() {
    let mut guarded = GuardedChromium::start(&json!({}));
    let news = LoggingSite::start(NEWS.0.into(), NEWS.1, 0);
    let mut tab = guarded.chromium.tab();
    assert_eq!(tab.navigate(&news.url("/")), "", "control");
    let seen = news.log.lines();
    guarded.guard.kill();
    for url in [
        news.url("/"),
        guarded.shop.url("/"),
        "https://127.0.0.1:8090/".to_owned(),
        "http://localhost:8090/".to_owned(),
    ] {
        assert_eq!(tab.navigate(&url), "net::ERR_PROXY_CONNECTION_FAILED", "{url}");
    }
    assert_eq!(news.log.lines(), seen);
    assert_eq!(tab.text("String(1 + 1)"), "2", "CDP must work without the guard");
}

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dns_rebinding_connects_only_to_checked_address() {
    // The name resolves alternately to the shop's address and to loopback.
    let server = Ipv4Addr::new(127, 0, 0, 62);
    let names = super::hosts::alternating_name_server(server, [SHOP.0, Ipv4Addr::LOCALHOST]);
    let guarded = GuardedChromium::start_behind(
        || EgressGuard::start_with_names("127.0.0.1:8119", &json!({}), server),
        &egress(),
        &LaunchOptions::default(),
    );
    let port = guarded.shop.port;
    let trap = LoggingSite::start(LOOPBACK, "127.0.0.1", port);
    let mut tab = guarded.chromium.tab();
    let url = format!("http://flip.dns.example.com:{port}/");
    wait_for("a page of the name", || {
        tab.navigate(&url);
        (tab.text("document.title") == "page").then_some(())
    });
    let statuses = tab.run(
        "(async () => { const statuses = []; for (let i = 0; i < 20; i++) statuses.push((await fetch('/n' + i)).status); return statuses })()",
    );
    let statuses: Vec<_> = statuses.as_array().unwrap().iter().map(|status| status.as_u64().unwrap()).collect();
    assert!(
        statuses.contains(&200) && statuses.contains(&403) && statuses.iter().all(|s| [200, 403].contains(s)),
        "{statuses:?}"
    );
    assert_eq!(trap.log.lines(), <[&str; 0]>::default(), "no connection to an unchecked address");
    let lines = guarded.guard.audit();
    let through: Vec<&Value> = lines.iter().filter(|line| line["code"] == "allowed").collect();
    assert!(through.iter().all(|line| line["address"] == SHOP.0.to_string()), "{through:?}");
    assert!(names.lines().len() > 20, "each connection must resolve the name once");
    // One public and one private address: always refused, in either order.
    tab.navigate("http://half.example.com/");
    wait_for_page_text(&mut tab, "address-not-public");

    // Control: if both are allowed, both are connected to.
    guarded.guard.write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8"]}}).to_string());
    wait_for("control: a connection to loopback", || {
        tab.navigate(&url);
        (!trap.log.lines().is_empty()).then_some(())
    });
}

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn devtools_source_maps_go_through_guard() {
    let guarded = GuardedChromium::start(&json!({}));
    let news = LoggingSite::start(NEWS.0.into(), NEWS.1, 0);
    let private = LoggingSite::start(INTRANET.0.into(), INTRANET.1, 0);
    let mut tab = guarded.tab();
    let frame = tab.request("Page.getFrameTree", json!({}))["frameTree"]["frame"]["id"].clone();
    let mut load = |url: String| {
        let options = json!({ "disableCache": true, "includeCredentials": false });
        let question = json!({ "frameId": frame, "url": url, "options": options });
        tab.request("Network.loadNetworkResource", question)["resource"]["httpStatusCode"].clone()
    };
    assert_eq!(load(news.url("/a.map")), 200, "control");
    assert_eq!(load(private.url("/a.map")), 403);
    assert_eq!(private.log.lines(), <[&str; 0]>::default());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn doctor_reports_if_browser_uses_guard() {
    let flags = image_flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut guarded = GuardedChromium::start_with(&json!({}), &egress(), &flags);
    let policy_file = guarded.guard.policy_file();
    let egress_check = |port: u16| {
        let output = std::process::Command::new(PROGRAM)
            .args(["doctor", "--json", "--cdp-port", &port.to_string()])
            .env("BROWSER_SHELL_POLICY", &policy_file)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "egress guard").unwrap().clone();
        (check["level"].as_str().unwrap().to_owned(), check["found"].as_str().unwrap().to_owned())
    };
    let own = guarded.chromium.port();
    let used = "public, on 127.0.0.1:8119; the browser was started with it";
    assert_eq!(egress_check(own), ("ok".to_owned(), used.to_owned()));
    let other = Chromium::start(&Files::new(), &LaunchOptions::default());
    let (level, found) = egress_check(other.port());
    assert!(level == "bad" && found.contains("was not started with it"), "{level}: {found}");
    guarded.guard.write_policy("{");
    let (level, found) = egress_check(own);
    assert!(level == "bad" && found.contains("every connection is refused"), "{level}: {found}");
    guarded.guard.kill();
    let (level, found) = egress_check(own);
    assert!(level == "bad" && found.contains("nothing answers"), "{level}: {found}");
    let (level, found) = egress_check(other.port());
    assert!(level == "warn" && found.starts_with("off:"), "{level}: {found}");
}
