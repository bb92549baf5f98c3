//! The attacks that a page can start.

use super::super::browser::Cdp;
use super::web::LoggingSite;

/// The start of an attack.
#[derive(Clone, Copy)]
pub(super) enum Opening {
    /// The tab navigates to this URL.
    Open(&'static str),
    /// A page of the attacker with this HTML.
    Page(&'static str),
    /// A script in an empty page of the attacker, with a user gesture.
    Script(&'static str),
}
use Opening::{Open, Page, Script};

/// `URL` is the target; `TLS` the same over https, `WS` as WebSocket, `HOST` its host and port, `SHOP` the attacker's
/// origin, `JS` a script there that fetches the target; `BLOB` creates a URL of a blob.
pub(super) const ATTACKS: &[(&str, Opening)] = &[
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

/// Starts an attack on a URL from pages of the `shop`.
pub(super) fn attack(shop: &LoggingSite, tab: &mut Cdp, way: Opening, target: &LoggingSite, path: &str) {
    let fill = |template: &str| {
        let host = target.authority();
        let script = shop.document("js", &format!("fetch('{}', {{ mode: 'no-cors' }})", target.url(path)));
        // The scope of a service worker is its folder.
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

/// Returns true if the target was reached after `before` log lines: by the path, or by a connection that uses TLS or
/// TURN.
pub(super) fn reached(target: &LoggingSite, name: &str, path: &str, before: usize) -> bool {
    let opaque = ["TLS", "preconnect", "TURN"].iter().any(|word| name.contains(word));
    let lines = target.log.lines();
    lines.iter().skip(before).any(|line| line.starts_with(path) || (opaque && line == "connection"))
}
