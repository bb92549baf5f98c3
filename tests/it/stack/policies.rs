//! Chromium's managed policies: restrictions of pages and of the person at the screen by the files in
//! `rootfs/etc/browser/policies/managed`, on Debian's Chromium.
//!
//! Each rule is tested with the files, and as the control without them. Chromium silently ignores policies that are
//! unknown or malformed, so the first test asks Chromium for the status of every policy.

mod browser;
mod egress;
mod files;
mod hosts;
mod keyboard;
mod network;
mod permissions;
mod screen;

use serde_json::{Value, json};

use self::{
    browser::{Cdp, Chromium, Files, LaunchOptions, all, merged, ours},
    hosts::{SHOP, Site},
};
use crate::harness::{processes::wait_for, server::TestEnv};

/// Starts a Chromium without policies as the control, and one with our policies.
fn control_and_guarded(options: &LaunchOptions) -> [Chromium; 2] {
    [Chromium::start(&Files::new(), options), Chromium::start(&ours(), options)]
}

/// Starts a Chromium with our policies, and one without them by our helper, which writes settings.
fn guarded_by_policy_and_settings() -> [Chromium; 2] {
    let launched = LaunchOptions { is_launched: true, ..LaunchOptions::default() };
    [Chromium::start(&ours(), &LaunchOptions::default()), Chromium::start(&Files::new(), &launched)]
}

/// Script that returns the policy status from Chromium's own page.
const STATUS: &str = "import('chrome://resources/js/cr.js').then(cr => new Promise(resolve => {
    cr.addWebUiListener('policies-updated', (names, values) => resolve(JSON.stringify(values.policyGroups.chrome.policies)));
    chrome.send('listenPoliciesUpdates');
}))";

/// Returns the files with that page removed from the block list.
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
fn every_chromium_policy_is_known_and_applied() {
    let mut files = readable();
    let expected = merged(&files);
    let status_of_ours = status(&Chromium::start(&files, &LaunchOptions::default()));
    for (name, value) in &expected {
        let entry = &status_of_ours[name];
        assert_eq!((&entry["value"], &entry["level"]), (value, &json!("mandatory")), "{name}: {entry}");
        for field in ["error", "warning"] {
            assert!(entry[field].is_null(), "{name}: {entry}");
        }
    }
    assert_eq!(status_of_ours.as_object().unwrap().len(), expected.len(), "no other policy may be set");

    // Control: errors are reported.
    files.push(("mistakes.json".to_owned(), r#"{ "NoSuchPolicy": 1, "ShowHomeButton": "yes" }"#.to_owned()));
    let status = status(&Chromium::start(&files, &LaunchOptions::default()));
    for mistake in ["NoSuchPolicy", "ShowHomeButton"] {
        assert!(status[mistake]["error"].is_string(), "{mistake}: {}", status[mistake]);
    }
}

/// Chromium's error for an address that a policy blocks.
const BLOCKED: &str = "net::ERR_BLOCKED_BY_ADMINISTRATOR";
/// Chromium's error for an address that it passes to another program of the machine.
const PASSED_ON: &str = "net::ERR_ABORTED";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn only_web_pages_can_be_opened() {
    let shop = Site::start(SHOP, Vec::new());
    let web = shop.url("/");
    let source = format!("view-source:{web}");
    let control = Chromium::start(&Files::new(), &LaunchOptions::default());
    let guarded = guarded_by_policy_and_settings();
    // Address, error of the control, error of the guarded browser.
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
        // The PDF viewer is an extension.
        ("chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html", "", ""),
        ("mailto:a@example.com", PASSED_ON, BLOCKED),
        ("tel:123", PASSED_ON, BLOCKED),
        ("ssh://example.com", PASSED_ON, BLOCKED),
        ("ftp://example.com", PASSED_ON, BLOCKED),
        ("intent://x#Intent;scheme=http;end", PASSED_ON, BLOCKED),
        // An unknown scheme.
        ("unheard-of:x", PASSED_ON, BLOCKED),
        // These would end or restart the browser.
        ("chrome://quit", PASSED_ON, BLOCKED),
        ("chrome://restart", PASSED_ON, BLOCKED),
    ];
    // These have no control, because the control would end.
    let ends = |url: &str| matches!(url, "chrome://quit" | "chrome://restart");
    let (urls, without): (Vec<&str>, Vec<&str>) =
        cases.iter().filter(|(url, ..)| !ends(url)).map(|(url, without, _)| (*url, *without)).unzip();
    assert_eq!(control.navigate_all(false, &urls), without, "control: {urls:?}");
    for (guarded, by) in guarded.iter().zip(["policy", "settings"]) {
        // Sessions have contexts of their own. Chromium opens its settings in a window of the profile instead, and answers nothing.
        for is_in_context in [false, true] {
            let of_this = cases.iter().filter(|(url, ..)| !is_in_context || *url != "chrome://settings");
            let (urls, expected): (Vec<&str>, Vec<&str>) = of_this.map(|(url, _, with)| (*url, *with)).unzip();
            let errors = guarded.navigate_all(is_in_context, &urls);
            assert_eq!(errors, expected, "{by}, in a context: {is_in_context}: {urls:?}");
        }
    }
}

/// Scripts of a page that navigate to the URL `to`.
const NAVIGATIONS: [&str; 4] = [
    "location = to",
    "window.open(to)",
    "window.open(to, '_blank', 'noopener')",
    "Object.assign(document.body.appendChild(document.createElement('a')), { href: to }).click()",
];

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_cannot_open_external_schemes_or_internal_pages() {
    let shop = Site::start(SHOP, Vec::new());
    let [control, guarded] = control_and_guarded(&LaunchOptions::default());
    for way in NAVIGATIONS {
        let go = |chromium: &Chromium, url: &str| {
            let mut tab = chromium.tab();
            tab.open(&shop.url("/"));
            tab.run(&format!("{{ const to = {}; {way}; undefined }}", json!(url)));
        };
        let shows = |chromium: &Chromium, url: &str| chromium.pages().iter().any(|(_, shown)| shown == url);
        // Control: this script navigates.
        let arrived = shop.url(&format!("/{}", way.len()));
        go(&guarded, &arrived);
        wait_for("the target page", || shows(&guarded, &arrived).then_some(()));
        // Chromium itself refuses these for pages, with and without a policy. The script has finished when the next
        // navigation succeeds.
        for url in ["file:///etc/passwd", "chrome://version/", "devtools://devtools/bundled/inspector.html"] {
            go(&guarded, url);
        }
        // An address of another program shows the page "blocked". The control passes it on.
        let other = format!("unheard-of:{}", way.len());
        go(&guarded, &other);
        wait_for("the page that reports the block", || shows(&guarded, &other).then_some(()));
        assert!(
            guarded
                .pages()
                .iter()
                .all(|(_, url)| ["http:", "about:", "unheard-of:"].iter().any(|s| url.starts_with(s)))
        );
    }
    let mut tab = control.tab();
    assert_eq!(tab.navigate("unheard-of:x"), PASSED_ON, "control");
}

/// Script that loads frames as real pages use them. Each frame reports to its parent that it runs.
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
        // A blocked frame shows an error page, which fires a load event too.
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
fn frames_of_real_pages_still_work() {
    let shop = Site::start(SHOP, Vec::new());
    let frames_of = |files: &Files| {
        let chromium = Chromium::start(files, &LaunchOptions::default());
        let mut tab = chromium.tab();
        tab.open(&shop.url("/"));
        tab.text(FRAMES)
    };
    // Control: without `data:` in the list, such frames are blocked.
    let mut strict = merged(&ours());
    strict["URLAllowlist"].as_array_mut().unwrap().retain(|entry| entry != "data:*");
    let strict = vec![("all.json".to_owned(), Value::Object(strict).to_string())];
    assert_eq!(frames_of(&strict), "blank srcdoc blob", "control: the list must apply to frames");
    assert_eq!(frames_of(&ours()), "blank srcdoc blob data");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn request_that_asks_for_a_login_ends_without_a_window() {
    const ASKS: &str =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Type: text/plain\r\n";
    let shop = Site::start(SHOP, vec![("/asks", ASKS, b"log in".to_vec())]);
    let ask = |chromium: &Chromium| {
        let mut tab = chromium.tab();
        tab.open(&shop.url("/"));
        tab.text(
            "Promise.race([
                fetch('/asks').then(answer => `answered ${answer.status}`),
                new Promise(end => setTimeout(end, 3000, 'waits')),
            ])",
        )
    };
    for guarded in guarded_by_policy_and_settings() {
        assert_eq!(ask(&guarded), "answered 401");
    }
    assert_eq!(ask(&Chromium::start(&Files::new(), &LaunchOptions::default())), "waits", "control");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn base_image_policies_do_not_override_ours() {
    let loose = r#"{ "URLBlocklist": [], "URLAllowlist": ["file://*", "*"], "DownloadRestrictions": 0 }"#;
    let with = |name: &str| {
        let mut files = ours();
        files.push((name.to_owned(), loose.to_owned()));
        Chromium::start(&files, &LaunchOptions::default()).tab().navigate("file:///etc/passwd")
    };
    assert_eq!(with("zzz.json"), "", "control: the last name wins");
    for name in ["00-base.json", "browser.json", "policy.json", "recommended.json", "Zulu.json"] {
        assert_eq!(with(name), BLOCKED, "{name}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_works_under_chromium_policies() {
    let page = b"<!doctype html><title>page</title><button onclick=\"document.title = 'clicked'\">Go</button>".to_vec();
    let shop = Site::start(SHOP, vec![("/", "Content-Type: text/html\r\n", page)]);
    let chromium = Chromium::start(&ours(), &LaunchOptions::default());
    let name = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => panic!("agent-browser has no binary for `{other}`"),
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/node_modules/agent-browser/bin");
    let program = folder.join(format!("agent-browser-linux-{name}"));
    assert!(program.exists(), "`{}` is missing: run tests/e2e/setup", program.display());
    let policy = json!({ "subcommands": { "enable": ["get", "pdf"] } });
    let env = TestEnv::new(&program).with("BROWSER_SHELL_CDP_PORT", chromium.port().to_string()).with_policy(&policy);
    let server = env.serve();
    // On a busy machine, agent-browser's own startup timeout may be too short.
    wait_for("the first page", || (server.call("s", &["open", &shop.url("/")]).code == 0).then_some(()));
    for argv in [
        &["snapshot", "-i"] as &[&str],
        &["click", "button"],
        &["screenshot", "page.png"],
        // PDF output is the agent's; only printing by the person is disabled.
        &["pdf", "page.pdf"],
    ] {
        server.call("s", argv).ok();
    }
    assert_eq!(server.call("s", &["get", "title"]).ok().data()["title"], "clicked");
    server.call("s", &["close"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn browser_ui_targets_are_not_listed_as_tabs() {
    // If the list below the address bar were blocked like other internal pages, it would become a page that
    // agent-browser considers a tab.
    let options = LaunchOptions { flags: &["--disable-features="], ..LaunchOptions::default() };
    let chromium = Chromium::start(&ours(), &options);
    let parts = wait_for("the list below the address bar", || {
        let targets = chromium.browser().request("Target.getTargets", json!({ "filter": [{}] }));
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
fn disabling_devtools_would_disable_cdp() {
    let attach = |availability: u8| {
        let files = vec![("all.json".to_owned(), json!({ "DeveloperToolsAvailability": availability }).to_string())];
        let chromium = Chromium::start(&files, &LaunchOptions::default());
        let (id, _) = wait_for("the first page", || chromium.pages().first().cloned());
        Cdp::try_connect(chromium.port(), &format!("/devtools/page/{id}")).is_some()
    };
    assert!(attach(1), "control: our value");
    assert!(!attach(2), "the value for all users must disable CDP");
}
