use std::net::{IpAddr, Ipv6Addr};

use proptest::prelude::*;

use super::connection::Destination;
use super::url::{PageUrl, parse as parse_url};
use super::*;
use crate::decision::Decision;
use crate::policy::file::parse as parse_file;

/// Decides about a URL under a policy file, with these addresses for any name.
fn decide(policy: &str, url: &str, addresses: &[&str]) -> Decision {
    let policy = parse_file(policy).expect("a valid policy");
    let target = match parse_url(url) {
        Ok(target) => target,
        Err(decision) => return decision,
    };
    match (policy.check(&target), &target) {
        (Evaluation::Decided(decision), _) => decision,
        (Evaluation::Lookup(_), PageUrl::Web(page)) => {
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().expect("an address")).collect();
            policy.check_addresses(page, &addresses)
        }
        (Evaluation::Lookup(_), PageUrl::Blank) => unreachable!("about:blank needs no lookup"),
    }
}

const PUBLIC: &[&str] = &["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"];

// Requirements: 2.2, 2.3, 2.4, 2.5.
#[test]
fn url_decisions_follow_policy() {
    let allow = r#"{"open":{"allow_hosts":["example.com"],"allow_host_suffixes":[".example.org"]}}"#;
    let deny =
        r#"{"open":{"deny_hosts":["bad.example"],"deny_host_suffixes":[".ads.example"],"deny_ports":[25,8443]}}"#;
    let both = r#"{"open":{"allow_host_suffixes":[".example"],"deny_host_suffixes":[".ads.example"],"deny_hosts":["a.example"]}}"#;
    let intranet = r#"{"open":{"allow_cidrs":["10.0.0.0/8","::1/128","127.0.0.0/8"]}}"#;
    let denied = r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"],"deny_hosts":["10.0.0.1","2606:4700::1111","::ffff:10.0.0.2"]}}"#;
    let rows: &[(&str, &str, &[&str], &str, &str)] = &[
        ("{}", "https://example.com/", PUBLIC, "allowed", "the default"),
        ("{}", "http://example.com/", PUBLIC, "allowed", "http too"),
        ("{}", "about:blank", &[], "allowed", ""),
        ("{}", "https://8.8.8.8/", &[], "allowed", "a public literal"),
        ("{}", "https://10.0.0.1/", &[], "address-not-public", ""),
        ("{}", "https://[::1]/", &[], "address-not-public", ""),
        ("{}", "http://0x7f.1/", &[], "address-not-public", "another form"),
        ("{}", "http://2130706433/", &[], "address-not-public", "another form"),
        ("{}", "http://[::ffff:10.0.0.1]/", &[], "address-not-public", ""),
        ("{}", "https://example.com/", &["10.0.0.1"], "address-not-public", "a name with a private address"),
        ("{}", "https://example.com/", &["93.184.215.14", "10.0.0.1"], "address-not-public", "one of two is enough"),
        ("{}", "https://example.com/", &["93.184.215.14", "::1"], "address-not-public", "in the other family too"),
        ("{}", "https://example.com/", &[], "name-not-resolved", ""),
        ("{}", "http://localhost/", PUBLIC, "host-not-public", ""),
        ("{}", "http://LOCALHOST./", PUBLIC, "host-not-public", "any form"),
        ("{}", "http://a.localhost:8080/", PUBLIC, "host-not-public", ""),
        ("{}", "http://metadata.google.internal/", PUBLIC, "host-not-public", ""),
        ("{}", "http://printer.local/", PUBLIC, "host-not-public", ""),
        ("{}", "http://mylocal/", PUBLIC, "allowed", "only the last label counts"),
        ("{}", "http://local.example/", PUBLIC, "allowed", "only the last label counts"),
        (r#"{"open":{"allow_schemes":["https"]}}"#, "http://example.com/", PUBLIC, "scheme-not-allowed", ""),
        (r#"{"open":{"allow_schemes":["https"]}}"#, "https://example.com/", PUBLIC, "allowed", "control"),
        (
            r#"{"open":{"allow_schemes":[]}}"#,
            "https://example.com/",
            PUBLIC,
            "scheme-not-allowed",
            "an empty list allows none",
        ),
        (r#"{"open":{"allow_about_blank":false}}"#, "about:blank", &[], "about-blank-not-allowed", ""),
        (allow, "https://example.com/", PUBLIC, "allowed", "exact"),
        (allow, "https://EXAMPLE.com./", PUBLIC, "allowed", "normalized"),
        (allow, "https://www.example.com/", PUBLIC, "host-not-in-allowlist", "exact means exact"),
        (allow, "https://a.example.org/", PUBLIC, "allowed", "suffix"),
        (allow, "https://a.b.example.org/", PUBLIC, "allowed", "suffix"),
        (allow, "https://example.org/", PUBLIC, "host-not-in-allowlist", "a suffix does not match the name itself"),
        (allow, "https://evilexample.org/", PUBLIC, "host-not-in-allowlist", "a suffix begins at a dot"),
        (allow, "https://example.com.evil.example/", PUBLIC, "host-not-in-allowlist", ""),
        (allow, "https://8.8.8.8/", &[], "host-not-in-allowlist", "a literal must be listed too"),
        (
            allow,
            "https://example.com/",
            &["10.0.0.1"],
            "address-not-public",
            "the list does not make an address public",
        ),
        (
            r#"{"open":{"allow_hosts":[]}}"#,
            "https://example.com/",
            PUBLIC,
            "host-not-in-allowlist",
            "present and empty",
        ),
        (
            r#"{"open":{"allow_host_suffixes":[]}}"#,
            "https://example.com/",
            PUBLIC,
            "host-not-in-allowlist",
            "present and empty",
        ),
        (
            r#"{"open":{"allow_hosts":["8.8.8.8"]}}"#,
            "http://134744072/",
            &[],
            "allowed",
            "a listed literal in another form",
        ),
        (
            r#"{"open":{"allow_hosts":["127.0.0.1"]}}"#,
            "http://127.0.0.1/",
            &[],
            "address-not-public",
            "only allow_cidrs does that",
        ),
        (deny, "https://bad.example/", PUBLIC, "host-denied", ""),
        (deny, "https://ok.example/", PUBLIC, "allowed", "control"),
        (deny, "https://x.ads.example/", PUBLIC, "host-denied", ""),
        (deny, "https://ads.example/", PUBLIC, "allowed", "a suffix does not match the name itself"),
        (deny, "http://ok.example:25/", PUBLIC, "port-denied", ""),
        (deny, "https://ok.example:8443/", PUBLIC, "port-denied", ""),
        ("{}", "http://ok.example:81/", PUBLIC, "port-denied", "below 1024"),
        ("{}", "http://ok.example:1/", PUBLIC, "port-denied", "the lowest"),
        ("{}", "https://ok.example:1023/", PUBLIC, "port-denied", "the highest"),
        ("{}", "http://8.8.8.8:22/", &[], "port-denied", "an address"),
        ("{}", "http://10.0.0.1:22/", &[], "port-denied", "the port comes before the address"),
        ("{}", "http://ok.example:080/", PUBLIC, "allowed", "control: 80 with a zero in front"),
        ("{}", "http://ok.example:443/", PUBLIC, "allowed", "control: 443 for http"),
        ("{}", "https://ok.example:80/", PUBLIC, "allowed", "control: 80 for https"),
        ("{}", "http://ok.example:1024/", PUBLIC, "allowed", "control: from 1024 on"),
        (r#"{"egress":{"mode":"off"}}"#, "http://ok.example:81/", PUBLIC, "port-denied", "in every mode"),
        (r#"{"egress":{"allow_ports":[81]}}"#, "http://ok.example:81/", PUBLIC, "allowed", "control: a listed port"),
        (r#"{"egress":{"allow_ports":[81]}}"#, "http://ok.example:82/", PUBLIC, "port-denied", "only listed ports"),
        (
            r#"{"egress":{"allow_ports":[81]},"open":{"deny_ports":[81]}}"#,
            "http://ok.example:81/",
            PUBLIC,
            "port-denied",
            "deny wins",
        ),
        ("{}", "http://update.googleapis.com/", PUBLIC, "host-denied", "only Chromium contacts it"),
        (
            r#"{"open":{"allow_hosts":["update.googleapis.com"]}}"#,
            "http://update.googleapis.com/",
            PUBLIC,
            "allowed",
            "control: on the allow list",
        ),
        (both, "https://b.example/", PUBLIC, "allowed", "control"),
        (both, "https://a.example/", PUBLIC, "host-denied", "deny wins"),
        (both, "https://x.ads.example/", PUBLIC, "host-denied", "deny wins"),
        (intranet, "https://10.1.2.3/", &[], "allowed", "named on purpose"),
        (intranet, "https://wiki.example/", &["10.1.2.3"], "allowed", "a name in it"),
        (intranet, "https://wiki.internal/", &["10.1.2.3"], "allowed", "also a reserved name"),
        (intranet, "https://wiki.internal/", &["93.184.215.14"], "host-not-public", "every address must be named"),
        (intranet, "http://localhost/", &[], "allowed", "both loopback addresses are named"),
        (intranet, "https://192.168.1.1/", &[], "address-not-public", "another range"),
        (
            r#"{"open":{"allow_cidrs":["127.0.0.0/8"]}}"#,
            "http://localhost/",
            &[],
            "host-not-public",
            "::1 is not named",
        ),
        (
            r#"{"open":{"allow_cidrs":["0.0.0.0/0"],"deny_hosts":["10.0.0.1"]}}"#,
            "http://10.0.0.1/",
            &[],
            "host-denied",
            "deny wins",
        ),
        (denied, "https://10.9.9.9/", &[], "allowed", "control: another address of the range"),
        (denied, "https://wiki.example/", &["10.0.0.1"], "host-denied", "an address is denied under every name"),
        (denied, "https://wiki.example/", &["10.9.9.9", "10.0.0.1"], "host-denied", "any of the addresses"),
        (denied, "https://wiki.internal/", &["10.0.0.1"], "host-denied", "names that are never public too"),
        (denied, "http://[::ffff:10.0.0.1]/", &[], "host-denied", "IPv4-mapped"),
        (denied, "http://[64:ff9b::a00:1]/", &[], "host-denied", "through NAT64"),
        (denied, "http://[2002:a00:1::1]/", &[], "host-denied", "through 6to4"),
        (denied, "http://wiki.example/", &["2606:4700::1111"], "host-denied", "IPv6"),
        (denied, "http://10.0.0.2/", &[], "host-denied", "denied in its IPv4-mapped form"),
    ];
    for (policy, url, addresses, expected, why) in rows {
        let decision = decide(policy, url, addresses);
        assert_eq!(decision.code.as_str(), *expected, "{url} under {policy}: {why}\n{decision}");
    }
}

// Requirement 2.7.
#[test]
fn decision_names_rule_and_location() {
    let policy = r#"{"open":{"allow_hosts":["example.com"],"deny_hosts":["x.example","bad.example"],"allow_cidrs":["10.0.0.0/8"]}}"#;
    let rows: &[(&str, &[&str])] = &[
        ("https://example.com/", PUBLIC),
        ("https://bad.example/", PUBLIC),
        ("https://other.example/", PUBLIC),
        ("https://example.com/", &["192.168.0.1"]),
        ("https://example.com/", &["64:ff9b::7f00:1"]),
        ("https://example.com:81/", PUBLIC),
    ];
    let texts: Vec<_> =
        rows.iter().map(|(url, addresses)| format!("{url}\n  {}", decide(policy, url, addresses).to_json())).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

fn host_strategy() -> impl Strategy<Value = String> {
    "(a|b|ads)(\\.(x|y))?\\.(example|test|local)|10\\.0\\.0\\.[1-3]|8\\.8\\.8\\.[1-3]"
}

fn list(hosts: &[String]) -> String {
    serde_json::to_string(hosts).expect("strings")
}

proptest! {
    /// Adding to a deny list, or to any list of denied things, never turns a refusal into an allow.
    #[test]
    fn denying_more_never_allows_more_urls(
        allow in proptest::option::of(proptest::collection::vec(host_strategy(), 0..4)),
        deny in proptest::collection::vec(host_strategy(), 0..4),
        more in proptest::collection::vec(host_strategy(), 0..4),
        port in proptest::sample::select(vec![80u16, 443, 8080]),
        host in host_strategy(),
        address in proptest::sample::select(vec!["93.184.215.14", "10.0.0.1", "::1", "2606:4700::1"]),
    ) {
        let allow = allow.map(|hosts| format!(r#""allow_hosts":{},"#, list(&hosts))).unwrap_or_default();
        let loose = format!("{{\"open\":{{{allow}\"deny_hosts\":{}}}}}", list(&deny));
        let all: Vec<_> = deny.iter().chain(&more).cloned().collect();
        let strict = format!("{{\"open\":{{{allow}\"deny_hosts\":{},\"deny_ports\":[{port}]}}}}", list(&all));
        let url = format!("http://{host}/");
        if !decide(&loose, &url, &[address]).is_allowed() {
            let stricter = decide(&strict, &url, &[address]);
            prop_assert!(!stricter.is_allowed());
        }
    }

    /// A page that may be opened passes the egress guard too, or `open` would show the guard's refusal as the page.
    #[test]
    fn allowed_page_is_allowed_connection(
        scheme in proptest::sample::select(vec!["http", "https"]),
        host in prop_oneof![host_strategy(), Just("update.googleapis.com".to_owned())],
        port in prop_oneof![Just(80u16), Just(443), 1u16..1100],
        mode in proptest::sample::select(vec!["public", "allowlist", "off"]),
        allow in proptest::option::of(proptest::collection::vec(host_strategy(), 0..3)),
        deny in proptest::collection::vec(host_strategy(), 0..2),
        schemes in proptest::sample::select(vec![r#"["http","https"]"#, r#"["https"]"#]),
        ports in proptest::collection::vec(1u16..1024, 0..40),
        subresources in proptest::sample::select(vec![r#""public""#, "[]", r#"["a.example",".test"]"#]),
        cidrs in proptest::sample::select(vec!["[]", r#"["10.0.0.0/8"]"#, r#"["0.0.0.0/0","::/0"]"#]),
        address in proptest::sample::select(vec!["93.184.215.14", "10.0.0.1", "127.0.0.1", "::1", "2606:4700::1"]),
    ) {
        let allow = allow.map(|hosts| format!(r#","allow_hosts":{}"#, list(&hosts))).unwrap_or_default();
        let ports = serde_json::to_string(&ports.iter().collect::<std::collections::BTreeSet<_>>()).expect("numbers");
        let file = format!(
            r#"{{"open":{{"allow_schemes":{schemes},"allow_cidrs":{cidrs},"deny_hosts":{}{allow}}},"egress":{{"mode":"{mode}","subresources":{subresources},"allow_ports":{ports}}}}}"#,
            list(&deny)
        );
        if decide(&file, &format!("{scheme}://{host}:{port}/"), &[address]).is_allowed() {
            let policy = parse_file(&file).expect("a valid policy");
            let mut to = Destination::parse_authority(&format!("{host}:{port}")).expect("a destination");
            to.is_plain_http = scheme == "http";
            let connection = match policy.check_connection(&to, None) {
                Evaluation::Decided(decision) => decision,
                Evaluation::Lookup(_) => {
                    policy.check_connection_addresses(&to, &[address.parse().expect("an address")], None)
                }
            };
            prop_assert!(connection.is_allowed(), "{file}: {connection}");
        }
    }

    /// One more address can only refuse.
    #[test]
    fn more_resolved_addresses_never_allow_more(first: [u8; 4], second: u128) {
        let first = IpAddr::from(first).to_string();
        let second = IpAddr::from(Ipv6Addr::from_bits(second)).to_string();
        if !decide("{}", "https://example.com/", &[&first]).is_allowed() {
            let both = decide("{}", "https://example.com/", &[&first, &second]);
            prop_assert!(!both.is_allowed());
        }
    }
}
