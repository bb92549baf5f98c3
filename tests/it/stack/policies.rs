//! Chromium's managed policies: what the image's files below
//! `rootfs/etc/browser/policies/managed` take away from pages and from the
//! person who watches, on Debian's Chromium.
//!
//! Each rule is tried twice: with the files, and as the control without them. A
//! policy that Chromium does not know or cannot read is ignored without a word,
//! so the first test asks Chromium what it makes of every one.

mod browser;
mod egress;
mod files;
mod hosts;
mod network;
mod permissions;
mod person;
mod screen;

use serde_json::{Value, json};

use self::{
    browser::{Cdp, Chromium, Files, Setting, all, merged, ours},
    hosts::{SHOP, Site},
};
use crate::harness::{processes::until, server::Home};

/// A Chromium without policies, the control, and one with ours.
fn pair(setting: &Setting) -> [Chromium; 2] {
    [Chromium::start(&Files::new(), setting), Chromium::start(&ours(), setting)]
}

/// What policies are, as the page for them tells it.
const STATUS: &str = "import('chrome://resources/js/cr.js').then(cr => new Promise(said => {
    cr.addWebUiListener('policies-updated', (names, values) => said(JSON.stringify(values.policyGroups.chrome.policies)));
    chrome.send('listenPoliciesUpdates');
}))";

/// The files with that page taken off the list of what is blocked.
fn readable() -> Files {
    let mut files = merged(&all());
    let blocked = files["URLBlocklist"].as_array_mut().unwrap();
    blocked.retain(|entry| entry != "*" && entry != "chrome://*");
    vec![("all.json".to_owned(), Value::Object(files).to_string())]
}

fn status(chromium: &Chromium) -> Value {
    let mut tab = chromium.tab();
    tab.open("chrome://policy");
    serde_json::from_str(&tab.text(STATUS)).unwrap()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn every_policy_is_known_and_its_value_is_taken() {
    let mut files = readable();
    let expected = merged(&files);
    let status_of_ours = status(&Chromium::start(&files, &Setting::default()));
    for (name, value) in &expected {
        let said = &status_of_ours[name];
        assert_eq!((&said["value"], &said["level"]), (value, &json!("mandatory")), "{name}: {said}");
        for trouble in ["error", "warning"] {
            assert!(said[trouble].is_null(), "{name}: {said}");
        }
    }
    assert_eq!(status_of_ours.as_object().unwrap().len(), expected.len(), "and there are no others");

    // the control: mistakes do show there
    files.push(("mistakes.json".to_owned(), r#"{ "NoSuchPolicy": 1, "ShowHomeButton": "yes" }"#.to_owned()));
    let status = status(&Chromium::start(&files, &Setting::default()));
    for mistake in ["NoSuchPolicy", "ShowHomeButton"] {
        assert!(status[mistake]["error"].is_string(), "{mistake}: {}", status[mistake]);
    }
}

/// What Chromium says of an address that a policy blocks.
const BLOCKED: &str = "net::ERR_BLOCKED_BY_ADMINISTRATOR";
/// And of one that it hands to another program of the machine.
const HANDED_ON: &str = "net::ERR_ABORTED";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn only_web_pages_can_be_opened() {
    let shop = Site::start(SHOP, Vec::new());
    let web = shop.url("/");
    let source = format!("view-source:{web}");
    let [control, guarded] = pair(&Setting::default());
    // address, what the control says, what the guarded one says
    let cases = [
        (web.as_str(), "", ""),
        ("about:blank", "", ""),
        ("data:text/html,hello", "", ""),
        ("file:///etc/passwd", "", BLOCKED),
        ("chrome://version", "", BLOCKED),
        ("chrome://settings", "", BLOCKED),
        ("chrome://inspect", "", BLOCKED),
        ("chrome://policy", "", BLOCKED),
        ("chrome://net-export", "", BLOCKED),
        ("devtools://devtools/bundled/inspector.html", "", BLOCKED),
        (source.as_str(), "", BLOCKED),
        ("view-source:file:///etc/passwd", "", BLOCKED),
        ("chrome-untrusted://terms", "net::ERR_INVALID_URL", BLOCKED),
        // the reader of PDF files is an extension
        ("chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html", "", ""),
        ("mailto:a@example.com", HANDED_ON, BLOCKED),
        ("tel:123", HANDED_ON, BLOCKED),
        ("ssh://example.com", HANDED_ON, BLOCKED),
        ("ftp://example.com", HANDED_ON, BLOCKED),
        ("intent://x#Intent;scheme=http;end", HANDED_ON, BLOCKED),
        // a scheme that nobody has thought of
        ("unheard-of:x", HANDED_ON, BLOCKED),
        // these would end or restart the browser
        ("chrome://quit", HANDED_ON, BLOCKED),
        ("chrome://restart", HANDED_ON, BLOCKED),
    ];
    for (url, without, with) in cases {
        // those two are believed without a control, which they would end
        if !matches!(url, "chrome://quit" | "chrome://restart") {
            assert_eq!(control.tab().navigate(url), without, "control: {url}");
        }
        assert_eq!(guarded.tab().navigate(url), with, "{url}");
    }
}

/// Goes to the URL `to` from inside of a page, in each way that a page has.
const WAYS: [&str; 4] = [
    "location = to",
    "window.open(to)",
    "window.open(to, '_blank', 'noopener')",
    "Object.assign(document.body.appendChild(document.createElement('a')), { href: to }).click()",
];

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_page_cannot_hand_addresses_to_other_programs_and_reaches_no_inner_page() {
    let shop = Site::start(SHOP, Vec::new());
    let [control, guarded] = pair(&Setting::default());
    for way in WAYS {
        let go = |chromium: &Chromium, url: &str| {
            let mut tab = chromium.tab();
            tab.open(&shop.url("/"));
            tab.run(&format!("{{ const to = {}; {way}; undefined }}", json!(url)));
        };
        let shows = |chromium: &Chromium, url: &str| chromium.pages().iter().any(|(_, shown)| shown == url);
        // the control: this way leads somewhere
        let arrived = shop.url(&format!("/{}", way.len()));
        go(&guarded, &arrived);
        until("the page at the end of the way", || shows(&guarded, &arrived).then_some(()));
        // Chromium itself keeps pages from these, with and without a policy; the way there is over once the next is
        for url in ["file:///etc/passwd", "chrome://version/", "devtools://devtools/bundled/inspector.html"] {
            go(&guarded, url);
        }
        // an address for another program shows the page that says "blocked", in the control it is handed on
        let other = format!("unheard-of:{}", way.len());
        go(&guarded, &other);
        until("the page that says blocked", || shows(&guarded, &other).then_some(()));
        assert!(
            guarded
                .pages()
                .iter()
                .all(|(_, url)| ["http:", "about:", "unheard-of:"].iter().any(|s| url.starts_with(s)))
        );
    }
    let mut tab = control.tab();
    assert_eq!(tab.navigate("unheard-of:x"), HANDED_ON, "control");
}

/// Frames as real pages have them; each one tells its parent that it runs.
const FRAMES: &str = "(async () => {
    const html = '<script>parent.postMessage(1, `*`)<\\/script>';
    const ways = {
        blank: frame => { frame.onload = () => postMessage(1, '*'); frame.src = 'about:blank' },
        srcdoc: frame => { frame.srcdoc = html },
        blob: frame => { frame.src = URL.createObjectURL(new Blob([html], { type: 'text/html' })) },
        data: frame => { frame.src = 'data:text/html,' + html },
    };
    const ran = [];
    for (const [name, way] of Object.entries(ways)) {
        const frame = document.createElement('iframe');
        const runs = new Promise(done => onmessage = done);
        // what is blocked shows a page of its own, which loads too
        const shown = new Promise(done => frame.addEventListener('load', () => setTimeout(done, 1000)));
        way(frame);
        document.body.append(frame);
        if (await Promise.race([runs, shown])) ran.push(name);
        frame.remove();
    }
    return ran.join(' ');
})()";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_frames_of_real_pages_still_work() {
    let shop = Site::start(SHOP, Vec::new());
    let frames_of = |files: &Files| {
        let chromium = Chromium::start(files, &Setting::default());
        let mut tab = chromium.tab();
        tab.open(&shop.url("/"));
        tab.text(FRAMES)
    };
    // why the list allows data:
    let mut strict = merged(&ours());
    strict["URLAllowlist"].as_array_mut().unwrap().retain(|entry| entry != "data:*");
    let strict = vec![("all.json".to_owned(), Value::Object(strict).to_string())];
    assert_eq!(frames_of(&strict), "blank srcdoc blob", "control: the list reaches frames");
    assert_eq!(frames_of(&ours()), "blank srcdoc blob data");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn files_of_the_base_image_do_not_win() {
    let loose = r#"{ "URLBlocklist": [], "URLAllowlist": ["file://*", "*"], "DownloadRestrictions": 0 }"#;
    let with = |name: &str| {
        let mut files = ours();
        files.push((name.to_owned(), loose.to_owned()));
        Chromium::start(&files, &Setting::default()).tab().navigate("file:///etc/passwd")
    };
    assert_eq!(with("zzz.json"), "", "control: the last name wins");
    for name in ["00-base.json", "browser.json", "policy.json", "recommended.json", "Zulu.json"] {
        assert_eq!(with(name), BLOCKED, "{name}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_works_as_before() {
    let page = b"<!doctype html><title>page</title><button onclick=\"document.title = 'clicked'\">Go</button>".to_vec();
    let shop = Site::start(SHOP, vec![("/", "Content-Type: text/html\r\n", page)]);
    let chromium = Chromium::start(&ours(), &Setting::default());
    let name = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => panic!("agent-browser has no binary for `{other}`"),
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/node_modules/agent-browser/bin");
    let program = folder.join(format!("agent-browser-linux-{name}"));
    assert!(program.exists(), "`{}` is missing: run tests/e2e/setup", program.display());
    let policy = json!({ "subcommands": { "enable": ["get", "pdf"] } });
    let home = Home::new(&program).with("BROWSER_SHELL_CDP_PORT", chromium.port().to_string()).with_policy(&policy);
    let server = home.serve();
    // on a busy machine agent-browser's own patience with its daemon may be too short
    until("the first page", || (server.call("s", &["open", &shop.url("/")]).code == 0).then_some(()));
    for argv in [
        &["snapshot", "-i"] as &[&str],
        &["click", "button"],
        &["screenshot", "page.png"],
        // paper is the person's; this is the agent's
        &["pdf", "page.pdf"],
    ] {
        server.call("s", argv).ok();
    }
    assert_eq!(server.call("s", &["get", "title"]).ok().data()["title"], "clicked");
    server.call("s", &["close"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_parts_of_the_browser_itself_are_no_tabs() {
    // blocked like other inner pages, the list below the address bar would become a page that agent-browser takes
    // for a tab
    let chromium = Chromium::start(&ours(), &Setting::default());
    let parts = until("the list below the address bar", || {
        let targets = chromium.browser().ask("Target.getTargets", json!({ "filter": [{}] }));
        let targets = targets["targetInfos"].as_array().unwrap().iter();
        let parts: Vec<Value> =
            targets.filter(|part| part["url"].to_string().contains(".top-chrome")).cloned().collect();
        parts.iter().any(|part| part["type"] != "tab" && part["title"] != "").then_some(parts)
    });
    assert!(parts.iter().all(|part| part["type"] != "page"), "{parts:?}");
    assert!(chromium.pages().iter().all(|(_, url)| url == "about:blank"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn turning_devtools_off_for_all_would_turn_cdp_off() {
    let attach = |availability: u8| {
        let files = vec![("all.json".to_owned(), json!({ "DeveloperToolsAvailability": availability }).to_string())];
        let chromium = Chromium::start(&files, &Setting::default());
        let (id, _) = until("the first page", || chromium.pages().first().cloned());
        Cdp::try_connect(chromium.port(), &format!("/devtools/page/{id}")).is_some()
    };
    assert!(attach(1), "control: our value");
    assert!(!attach(2), "the value that the name suggests");
}
