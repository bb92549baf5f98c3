//! Names in pages: Chromium looks none up and sends no datagram, with the settings of the image and of the runtime.
//!
//! The guard's policy allows one host, which the hosts file has, so the guard asks no name server either: every datagram
//! in the network of a test is Chromium's.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    super::{
        browser::{Cdp, Chromium, Files, LaunchOptions, all},
        hosts::SHOP,
        screen::Screen,
    },
    LOOPBACK,
    attacks::{ATTACKS, Opening, attack},
    capture::Capture,
    web::{DISABLED_PROTECTIONS, GuardedChromium, LoggingSite},
    webrtc::{self, NAMES},
};
use crate::{
    e2e::chromium::debug_request,
    egress::guard::EgressGuard,
    harness::{
        processes::wait_for,
        server::{PROGRAM, TestEnv, free_port, stand_in},
    },
};

/// Policy of the guard.
fn only_shop() -> Value {
    json!({ "egress": { "mode": "allowlist" }, "open": { "allow_hosts": [SHOP.1] }, "sandbox": { "enabled": false } })
}

/// Returns the flags of `image.env` except those for a fixed port, and its setting for the C library's resolver.
fn image_settings() -> (Vec<String>, String) {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("rootfs/image.env")).unwrap();
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).expect(name).to_owned();
    let flags = value("BROWSER_COMMANDLINE_ARGS=");
    let flags = flags.split(' ').filter(|flag| !flag.starts_with("--remote-debugging-port")).map(str::to_owned);
    (flags.collect(), value("RES_OPTIONS="))
}

/// Returns the image's policies, except those about names.
fn without_names() -> Files {
    let mut files = all();
    for (_, text) in &mut files {
        let mut policies: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
        policies.retain(|name, _| !name.starts_with("DnsOverHttps"));
        *text = Value::Object(policies).to_string();
    }
    assert_ne!(files, all());
    files
}

/// Returns the name of the page's choice in one of the [`ATTACKS`].
fn host(tag: &str, index: usize) -> String {
    format!("{tag}{index}x.leak.example")
}

/// Hints of a page, which Chromium need not follow. The image's policy turns them off.
const HINTS: &[&str] = &["preconnect", DNS_PREFETCH.0];
const DNS_PREFETCH: (&str, Opening) = ("dns-prefetch", Opening::Page("<link rel=dns-prefetch href=//HOST>"));

/// Uses a name in each way of a page, and waits until its request `came`.
fn request_all_names(chromium: &Chromium, shop: &LoggingSite, tag: &str, came: impl Fn(&str, &str) -> bool) {
    for (index, (title, way)) in ATTACKS.iter().chain([&DNS_PREFETCH]).enumerate() {
        let name = host(tag, index);
        let target = LoggingSite::start(LOOPBACK, &name, 0);
        let mut tab = chromium.tab();
        tab.open(&shop.url("/"));
        attack(shop, &mut tab, *way, &target, "/x");
        wait_for(&format!("{tag}: {title}"), || came(title, &name).then_some(()));
        close_other_tabs(chromium);
    }
}

/// Closes all tabs but one, which keeps Chromium running.
fn close_other_tabs(chromium: &Chromium) {
    let mut browser = chromium.browser();
    for (id, _) in chromium.pages().into_iter().skip(1) {
        browser.request("Target.closeTarget", json!({ "targetId": id }));
    }
}

/// Returns true if the guard has seen this host.
fn guard_saw(guard: &EgressGuard, host: &str) -> bool {
    guard.audit().iter().any(|line| line["host"] == host)
}

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn image_browser_sends_no_datagram_for_any_name() {
    let test = concat!(module_path!(), "::image_browser_sends_no_datagram_for_any_name");
    let Some(capture) = Capture::in_own_network(test.split_once("::").unwrap().1) else { return };
    let (flags, resolver) = image_settings();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let environment = [("RES_OPTIONS", resolver.as_str())];
    // With a window, as in the image.
    let screen = Screen::start();
    let options = LaunchOptions {
        flags: &flags,
        environment: &environment,
        display: Some(&screen.display),
        ..LaunchOptions::default()
    };
    let guard = || EgressGuard::start_on("127.0.0.1:8119", &only_shop());
    let guarded = GuardedChromium::start_behind(guard, &all(), &options);
    let shop = &guarded.shop;
    request_all_names(&guarded.chromium, shop, "image", |title, name| {
        HINTS.contains(&title) || guard_saw(&guarded.guard, name)
    });
    let mut image = guarded.tab();
    webrtc::use_all_names(&mut image, "image");
    // Without the policy files.
    let options = LaunchOptions { flags: &flags, environment: &environment, ..LaunchOptions::default() };
    let without_policy = Chromium::start(&Files::new(), &options);
    let mut flags_alone = without_policy.tab();
    flags_alone.open(&shop.url("/"));
    webrtc::use_all_names(&mut flags_alone, "flags");
    for tag in ["image", "flags"] {
        wait_for("the guard to see the names of TURN over TCP", || {
            let mut relays = webrtc::relays(tag);
            relays.all(|name| guard_saw(&guarded.guard, &name)).then_some(())
        });
    }
    assert_eq!(capture.lines(), <[&str; 0]>::default());

    // The policy files alone leave nothing but multicast.
    let with_policy =
        Chromium::start(&all(), &LaunchOptions { flags: DISABLED_PROTECTIONS, ..LaunchOptions::default() });
    let mut policy_alone = with_policy.tab();
    policy_alone.open(&shop.url("/"));
    webrtc::use_all_names(&mut policy_alone, "policy");
    // Control: behind the guard, but without the settings about names.
    let feature = ",WebRtcHideLocalIpsWithMdns";
    let older: Vec<String> = flags.iter().map(|flag| flag.replace(feature, "")).collect();
    assert_ne!(older, flags);
    let older: Vec<&str> = older.iter().map(String::as_str).collect();
    let leaking = Chromium::start(&without_names(), &LaunchOptions { flags: &older, ..LaunchOptions::default() });
    let mut tab = leaking.tab();
    tab.open(&shop.url("/"));
    webrtc::use_all_names(&mut tab, "control");
    for name in NAMES.iter().filter(|name| name.is_looked_up_behind_proxy) {
        let label = name.label("control");
        wait_for(&format!("control: {}", name.title), || capture.has(&label).then_some(()));
        let of_policy = name.label("policy");
        if name.is_multicast() {
            wait_for("multicast of the policy files alone", || capture.has(&of_policy).then_some(()));
        } else {
            assert!(!capture.has(&of_policy), "{}: {:?}", name.title, capture.lines());
        }
    }
    assert!(!capture.has("image") && !capture.has("flags"), "{:?}", capture.lines());
    drop((image, policy_alone, flags_alone, tab, leaking, with_policy, without_policy));

    // Control: without the guard, each of the names of each way is looked up.
    let secure = format!("--unsafely-treat-insecure-origin-as-secure={}", shop.url(""));
    let loose: Vec<&str> = DISABLED_PROTECTIONS.iter().copied().chain([secure.as_str()]).collect();
    let open = Chromium::start(&Files::new(), &LaunchOptions { flags: &loose, ..LaunchOptions::default() });
    request_all_names(&open, shop, "open", |_, name| capture.has(name.split('.').next().unwrap()));
    let mut tab = open.tab();
    tab.open(&shop.url("/"));
    webrtc::use_all_names(&mut tab, "open");
    for name in NAMES {
        let label = name.label("open");
        wait_for(&format!("control without the guard: {}", name.title), || capture.has(&label).then_some(()));
    }
}

/// A runtime with the real Chromium and a stand-in for agent-browser.
struct Runtime {
    // Ended first, by the kernel with everything that it started.
    child: Child,
    env: TestEnv,
    /// Port of the egress guard.
    guard: u16,
}

impl Runtime {
    /// Starts a runtime whose Chromium records its arguments and its environment.
    fn start() -> Self {
        let env = TestEnv::new(&stand_in()).with_policy(&only_shop());
        let folder = Path::new(env.folder());
        let program = folder.join("chromium");
        // Into its private folder, because it may write to no other.
        let record = "printf '%s\\0' \"$@\" >$HOME/arguments; env -0 >$HOME/draft; mv $HOME/draft $HOME/environment";
        fs::write(&program, format!("#!/bin/bash\nset -e\n{record}\nexec chromium \"$@\"\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let guard = free_port();
        let env = env
            .with("BROWSER_SHELL_LISTEN", format!("127.0.0.1:{}", free_port()))
            .with("BROWSER_SHELL_EGRESS", format!("127.0.0.1:{guard}"))
            .with("BROWSER_SHELL_CDP_PORT", free_port().to_string())
            .with("BROWSER_SHELL_CHROMIUM", program);
        let child = env.command(&["runtime"]).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, env, guard }
    }
}

/// The Chromium of a runtime, started again with a debugging port: with its rules, or without them, because the system call
/// filter would refuse every datagram.
struct Copy {
    child: Child,
    cdp: u16,
}

impl Copy {
    /// Starts it without the rules, and with all settings except those that a shell script removes.
    fn unfiltered(runtime: &Runtime, without: &str) -> Self {
        Self::start(runtime, without, |_| "chromium".to_owned())
    }

    /// Starts it with the rules and all settings.
    fn filtered(runtime: &Runtime) -> Self {
        let guard = runtime.guard;
        let rules = |port| {
            format!("{PROGRAM} launch-external '{}' /usr/bin/chromium", json!({"connect": [guard], "bind": [port]}))
        };
        Self::start(runtime, ":", rules)
    }

    fn start(runtime: &Runtime, without: &str, program: impl FnOnce(u16) -> String) -> Self {
        let folder = Path::new(runtime.env.folder()).join("run/b/browser");
        wait_for("the start of Chromium", || folder.join("environment").exists().then_some(()));
        let cdp = free_port();
        let program = program(cdp);
        let script = format!(
            "set -e
            mapfile -d '' -t a <{0}/environment; for x in \"${{a[@]}}\"; do export \"$x\"; done
            mapfile -d '' -t a <{0}/arguments; set -- \"${{a[@]}}\"
            {without}
            a=(\"$@\"); set --
            for x in \"${{a[@]}}\"; do
              case $x in
                --remote-debugging-pipe) set -- \"$@\" --remote-debugging-port={cdp} ;;
                --user-data-dir=*) set -- \"$@\" --user-data-dir={0}/profile-{cdp} ;;
                *) set -- \"$@\" \"$x\" ;;
              esac
            done
            exec {program} \"$@\"",
            folder.display()
        );
        let mut command = Command::new("bash");
        command.args(["-c", &script]).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap(), cdp }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Opens a page in a new tab of the Chromium at a debugging port.
fn tab(cdp: u16, url: &str) -> Cdp {
    // Chromium may still be starting.
    let new = wait_for("a tab of the runtime's Chromium", || debug_request(cdp, "PUT", "/json/new"));
    let path = format!("/devtools/page/{}", new["id"].as_str().unwrap());
    let mut tab = Cdp::try_connect(cdp, &path).unwrap();
    tab.request("Page.enable", json!({}));
    tab.open(url);
    tab
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // SIGTERM, so that it ends its Chromium.
        drop(Command::new("kill").arg(self.child.id().to_string()).status());
        drop(self.child.wait());
    }
}

/// Scripts that remove one of the two settings about names, or both with the feature.
const WITHOUT_RULES: &str = "a=(\"$@\"); set --; for x in \"${a[@]}\"; do case $x in --host-resolver-rules=*) ;; *) set -- \"$@\" \"$x\";; esac; done";
const WITHOUT_RESOLVER: &str = "[ \"$RES_OPTIONS\" ] && unset RES_OPTIONS";
const WITHOUT_FEATURE: &str = "set -- \"${@/,WebRtcHideLocalIpsWithMdns/}\"";

// Requirement 5.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn runtime_browser_sends_no_datagram_for_any_name() {
    let test = concat!(module_path!(), "::runtime_browser_sends_no_datagram_for_any_name");
    let Some(capture) = Capture::in_own_network(test.split_once("::").unwrap().1) else { return };
    let shop = LoggingSite::start(SHOP.0.into(), SHOP.1, 0);
    let runtime = Runtime::start();
    let sees = |tag: &str| {
        wait_for("the guard to see the names of TURN over TCP", || {
            let audit = runtime.env.audit();
            webrtc::relays(tag).all(|name| audit.contains(&name)).then_some(())
        });
    };
    let confined = Copy::filtered(&runtime);
    let mut filtered = tab(confined.cdp, &shop.url("/"));
    webrtc::use_all_names(&mut filtered, "runtime");
    sees("runtime");
    // Each of the two settings is enough, also without the filter.
    let subjects = [("both", ":"), ("rules", WITHOUT_RESOLVER), ("library", WITHOUT_RULES)].map(|(tag, without)| {
        let browser = Copy::unfiltered(&runtime, without);
        let mut page = tab(browser.cdp, &shop.url("/"));
        webrtc::use_all_names(&mut page, tag);
        sees(tag);
        (tag, browser, page)
    });
    assert_eq!(capture.lines(), <[&str; 0]>::default());

    // Control: the same Chromium without these settings.
    let control = Copy::unfiltered(&runtime, &format!("{WITHOUT_RULES}\n{WITHOUT_RESOLVER}\n{WITHOUT_FEATURE}"));
    let mut page = tab(control.cdp, &shop.url("/"));
    webrtc::use_all_names(&mut page, "control");
    for name in NAMES.iter().filter(|name| name.is_looked_up_behind_proxy) {
        let label = name.label("control");
        wait_for(&format!("control: {}", name.title), || capture.has(&label).then_some(()));
    }
    for tag in subjects.iter().map(|(tag, ..)| *tag).chain(["runtime"]) {
        assert!(!capture.has(tag), "{tag}: {:?}", capture.lines());
    }
}
