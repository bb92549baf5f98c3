use serde_json::{Value, json};

use super::*;
use crate::grammar::Profile;
use crate::policy::browser::{Isolation, StateSource};
use crate::policy::rules::{
    CallLimits, EgressLimits, EgressMode, EgressRules, Engine, SessionAccess, Subresources, Upstream,
};
use crate::policy::url::Host;
use crate::session_id::SessionId;

fn problems(text: &str) -> String {
    match parse(text) {
        Ok(_) => "valid".to_owned(),
        Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

// Requirement 2.2.
#[test]
fn full_policy_file_is_valid() {
    let policy = parse(
        r#"{"open":{"allow_schemes":["https"],"allow_about_blank":false,"allow_hosts":["Example.COM","10.0.0.5","B\u00fccher.example"],
        "allow_host_suffixes":[".Example.org"],"deny_hosts":["bad.example.org"],"deny_host_suffixes":[".ads.example.org"],
        "allow_cidrs":["10.0.0.0/8","fd00::/8","192.168.1.5"],"deny_ports":[25]},
        "subcommands":{"enable":["back","tab"]},"runtime":{"enable":["cookies"]},"limits":{"max_timeout_sec":60,"max_output_chars":5000,"max_image_bytes":0},"browser":{"isolation":"session","state":{"u1-*":{"file":"/run/state.json"}}},"snapshot":{"engine":"gate"},"sessions":[{"match":"u1-*","open":{"deny_ports":[8443]}}],"egress":{"mode":"allowlist","subresources":["CDN.example",".Static.example"],"allow_ports":[88],"upstream":"http://Proxy.example:3128","upstream_credentials_file":"/run/secrets/proxy",
        "limits":{"max_connections":10,"idle_sec":5,"max_header_bytes":2048,"max_bytes":1000}}}"#,
    )
    .expect("valid");
    assert!(!policy.allows_scheme("http").0 && policy.allows_scheme("https").0 && !policy.allows_about_blank().0);
    assert_eq!(policy.allow_location("example.com").as_deref(), Some("open.allow_hosts[0]"));
    assert_eq!(policy.allow_location("xn--bcher-kva.example").as_deref(), Some("open.allow_hosts[2]"));
    assert_eq!(policy.allow_location("a.example.org").as_deref(), Some("open.allow_host_suffixes[0]"));
    assert_eq!(policy.enabled_subcommands, ["back", "tab"]);
    assert!(policy.enables("back") && !policy.enables("cookies"));
    assert!(policy.enables_in(Profile::Compat, "cookies") && !policy.enables_in(Profile::Compat, "back"));
    assert!(policy.offers(Profile::Compat, "cookies") && policy.offers(Profile::Compat, "back"));
    assert!(!policy.offers(Profile::Strict, "cookies") && policy.offers(Profile::Tool, "open"));
    assert_eq!(policy.limits, CallLimits { max_timeout_sec: Some(60), max_output_chars: 5000, max_image_bytes: 0 });
    let proxy = Upstream {
        host: Host::Name("proxy.example".to_owned()),
        port: 3128,
        credentials_file: Some("/run/secrets/proxy".into()),
    };
    let limits = EgressLimits { max_connections: 10, idle_sec: 5, max_header_bytes: 2048, max_bytes: Some(1000) };
    let subresources = Subresources::Listed(vec!["cdn.example".to_owned(), ".static.example".to_owned()].into());
    let mode = EgressMode::Allowlist;
    assert_eq!(policy.egress, EgressRules { mode, subresources, allow_ports: vec![88], upstream: Some(proxy), limits });
    assert_eq!(policy.browser.isolation, Some(Isolation::Session));
    assert_eq!(policy.engine(), Some(Engine::Cdp));
    assert_eq!(Policy::default().engine(), None);
    let id = SessionId::new("u1-x").expect("an id");
    assert_eq!(policy.browser_state(&id), Some(&StateSource::File("/run/state.json".into())));
    let session = policy.for_session(Some(&id));
    assert_eq!(session.denied_port_location(8443).as_deref(), Some("sessions[0].open.deny_ports[0]"));
}

// Requirement 7.0.
#[test]
fn engine_is_named_at_the_top_or_for_sessions() {
    let policy = parse(r#"{"engine":"cdp","sessions":[{"match":"old-*","engine":"agent-browser"}]}"#).expect("valid");
    let engine = |id: &str| policy.for_session(Some(&SessionId::new(id).expect("an id"))).engine();
    assert_eq!([engine("a"), engine("old-1")], [Some(Engine::Cdp), Some(Engine::AgentBrowser)]);
    for (text, engine) in [
        ("{}", None),
        (r#"{"snapshot":{"engine":"gate"}}"#, Some(Engine::Cdp)),
        (r#"{"snapshot":{"engine":"agent-browser"}}"#, Some(Engine::AgentBrowser)),
        (r#"{"engine":"agent-browser","sandbox":{"backend":"landlock"}}"#, Some(Engine::AgentBrowser)),
        (r#"{"engine":"cdp","sandbox":{"require":true}}"#, Some(Engine::Cdp)),
    ] {
        let policy = parse(text).expect(text);
        assert_eq!(policy.engine(), engine, "{text}");
        assert_eq!(policy.notes().iter().any(|note| note.contains("older name")), text.contains("snapshot"), "{text}");
    }
    for (text, place) in [
        (r#"{"engine":"cdp","snapshot":{"engine":"gate"}}"#, "snapshot.engine"),
        (r#"{"engine":"gate"}"#, "engine"),
        (r#"{"engine":"cdp","sandbox":{"backend":"landlock"}}"#, "sandbox.backend"),
    ] {
        let problems = parse(text).expect_err(text);
        assert!(problems.iter().any(|problem| problem.to_string().starts_with(&format!("{place}: "))), "{problems:?}");
    }
}

// Requirement 2.2.
#[test]
fn policy_problems_are_reported_at_once() {
    insta::assert_snapshot!(problems(
        r#"{"opne":{},"open":{"allow_schemes":["https","file"],"allow_about_blank":"yes","allow_hosts":["*.example.com",".example.com","https://example.com/","example.com:80","",5],
        "allow_host_suffixes":["example.com",".10.0.0.1","."],"deny_hosts":"bad.example","allow-hosts":[],"allow_cidrs":["10.0.0.1/8","10.0.0.0/40","intranet"],"deny_ports":[0,70000,"80"]},
        "subcommands":{"enable":["eval","open","back","fly"]},"limits":{"max_timeout_sec":121,"max_output_chars":10,"max_image_bytes":-1,"foo.bar":1},"egress":{"mode":"none","upstream":1,"allow_ports":[0],"upstream_credentials_file":"proxy","limits":{"max_connections":0,"idle_sec":"5","max_header_bytes":70000,"max_bytes":0,"max_tunnels":1}}}"#
    ));
}

#[test]
fn range_of_addresses_is_named_in_place_of_a_host() {
    for (field, host) in
        [("allow_hosts", "10.0.0.0/8"), ("deny_hosts", "fd00::/8"), ("deny_hosts", "10.0.0.1-10.0.0.9")]
    {
        let text = problems(&json!({"open": {field: [host]}}).to_string());
        assert!(text.contains(&format!("open.{field}[0]: `{host}` is a range of addresses")), "{text}");
        assert!(text.contains("open.allow_cidrs"), "{text}");
    }
    let name = problems(r#"{"open":{"allow_hosts":["a-b/c"]}}"#);
    assert!(!name.contains("range"), "control: {name}");
}

#[test]
fn suffix_with_a_wildcard_is_suggested_without_it() {
    for (suffix, fix) in [("*.example.com", ".example.com"), ("*example.com", ".example.com"), ("*", ".example.com")] {
        let text = problems(&json!({"open": {"allow_host_suffixes": [suffix]}}).to_string());
        assert!(text.contains(&format!("`{suffix}` must begin with a dot; write `{fix}`")), "{text}");
    }
}

#[test]
fn runtime_policy_problems_are_reported_at_once() {
    insta::assert_snapshot!(
        [
            r#"{"runtime":[]}"#,
            r#"{"runtime":{"enable":"cookies","enabel":[],"profile":"compat"}}"#,
            r#"{"runtime":{"enable":["cookies","find","back","eval",1]},"subcommands":{"enable":["cookies"]}}"#,
        ]
        .map(problems)
        .join("\n")
    );
    assert_eq!(problems(r#"{"runtime":{}}"#), "valid");
    assert!(!parse("{}").expect("valid").enables_in(Profile::Compat, "cookies"), "off unless it is named");
}

#[test]
fn session_and_state_problems_are_reported_at_once() {
    insta::assert_snapshot!(problems(
        r#"{"browser":{"isolation":"none","state":{"u 1":{"file":"/x"},"a":{},"b":{"file":"x","cookies":[]},"c":{"cookies":[{"name":"","value":"a;b","domain":"https://x","path":"x","expires":-2,"httpOnly":1,"secure":"yes","sameSite":"no","size":3}],"origins":[{"origin":"https://a.example/path","localStorage":[{"name":1}]},{}]},"d":[]}},
        "sessions":[{"match":"u1/*","open":{"deny_ports":[0],"allow_host":[]}},{"open":{}},{"match":"u1"},{"match":"u1","open":[],"egress":{}},1],"egress":{"subresources":["*.example",".a.example",5]}}"#
    ));
}

#[test]
fn own_sessions_need_a_browser_that_separates_them() {
    let with = |browser: &str| problems(&format!(r#"{{"access":{{"sessions":"own"}}{browser}}}"#));
    assert_eq!(with(r#","browser":{"isolation":"session"}"#), "valid");
    let message =
        "access.sessions: own needs sessions that share nothing in the browser; set browser.isolation to session";
    for browser in ["", r#","browser":{"isolation":"shared"}"#, r#","browser":{}"#] {
        assert_eq!(with(browser), message, "{browser}");
    }
    assert_eq!(problems(r#"{"access":{"sessions":"any"}}"#), "valid");
    assert_eq!(parse("{}").expect("valid").access.sessions, SessionAccess::Any);
    assert_eq!(
        problems(r#"{"access":{"sessions":"all","session":"own"}}"#),
        "access.session: unknown key; did you mean `sessions`?\naccess.sessions: must be `any` or `own`, not `all`"
    );
}

#[test]
fn duplicate_keys_do_not_hide_other_problems() {
    let text = r#"{"limits":{"max_timeout_sec":1,"max_timeout_sec":0},"open":{"deny_ports":[0]},"open":{"opn":1}}"#;
    assert_eq!(
        problems(text),
        "limits.max_timeout_sec: duplicate key; keep one\n\
         open: duplicate key; keep one\n\
         open.opn: unknown key; remove it\n\
         limits.max_timeout_sec: must be a whole number from 1 to 120, not `0`"
    );
}

#[test]
fn problems_do_not_repeat_credentials() {
    for text in [
        r#"{"egress":{"upstream":"http://user:secret@proxy.example:3128"}}"#,
        r#"{"egress":{"upstream":"user:secret@proxy.example"}}"#,
        r#"{"egress":{"upstream":"http://proxy.example:3128/secret"}}"#,
        r#"{"egress":{"upstream":"http://proxy.example:3128","upstream_credentials_file":"user:secret"}}"#,
        r#"{"egress":{"subresources":"secret"}}"#,
        r#"{"egress":{"upstream":["secret"],"limits":"secret","allow_ports":"secret"}}"#,
    ] {
        let problems = problems(text);
        assert!(problems.starts_with("egress.") && !problems.contains("secret"), "{problems}");
    }
}

#[test]
fn documents_that_are_not_one_object_are_refused() {
    insta::assert_snapshot!(
        [
            "",
            "[]",
            "null",
            "{",
            "{} {}",
            "{\"open\":{\"deny_hosts\":[\"a.example\"],\"deny_hosts\":[]}}",
            "{\"open\":null}",
            "\u{feff}{}",
        ]
        .map(|text| format!("{text:?}\n  {}", problems(text)))
        .join("\n")
    );
}

#[test]
fn schema_and_parser_agree() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let rows: &[&str] = &[
        "{}",
        r#"{"$schema":"x"}"#,
        r#"{"$schema":1}"#,
        r#"{"open":{}}"#,
        r#"{"open":[]}"#,
        r#"{"open":{"allow_schemes":["http"]}}"#,
        r#"{"open":{"allow_schemes":["ftp"]}}"#,
        r#"{"open":{"allow_about_blank":0}}"#,
        r#"{"open":{"allow_hosts":[]}}"#,
        r#"{"open":{"allow_hosts":[1]}}"#,
        r#"{"open":{"allow_hosts":["*.example.com"]}}"#,
        r#"{"open":{"allow_hosts":[".example.com"]}}"#,
        r#"{"open":{"allow_host_suffixes":["example.com"]}}"#,
        r#"{"open":{"allow_host_suffixes":[".example.com"]}}"#,
        r#"{"open":{"deny_ports":[0]}}"#,
        r#"{"open":{"deny_ports":[65535]}}"#,
        r#"{"open":{"deny_ports":[65536]}}"#,
        r#"{"open":{"deny_ports":[1.5]}}"#,
        r#"{"open":{"other":1}}"#,
        r#"{"subcommands":{"enable":["back"]}}"#,
        r#"{"subcommands":{"enable":["eval"]}}"#,
        r#"{"subcommands":{"enable":["open"]}}"#,
        r#"{"runtime":{}}"#,
        r#"{"runtime":{"enable":[]}}"#,
        r#"{"runtime":{"enable":["cookies"]}}"#,
        r#"{"runtime":{"enable":["back"]}}"#,
        r#"{"runtime":{"enable":"cookies"}}"#,
        r#"{"runtime":{"other":[]}}"#,
        r#"{"limits":{"max_timeout_sec":0}}"#,
        r#"{"limits":{"max_timeout_sec":120}}"#,
        r#"{"limits":{"max_output_chars":30001}}"#,
        r#"{"limits":{"max_image_bytes":4194304}}"#,
        r#"{"limits":{"max_image_bytes":4194305}}"#,
        r#"{"egress":{"mode":"off"}}"#,
        r#"{"egress":{"mode":"maybe"}}"#,
        r#"{"egress":{"allow_ports":[88]}}"#,
        r#"{"egress":{"allow_ports":[0]}}"#,
        r#"{"egress":{"upstream":"http://proxy.example:3128"}}"#,
        r#"{"egress":{"upstream":"http://[fd00::1]:3128/"}}"#,
        r#"{"egress":{"upstream":"http://proxy.example"}}"#,
        r#"{"egress":{"upstream":"https://proxy.example:3128"}}"#,
        r#"{"egress":{"upstream":"http://user:password@proxy.example:3128"}}"#,
        r#"{"egress":{"upstream":"http://proxy.example:3128/path"}}"#,
        r#"{"egress":{"upstream":"http://proxy.example:3128","upstream_credentials_file":"/run/secrets/proxy"}}"#,
        r#"{"egress":{"upstream":"http://proxy.example:3128","upstream_credentials_file":"proxy"}}"#,
        r#"{"egress":{"upstream_credentials_file":"/run/secrets/proxy"}}"#,
        r#"{"egress":{"limits":{"max_connections":1024,"idle_sec":3600,"max_header_bytes":1024,"max_bytes":1}}}"#,
        r#"{"egress":{"limits":{"max_connections":1025}}}"#,
        r#"{"egress":{"limits":{"idle_sec":0}}}"#,
        r#"{"egress":{"limits":{"max_bytes":0}}}"#,
        r#"{"egress":{"limits":{"max_header_bytes":65537}}}"#,
        r#"{"browser":{}}"#,
        r#"{"browser":{"isolation":"shared"}}"#,
        r#"{"browser":{"isolation":"none"}}"#,
        r#"{"snapshot":{"engine":"gate"}}"#,
        r#"{"snapshot":{"engine":"own"}}"#,
        r#"{"browser":{"state":{"a":{"file":"/x"}}}}"#,
        r#"{"browser":{"state":{"a":{"file":"x"}}}}"#,
        r#"{"browser":{"state":{"a b":{"file":"/x"}}}}"#,
        r#"{"browser":{"state":{"a":{}}}}"#,
        r#"{"browser":{"state":{"a":{"other":1}}}}"#,
        r#"{"browser":{"state":{"*":{"cookies":[],"origins":[]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n","value":"","domain":".a.example","path":"/"}]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n","value":"","domain":"a.example","path":"/","expires":-1}]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n","value":"","domain":"a.example","path":"/","expires":1.5}]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n","value":"","domain":"a.example","path":"/","expires":-2}]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n","value":"","domain":"a.example","path":"/","sameSite":"Lax"}]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n","value":"","domain":"a.example","path":"/","sameSite":"lax"}]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n","value":"","domain":"a.example"}]}}}}"#,
        r#"{"browser":{"state":{"a":{"cookies":[{"name":"n=","value":"","domain":"a.example","path":"/"}]}}}}"#,
        r#"{"browser":{"state":{"a":{"origins":[{"origin":"https://a.example"}]}}}}"#,
        r#"{"browser":{"state":{"a":{"origins":[{"origin":"a.example"}]}}}}"#,
        r#"{"browser":{"state":{"a":{"origins":[{"origin":"https://a.example","localStorage":[{"name":"n","value":"v"}]}]}}}}"#,
        r#"{"browser":{"state":{"a":{"origins":[{"origin":"https://a.example","localStorage":[{"name":"n"}]}]}}}}"#,
        r#"{"sessions":[{"match":"u1-*","open":{"deny_ports":[1]}}]}"#,
        r#"{"sessions":[{"match":"u1-*","open":{"deny_ports":[0]}}]}"#,
        r#"{"sessions":[{"match":"","open":{}}]}"#,
        r#"{"sessions":[{"match":"u1-*"}]}"#,
        r#"{"sessions":{"match":"u1-*","open":{}}}"#,
        r#"{"egress":{"subresources":"public"}}"#,
        r#"{"egress":{"subresources":"all"}}"#,
        r#"{"egress":{"subresources":[]}}"#,
        r#"{"egress":{"subresources":["a.example",".b.example"]}}"#,
        r#"{"egress":{"subresources":["*.b.example"]}}"#,
        r#"{"sandbox":{}}"#,
        r#"{"sandbox":{"enabled":false}}"#,
        r#"{"sandbox":{"enabled":0}}"#,
        r#"{"sandbox":{"backend":"auto","mode":"shared","require":true}}"#,
        r#"{"sandbox":{"backend":"other"}}"#,
        r#"{"sandbox":{"mode":"per_session"}}"#,
        r#"{"sandbox":{"filesystem":{"denyRead":["/x"],"allowWrite":[],"denyWrite":["/y/z"]}}}"#,
        r#"{"sandbox":{"filesystem":{"denyRead":["x","*.pem","/x/*"],"denyWrite":[".env"]}}}"#,
        r#"{"sandbox":{"filesystem":{"denyRead":["{a,b}"]}}}"#,
        r#"{"sandbox":{"filesystem":{"allowWrite":["x"]}}}"#,
        r#"{"sandbox":{"filesystem":{"allowWrite":["~x/y"]}}}"#,
        r#"{"sandbox":{"backend":"firecracker"}}"#,
        r#"{"sandbox":{"backends":{"docker":{"networkMode":"bridge"}}}}"#,
        r#"{"sandbox":{"backends":{"docker":{"networkMode":"-x"}}}}"#,
        r#"{"sandbox":{"backends":{"srt":{"settingsPath":"/s.json"}}}}"#,
        r#"{"sandbox":{"backends":{"srt":{"settingsPath":"s.json"}}}}"#,
        r#"{"sandbox":{"filesystem":{"read":[]}}}"#,
        r#"{"sandbox":{"network":{"allowLocalBinding":true,"deniedDomains":["a.example"]}}}"#,
        r#"{"sandbox":{"network":{"allowLocalBinding":1}}}"#,
        r#"{"sandbox":{"runtime":{"cleanupOnExit":true,"timeout":300}}}"#,
        r#"{"sandbox":{"runtime":{"timeout":301}}}"#,
        r#"{"sandbox":{"backends":{"landlock":{"maxProcesses":64,"maxFileBytes":1048576,"maxOpenFiles":256}}}}"#,
        r#"{"sandbox":{"backends":{"landlock":{"maxProcesses":63}}}}"#,
        r#"{"sandbox":{"backends":{"bubblewrap":{"program":"/usr/bin/bwrap","maxProcesses":64}}}}"#,
        r#"{"sandbox":{"backends":{"bubblewrap":{"program":"bwrap"}}}}"#,
        r#"{"sandbox":{"backends":{"srt":{"program":"/usr/bin/srt"},"docker":{"socket":"/s","image":"x"}}}}"#,
        r#"{"sandbox":{"backends":{"none":{}}}}"#,
        r#"{"other":1}"#,
        "[]",
    ];
    for text in rows {
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(validator.is_valid(&value), parse(text).is_ok(), "{text}: {}", problems(text));
    }
}

#[test]
fn the_published_schema_is_a_contract() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema()).expect("JSON"));
}

/// Calls `check` for each field of an object's schema, with the keys that lead to it.
fn for_each_field(schema: &Value, path: &[String], check: &mut impl FnMut(&[String], &Value)) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = [path, std::slice::from_ref(name)].concat();
        check(&path, field);
        for_each_field(field, &path, check);
    }
}

/// Values around the limits of a schema, and one of each JSON type.
fn probes(schema: &Value) -> Vec<Value> {
    let mut probes =
        vec![Value::Null, true.into(), 1.5.into(), (-1).into(), "word".into(), json!([]), json!({}), json!({"x": 1})];
    for limit in [&schema["minimum"], &schema["maximum"]].into_iter().filter_map(Value::as_u64) {
        probes.extend([limit.wrapping_sub(1), limit, limit + 1].map(Value::from));
    }
    probes.extend(schema["enum"].as_array().into_iter().flatten().cloned());
    if schema["items"].is_object() {
        probes.extend(self::probes(&schema["items"]).into_iter().map(|item| json!([item])));
    }
    probes
}

#[test]
fn schema_and_reader_agree_on_every_field() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let mut fields = 0;
    for_each_field(&schema, &[], &mut |path, field| {
        fields += 1;
        for probe in probes(field) {
            let text = [&probe, &probe[0]].into_iter().any(Value::is_string);
            let chosen = probe == "docker" || probe == "own";
            let document = path.iter().rev().fold(probe, |value, name| json!({ name.as_str(): value }));
            let (is_valid, is_read) = (validator.is_valid(&document), parse(&document.to_string()).is_ok());
            // The reader alone knows the syntax of texts, that the backend `docker` needs an image, and that sessions with owners
            // need the isolation `session`.
            let is_stricter = chosen || (text && field["enum"].is_null() && field["items"]["enum"].is_null());
            assert!(is_valid == is_read || (is_valid && is_stricter), "{document}: {is_valid} {is_read}");
        }
    });
    assert!(fields > 50, "all sections are visited, not {fields} fields");
}
