use std::net::Ipv6Addr;

use proptest::prelude::*;

use super::*;
use crate::policy::file::parse as parse_file;

const GUARD: &str = "127.0.0.1:8119";

/// Decides as the guard does, with `addresses` as the result of the lookup.
fn decide(policy: &str, authority: &str, addresses: &[&str]) -> Decision {
    let policy = parse_file(policy).expect("a valid policy");
    let to = match Destination::parse_authority(authority) {
        Ok(to) => to,
        Err(reason) => return Decision::new(Code::ProxyRequestInvalid, reason),
    };
    let guard = Some(GUARD.parse().expect("an address"));
    match policy.check_connection(&to, guard) {
        Evaluation::Decided(decision) => decision,
        Evaluation::Lookup(_) => {
            let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().expect("an address")).collect();
            policy.check_connection_addresses(&to, &addresses, guard)
        }
    }
}

// Requirement 5.1.
#[test]
fn connection_decisions_follow_policy() {
    const PUBLIC: &str = "93.184.215.14";
    // policy, host:port, its addresses, code, location
    let rows: &[(&str, &str, &[&str], &str, &str)] = &[
        ("{}", "example.com:443", &[PUBLIC], "allowed", ""),
        ("{}", "example.com:443", &[PUBLIC, "10.0.0.1"], "address-not-public", ""),
        ("{}", "example.com:443", &["10.0.0.1", PUBLIC], "address-not-public", ""),
        ("{}", "example.com:443", &["::ffff:127.0.0.1"], "address-not-public", ""),
        ("{}", "example.com:443", &["64:ff9b::a00:1"], "address-not-public", ""),
        ("{}", "example.com:443", &[], "name-not-resolved", ""),
        ("{}", "127.0.0.1:8091", &[], "address-not-public", ""),
        ("{}", "[::1]:9222", &[], "address-not-public", ""),
        ("{}", "0.0.0.0:8079", &[], "address-not-public", ""),
        ("{}", "169.254.169.254:80", &[], "address-not-public", ""),
        ("{}", "0x7f.1:8091", &[], "address-not-public", ""),
        ("{}", "2130706433:8091", &[], "address-not-public", ""),
        ("{}", "localhost:8091", &[PUBLIC], "host-not-public", ""),
        ("{}", "a.localhost:8091", &[PUBLIC], "host-not-public", ""),
        ("{}", "metadata.google.internal:80", &[PUBLIC], "host-not-public", ""),
        // The guard itself, in every form, even where loopback is allowed.
        (r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#, "127.0.0.1:8119", &[], "guard-itself", ""),
        (r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#, "127.9.9.9:8119", &[], "guard-itself", ""),
        (r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#, "0.0.0.0:8119", &[], "guard-itself", ""),
        (r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#, "[::]:8119", &[], "guard-itself", ""),
        (r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#, "[::ffff:127.0.0.1]:8119", &[], "guard-itself", ""),
        (r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#, "localhost:8119", &[], "guard-itself", ""),
        (
            r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#,
            "a.example:8119",
            &[PUBLIC, "127.0.0.1"],
            "guard-itself",
            "",
        ),
        (r#"{"open":{"allow_cidrs":["0.0.0.0/0","::/0"]}}"#, "127.0.0.1:8118", &[], "allowed", "open.allow_cidrs[0]"),
        (r#"{"egress":{"mode":"off"}}"#, "127.0.0.1:8119", &[], "guard-itself", ""),
        // An intranet that the policy names.
        (r#"{"open":{"allow_cidrs":["10.0.0.0/8"]}}"#, "10.0.0.1:8080", &[], "allowed", "open.allow_cidrs[0]"),
        (r#"{"open":{"allow_cidrs":["10.0.0.0/8"]}}"#, "10.0.0.1:22", &[], "port-denied", "egress.allow_ports"),
        (
            r#"{"open":{"allow_cidrs":["10.0.0.0/8"]},"egress":{"allow_ports":[22]}}"#,
            "10.0.0.1:22",
            &[],
            "allowed",
            "open.allow_cidrs[0]",
        ),
        // Ports.
        ("{}", "example.com:80", &[PUBLIC], "allowed", ""),
        ("{}", "example.com:8443", &[PUBLIC], "allowed", ""),
        ("{}", "example.com:25", &[PUBLIC], "port-denied", "egress.allow_ports"),
        (r#"{"egress":{"allow_ports":[25]}}"#, "example.com:25", &[PUBLIC], "allowed", ""),
        (
            r#"{"open":{"deny_ports":[25]},"egress":{"allow_ports":[25]}}"#,
            "example.com:25",
            &[PUBLIC],
            "port-denied",
            "open.deny_ports[0]",
        ),
        (r#"{"open":{"deny_ports":[8443]}}"#, "example.com:8443", &[PUBLIC], "port-denied", "open.deny_ports[0]"),
        // Deny lists apply in every mode.
        (
            r#"{"open":{"deny_hosts":["example.com"]}}"#,
            "EXAMPLE.com.:443",
            &[PUBLIC],
            "host-denied",
            "open.deny_hosts[0]",
        ),
        (
            r#"{"open":{"deny_hosts":["93.184.215.14"]}}"#,
            "example.com:443",
            &[PUBLIC],
            "host-denied",
            "open.deny_hosts[0]",
        ),
        (
            r#"{"open":{"deny_host_suffixes":[".example.com"]},"egress":{"mode":"off"}}"#,
            "a.example.com:443",
            &[PUBLIC],
            "host-denied",
            "open.deny_host_suffixes[0]",
        ),
        (
            r#"{"open":{"deny_hosts":["10.0.0.1"]},"egress":{"mode":"off"}}"#,
            "::ffff:10.0.0.1:443",
            &[],
            "proxy-request-invalid",
            "",
        ),
        (
            r#"{"open":{"deny_hosts":["10.0.0.1"]},"egress":{"mode":"off"}}"#,
            "[::ffff:10.0.0.1]:443",
            &[],
            "host-denied",
            "open.deny_hosts[0]",
        ),
        // Allow lists apply to connections only in their mode.
        (r#"{"open":{"allow_hosts":["example.com"]}}"#, "cdn.example.net:443", &[PUBLIC], "allowed", ""),
        (
            r#"{"open":{"allow_hosts":["example.com"]},"egress":{"mode":"allowlist"}}"#,
            "cdn.example.net:443",
            &[PUBLIC],
            "host-not-in-allowlist",
            "open.allow_hosts",
        ),
        (
            r#"{"open":{"allow_hosts":["example.com"]},"egress":{"mode":"allowlist"}}"#,
            "example.com:443",
            &[PUBLIC],
            "allowed",
            "open.allow_hosts[0]",
        ),
        (
            r#"{"open":{"allow_hosts":["example.com"]},"egress":{"mode":"allowlist"}}"#,
            "example.com:443",
            &["10.0.0.1"],
            "address-not-public",
            "",
        ),
        (
            r#"{"open":{"allow_hosts":[]},"egress":{"mode":"allowlist"}}"#,
            "example.com:443",
            &[PUBLIC],
            "host-not-in-allowlist",
            "open.allow_hosts",
        ),
        // Mode `off`: any address but this machine's own.
        (r#"{"egress":{"mode":"off"}}"#, "intranet.example:80", &["10.0.0.1"], "allowed", "egress.mode"),
        (r#"{"egress":{"mode":"off"}}"#, "a.internal:80", &["10.0.0.1"], "allowed", "egress.mode"),
        (r#"{"egress":{"mode":"off"}}"#, "127.0.0.1:8091", &[], "address-not-public", "egress.mode"),
        (r#"{"egress":{"mode":"off"}}"#, "[::ffff:127.0.0.1]:8091", &[], "address-not-public", "egress.mode"),
        (r#"{"egress":{"mode":"off"}}"#, "localhost:8091", &[], "address-not-public", "egress.mode"),
        (r#"{"egress":{"mode":"off"}}"#, "0.0.0.0:8091", &[], "address-not-public", "egress.mode"),
        (
            r#"{"egress":{"mode":"off"},"open":{"allow_cidrs":["127.0.0.0/8"]}}"#,
            "127.0.0.1:8091",
            &[],
            "allowed",
            "egress.mode",
        ),
        (r#"{"egress":{"mode":"off"}}"#, "example.com:443", &[], "name-not-resolved", ""),
        // Hosts of Chromium itself.
        ("{}", "update.googleapis.com:443", &[PUBLIC], "host-denied", ""),
        (r#"{"egress":{"mode":"off"}}"#, "update.googleapis.com:443", &[PUBLIC], "host-denied", ""),
        (
            r#"{"open":{"allow_hosts":["update.googleapis.com"]}}"#,
            "update.googleapis.com:443",
            &[PUBLIC],
            "allowed",
            "open.allow_hosts[0]",
        ),
    ];
    for (policy, authority, addresses, code, location) in rows {
        let decision = decide(policy, authority, addresses);
        let found = (decision.code.as_str(), decision.location.as_deref().unwrap_or_default());
        assert_eq!(found, (*code, *location), "{authority} {addresses:?} with {policy}: {decision}");
    }
}

#[test]
fn authority_is_exactly_one_host_and_port() {
    for text in [
        "",
        ":",
        "example.com",
        "example.com:",
        ":443",
        "example.com:0",
        "example.com:65536",
        "example.com:+80",
        "example.com: 80",
        "example.com:80 ",
        "user@example.com:443",
        "example.com:443:443",
        "::1:443",
        "[::1]",
        "[::1%25lo]:443",
        "[fe80::1%lo]:443",
        "example.com/:443",
        "http://example.com:443",
        "exa mple.com:443",
        "example.com\\@evil.example:443",
        "%31%32%37.0.0.1:443",
        "b\u{fc}cher.example:443",
        "*:443",
        "a..b:443",
        "example.com?:443",
        "example.com#:443",
        "256.1.1.1:443",
        "example.com:000443",
    ] {
        assert!(Destination::parse_authority(text).is_err(), "{text:?}");
    }
    for (text, host, port) in [
        ("example.com:443", "example.com", 443),
        ("EXAMPLE.com.:80", "example.com", 80),
        ("[::1]:65535", "::1", 65535),
        ("0177.1:1", "127.0.0.1", 1),
    ] {
        let to = Destination::parse_authority(text).expect(text);
        assert_eq!((to.host.to_string().as_str(), to.port), (host, port));
    }
}

#[test]
fn allow_schemes_apply_to_plain_http_but_not_to_tunnels() {
    let policy = parse_file(r#"{"open":{"allow_schemes":["https"]},"egress":{"mode":"allowlist"}}"#).expect("valid");
    let to = |is_plain_http| Destination { host: Host::Name("example.com".to_owned()), port: 8080, is_plain_http };
    let refused = policy.check_connection_name(&to(true)).expect_err("plain http");
    assert_eq!(refused.code, Code::SchemeNotAllowed);
    assert!(policy.check_connection_name(&to(false)).is_ok(), "a tunnel");
    assert!(Policy::default().check_connection_name(&to(true)).is_ok(), "control");
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<u128>().prop_map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits))),
        proptest::sample::select(vec![
            "93.184.215.14",
            "10.0.0.1",
            "127.0.0.1",
            "::1",
            "2606:4700::1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1"
        ])
        .prop_map(|text| text.parse().expect("an address")),
    ]
}

fn mode() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["public", "allowlist", "off"])
}

proptest! {
    /// A connection is allowed only if each of its addresses is.
    #[test]
    fn every_dialed_address_is_allowed(
        addresses in proptest::collection::vec(address(), 0..4),
        port in proptest::sample::select(vec![80u16, 443, 8080, 8119]),
        private in any::<bool>(),
        mode in proptest::sample::select(vec!["public", "allowlist"]),
    ) {
        let cidrs = if private { r#""10.0.0.0/8""# } else { "" };
        let text = format!(r#"{{"open":{{"allow_cidrs":[{cidrs}]}},"egress":{{"mode":"{mode}"}}}}"#);
        let policy = parse_file(&text).expect("valid");
        let to = Destination { host: Host::Name("example.com".to_owned()), port, is_plain_http: false };
        let guard = Some(GUARD.parse().expect("an address"));
        if policy.check_connection_addresses(&to, &addresses, guard).is_allowed() {
            prop_assert!(!addresses.is_empty());
            let is_exempt = |one| policy.allowed_block_location(one).is_some();
            for one in addresses {
                prop_assert!(address::check_public(one, is_exempt).is_ok(), "{}", one);
                prop_assert!(!is_own_machine(one));
                // It is allowed alone, too.
                let alone = Destination { host: Host::Address(one), ..to.clone() };
                prop_assert!(policy.check_connection_addresses(&alone, &[one], guard).is_allowed());
            }
        }
    }

    /// No policy allows a connection to the guard itself.
    #[test]
    fn loopback_addresses_never_reach_the_guard_itself(last in any::<[u8; 3]>(), mode in mode()) {
        let text = format!(r#"{{"open":{{"allow_cidrs":["0.0.0.0/0","::/0"]}},"egress":{{"mode":"{mode}"}}}}"#);
        let policy = parse_file(&text).expect("valid");
        let one = IpAddr::from([127, last[0], last[1], last[2]]);
        let to = Destination { host: Host::Address(one), port: 8119, is_plain_http: true };
        let decision = policy.check_connection_addresses(&to, &[one], Some(GUARD.parse().expect("an address")));
        prop_assert_eq!(decision.code, Code::GuardItself);
    }

    /// One more entry of a deny list, or one more address, never allows more, in any mode.
    #[test]
    fn denying_more_never_allows_more_connections(
        mode in mode(),
        denied in proptest::collection::vec("(a|b)(\\.(x|y))?\\.example|8\\.8\\.8\\.[1-3]", 0..3),
        more in proptest::collection::vec("(a|b)(\\.(x|y))?\\.example|8\\.8\\.8\\.[1-3]", 0..3),
        host in "(a|b)(\\.(x|y))?\\.example|8\\.8\\.8\\.[1-3]|10\\.0\\.0\\.1",
        first in address(),
        second in address(),
        port in proptest::sample::select(vec![25u16, 80, 443]),
    ) {
        let policy = |hosts: &[String], ports: &str| {
            let hosts = serde_json::to_string(hosts).expect("strings");
            format!(r#"{{"open":{{"deny_hosts":{hosts},"deny_ports":[{ports}]}},"egress":{{"mode":"{mode}"}}}}"#)
        };
        let (first, second) = (first.to_string(), second.to_string());
        let authority = format!("{host}:{port}");
        let loose = decide(&policy(&denied, ""), &authority, &[&first]);
        if !loose.is_allowed() {
            let all: Vec<_> = denied.iter().chain(&more).cloned().collect();
            let stricter = decide(&policy(&all, &port.to_string()), &authority, &[&first]);
            prop_assert!(!stricter.is_allowed());
            let longer = decide(&policy(&denied, ""), &authority, &[&first, &second]);
            prop_assert!(!longer.is_allowed());
        }
    }

    #[test]
    fn authority_parser_never_panics(text in any::<String>()) {
        let _ = Destination::parse_authority(&text);
    }
}

#[test]
fn subresources_narrow_connections_to_listed_hosts() {
    const PUBLIC: &[&str] = &["93.184.215.14"];
    let listed = r#"{"open":{"allow_hosts":["shop.example"]},"egress":{"subresources":["cdn.example",".static.example","8.8.8.8"]}}"#;
    let no_list = r#"{"egress":{"subresources":["cdn.example"]}}"#;
    let public = r#"{"open":{"allow_hosts":["shop.example"]},"egress":{"subresources":"public"}}"#;
    let denied = r#"{"open":{"allow_hosts":["shop.example"],"deny_hosts":["cdn.example"]},"egress":{"subresources":["cdn.example"]}}"#;
    let strict =
        r#"{"open":{"allow_hosts":["shop.example"]},"egress":{"mode":"allowlist","subresources":["cdn.example"]}}"#;
    for (policy, authority, addresses, code, location) in [
        (listed, "shop.example:443", PUBLIC, "allowed", "open.allow_hosts[0]"),
        (listed, "cdn.example:443", PUBLIC, "allowed", "egress.subresources[0]"),
        (listed, "a.static.example:443", PUBLIC, "allowed", "egress.subresources[1]"),
        (listed, "8.8.8.8:443", &[], "allowed", "egress.subresources[2]"),
        (listed, "static.example:443", PUBLIC, "host-not-in-allowlist", "egress.subresources"),
        (listed, "other.example:443", PUBLIC, "host-not-in-allowlist", "egress.subresources"),
        (listed, "cdn.example:443", &["10.0.0.1"], "address-not-public", ""),
        (public, "other.example:443", PUBLIC, "allowed", ""),
        (no_list, "other.example:443", PUBLIC, "allowed", ""),
        (denied, "cdn.example:443", PUBLIC, "host-denied", "open.deny_hosts[0]"),
        (strict, "cdn.example:443", PUBLIC, "host-not-in-allowlist", "open.allow_hosts"),
        (strict, "shop.example:443", PUBLIC, "allowed", "open.allow_hosts[0]"),
    ] {
        let decision = decide(policy, authority, addresses);
        let found = (decision.code.as_str(), decision.location.as_deref().unwrap_or_default());
        assert_eq!(found, (code, location), "{authority} under {policy}");
    }
    // A proxy behind the guard looks the name up.
    let policy = parse_file(listed).expect("valid");
    for (authority, code) in [("cdn.example:443", "allowed"), ("other.example:443", "host-not-in-allowlist")] {
        let to = Destination::parse_authority(authority).expect("a destination");
        assert_eq!(policy.check_connection_unresolved(&to).code.as_str(), code, "{authority}");
    }
}
