//! What pages try, in a real Chromium behind the real guard (spec [5.1]): none of it reaches a private address or a service on
//! loopback. Chromium has the image's policy for the guard and no other, so that nothing else can be what stops an attack.
//!
//! Each attack is tried three times, in the same Chromium: on an allowed host, which has to see it; on a private one, which
//! must see nothing while the guard sees the attempt; and on the private one again when the policy file allows it.

mod web;

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
};

use serde_json::{Value, json};

use self::web::{Guarded, Web, until_it_says};
use super::{
    browser::{Cdp, Chromium, Files, Setting, egress},
    hosts::{INTRANET, NEWS, SHOP, silent_udp},
    network::gather,
};
use crate::{
    egress::guard::Guard,
    harness::{processes::until, server::PROGRAM},
};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How an attack begins.
#[derive(Clone, Copy)]
enum Way {
    /// The tab goes to this URL.
    Open(&'static str),
    /// A page of the attacker with this HTML.
    Page(&'static str),
    /// A script in an empty page of the attacker, as if the person had clicked.
    Script(&'static str),
}
use Way::{Open, Page, Script};

/// `URL` is the target; `TLS` the same as https, `WS` as WebSocket, `HOST` its host and port, `SHOP` the attacker's origin, `JS` a
/// script there that fetches the target; `BLOB` makes a URL of a blob.
const ATTACKS: &[(&str, Way)] = &[
    ("opened directly", Open("URL")),
    ("redirect", Open("SHOP/to?URL")),
    ("two redirects", Open("SHOP/to?SHOP/to?URL")),
    ("meta refresh", Page("<meta http-equiv=refresh content='0;url=URL'>")),
    ("location", Page("<script>location = 'URL'</script>")),
    ("history and location", Page("<script>history.pushState(0, '', '/x'); location.replace('URL')</script>")),
    ("form", Page("<form action=URL></form><script>document.forms[0].submit()</script>")),
    (
        "form by POST",
        Page(
            "<form method=post enctype=text/plain action=URL><input name='{\"command\":\"id\"}'></form><script>document.forms[0].submit()</script>",
        ),
    ),
    ("window.open", Script("window.open('URL')")),
    ("a link", Script("Object.assign(document.createElement('a'), { href: 'URL' }).click()")),
    (
        "a link's ping",
        Script(
            "Object.assign(document.body.appendChild(document.createElement('a')), { href: '/x', ping: 'URL' }).click()",
        ),
    ),
    ("iframe", Page("<iframe src=URL></iframe>")),
    ("iframe that redirects", Page("<iframe src='SHOP/to?URL'></iframe>")),
    ("iframe in a sandbox", Page("<iframe sandbox srcdoc=\"<img src='URL'>\"></iframe>")),
    ("object", Page("<object data=URL></object>")),
    ("embed", Page("<embed src=URL>")),
    ("image", Page("<img src=URL>")),
    ("image that redirects", Page("<img src='SHOP/to?URL'>")),
    ("picture set", Page("<img srcset='URL 1x'>")),
    ("script", Page("<script src=URL></script>")),
    ("module", Page("<script type=module src=URL></script>")),
    ("dynamic import", Script("import('URL').catch(() => 0)")),
    ("style sheet", Page("<link rel=stylesheet href=URL>")),
    ("CSS import", Page("<style>@import 'URL';</style>")),
    ("CSS background", Page("<body style=\"background: url('URL')\">")),
    ("font", Page("<style>@font-face { font-family: f; src: url('URL') } body { font-family: f }</style>text")),
    ("video", Page("<video src=URL autoplay muted></video>")),
    ("audio", Page("<audio src=URL preload=auto></audio>")),
    ("SVG use", Page("<svg><image href=URL width=9 height=9 /></svg>")),
    ("preload", Page("<link rel=preload as=image href=URL>")),
    ("prefetch", Page("<link rel=prefetch href=URL>")),
    ("preconnect", Page("<link rel=preconnect href=TLS>")),
    ("favicon", Page("<link rel=icon href=URL>")),
    ("fetch", Script("fetch('URL', { mode: 'no-cors' }).catch(() => 0)")),
    ("fetch with CORS", Script("fetch('URL').catch(() => 0)")),
    (
        "fetch by POST",
        Script("fetch('URL', { method: 'POST', mode: 'no-cors', body: '{\"command\":\"id\"}' }).catch(() => 0)"),
    ),
    ("fetch that outlives the page", Script("fetch('URL', { mode: 'no-cors', keepalive: true }).catch(() => 0)")),
    ("fetch that redirects", Script("fetch('SHOP/to?URL', { mode: 'no-cors' }).catch(() => 0)")),
    ("fetch over TLS", Script("fetch('TLS', { mode: 'no-cors' }).catch(() => 0)")),
    ("XMLHttpRequest", Script("{ const x = new XMLHttpRequest(); x.open('GET', 'URL'); x.send() }")),
    ("beacon", Script("navigator.sendBeacon('URL', 'x')")),
    ("EventSource", Script("void new EventSource('URL')")),
    ("WebSocket", Script("void new WebSocket('WS')")),
    ("WebSocket over TLS", Script("void new WebSocket('WS'.replace('ws:', 'wss:'))")),
    ("worker", Script("void new Worker(BLOB(new Blob([`fetch('URL', { mode: 'no-cors' })`])))")),
    ("worker's importScripts", Script("void new Worker(BLOB(new Blob([`importScripts('URL')`])))")),
    ("shared worker", Script("void new SharedWorker(BLOB(new Blob([`fetch('URL', { mode: 'no-cors' })`])))")),
    ("service worker", Script("navigator.serviceWorker.register('JS').catch(() => 0)")),
    (
        "report of a policy",
        Page(
            "<meta http-equiv=Content-Security-Policy content=\"img-src 'self'\"><img src=SHOP/a><script>document.createElement('img').src = 'URL'; fetch('URL', { mode: 'no-cors' })</script>",
        ),
    ),
    (
        "TURN over TCP",
        Script(
            "{ const p = new RTCPeerConnection({ iceServers: [{ urls: 'turn:HOST?transport=tcp', username: 'u', credential: 'c' }] }); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)); globalThis.kept = p }",
        ),
    ),
];

/// Begins an attack on a URL.
fn attack(guarded: &Guarded, tab: &mut Cdp, way: Way, target: &Web, path: &str) {
    let shop = &guarded.shop;
    let fill = |template: &str| {
        let host = target.authority();
        let script = shop.document("js", &format!("fetch('{}', {{ mode: 'no-cors' }})", target.url(path)));
        // the scope of a service worker is its folder
        let template = template.replace("JS", script.strip_prefix(&shop.url("")).unwrap_or(&script));
        let template = template.replace("URL", &target.url(path)).replace("BLOB", "URL.createObjectURL");
        let template =
            template.replace("TLS", &format!("https://{host}{path}")).replace("WS", &format!("ws://{host}{path}"));
        template.replace("HOST", &host).replace("SHOP", &shop.url(""))
    };
    match way {
        Open(url) => drop(tab.navigate(&fill(url))),
        Page(html) => drop(tab.navigate(&shop.document("html", &fill(html)))),
        Script(script) => drop(tab.run(&format!("{{ {}; undefined }}", fill(script)))),
    }
}

/// Whether a target was reached since it had seen so much: by the path, or by a connection that speaks TLS or TURN.
fn reached(target: &Web, name: &str, path: &str, before: usize) -> bool {
    let opaque = ["TLS", "preconnect", "TURN"].iter().any(|word| name.contains(word));
    let lines = target.log.lines();
    lines.iter().skip(before).any(|line| line.starts_with(path) || (opaque && line == "connection"))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_1_nothing_that_a_page_can_do_reaches_a_private_host() {
    let guarded = Guarded::start(&json!({}));
    let news = Web::start(NEWS.0.into(), NEWS.1, 0);
    let private = Web::start(INTRANET.0.into(), INTRANET.1, 0);
    for (index, (name, way)) in ATTACKS.iter().enumerate() {
        let (path, seen) = (format!("/a{index}x"), news.log.lines().len());
        guarded.attempt(
            &format!("control: {name} at an allowed host"),
            |tab| attack(&guarded, tab, *way, &news, &path),
            || reached(&news, name, &path, seen),
        );
        let before = guarded.refusals(private.port);
        guarded.attempt(
            &format!("{name} at the guard"),
            |tab| attack(&guarded, tab, *way, &private, &path),
            || guarded.refusals(private.port) > before,
        );
        assert_eq!(private.log.lines(), <[&str; 0]>::default(), "{name}");
    }
    // the control: nothing but the policy file is different
    guarded.guard.write_policy(&json!({"open": {"allow_cidrs": ["10.0.0.0/8"]}}).to_string());
    for (index, (name, way)) in ATTACKS.iter().enumerate() {
        let (path, before) = (format!("/b{index}x"), private.log.lines().len());
        guarded.attempt(
            &format!("control: {name} where the file allows it"),
            |tab| attack(&guarded, tab, *way, &private, &path),
            || reached(&private, name, &path, before),
        );
    }
}

/// All ways to write the addresses of the services on loopback, and names that lead there.
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

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_1_a_page_reaches_no_service_on_loopback_however_it_is_written() {
    let guarded = Guarded::start(&json!({}));
    // where the base's shell, CDP and the tool itself are
    let traps = [8091, 9222, 8079].map(|port| {
        let v4 = Web::start(LOOPBACK, "127.0.0.1", port);
        (port, v4, Web::start(Ipv6Addr::LOCALHOST.into(), "[::1]", port))
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
            // the guard's refusal is an answer too: a page cannot tell, and nothing has arrived
            post(&mut tab, &format!("http://{host}:{port}/v1/shell/exec"));
            assert!(quiet(), "{host}:{port}");
        }
    }
    // control: public hosts of both families are reached
    for (address, name) in
        [(SHOP.0.into(), SHOP.1), ("2606:2800:21f::20".parse::<IpAddr>().unwrap(), "six.example.org")]
    {
        let public = Web::start(address, name, 0);
        post(&mut tab, &public.url("/public"));
        assert!(public.log.has("/public"), "control: {name}");
    }
    // the browser's own debugging port: as a request, and as a page
    let own = guarded.chromium.port();
    let before = guarded.refusals(own);
    post(&mut tab, &format!("http://127.0.0.1:{own}/json/new"));
    tab.navigate(&format!("http://127.0.0.1:{own}/json/list"));
    until_it_says(&mut tab, "address-not-public");
    assert!(guarded.refusals(own) >= before + 2);
    // and the guard's own port
    tab.navigate("http://127.0.0.1:8119/status");
    until_it_says(&mut tab, "guard-itself");
    // a person who is refused can read why
    tab.navigate(&format!("http://{}/x?secret", INTRANET.1));
    until_it_says(&mut tab, "This page was not opened");
    until_it_says(&mut tab, "10.20.30.40");

    // the control: the same requests, where the file allows loopback
    guarded
        .guard
        .write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8", "::1", "::ffff:127.0.0.0/104"]}}).to_string());
    let mut tab = guarded.tab();
    for (port, v4, v6) in &traps {
        for host in SPELLINGS {
            let count = || v4.log.lines().len() + v6.log.lines().len();
            let before = count();
            // 127.9.9.9 is allowed, and nobody is there
            post(&mut tab, &format!("http://{host}:{port}/v1/shell/exec"));
            assert_eq!(count() > before, *host != "127.9.9.9", "control: {host}:{port}");
        }
    }
    tab.navigate("http://127.0.0.1:8119/status");
    until_it_says(&mut tab, "guard-itself");
    tab.navigate(&format!("http://127.0.0.1:{own}/json/version"));
    until_it_says(&mut tab, "webSocketDebuggerUrl");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_1_no_datagram_goes_past_the_guard() {
    // with the flags of image.env, whose part of the work this is, and no policy for WebRTC
    let flags = image_flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let guarded = Guarded::start_with(&json!({}), &egress(), &flags);
    let (seen, port) = silent_udp(INTRANET.0, 0);
    let gather = gather(&format!("{}:{port}", INTRANET.0), Some(2000));
    let transport = format!(
        "(async () => {{ const t = new WebTransport('https://{}:{port}/'); t.closed.catch(() => 0); return await Promise.race([t.ready.then(() => 'open', () => 'refused'), new Promise(done => setTimeout(done, 2000, 'silent'))]) }})()",
        INTRANET.0
    );
    let mut tab = guarded.tab();
    assert_eq!(tab.text(&gather), "", "no candidate names an address");
    assert_ne!(tab.text(&transport), "open");
    assert_eq!(seen.lines(), <[&str; 0]>::default());

    // the control: a Chromium without the guard
    let secure = format!("--unsafely-treat-insecure-origin-as-secure={}", guarded.shop.url(""));
    let loose: Vec<&str> = web::NO_HELP.iter().copied().chain([secure.as_str()]).collect();
    let control = Chromium::start(&Files::new(), &Setting { flags: &loose, ..Setting::default() });
    let mut tab = control.tab();
    tab.open(&guarded.shop.url("/"));
    tab.run(&format!("{{ {gather}; undefined }}"));
    until("control: a question to the STUN server", || seen.has("datagram").then_some(()));
    let before = seen.lines().len();
    let (other, port) = silent_udp(INTRANET.0, 0);
    tab.run(&format!("{{ new WebTransport('https://{}:{port}/').ready.catch(() => 0); undefined }}", INTRANET.0));
    until("control: a QUIC handshake", || other.has("datagram").then_some(()));
    assert!(seen.lines().len() >= before);
}

/// The proxy's and the network's flags of `image.env`.
fn image_flags() -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("rootfs/image.env")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("BROWSER_COMMANDLINE_ARGS=")).expect("Chromium's flags");
    let wanted = ["--proxy-", "--disable-quic", "--webrtc-", "--force-webrtc-"];
    let flags: Vec<_> =
        line.split(' ').filter(|flag| wanted.iter().any(|start| flag.starts_with(start))).map(str::to_owned).collect();
    assert_eq!(flags.len(), 5, "{flags:?}");
    flags
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_1_either_the_flags_or_the_policy_send_everything_to_the_guard() {
    let private = Web::start(INTRANET.0.into(), INTRANET.1, 0);
    let local = Web::start(LOOPBACK, "127.0.0.1", 0);
    let pac = Web::start(NEWS.0.into(), NEWS.1, 0);
    let pac_flag = format!("--proxy-pac-url={}", pac.url("/proxy.pac"));
    let own = image_flags();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    // policy files, flags; the last ones are what somebody might add
    let rows: [(Files, Vec<&str>); 6] = [
        (Files::new(), own),
        (egress(), vec![]),
        (egress(), vec!["--no-proxy-server"]),
        (egress(), vec!["--proxy-server=direct://", "--proxy-bypass-list=*"]),
        (egress(), vec!["--proxy-auto-detect"]),
        (egress(), vec![&pac_flag]),
    ];
    for (files, flags) in rows {
        let guarded = Guarded::start_with(&json!({}), &files, &flags);
        let mut tab = guarded.tab();
        for target in [&private, &local] {
            tab.navigate(&target.url("/"));
            until_it_says(&mut tab, "was not opened");
        }
        assert_eq!(guarded.refusals(private.port) + guarded.refusals(local.port), 2, "{flags:?}");
    }
    for web in [&private, &local, &pac] {
        assert_eq!(web.log.lines(), <[&str; 0]>::default());
    }
    // the control: without either, straight there; and the address of a PAC file is asked
    let control = Chromium::start(&Files::new(), &Setting::default());
    for target in [&private, &local] {
        control.tab().open(&target.url("/"));
        assert!(target.log.has("/"), "control");
    }
    let control = Chromium::start(&Files::new(), &Setting { flags: &[&pac_flag], ..Setting::default() });
    control.tab().navigate(&private.url("/"));
    until("control: the PAC file", || pac.log.has("/proxy.pac").then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_1_without_the_guard_the_browser_reaches_nothing() {
    let mut guarded = Guarded::start(&json!({}));
    let news = Web::start(NEWS.0.into(), NEWS.1, 0);
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
    assert_eq!(tab.text("String(1 + 1)"), "2", "CDP does not go through the guard");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_1_a_name_that_changes_its_answer_means_what_was_checked() {
    // each question for the name is answered in turn with the shop's address and with loopback
    let server = Ipv4Addr::new(127, 0, 0, 62);
    let names = super::hosts::flipping_name_server(server, [SHOP.0, Ipv4Addr::LOCALHOST]);
    let guarded = Guarded::behind(|| Guard::start_with_names("127.0.0.1:8119", &json!({}), server), &egress(), &[]);
    let port = guarded.shop.port;
    let trap = Web::start(LOOPBACK, "127.0.0.1", port);
    let mut tab = guarded.chromium.tab();
    let url = format!("http://flip.dns.example.com:{port}/");
    until("a page of the name", || {
        tab.navigate(&url);
        (tab.text("document.title") == "page").then_some(())
    });
    let said = tab.run(
        "(async () => { const said = []; for (let i = 0; i < 20; i++) said.push((await fetch('/n' + i)).status); return said })()",
    );
    let said: Vec<_> = said.as_array().unwrap().iter().map(|status| status.as_u64().unwrap()).collect();
    assert!(said.contains(&200) && said.contains(&403) && said.iter().all(|s| [200, 403].contains(s)), "{said:?}");
    assert_eq!(trap.log.lines(), <[&str; 0]>::default(), "no connection to what was not checked");
    let lines = guarded.guard.audit();
    let through: Vec<&Value> = lines.iter().filter(|line| line["code"] == "allowed").collect();
    assert!(through.iter().all(|line| line["address"] == SHOP.0.to_string()), "{through:?}");
    assert!(names.lines().len() > 20, "each connection asked once");
    // one public and one private address: never, whichever comes first
    tab.navigate("http://half.example.com/");
    until_it_says(&mut tab, "address-not-public");

    // the control: where both are allowed, both are connected to
    guarded.guard.write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8"]}}).to_string());
    until("control: a connection to loopback", || {
        tab.navigate(&url);
        (!trap.log.lines().is_empty()).then_some(())
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_1_source_maps_of_devtools_go_through_the_guard() {
    let guarded = Guarded::start(&json!({}));
    let news = Web::start(NEWS.0.into(), NEWS.1, 0);
    let private = Web::start(INTRANET.0.into(), INTRANET.1, 0);
    let mut tab = guarded.tab();
    let frame = tab.ask("Page.getFrameTree", json!({}))["frameTree"]["frame"]["id"].clone();
    let mut load = |url: String| {
        let options = json!({ "disableCache": true, "includeCredentials": false });
        let question = json!({ "frameId": frame, "url": url, "options": options });
        tab.ask("Network.loadNetworkResource", question)["resource"]["httpStatusCode"].clone()
    };
    assert_eq!(load(news.url("/a.map")), 200, "control");
    assert_eq!(load(private.url("/a.map")), 403);
    assert_eq!(private.log.lines(), <[&str; 0]>::default());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn doctor_says_whether_the_browser_uses_the_guard() {
    let flags = image_flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut guarded = Guarded::start_with(&json!({}), &egress(), &flags);
    let policy_file = guarded.guard.policy_file();
    let ask = |port: u16| {
        let output = std::process::Command::new(PROGRAM)
            .args(["doctor", "--json", "--cdp-port", &port.to_string()])
            .env("BROWSER_SHELL_POLICY", &policy_file)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "egress guard").unwrap().clone();
        (check["ok"].as_bool().unwrap(), check["found"].as_str().unwrap().to_owned())
    };
    let own = guarded.chromium.port();
    assert_eq!(ask(own), (true, "public, on 127.0.0.1:8119; the browser was started with it".to_owned()));
    let other = Chromium::start(&Files::new(), &Setting::default());
    let (well, said) = ask(other.port());
    assert!(!well && said.contains("was not started with it"), "{said}");
    guarded.guard.write_policy("{");
    let (well, said) = ask(own);
    assert!(!well && said.contains("every connection is refused"), "{said}");
    guarded.guard.kill();
    let (well, said) = ask(own);
    assert!(!well && said.contains("nothing answers"), "{said}");
    let (well, said) = ask(other.port());
    assert!(well && said.starts_with("off:"), "{said}");
}
