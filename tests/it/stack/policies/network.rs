//! Whom Chromium talks to: no QUIC, no WebRTC past a proxy, no names resolved in
//! a way of its own, nothing fetched ahead, nothing on its own account.
//!
//! The policies do not decide which hosts pages may reach: that is the egress
//! guard's work, and the last tests here say how far local network access goes.

use std::net::Ipv4Addr;

use serde_json::json;

use super::{
    browser::{Cdp, Chromium, Files, Setting, ours},
    hosts::{INTRANET, LOCAL, Log, NEWS, SHOP, Site, name_server, silent_udp},
    pair,
};
use crate::harness::processes::until;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_quic() {
    let shop = Site::start(SHOP, Vec::new());
    let (datagrams, port) = silent_udp(SHOP.0, shop.port());
    // a host that is known to speak QUIC; nobody answers it here, neither that nor TLS
    let force = format!("--origin-to-force-quic-on={}:{port}", SHOP.1);
    let [control, guarded] = pair(&Setting { flags: &[&force], ..Setting::default() });
    let url = format!("https://{}:{port}/", SHOP.1);
    assert_ne!(guarded.tab().navigate(&url), "");
    assert!(shop.log.has("connection"), "it did try, over TCP");
    assert_eq!(datagrams.lines(), <[&str; 0]>::default());
    assert_ne!(control.tab().navigate(&url), "");
    assert!(datagrams.has("datagram"), "control");
}

/// A script that gathers candidates until there are no more, at the latest after `patience` milliseconds where that is given:
/// behind a proxy the last one may never come.
pub(super) fn gather(stun: &str, patience: Option<u32>) -> String {
    let enough =
        patience.map_or_else(String::new, |most| format!("setTimeout(() => done(found.join('\\n')), {most});"));
    GATHER.replace("ADDRESS", stun).replace("ENOUGH", &enough)
}

const GATHER: &str = "new Promise(done => {
    const found = [];
    ENOUGH
    const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:ADDRESS' }] });
    peer.onicecandidate = event => event.candidate ? found.push(event.candidate.candidate) : done(found.join('\\n'));
    peer.createDataChannel('x');
    peer.createOffer().then(offer => peer.setLocalDescription(offer));
})";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn webrtc_sends_nothing_past_a_proxy() {
    let shop = Site::start(SHOP, Vec::new());
    let (stun, port) = silent_udp(SHOP.0, 0);
    // the test network has no interface but that one
    let [control, guarded] = pair(&Setting { flags: &["--allow-loopback-in-peer-connection"], ..Setting::default() });
    let gather = gather(&format!("{}:{port}", SHOP.0), None);
    let mut tab = guarded.tab();
    tab.open(&shop.url("/"));
    assert_eq!(tab.text(&gather), "");
    assert_eq!(stun.lines(), <[&str; 0]>::default());
    let mut tab = control.tab();
    tab.open(&shop.url("/"));
    // the control does not wait for a server that never answers
    tab.run(&format!("{{ {gather}; undefined }}"));
    until("control: a question to the STUN server", || stun.has("datagram").then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn names_are_resolved_by_the_system() {
    let shop = Site::start(SHOP, Vec::new());
    let address = Ipv4Addr::new(127, 0, 0, 57);
    let log = name_server(address);
    let [control, guarded] = pair(&Setting { name_server: Some(address), ..Setting::default() });
    // only Chromium's own resolver asks for HTTPS records, type 65
    for (chromium, name, own) in [(&control, "a.dns.example.com", true), (&guarded, "b.dns.example.com", false)] {
        chromium.tab().open(&format!("http://{name}:{}/", shop.port()));
        assert!(log.has(&format!("1 {name}")), "{:?}", log.lines());
        let asked = log.lines().iter().any(|line| line.starts_with("65 ") && line.ends_with(name));
        assert_eq!(asked, own, "{name}: {:?}", log.lines());
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_dns_over_https() {
    let (shop, news) = (Site::start(SHOP, Vec::new()), Site::start(NEWS, Vec::new()));
    let address = Ipv4Addr::new(127, 0, 0, 58);
    let log = name_server(address);
    // somebody chose it in the settings
    let templates = format!("https://{}:{}/dns-query", NEWS.0, news.port());
    let state = json!({ "dns_over_https": { "mode": "secure", "templates": templates } });
    let setting = Setting { name_server: Some(address), local_state: Some(state), ..Setting::default() };
    // one after the other, since each asks for names by itself
    let guarded = Chromium::start(&ours(), &setting);
    guarded.tab().open(&format!("http://c.dns.example.com:{}/", shop.port()));
    assert!(log.has("1 c.dns.example.com"));
    assert_eq!(news.log.lines(), <[&str; 0]>::default());
    drop(guarded);
    let control = Chromium::start(&Files::new(), &setting);
    let url = format!("http://d.dns.example.com:{}/", shop.port());
    assert_eq!(control.tab().navigate(&url), "net::ERR_NAME_NOT_RESOLVED", "control");
    assert!(news.log.has("connection"), "control");
    assert!(!log.lines().iter().any(|line| line.ends_with(" d.dns.example.com")), "control: {:?}", log.lines());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn nothing_is_fetched_ahead() {
    let address = Ipv4Addr::new(127, 0, 0, 59);
    let names = name_server(address);
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] = pair(&Setting { name_server: Some(address), ..Setting::default() });
    for (chromium, name) in [(&guarded, "guarded"), (&control, "control")] {
        let news = Site::start(NEWS, Vec::new());
        let rules = json!({
            "prefetch": [{ "urls": [format!("/ahead-{name}")], "eagerness": "immediate" }],
            "prerender": [{ "urls": [format!("/drawn-{name}")], "eagerness": "immediate" }],
        });
        let hints = format!(
            "<link rel=preconnect href={}><link rel=dns-prefetch href=http://{name}.dns.example.com>\
             <script type=speculationrules>{rules}</script>",
            news.url("/")
        );
        let mut tab = chromium.tab();
        tab.open(&local.url("/"));
        tab.run(&format!(
            "{{ document.head.append(document.createRange().createContextualFragment({})); undefined }}",
            json!(hints)
        ));
        let ahead = || {
            [
                news.log.has("connection"),
                names.lines().iter().any(|line| line.ends_with(&format!(" {name}.dns.example.com"))),
                local.log.has(&format!("/ahead-{name}")) || local.log.has(&format!("/drawn-{name}")),
            ]
        };
        if name == "control" {
            until("control: each kind of hint is followed", || (ahead() == [true; 3]).then_some(()));
        } else {
            // a request that came after the hints has arrived
            let image = local.url("/image");
            tab.run(&format!("fetch({image:?}, {{ mode: 'no-cors' }}).then(() => null)"));
            assert!(local.log.has("/image"));
            tab.open(&local.url("/next"));
            assert_eq!(ahead(), [false; 3]);
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_browser_asks_for_nothing_on_its_own_account() {
    let addresses = [Ipv4Addr::new(127, 0, 0, 60), Ipv4Addr::new(127, 0, 0, 61)];
    let [log, control_log] = addresses.map(name_server);
    // the guarded one first: it has had more time when the control has asked
    let setting = |server| Setting { name_server: Some(server), ..Setting::default() };
    let guarded = Chromium::start(&ours(), &setting(addresses[0]));
    let _control = Chromium::start(&Files::new(), &setting(addresses[1]));
    let asks = |log: &Log, name: &str| log.lines().iter().any(|line| line.ends_with(name));
    until("control: updates of extensions and components", || {
        (asks(&control_log, " clients2.google.com") && asks(&control_log, " redirector.gvt1.com")).then_some(())
    });
    drop(guarded);
    // One question has no policy: whether there is a newer list of models to run on the machine, which would not be
    // downloaded. The egress guard sees it.
    let other = log.lines().into_iter().find(|line| !line.ends_with(" update.googleapis.com"));
    assert_eq!(other, None);
}

/// Whether a page gets through to a host, as `true` or `false`.
fn reaches(tab: &mut Cdp, url: &str) -> bool {
    tab.run(&format!("fetch({url:?}, {{ mode: 'no-cors' }}).then(() => true, () => false)")) == json!(true)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_of_the_internet_may_not_ask_for_the_local_network() {
    let shop = Site::start(SHOP, Vec::new());
    let news = Site::start(NEWS, Vec::new());
    let (local, intranet) = (Site::start(LOCAL, Vec::new()), Site::start(INTRANET, Vec::new()));
    let origin = shop.url("");
    // as a page over TLS; other pages may not even ask
    let secure = format!("--unsafely-treat-insecure-origin-as-secure={origin}");
    let [control, guarded] = pair(&Setting { flags: &[&secure], ..Setting::default() });
    let state = |tab: &mut Cdp, name: &str| {
        tab.text(&format!("navigator.permissions.query({{ name: {name:?} }}).then(answer => answer.state)"))
    };
    let mut with = guarded.tab();
    with.open(&shop.url("/"));
    let mut without = control.tab();
    without.open(&shop.url("/"));
    for name in ["local-network-access", "local-network", "loopback-network"] {
        assert_eq!(state(&mut without, name), "prompt", "control: {name}");
        assert_eq!(state(&mut with, name), "denied", "{name}");
    }
    // the person says yes
    let permissions =
        json!({ "permissions": ["localNetworkAccess", "localNetwork", "loopbackNetwork"], "origin": origin });
    // for as long as the connection lives
    let mut person = control.browser();
    person.ask("Browser.grantPermissions", permissions);
    assert!(reaches(&mut with, &news.url("/")), "other hosts of the internet");
    for host in [&local, &intranet] {
        assert!(!reaches(&mut with, &host.url("/")));
        assert!(!host.log.has("/"), "no request has arrived");
        assert!(reaches(&mut without, &host.url("/")), "control");
        assert!(host.log.has("/"), "control");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn local_network_access_is_no_substitute_for_the_egress_guard() {
    let shop = Site::start(SHOP, Vec::new());
    let local = Site::start(LOCAL, Vec::new());
    // the flag that the base image starts Chromium with
    let guarded = Chromium::start(&ours(), &Setting { flags: &["--disable-web-security"], ..Setting::default() });
    let mut tab = guarded.tab();
    tab.open(&shop.url("/"));
    assert!(
        reaches(&mut tab, &local.url("/")),
        "this is what the guard is for; if it fails, say so in rootfs/README.md"
    );
}
