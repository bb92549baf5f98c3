//! The URL policy with a real browser. Refused pages never load, and each refusal has a control that succeeds without
//! the rule.

use serde_json::json;

use super::{
    hosts::{DNS_PRIVATE, DNS_PUBLIC, DNS_SILENT, DNS_UNKNOWN, HALF, INTRANET, LOOP, NEWS, SHOP, SIX, SYSTEM_PORT},
    processes,
    test_env::{self, Browser},
};

fn page_of(host: &str) -> String {
    format!("http://{host}/hello")
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn open_allows_only_public_addresses_under_any_name() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    let open = |url: &str| server.call("s", &["open", url]);

    for host in [SHOP, NEWS, DNS_PUBLIC, "93.184.215.20"] {
        let url = page_of(host);
        assert_eq!(open(&url).ok().data()["url"], url);
        assert_eq!(browser.address(), url);
    }

    let before = browser.address();
    let private = [INTRANET, LOOP, HALF, DNS_PRIVATE, "10.20.30.40", "127.0.0.1", "localhost"];
    let visits = || private.map(|host| test_env::hosts().paths_of(host).len());
    let before_visits = visits();
    let refused = [
        // By name, from the hosts file and from the name server.
        page_of(INTRANET),
        page_of(LOOP),
        page_of(DNS_PRIVATE),
        // One private address is enough for a refusal.
        page_of(HALF),
        // Without an address or a response, the host is refused.
        page_of(DNS_UNKNOWN),
        page_of(DNS_SILENT),
        // By address, in several notations.
        page_of("10.20.30.40"),
        page_of("0x0a.0x14.0x1e.0x28"),
        page_of("169090600"),
        page_of("127.0.0.1"),
        page_of("127.1"),
        page_of("[::1]"),
        page_of("[::ffff:10.20.30.40]"),
        page_of("localhost"),
        // The browser's own debugging port.
        "http://127.0.0.1:9222/json/new?about:blank".to_owned(),
    ];
    for url in &refused {
        let refusal = open(url).fails_with(77);
        assert!(refusal.stdout.is_empty(), "{url}: {refusal:?}");
        assert_eq!(browser.address(), before, "{url} must not be opened");
    }
    assert_eq!(visits(), before_visits, "no refused host may receive a request");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn open_allows_host_with_only_ipv6_address() {
    let browser = Browser::lock();
    assert!(
        std::fs::exists("/proc/net/if_inet6").unwrap(),
        "this kernel has no IPv6: enable it (sysctl net.ipv6.conf.all.disable_ipv6=0)"
    );
    let server = test_env::default_env().serve();
    let url = page_of(SIX);
    server.call("s", &["open", &url]).ok();
    assert_eq!(browser.address(), url);
    assert!(server.call("s", &["snapshot"]).ok().page().contains(&format!("Hello from {SIX}")));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn allow_cidrs_opens_private_network() {
    let browser = Browser::lock();
    let policy = json!({"open": {"allow_cidrs": ["10.20.30.0/24"]}});
    let server = test_env::default_env().with_policy(&policy).serve();
    for host in [INTRANET, HALF, DNS_PRIVATE, "10.20.30.40"] {
        server.call("s", &["open", &page_of(host)]).ok();
        assert_eq!(browser.address(), page_of(host));
    }
    // Other private addresses remain refused.
    server.call("s", &["open", &page_of(LOOP)]).fails_with(77);
    server.call("s", &["open", &page_of("127.0.0.1")]).fails_with(77);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn redirect_to_refused_address_is_left_for_about_blank() {
    let browser = Browser::lock();
    let target = page_of(INTRANET);
    let redirect = format!("http://{SHOP}/to?{target}");

    let server = test_env::default_env().serve();
    let refusal = server.call("s", &["open", &redirect]).fails_with(77);
    assert_eq!(browser.address(), "about:blank");
    assert!(!format!("{refusal:?}").contains("Hello from"), "the reply must not contain the page: {refusal:?}");
    // The session remains usable.
    server.call("s", &["open", &page_of(NEWS)]).ok();
    drop(server);

    // Control: the same redirect succeeds if both hosts are allowed.
    let policy = json!({"open": {"allow_cidrs": ["10.0.0.0/8"]}});
    let server = test_env::default_env().with_policy(&policy).serve();
    assert_eq!(server.call("s", &["open", &redirect]).ok().data()["url"], target);
    assert_eq!(browser.address(), target);
    // Control: a redirect between public hosts needs no rule.
    let harmless = format!("http://{SHOP}/to?{}", page_of(NEWS));
    assert_eq!(server.call("s", &["open", &harmless]).ok().data()["url"], page_of(NEWS));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn click_to_refused_address_is_refused_and_page_stays() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    let go = |host: &str| {
        server.call("s", &["open", &format!("http://{SHOP}/go?{}", page_of(host))]).ok();
        server.call("s", &["click", "#go"])
    };

    let refusal = go(INTRANET).fails_with(77);
    assert!(refusal.stderr.starts_with("address-not-public: "), "{refusal:?}");
    assert_eq!(browser.address(), format!("http://{SHOP}/go?{}", page_of(INTRANET)));
    let snapshot = server.call("s", &["snapshot"]).ok();
    assert!(!format!("{snapshot:?}").contains("Hello from"), "{snapshot:?}");

    go(NEWS).ok();
    processes::wait_for("the allowed page", || (browser.address() == page_of(NEWS)).then_some(()));
    assert!(server.call("s", &["snapshot"]).ok().page().contains(&format!("Hello from {NEWS}")));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn open_accepts_only_http_https_and_about_blank() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    let open = |url: &str| server.call("s", &["open", url]);
    open(&page_of(SHOP)).ok();
    for url in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,<h1>hello</h1>",
        "chrome://version",
        "about:version",
        "view-source:http://shop.example.com/",
        "ftp://shop.example.com/",
        "blob:http://shop.example.com/1",
    ] {
        open(url).fails_with(77);
        assert_eq!(browser.address(), page_of(SHOP), "{url}");
    }
    open("about:blank").ok();
    assert_eq!(browser.address(), "about:blank");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn deny_lists_override_allow_lists_and_match_exactly() {
    let browser = Browser::lock();
    let policy = json!({"open": {"deny_hosts": [SHOP], "allow_hosts": [SHOP, NEWS]}});
    let server = test_env::default_env().with_policy(&policy).serve();
    let open = |url: &str| server.call("s", &["open", url]);
    open(&page_of(SHOP)).fails_with(77);
    // The browser treats this as the same host.
    open("http://SHOP.example.com./hello").fails_with(77);
    open(&page_of(SIX)).fails_with(77);
    assert_eq!(browser.address(), "about:blank");
    open(&page_of(NEWS)).ok();
    assert_eq!(browser.address(), page_of(NEWS));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn changed_policy_file_applies_to_next_call() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    let open = || server.call("s", &["open", &page_of(SHOP)]);
    let policy = |text: &str| server.env().write_policy(text);

    // With an empty policy, the defaults apply.
    open().ok();
    policy(&json!({"open": {"deny_hosts": [SHOP]}}).to_string());
    open().fails_with(77);
    policy(&json!({"open": {"deny_hosts": [NEWS]}}).to_string());
    open().ok();
    policy("{ this is no policy");
    let refusal = open().fails_with(77);
    assert!(refusal.stderr.contains("polic"), "the refusal must name the policy file: {refusal:?}");
    policy(&json!({"open": {"allow_hots": []}}).to_string());
    assert!(open().fails_with(77).stderr.contains("allow_hots"), "the unknown key must be named");
    policy("{}");
    open().ok();
    std::fs::remove_file(std::path::Path::new(server.env().folder()).join("policy.json")).unwrap();
    assert!(open().fails_with(77).stderr.contains("does not exist"), "the refusal must say that the file is missing");
    // The page that is open is none that the file allows, either.
    server.call("s", &["snapshot"]).fails_with(77);
    policy("{}");
    open().ok();
    // A subcommand is enabled while the session is open.
    assert_ne!(server.call("s", &["get", "title"]).code, 0);
    policy(&json!({"subcommands": {"enable": ["get"]}}).to_string());
    assert_eq!(server.call("s", &["get", "title"]).ok().data()["title"], SHOP);
}

// Requirement 2.6.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn system_ports_are_refused_for_open_redirect_and_link() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.wait_until_open("s");
    let there = format!("{SHOP}:{SYSTEM_PORT}");
    let target = format!("http://{there}/hello");
    let ways = [target.clone(), format!("http://{SHOP}/to?{target}"), format!("http://{SHOP}/go?{target}")];
    let [direct, redirect, link] = &ways;

    let before = browser.address();
    let refusal = server.call("s", &["open", direct]).fails_with(77);
    assert!(refusal.stderr.starts_with("port-denied at egress.allow_ports: "), "{refusal:?}");
    assert_eq!(browser.address(), before, "it must not be opened");
    assert_eq!(test_env::hosts().paths_of(&there), [""; 0], "no request may arrive");
    assert_eq!(server.env().run(&["policy", "explain", direct]).status.code(), Some(77));

    let refusal = server.call("s", &["open", redirect]).fails_with(77);
    assert!(refusal.stderr.starts_with("port-denied at egress.allow_ports: "), "{refusal:?}");
    assert_eq!(browser.address(), "about:blank");

    let follow = || {
        server.call("s", &["open", link]).ok();
        server.call("s", &["click", "#go"])
    };
    let refusal = follow().fails_with(77);
    assert!(refusal.stderr.starts_with("port-denied at egress.allow_ports: "), "{refusal:?}");
    assert_eq!(browser.address(), *link, "the page stays where it was");

    // Control: all three succeed if the port is listed.
    server.env().write_policy(&json!({"egress": {"allow_ports": [SYSTEM_PORT]}}).to_string());
    for url in [direct, redirect] {
        assert_eq!(server.call("s", &["open", url]).ok().data()["url"], target);
    }
    follow().ok();
    processes::wait_for("the linked page", || (browser.address() == target).then_some(()));
    assert!(server.call("s", &["snapshot"]).ok().page().contains("Hello from"));
    assert_eq!(server.env().run(&["policy", "explain", direct]).status.code(), Some(0));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn explain_and_open_agree_on_every_address() {
    let _browser = Browser::lock();
    let policy = json!({"open": {"deny_hosts": [NEWS], "allow_cidrs": ["10.20.30.40/32"]}});
    let server = test_env::default_env().with_policy(&policy).serve();
    for (host, allowed) in [(SHOP, true), (INTRANET, true), (NEWS, false), (LOOP, false), (DNS_UNKNOWN, false)] {
        let url = page_of(host);
        let explained = server.env().run(&["policy", "explain", &url]);
        assert_eq!(explained.status.success(), allowed, "{host}: {explained:?}");
        let opened = server.call("s", &["open", &url]);
        assert_eq!(opened.code, if allowed { 0 } else { 77 }, "{host}: {opened:?}");
    }
}
