//! Network access of Chromium itself: no QUIC, no WebRTC past a proxy, no resolver of its own, no prefetching, no
//! background requests. Names that pages give to WebRTC have their tests in `egress/names.rs`.
//!
//! The policies do not control which hosts pages can reach. That is the egress guard's task. The last tests show the
//! limits of local network access checks.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::{
    browser::{Cdp, Chromium, Files, LaunchOptions, all, merged, ours},
    control_and_guarded,
    hosts::{INTRANET, LOCAL, Log, NEWS, SHOP, Site, name_server, silent_udp},
};
use crate::harness::processes::wait_for;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn quic_is_disabled() {
    let shop = Site::start(SHOP, Vec::new());
    let (datagrams, port) = silent_udp(SHOP.0, shop.port());
    // A host that Chromium believes to speak QUIC. The host answers neither QUIC nor TLS.
    let force = format!("--origin-to-force-quic-on={}:{port}", SHOP.1);
    let [control, guarded] = control_and_guarded(&LaunchOptions { flags: &[&force], ..LaunchOptions::default() });
    let url = format!("https://{}:{port}/", SHOP.1);
    assert_ne!(guarded.tab().navigate(&url), "");
    assert!(shop.log.has("connection"), "Chromium must try TCP");
    assert_eq!(datagrams.lines(), <[&str; 0]>::default());
    assert_ne!(control.tab().navigate(&url), "");
    assert!(datagrams.has("datagram"), "control");
}

/// Returns a script that gathers ICE candidates until there are no more, or for at most `limit_ms` milliseconds:
/// behind a proxy the last one may never arrive.
pub(super) fn gather(stun: &str, limit_ms: Option<u32>) -> String {
    let enough =
        limit_ms.map_or_else(String::new, |most| format!("setTimeout(() => done(found.join('\\n')), {most});"));
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
fn webrtc_sends_nothing_around_proxy() {
    let shop = Site::start(SHOP, Vec::new());
    let (stun, port) = silent_udp(SHOP.0, 0);
    // The test network has no other interface.
    let [control, guarded] = control_and_guarded(&LaunchOptions {
        flags: &["--allow-loopback-in-peer-connection"],
        ..LaunchOptions::default()
    });
    let gather = gather(&format!("{}:{port}", SHOP.0), None);
    let mut tab = guarded.tab();
    tab.open(&shop.url("/"));
    assert_eq!(tab.text(&gather), "");
    assert_eq!(stun.lines(), <[&str; 0]>::default());
    let mut tab = control.tab();
    tab.open(&shop.url("/"));
    // The control does not wait for a server that never responds.
    tab.run(&format!("{{ {gather}; undefined }}"));
    wait_for("control: a question to the STUN server", || stun.has("datagram").then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn chromium_uses_no_resolver_of_its_own() {
    let shop = Site::start(SHOP, Vec::new());
    let address = Ipv4Addr::new(127, 0, 0, 57);
    let log = name_server(address);
    let [control, guarded] =
        control_and_guarded(&LaunchOptions { name_server: Some(address), ..LaunchOptions::default() });
    // Only Chromium's own resolver queries HTTPS records, type 65.
    for (chromium, name, own) in [(&control, "a.dns.example.com", true), (&guarded, "b.dns.example.com", false)] {
        chromium.tab().open(&format!("http://{name}:{}/", shop.port()));
        assert!(log.has(&format!("1 {name}")), "{:?}", log.lines());
        let asked = log.lines().iter().any(|line| line.starts_with("65 ") && line.ends_with(name));
        assert_eq!(asked, own, "{name}: {:?}", log.lines());
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn policies_let_nobody_resolve_names_over_https() {
    let (shop, news) = (Site::start(SHOP, Vec::new()), Site::start(NEWS, Vec::new()));
    let address = Ipv4Addr::new(127, 0, 0, 58);
    let log = name_server(address);
    // As if a person had chosen it in the settings.
    let templates = format!("https://{}:{}/dns-query", NEWS.0, news.port());
    let state = json!({ "dns_over_https": { "mode": "secure", "templates": templates } });
    let options = LaunchOptions { name_server: Some(address), local_state: Some(state), ..LaunchOptions::default() };
    // Behind the proxy no name of an address would be looked up anyway.
    let mut policies = merged(&all());
    policies.remove("ProxySettings").expect("the policy for the proxy");
    let files = vec![("all.json".to_owned(), Value::Object(policies).to_string())];
    // One after the other, because each resolves names in the background.
    let guarded = Chromium::start(&files, &options);
    let url = format!("http://c.dns.example.com:{}/", shop.port());
    assert_eq!(guarded.tab().navigate(&url), "net::ERR_NAME_NOT_RESOLVED");
    assert_eq!(news.log.lines(), <[&str; 0]>::default());
    assert_eq!(log.lines(), <[&str; 0]>::default());
    drop(guarded);
    let control = Chromium::start(&Files::new(), &options);
    let url = format!("http://d.dns.example.com:{}/", shop.port());
    assert_eq!(control.tab().navigate(&url), "net::ERR_NAME_NOT_RESOLVED", "control");
    assert!(news.log.has("connection"), "control");
    drop(control);
    let system = LaunchOptions { name_server: Some(address), ..LaunchOptions::default() };
    Chromium::start(&ours(), &system).tab().open(&format!("http://e.dns.example.com:{}/", shop.port()));
    assert!(log.has("1 e.dns.example.com"), "control: without the policy the system resolves the name");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn nothing_is_prefetched() {
    let address = Ipv4Addr::new(127, 0, 0, 59);
    let names = name_server(address);
    let local = Site::start(LOCAL, Vec::new());
    let [control, guarded] =
        control_and_guarded(&LaunchOptions { name_server: Some(address), ..LaunchOptions::default() });
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
            wait_for("control: each kind of hint is followed", || (ahead() == [true; 3]).then_some(()));
        } else {
            // A request after the hints has arrived.
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
fn browser_sends_no_requests_of_its_own() {
    let addresses = [Ipv4Addr::new(127, 0, 0, 60), Ipv4Addr::new(127, 0, 0, 61)];
    let [log, control_log] = addresses.map(name_server);
    // The guarded browser starts first, so it has had more time when the control makes requests.
    let options = |server| LaunchOptions { name_server: Some(server), ..LaunchOptions::default() };
    let guarded = Chromium::start(&ours(), &options(addresses[0]));
    let _control = Chromium::start(&Files::new(), &options(addresses[1]));
    let asks = |log: &Log, name: &str| log.lines().iter().any(|line| line.ends_with(name));
    wait_for("control: updates of extensions and components", || {
        (asks(&control_log, " clients2.google.com") && asks(&control_log, " redirector.gvt1.com")).then_some(())
    });
    drop(guarded);
    // One request has no policy: the check for a newer list of on-device models, which would not be downloaded. The
    // egress guard logs it.
    let other = log.lines().into_iter().find(|line| !line.ends_with(" update.googleapis.com"));
    assert_eq!(other, None);
}

/// Returns true if a page can fetch from a host.
fn reaches(tab: &mut Cdp, url: &str) -> bool {
    tab.run(&format!("fetch({url:?}, {{ mode: 'no-cors' }}).then(() => true, () => false)")) == json!(true)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn public_pages_cannot_request_local_network() {
    let shop = Site::start(SHOP, Vec::new());
    let news = Site::start(NEWS, Vec::new());
    let (local, intranet) = (Site::start(LOCAL, Vec::new()), Site::start(INTRANET, Vec::new()));
    let origin = shop.url("");
    // As a page over TLS. Other pages may not even ask.
    let secure = format!("--unsafely-treat-insecure-origin-as-secure={origin}");
    let [control, guarded] = control_and_guarded(&LaunchOptions { flags: &[&secure], ..LaunchOptions::default() });
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
    // The person grants the permission.
    let permissions =
        json!({ "permissions": ["localNetworkAccess", "localNetwork", "loopbackNetwork"], "origin": origin });
    // The grant lasts as long as the connection.
    let mut person = control.browser();
    person.request("Browser.grantPermissions", permissions);
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
fn local_network_access_does_not_replace_egress_guard() {
    let shop = Site::start(SHOP, Vec::new());
    let local = Site::start(LOCAL, Vec::new());
    // The flag that the base image passes to Chromium.
    let guarded =
        Chromium::start(&ours(), &LaunchOptions { flags: &["--disable-web-security"], ..LaunchOptions::default() });
    let mut tab = guarded.tab();
    tab.open(&shop.url("/"));
    assert!(reaches(&mut tab, &local.url("/")), "the guard covers this; if it fails, update rootfs/README.md");
}
