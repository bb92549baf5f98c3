use std::borrow::Cow;

use proptest::prelude::*;

use crate::decision::Decision;
use crate::policy::file::parse as parse_file;
use crate::policy::url::{PageUrl, parse as parse_url};
use crate::policy::{Evaluation, Policy};
use crate::session_id::SessionId;

/// Decides about a URL for a session, with one public address for any name.
fn decide(policy: &Policy, session: Option<&str>, url: &str) -> Decision {
    let session = session.map(|id| SessionId::new(id).expect("an id"));
    let policy = policy.for_session(session.as_ref());
    let target = parse_url(url).expect("a URL");
    match (policy.check(&target), &target) {
        (Evaluation::Decided(decision), _) => decision,
        (Evaluation::Lookup(_), PageUrl::Web(page)) => policy.check_addresses(page, &[[93, 184, 215, 14].into()]),
        (Evaluation::Lookup(_), PageUrl::Blank) => unreachable!("about:blank needs no lookup"),
    }
}

const SECTIONS: &str = r#"{
    "open": { "allow_hosts": ["wiki.example"], "deny_hosts": ["bad.example"], "deny_ports": [8443] },
    "sessions": [
        { "match": "u1-*", "open": { "allow_hosts": ["mail.example", "bad.example"], "deny_ports": [8000] } },
        { "match": "*-x", "open": { "allow_hosts": ["other.example"], "allow_schemes": ["https"],
            "allow_about_blank": false, "allow_cidrs": ["10.0.0.0/8"], "deny_hosts": ["mail.example"],
            "deny_host_suffixes": [".ads.example"], "allow_host_suffixes": [".example"] } },
        { "match": "u1-*", "open": { "deny_hosts": ["10.0.0.1"] } }
    ]
}"#;

#[test]
fn session_rules_apply_by_pattern_and_deny_wins() {
    let policy = parse_file(SECTIONS).expect("valid");
    for (session, url, code, location) in [
        (None, "https://wiki.example/", "allowed", "open.allow_hosts[0]"),
        (None, "https://mail.example/", "host-not-in-allowlist", "open.allow_hosts"),
        (Some("u2"), "https://wiki.example/", "allowed", "open.allow_hosts[0]"),
        (Some("u1-a"), "https://mail.example/", "allowed", "sessions[0].open.allow_hosts[0]"),
        (Some("u1-a"), "https://wiki.example/", "host-not-in-allowlist", "sessions[0].open.allow_hosts"),
        (Some("u1-a"), "https://bad.example/", "host-denied", "open.deny_hosts[0]"),
        (Some("u1-a"), "https://mail.example:8443/", "port-denied", "open.deny_ports[0]"),
        (Some("u1-a"), "https://mail.example:8000/", "port-denied", "sessions[0].open.deny_ports[0]"),
        (Some("u2"), "http://wiki.example:8000/", "allowed", "open.allow_hosts[0]"),
        (Some("u2-x"), "https://other.example/", "allowed", "sessions[1].open.allow_hosts[0]"),
        (Some("u2-x"), "http://other.example/", "scheme-not-allowed", "sessions[1].open.allow_schemes"),
        (Some("u2-x"), "about:blank", "about-blank-not-allowed", "sessions[1].open.allow_about_blank"),
        (Some("u2-x"), "https://c.ads.example/", "host-denied", "sessions[1].open.deny_host_suffixes[0]"),
        (Some("u2-x"), "https://c.example/", "allowed", "sessions[1].open.allow_host_suffixes[0]"),
        (Some("u2-x"), "https://10.0.0.1/", "host-not-in-allowlist", "sessions[1].open.allow_hosts"),
        // Both match: the first has the list of hosts, the second the suffixes, and both deny.
        (Some("u1-x"), "https://other.example/", "allowed", "sessions[1].open.allow_host_suffixes[0]"),
        (Some("u1-x"), "https://mail.example/", "host-denied", "sessions[1].open.deny_hosts[0]"),
        (Some("u1-x"), "https://10.0.0.1/", "host-denied", "sessions[2].open.deny_hosts[0]"),
    ] {
        let decision = decide(&policy, session, url);
        assert_eq!((decision.code.as_str(), decision.location.as_deref()), (code, Some(location)), "{session:?} {url}");
    }
}

#[test]
fn allowed_blocks_of_a_session_replace_those_of_all() {
    let policy = parse_file(
        r#"{"open":{"allow_cidrs":["10.0.0.0/8"]},"sessions":[{"match":"a","open":{"allow_cidrs":["192.168.0.0/16"]}},{"match":"b","open":{"allow_cidrs":[]}}]}"#,
    )
    .expect("valid");
    for (session, url, code, location) in [
        ("c", "http://10.0.0.1/", "allowed", Some("open.allow_cidrs[0]")),
        ("a", "http://10.0.0.1/", "address-not-public", None),
        ("a", "http://192.168.0.1/", "allowed", Some("sessions[0].open.allow_cidrs[0]")),
        ("b", "http://10.0.0.1/", "address-not-public", None),
    ] {
        let decision = decide(&policy, Some(session), url);
        assert_eq!((decision.code.as_str(), decision.location.as_deref()), (code, location), "{session} {url}");
    }
}

#[test]
fn policy_is_copied_only_for_matching_sessions() {
    let policy = parse_file(SECTIONS).expect("valid");
    let [other, matching] = ["u2", "u1-a"].map(|id| SessionId::new(id).expect("an id"));
    assert!(matches!(policy.for_session(None), Cow::Borrowed(_)));
    assert!(matches!(policy.for_session(Some(&other)), Cow::Borrowed(_)));
    let for_matching = policy.for_session(Some(&matching)).into_owned();
    assert_ne!(for_matching, policy, "control");
    assert_eq!(for_matching.for_session(Some(&matching)).into_owned(), for_matching, "applied once");
    assert_eq!(for_matching.for_session(Some(&other)).into_owned(), policy, "the session in question counts");
}

fn host() -> impl Strategy<Value = String> {
    "(a|b|ads)(\\.(x|y))?\\.(example|test)|8\\.8\\.8\\.[1-3]"
}

fn hosts() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(host(), 0..3)
}

/// The text of a section with these lists.
fn section(allow: Option<&Vec<String>>, deny: &[String], ports: &[u16]) -> String {
    let list = |hosts: &[String]| serde_json::to_string(hosts).expect("strings");
    let allow = allow.map(|hosts| format!(r#""allow_hosts":{},"#, list(hosts))).unwrap_or_default();
    format!(r#"{{{allow}"deny_hosts":{},"deny_ports":{ports:?}}}"#, list(deny))
}

proptest! {
    /// Adding to the deny lists of any section never turns a refusal into an allow.
    #[test]
    fn denying_more_in_a_section_never_allows_more(
        allow in proptest::collection::vec(proptest::option::of(hosts()), 3),
        deny in proptest::collection::vec(hosts(), 3),
        patterns in proptest::collection::vec(proptest::sample::select(vec!["s", "*", "other", "s*"]), 2),
        place in 0..3_usize,
        more in hosts(),
        port in proptest::sample::select(vec![80_u16, 8080]),
        host in host(),
    ) {
        let file = |extra: Option<usize>| {
            let sections: Vec<_> = (0..3).map(|position| {
                let is_extra = extra == Some(position);
                let denied: Vec<_> = deny[position].iter().chain(more.iter().filter(|_| is_extra)).cloned().collect();
                section(allow[position].as_ref(), &denied, if is_extra { &[80] } else { &[] })
            }).collect();
            let text = format!(
                r#"{{"open":{},"sessions":[{{"match":"{}","open":{}}},{{"match":"{}","open":{}}}]}}"#,
                sections[0], patterns[0], sections[1], patterns[1], sections[2]
            );
            parse_file(&text).expect("valid")
        };
        let url = format!("http://{host}:{port}/");
        if !decide(&file(None), Some("s"), &url).is_allowed() {
            prop_assert!(!decide(&file(Some(place)), Some("s"), &url).is_allowed());
        }
    }
}
