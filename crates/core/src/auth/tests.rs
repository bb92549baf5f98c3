//! Tests of tokens, keys, API keys and tickets by their public interface.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::test_signer::Signer;
use super::*;
use crate::decision::{Code, Decision};
use crate::policy::SessionAccess;

/// Time of the tests, in seconds since 1970.
const NOW: u64 = 2_000_000_000;

fn strict() -> TokenRules {
    TokenRules {
        issuer: Some("https://issuer.example".to_owned()),
        audiences: vec!["https://browser.example/mcp".to_owned()],
        leeway: Duration::ZERO,
        claims: ClaimRules::Strict,
    }
}

fn base() -> TokenRules {
    TokenRules { issuer: None, audiences: Vec::new(), leeway: Duration::ZERO, claims: ClaimRules::Base }
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example",
        "aud": ["https://other.example", "https://browser.example/mcp"],
        "sub": "alice",
        "scope": "openid watch drive",
        "iat": NOW - 10,
        "nbf": NOW - 10,
        "exp": NOW + 60,
    })
}

/// Returns the valid claims with one of them replaced, or left out if the value is null.
fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().expect("an object").remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

fn now() -> Duration {
    Duration::from_secs(NOW)
}

fn key_set(signer: &Signer) -> KeySet {
    KeySet::parse(&signer.pem()).expect("a key")
}

fn jwks(keys: &[Value]) -> KeySet {
    KeySet::parse(&json!({ "keys": keys }).to_string()).expect("a key set")
}

fn code(result: Result<Principal, Decision>) -> &'static str {
    result.map_or_else(|decision| decision.code.as_str(), |_| "accepted")
}

#[test]
fn tokens_of_all_algorithms_are_accepted() {
    for signer in [Signer::rsa(), Signer::p256(9), Signer::ed25519(7)] {
        let token = signer.token(&claims());
        let other = Signer::p256(1).jwk(Some("k2"));
        for keys in [
            key_set(&signer),
            jwks(&[signer.jwk(None)]),
            jwks(&[other.clone(), signer.jwk(Some("k1"))]),
            KeySet::parse(&format!("a text\n{}{}", Signer::ed25519(1).pem(), signer.pem())).expect("two keys"),
        ] {
            let principal = keys.verify(&token, &strict(), now()).expect("a valid token");
            assert_eq!(principal.subject.expect("a subject").as_str(), "alice");
            assert_eq!(principal.scope, Some(Scope::Drive));
        }
    }
}

#[test]
fn algorithm_is_that_of_the_key_and_never_of_the_token() {
    let rsa = Signer::rsa();
    let ed25519 = Signer::ed25519(7);
    let keys = key_set(&rsa);
    let verify = |keys: &KeySet, token: &str| code(keys.verify(token, &strict(), now()));
    assert_eq!(verify(&keys, &rsa.token(&claims())), "accepted", "control");

    // The public key is no secret, so it must never be used as one.
    let confused: Vec<_> = [rsa.pem(), rsa.pem().trim_end().to_owned()]
        .iter()
        .map(|pem| Signer::Shared(pem.clone().into_bytes()).token(&claims()))
        .collect();
    let named = |signer: &Signer, name: &str| signer.sign(&json!({ "alg": name }), &claims());
    for token in confused.iter().chain(&[
        Signer::None.token(&claims()),
        named(&Signer::None, "None"),
        named(&Signer::None, "NONE"),
        named(&Signer::None, ""),
        named(&rsa, "RS512"),
        named(&rsa, "PS256"),
        named(&rsa, "rs256"),
        named(&rsa, "ES256"),
        named(&ed25519, "EdDSA"),
    ]) {
        assert_eq!(verify(&keys, token), "token-algorithm-refused", "{token}");
    }
    // Under its key's algorithm, none of them has a valid signature.
    for signer in [Signer::None, Signer::Shared(rsa.pem().into_bytes()), ed25519.clone(), Signer::p256(9)] {
        assert_eq!(verify(&keys, &named(&signer, "RS256")), "token-signature-invalid");
        assert_eq!(verify(&key_set(&Signer::p256(1)), &named(&signer, "ES256")), "token-signature-invalid");
        assert_eq!(verify(&key_set(&Signer::ed25519(1)), &named(&signer, "EdDSA")), "token-signature-invalid");
    }
    // An ES256 signature of zeros was accepted by several libraries (CVE-2022-21449).
    let token = Signer::p256(9).token(&claims());
    let (signed, _) = token.rsplit_once('.').expect("a signature");
    assert_eq!(verify(&key_set(&Signer::p256(9)), &token), "accepted", "control");
    assert_eq!(verify(&key_set(&Signer::p256(9)), &format!("{signed}.{}", "A".repeat(86))), "token-signature-invalid");
    assert_eq!(verify(&key_set(&ed25519), &named(&ed25519, "Ed25519")), "accepted", "the newer name");
}

#[test]
fn keys_in_a_token_are_never_used() {
    let (own, foreign) = (Signer::ed25519(7), Signer::ed25519(8));
    let keys = jwks(&[own.jwk(Some("k1"))]);
    let header = |id: &str| json!({ "alg": "EdDSA", "kid": id, "jwk": foreign.jwk(Some(id)), "jku": "https://evil.example/jwks" });
    assert_eq!(code(keys.verify(&own.sign(&header("k1"), &claims()), &strict(), now())), "accepted", "control");
    assert_eq!(code(keys.verify(&foreign.sign(&header("k1"), &claims()), &strict(), now())), "token-signature-invalid");
    for id in ["k2", "K1", "", "../k1"] {
        assert_eq!(code(keys.verify(&own.sign(&header(id), &claims()), &strict(), now())), "token-key-unknown", "{id}");
    }
}

#[test]
fn malformed_tokens_are_refused() {
    let signer = Signer::ed25519(7);
    let keys = key_set(&signer);
    let token = signer.token(&claims());
    let parts: Vec<_> = token.split('.').collect();
    let header = |text: &str| signer.sign_text(text, &claims().to_string());
    assert_eq!(code(keys.verify(&token, &strict(), now())), "accepted", "control");
    for text in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        parts[..2].join("."),
        format!("{token}."),
        format!(".{token}"),
        format!("{token}.{}", parts[2]),
        format!("{token}="),
        format!(" {token}"),
        format!("{token}\n"),
        token.replace('.', ".."),
        format!("{}.{}.{}", parts[0], parts[1], parts[2].replace('A', "+")).replace('_', "/") + "*",
        header("{}"),
        header("[]"),
        header("null"),
        header(r#"{"alg":null}"#),
        header(r#"{"alg":["EdDSA"]}"#),
        header(r#"{"alg":"EdDSA","kid":1}"#),
        header(r#"{"alg":"EdDSA","alg":"EdDSA"}"#),
        header(r#"{"alg":"none","alg":"EdDSA"}"#),
        header(r#"{"alg":"EdDSA","crit":["exp"]}"#),
        header(r#"{"alg":"EdDSA","crit":[]}"#),
        header(r#"{"alg":"EdDSA"}{}"#),
        header(&format!(r#"{{"alg":"EdDSA","x":"{}"}}"#, "a".repeat(16 * 1024))),
        header(&"[".repeat(10_000)),
    ] {
        assert_eq!(code(keys.verify(&text, &strict(), now())), "token-malformed", "{text:?}");
    }
    assert_eq!(code(keys.verify(&header(r#"{"alg":"EdDSA"}"#), &strict(), now())), "accepted", "control");
}

#[test]
fn changed_tokens_are_refused() {
    for signer in [Signer::rsa(), Signer::p256(9), Signer::ed25519(7)] {
        let keys = key_set(&signer);
        let token = signer.token(&claims());
        assert_eq!(code(keys.verify(&token, &strict(), now())), "accepted", "control");
        let admin = signer.token(&claims_with("scope", json!("admin")));
        let parts = |token: &str| token.split('.').map(str::to_owned).collect::<Vec<_>>();
        let (own, other) = (parts(&token), parts(&admin));
        assert_eq!(
            code(keys.verify(&format!("{}.{}.{}", own[0], other[1], own[2]), &strict(), now())),
            "token-signature-invalid"
        );
        // Every character is part of what was signed or of the signature. RSA has many.
        for (position, c) in token.char_indices().filter(|(_, c)| *c != '.').step_by(token.len() / 40) {
            let mut changed = token.clone();
            let next = if c == 'A' { "B" } else { "A" };
            changed.replace_range(position..=position, next);
            assert_ne!(code(keys.verify(&changed, &strict(), now())), "accepted", "{changed}");
        }
    }
}

#[test]
fn claims_are_checked_against_the_rules() {
    let signer = Signer::ed25519(7);
    let keys = key_set(&signer);
    let verify = |claims: &Value| code(keys.verify(&signer.token(claims), &strict(), now()));
    let rows = [
        ("exp", json!(NOW + 1), "accepted"),
        ("exp", json!(2_000_000_000.5), "accepted"),
        ("exp", json!(NOW), "token-expired"),
        ("exp", json!(NOW - 1), "token-expired"),
        ("exp", json!(0), "token-expired"),
        ("exp", json!(-1), "token-expired"),
        ("exp", json!("2000000060"), "token-claims-invalid"),
        ("exp", json!([NOW + 60]), "token-claims-invalid"),
        ("exp", Value::Null, "token-claims-invalid"),
        ("nbf", Value::Null, "accepted"),
        ("nbf", json!(NOW), "accepted"),
        ("nbf", json!(NOW + 1), "token-not-yet-valid"),
        ("nbf", json!("soon"), "token-claims-invalid"),
        ("iss", json!("https://evil.example"), "token-issuer-refused"),
        ("iss", json!("https://issuer.example/"), "token-issuer-refused"),
        ("iss", Value::Null, "token-issuer-refused"),
        ("iss", json!(["https://issuer.example"]), "token-claims-invalid"),
        ("aud", json!("https://browser.example/mcp"), "accepted"),
        ("aud", json!("https://browser.example/mcp/"), "token-audience-refused"),
        ("aud", json!("https://browser.example"), "token-audience-refused"),
        ("aud", json!([]), "token-audience-refused"),
        ("aud", Value::Null, "token-audience-refused"),
        ("aud", json!(["https://browser.example/mcp", 1]), "token-claims-invalid"),
        ("sub", Value::Null, "token-claims-invalid"),
        ("sub", json!(""), "token-claims-invalid"),
        ("sub", json!("a\nb"), "token-claims-invalid"),
        ("sub", json!("x".repeat(256)), "token-claims-invalid"),
        ("sub", json!(1), "token-claims-invalid"),
        ("scope", json!(1), "token-claims-invalid"),
    ];
    for (name, value, expected) in rows {
        assert_eq!(verify(&claims_with(name, value.clone())), expected, "{name}: {value}");
    }
    let text = |claims: &str| code(keys.verify(&signer.sign_text(r#"{"alg":"EdDSA"}"#, claims), &strict(), now()));
    let valid = claims().to_string();
    assert_eq!(text(&valid), "accepted", "control");
    assert_eq!(text(&valid.replacen('{', r#"{"sub":"bob","#, 1)), "token-claims-invalid", "a name twice");
    for claims in ["", "null", "[]", "{", "{}x"] {
        assert_eq!(text(claims), "token-claims-invalid", "{claims}");
    }

    let tolerant = TokenRules { leeway: Duration::from_secs(5), ..strict() };
    let verify = |name, value| code(keys.verify(&signer.token(&claims_with(name, value)), &tolerant, now()));
    assert_eq!(verify("exp", json!(NOW - 4)), "accepted");
    assert_eq!(verify("exp", json!(NOW - 5)), "token-expired");
    assert_eq!(verify("nbf", json!(NOW + 5)), "accepted");
    assert_eq!(verify("nbf", json!(NOW + 6)), "token-not-yet-valid");
}

#[test]
fn scope_is_the_greatest_that_a_token_names() {
    let signer = Signer::ed25519(7);
    let keys = key_set(&signer);
    let scope = |rules: &TokenRules, claims: &Value| {
        keys.verify(&signer.token(claims), rules, now()).expect("a valid token").scope
    };
    for (value, expected) in [
        (json!("watch"), Some(Scope::Watch)),
        (json!("drive watch"), Some(Scope::Drive)),
        (json!(["watch", "admin"]), Some(Scope::Admin)),
        (json!("openid profile"), None),
        (json!("Admin administrator"), None),
        (json!(""), None),
        (Value::Null, None),
    ] {
        assert_eq!(scope(&strict(), &claims_with("scope", value.clone())), expected, "{value}");
        // The base image's tokens have no scopes of ours, and each is as good as any other.
        assert_eq!(scope(&base(), &claims_with("scope", value.clone())), expected.or(Some(Scope::Drive)), "{value}");
    }
    let mut scp = claims_with("scope", Value::Null);
    scp["scp"] = json!(["watch"]);
    assert_eq!(scope(&strict(), &scp), Some(Scope::Watch));
    scp["scope"] = json!("openid");
    assert_eq!(scope(&strict(), &scp), None, "`scope` counts if there is one");
}

#[test]
fn base_image_tokens_may_leave_claims_out() {
    let rsa = Signer::rsa();
    let keys = key_set(&rsa);
    let verify = |claims: &Value| keys.verify(&rsa.token(claims), &base(), now());
    let principal = verify(&json!({})).expect("a valid token");
    assert_eq!((principal.subject, principal.scope), (None, Some(Scope::Drive)));
    let principal = verify(&json!({ "sub": "bob", "aud": "x", "iss": "y", "scope": "watch" })).expect("a valid token");
    assert_eq!((principal.subject, principal.scope), (Subject::new("bob"), Some(Scope::Watch)));
    assert_eq!(code(verify(&json!({ "exp": NOW }))), "token-expired");
    assert_eq!(code(verify(&json!({ "nbf": NOW + 1 }))), "token-not-yet-valid");
    assert_eq!(code(keys.verify(&rsa.token(&json!({})), &strict(), now())), "token-claims-invalid", "control");
}

#[test]
fn key_file_problems_match_snapshot() {
    let rsa = Signer::rsa();
    let valid = Signer::ed25519(7).jwk(Some("k1"));
    let with = |name: &str, value: Value| {
        let mut jwk = valid.clone();
        jwk[name] = value;
        jwk
    };
    let set = |keys: &[Value]| json!({ "keys": keys }).to_string();
    // Keys that openssl printed: RSA with 1024 bits, P-384 and Ed448.
    let short = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCzqegCJTWYz+vZ09Xm9L5DOHNK8UVaCoFXKJlPUuHU76hiTiG5f495H0dsulE/ZDpyjTFIK7IruRDYHj+Ns03JN0ge4IzFoVv9cTjkxYbTwDwmSQKOZT+zQmmn38zJMn2AGXDhVoPQaEhPghcz08FgRa/O2AlAbIx5lFCJLC9BowIDAQAB";
    let p384 = "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEUP9Adivi6uHYyTYDTZdv9nV9iiqlG3gTbHqQAF4jAmjogc/kvWSjM1hX5Jr2dr/xtG60C0+ksXm/keT2UXU6k2yVgF/EmXDZoeQfxDvoUarAPd2szBx/9vKTdIZJCoVJ";
    let ed448 = "MEMwBQYDK2VxAzoA6t5mhcziAgb3uZgF8w5jvX6MjKcn8vZ/U3cir8wHKuLt+SnD/OCwAMe/UzU9pK2y7EGqHcgVlQCA";
    let pem = |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
    let zero = "A".repeat(43);
    let texts = [
        String::new(),
        "ssh-ed25519 AAAA".to_owned(),
        pem("PUBLIC KEY", "AAAA"),
        pem("PUBLIC KEY", "no*base64"),
        pem("PUBLIC KEY", short),
        format!("{}{}{}", rsa.pem(), pem("PUBLIC KEY", p384), pem("PUBLIC KEY", ed448)),
        pem("RSA PUBLIC KEY", "AAAA"),
        pem("PRIVATE KEY", "AAAA"),
        pem("EC PRIVATE KEY", "AAAA"),
        pem("CERTIFICATE", "AAAA"),
        pem("PGP MESSAGE", "AAAA"),
        "\n-----BEGIN PUBLIC KEY-----\nAAAA\n".to_owned(),
        "{".to_owned(),
        "{}".to_owned(),
        r#"{"keys":{}}"#.to_owned(),
        r#"{"keys":[],"keys":[]}"#.to_owned(),
        set(&[]),
        set(&[json!("x"), json!({})]),
        set(&[with("kty", json!(1))]),
        set(&[with("x", Value::Null)]),
        set(&[with("x", json!("AA=="))]),
        set(&[with("x", json!("AAAA"))]),
        set(&[with("x", json!(zero))]),
        set(&[with("key_ops", json!("verify"))]),
        set(&[with("d", json!("AAAA"))]),
        set(&[json!({ "kty": "oct", "k": "AAAA" })]),
        set(&[json!({ "kty": "EC", "crv": "P-256", "x": zero, "y": zero })]),
        set(&[json!({ "kty": "EC", "crv": "P-256", "x": "AAAA", "y": zero })]),
        set(&[json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" })]),
        set(&[json!({ "kty": "RSA", "n": "_".repeat(4000), "e": "AQAB" })]),
        // Valid keys that cannot verify our tokens.
        set(&[
            with("use", json!("enc")),
            with("key_ops", json!(["sign"])),
            with("alg", json!("ES256")),
            with("crv", json!("X25519")),
            with("kty", json!("AKP")),
        ]),
        set(&vec![valid.clone(); 33]),
    ];
    let lines: Vec<_> = texts
        .iter()
        .map(|text| {
            let problems = KeySet::parse(text).expect_err("problems");
            let start: String = text.chars().take(70).collect();
            format!(
                "{start:?}\n{}",
                problems.iter().map(|problem| format!("  {problem}\n")).collect::<Vec<_>>().concat()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.concat());
    assert!(KeySet::parse(&set(&vec![valid; 32])).is_ok(), "control");
}

#[test]
fn other_keys_of_a_set_are_ignored() {
    let signer = Signer::rsa();
    let mut encryption = Signer::p256(1).jwk(Some("e"));
    encryption["use"] = json!("enc");
    let mut verification = signer.jwk(Some("k1"));
    (verification["use"], verification["alg"], verification["key_ops"]) =
        (json!("sig"), json!("RS256"), json!(["verify"]));
    let keys = jwks(&[encryption, json!({ "kty": "EC", "crv": "P-384", "x": "A", "y": "B" }), verification]);
    let token = |id: &str| signer.sign(&json!({ "alg": "RS256", "kid": id }), &claims());
    assert_eq!(code(keys.verify(&token("k1"), &strict(), now())), "accepted");
    assert_eq!(code(keys.verify(&token("e"), &strict(), now())), "token-key-unknown");
}

/// Returns the SHA-256 of a text as the file has it.
fn hash(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

#[test]
fn api_keys_are_found_by_their_hash() {
    let file = format!(
        "# staff\n\nalice drive sha256:{}\n  bob\twatch  sha256:{}\r\nalice admin sha256:{}\n",
        hash("k1"),
        hash("k2").to_uppercase(),
        hash("k3")
    );
    let keys = ApiKeys::parse(&file).expect("valid");
    let found =
        |key: &str| keys.find(key).map(|principal| (principal.subject.clone().expect("a name"), principal.scope));
    let subject = |name: &str| Subject::new(name).expect("valid");
    assert_eq!(found("k1"), Some((subject("alice"), Some(Scope::Drive))));
    assert_eq!(found("k2"), Some((subject("bob"), Some(Scope::Watch))));
    assert_eq!(found("k3"), Some((subject("alice"), Some(Scope::Admin))));
    for wrong in ["", "k", "k11", "K1", &hash("k1"), &format!("sha256:{}", hash("k1"))] {
        assert_eq!(found(wrong), None, "{wrong}");
    }
    assert!(!format!("{keys:?}").contains(&hash("k1")));
    let one = ApiKeys::of_one("secret");
    let found = one.find("secret").map(|principal| (principal.subject.clone(), principal.scope));
    assert_eq!(found, Some((None, Some(Scope::Drive))));
    assert_eq!((one.find("Secret"), ApiKeys::default().find("")), (None, None));
}

#[test]
fn removed_or_reduced_api_key_is_not_confirmed() {
    let line = |subject: &str, scope: &str, key: &str| format!("{subject} {scope} sha256:{}\n", hash(key));
    let keys = |text: &str| ApiKeys::parse(text).expect("valid");
    let held = keys(&line("alice", "drive", "k1")).find("k1").cloned().expect("known");
    for (text, is_confirmed) in [
        (line("alice", "drive", "k1"), true),
        (line("bob", "watch", "k2") + &line("alice", "admin", "k1"), true),
        (line("alice", "drive", "k2"), false),
        (line("alice", "watch", "k1"), false),
        (line("bob", "drive", "k1"), false),
    ] {
        assert_eq!(keys(&text).confirms(&held), is_confirmed, "{text}");
    }
    let reduced = Principal { scope: Some(Scope::Watch), ..held };
    assert!(keys(&line("alice", "watch", "k1")).confirms(&reduced), "a ticket may have less than its key");
    assert!(!keys(&line("alice", "drive", "k1")).confirms(&Principal::anonymous()));
}

#[test]
fn expired_token_or_removed_key_is_not_confirmed() {
    for signer in [Signer::rsa(), Signer::p256(9), Signer::ed25519(7)] {
        let keys = jwks(&[signer.jwk(Some("k1"))]);
        let rules = TokenRules { leeway: Duration::from_secs(5), ..strict() };
        let evidence = keys.verify(&signer.token(&claims()), &rules, now()).expect("a valid token").evidence;
        let confirm = |keys: &KeySet, seconds| {
            keys.confirm(&evidence, Duration::from_secs(seconds)).map_err(|decision| decision.code.as_str())
        };
        assert_eq!(confirm(&keys, NOW + 64), Ok(()));
        assert_eq!(confirm(&keys, NOW + 65), Err("token-expired"));
        assert_eq!(confirm(&key_set(&signer), NOW), Ok(()), "the same key in another form");
        assert_eq!(confirm(&key_set(&Signer::p256(1)), NOW), Err("token-key-unknown"));
        assert!(keys.confirm(&Evidence::None, now()).is_err());
    }
    let rsa = Signer::rsa();
    let endless = key_set(&rsa).verify(&rsa.token(&json!({})), &base(), now()).expect("a valid token").evidence;
    assert_eq!(key_set(&rsa).confirm(&endless, Duration::MAX), Ok(()));
}

#[test]
fn api_key_file_problems_match_snapshot() {
    let digest = hash("k1");
    let texts = [
        String::new(),
        "# nothing\n".to_owned(),
        format!("alice drive {digest}\nbob drive sha256:{digest} x\ncarol\n"),
        format!("alice write sha256:{digest}\nbob watch,drive sha256:{digest}"),
        format!(
            "alice drive sha256:{}\nalice drive sha256:{}\nalice drive plain:k1",
            digest.trim_start_matches('6'),
            digest.replace('a', "g")
        ),
        format!("alice drive sha256:{digest}\nbob watch sha256:{digest}"),
        format!("{} drive sha256:{digest}", "x".repeat(256)),
    ];
    let lines: Vec<_> = texts
        .iter()
        .map(|text| {
            ApiKeys::parse(text)
                .expect_err("problems")
                .iter()
                .map(|problem| format!("{problem}\n"))
                .collect::<Vec<_>>()
                .concat()
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn principal(name: &str) -> Principal {
    Principal { subject: Subject::new(name), scope: Some(Scope::Watch), evidence: Evidence::None }
}

#[test]
fn ticket_loads_one_page_and_opens_one_screen() {
    let mut tickets = ViewerTickets::default();
    let add = |tickets: &mut ViewerTickets, name: &str| {
        tickets.add(name, principal("alice"), seconds(100), seconds(130)).expect("added");
    };
    add(&mut tickets, "t1");
    assert_eq!(tickets.redeem("t1", TicketUse::Page, seconds(129)), Ok(principal("alice")));
    assert_eq!(code(tickets.redeem("t1", TicketUse::Page, seconds(129))), "ticket-invalid", "the page twice");
    assert_eq!(tickets.redeem("t1", TicketUse::Screen, seconds(129)), Ok(principal("alice")));
    for purpose in [TicketUse::Screen, TicketUse::Page] {
        assert_eq!(code(tickets.redeem("t1", purpose, seconds(129))), "ticket-invalid", "{purpose:?}");
    }
    add(&mut tickets, "t2");
    assert!(tickets.redeem("t2", TicketUse::Screen, seconds(100)).is_ok(), "without the page");
    assert_eq!(code(tickets.redeem("t2", TicketUse::Page, seconds(100))), "ticket-invalid", "after the screen");
    for purpose in [TicketUse::Screen, TicketUse::Page] {
        add(&mut tickets, "t3");
        assert_eq!(code(tickets.redeem("t3", purpose, seconds(130))), "ticket-invalid", "{purpose:?} too late");
        assert_eq!(code(tickets.redeem("t3", purpose, seconds(101))), "ticket-invalid", "an expired one is gone");
    }
    assert_eq!(tickets.held(), 0);
}

#[test]
fn number_of_tickets_is_bounded_and_guesses_leave_nothing() {
    let mut tickets = ViewerTickets::default();
    let add = |tickets: &mut ViewerTickets, name: String, subject: String, now| {
        tickets.add(&name, principal(&subject), seconds(now), seconds(now + 30)).map_err(|decision| decision.code)
    };
    for index in 0..256 {
        assert_eq!(add(&mut tickets, format!("a{index}"), "alice".to_owned(), 0), Ok(()));
    }
    assert_eq!(add(&mut tickets, "a256".to_owned(), "alice".to_owned(), 29), Err(Code::TooManyTickets));
    assert_eq!(add(&mut tickets, "b".to_owned(), "bob".to_owned(), 0), Ok(()), "others still get tickets");
    for index in 257..1024 {
        assert_eq!(add(&mut tickets, format!("u{index}"), format!("u{index}"), 0), Ok(()));
    }
    assert_eq!(add(&mut tickets, "last".to_owned(), "carol".to_owned(), 0), Err(Code::TooManyTickets));
    for guess in 0..10_000 {
        assert_eq!(code(tickets.redeem(&format!("guess{guess}"), TicketUse::Screen, seconds(1))), "ticket-invalid");
    }
    assert_eq!(tickets.held(), 1024);
    assert!(tickets.redeem("a0", TicketUse::Screen, seconds(1)).is_ok(), "control");
    assert_eq!(add(&mut tickets, "new".to_owned(), "alice".to_owned(), 30), Ok(()), "expired tickets make room");
    assert_eq!(tickets.held(), 1);
}

#[test]
fn rights_and_scopes_match_snapshot() {
    let mut lines = Vec::new();
    let screens = [ScreenContent::Windows, ScreenContent::Page];
    let rules = [SessionAccess::Any, SessionAccess::Own].into_iter();
    for (sessions, screen) in rules.flat_map(|sessions| screens.map(|screen| (sessions, screen))) {
        for right in Right::ALL {
            let scope = right.scope(sessions, screen);
            lines.push(format!("{:<3} {screen:?} {right:?}: {scope}", sessions.as_str()));
            for held in Scope::ALL {
                let principal = Principal { subject: None, scope: Some(*held), evidence: Evidence::None };
                assert_eq!(principal.demand(*right, sessions, screen).is_ok(), *held >= scope, "{held} {right:?}");
            }
            let nobody = Principal { subject: None, scope: None, evidence: Evidence::None };
            let decision = nobody.demand(*right, sessions, screen).expect_err("no scope");
            assert_eq!(decision.code, Code::ScopeInsufficient);
            assert!(Principal::anonymous().demand(*right, sessions, screen).is_ok());
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

proptest! {
    // Signing takes a while without optimization.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn token_is_accepted_only_by_the_key_that_signed_it(own in 1..=4_u8, other in 1..=4_u8, subject in "[a-z]{1,8}") {
        let claims = claims_with("sub", json!(subject));
        for new in [Signer::p256, Signer::ed25519] {
            let token = new(own).token(&claims);
            prop_assert_eq!(code(key_set(&new(own)).verify(&token, &strict(), now())), "accepted");
            for signer in [Signer::p256(other), Signer::ed25519(other)] {
                let verified = code(key_set(&signer).verify(&token, &strict(), now()));
                let is_same = own == other && signer.algorithm() == new(own).algorithm();
                prop_assert_eq!(verified == "accepted", is_same);
            }
        }
    }

}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(text in "\\PC{0,80}|[A-Za-z0-9_.-]{0,80}") {
        prop_assert!(key_set(&Signer::ed25519(7)).verify(&text, &base(), now()).is_err());
        prop_assert!(KeySet::parse(&text).is_err());
        prop_assert!(ApiKeys::parse(&text).is_err());
    }
}
