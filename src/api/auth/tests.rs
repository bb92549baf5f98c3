//! Tests of the authenticator with requests as a front end passes them.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::to_bytes;
use axum::http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::test_signer::Signer;
use super::*;
use crate::api::auth::credentials::Credentials;
use crate::call::testing::TestPipeline;
use browser_shell_core::auth::{Right, Scope, ScreenContent};

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "https://browser.example/mcp";

/// Server with an API key for each scope and the key of an authorization server.
struct Server {
    pipeline: TestPipeline,
    settings: CredentialSettings,
}

impl Server {
    fn new(policy: &str) -> Self {
        let pipeline = TestPipeline::without_browser(policy);
        let path = |name: &str| pipeline.folder().join(name);
        let settings = CredentialSettings {
            api_keys: Some(path("keys")),
            jwt_keys: Some(path("jwks")),
            jwt_issuer: Some(ISSUER.to_owned()),
            public_url: Some("https://browser.example".to_owned()),
            ..CredentialSettings::default()
        };
        let server = Self { pipeline, settings };
        server.write_keys(&[("walter", "watch", "w1"), ("doris", "drive", "d1"), ("anna", "admin", "a1")]);
        server.write_jwks(&Signer::p256(9));
        server
    }

    fn write_keys(&self, keys: &[(&str, &str, &str)]) {
        let hash =
            |key: &str| Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let lines = keys.iter().map(|(subject, scope, key)| format!("{subject} {scope} sha256:{}\n", hash(key)));
        write(self.settings.api_keys.clone(), &lines.collect::<Vec<_>>().concat());
    }

    fn write_jwks(&self, signer: &Signer) {
        write(self.settings.jwt_keys.clone(), &json!({ "keys": [signer.jwk(Some("k1"))] }).to_string());
    }

    fn open(&self) -> Authenticator {
        Authenticator::open(self.pipeline.services(), &self.settings).expect("opened")
    }
}

fn write(path: Option<PathBuf>, text: &str) {
    std::fs::write(path.expect("a path"), text).expect("written");
}

fn request(target: &str, headers: &[(&str, &str)]) -> Parts {
    let start = Request::builder().uri(target).header("Host", "localhost:8080");
    let builder = headers.iter().fold(start, |builder, (name, value)| builder.header(*name, *value));
    builder.body(()).expect("a request").into_parts().0
}

/// Returns `accepted`, or the status and the code of the refusal.
fn outcome(authenticator: &Authenticator, right: Right, target: &str, headers: &[(&str, &str)]) -> String {
    match authenticator.authorize(right, &request(target, headers)) {
        Ok(_) => "accepted".to_owned(),
        Err(refusal) => {
            let code = refusal.decision().code;
            format!("{} {code}", refusal.into_response().status().as_u16())
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn token(signer: &Signer, scope: &str) -> String {
    let claims = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "tom", "exp": now() + 300, "scope": scope });
    format!("Bearer {}", signer.token(&claims))
}

async fn body(response: Response) -> Value {
    let bytes = to_bytes(response.into_body(), 10_000).await.expect("a body");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// Returns a ticket for the holder of an API key.
async fn ticket(authenticator: &Authenticator, key: &str, wanted: &str) -> Result<String, String> {
    let parts = request("/tickets", &[("X-AIO-API-Key", key)]);
    let refused = |refusal: AuthRefusal| refusal.decision().code.to_string();
    let principal = authenticator.authorize(Right::IssueTicket, &parts).map_err(refused)?;
    let response = authenticator.issue_ticket(&principal, &parts.headers, wanted.as_bytes()).map_err(refused)?;
    assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
    let answer = body(response).await;
    assert_eq!(answer["expires_in"], 30);
    Ok(answer["ticket"].as_str().expect("a ticket").to_owned())
}

#[test]
fn request_needs_exactly_one_valid_credential() {
    let server = Server::new("{}");
    let authenticator = server.open();
    let signer = Signer::p256(9);
    let (valid, foreign) = (token(&signer, "drive"), token(&Signer::p256(8), "drive"));
    let expired = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "tom", "exp": now() - 1, "scope": "drive" });
    let expired = format!("Bearer {}", signer.token(&expired));
    let none = format!("Bearer {}", Signer::None.token(&json!({ "exp": now() + 300 })));
    let rows: &[(&[(&str, &str)], &str)] = &[
        (&[("Authorization", "Bearer d1")], "accepted"),
        (&[("authorization", "bearer  d1")], "accepted"),
        (&[("X-AIO-API-Key", "d1")], "accepted"),
        (&[("Authorization", &valid)], "accepted"),
        (&[], "401 credential-missing"),
        (&[("Cookie", "ticket=d1")], "401 credential-missing"),
        (&[("Authorization", "d1")], "401 credential-unknown"),
        (&[("Authorization", "Basic d1")], "401 credential-unknown"),
        (&[("Authorization", "Bearer")], "401 credential-unknown"),
        (&[("Authorization", "Bearer ")], "401 credential-unknown"),
        (&[("Authorization", "Bearer d2")], "401 credential-unknown"),
        (&[("Authorization", "Bearer d1 d1")], "401 credential-unknown"),
        (&[("Authorization", "Bearer \u{e9}")], "401 credential-unknown"),
        (&[("X-AIO-API-Key", "")], "401 credential-unknown"),
        (&[("X-AIO-API-Key", &valid)], "401 credential-unknown"),
        (&[("Authorization", &foreign)], "401 token-signature-invalid"),
        (&[("Authorization", &expired)], "401 token-expired"),
        (&[("Authorization", &none)], "401 token-algorithm-refused"),
        (&[("Authorization", "Bearer a.b.c")], "401 token-malformed"),
        (&[("Authorization", "Bearer d1"), ("Authorization", "Bearer d1")], "400 credential-repeated"),
        (&[("Authorization", "Bearer d1"), ("X-AIO-API-Key", "d1")], "400 credential-repeated"),
        (&[("Authorization", "Basic eA=="), ("X-AIO-API-Key", "d1")], "400 credential-repeated"),
        (&[("X-AIO-API-Key", "w1")], "403 scope-insufficient"),
        (&[("Authorization", &token(&signer, "openid"))], "403 scope-insufficient"),
    ];
    for (headers, expected) in rows {
        assert_eq!(outcome(&authenticator, Right::CallTool, "/mcp", headers), *expected, "{headers:?}");
    }
    let audit = server.pipeline.audit();
    assert!(audit.contains(r#""event":"access","right":"call-tool","subject":null,"code":"token-expired""#), "{audit}");
    assert!(audit.contains(r#""subject":"walter","code":"scope-insufficient""#), "{audit}");
    assert!(!audit.contains("d2") && !audit.contains("eyJ"), "a credential is in the log: {audit}");
}

#[tokio::test]
async fn ticket_opens_page_and_screen_once_and_nothing_else() {
    let server = Server::new("{}");
    let authenticator = server.open();
    let query = |ticket: &str| format!("/x?path=websockify&ticket={ticket}");
    let t1 = ticket(&authenticator, "w1", "").await.expect("a ticket");
    assert_eq!(t1.len(), 43, "256 bits");
    for right in [Right::CallTool, Right::IssueTicket] {
        assert_eq!(outcome(&authenticator, right, &query(&t1), &[]), "401 credential-missing", "{right:?}");
        let bearer = format!("Bearer {t1}");
        assert_eq!(
            outcome(&authenticator, right, "/x", &[("Authorization", &bearer)]),
            "401 credential-unknown",
            "{right:?}"
        );
    }
    let twice = format!("{}&ticket={t1}", query(&t1));
    assert_eq!(outcome(&authenticator, Right::WatchScreen, &twice, &[]), "400 credential-repeated");
    let with_key = [("X-AIO-API-Key", "w1")];
    assert_eq!(outcome(&authenticator, Right::WatchScreen, &query(&t1), &with_key), "400 credential-repeated");
    for right in [Right::OpenViewer, Right::WatchScreen] {
        assert_eq!(outcome(&authenticator, right, &query(&t1), &[]), "accepted", "{right:?}");
        assert_eq!(outcome(&authenticator, right, &query(&t1), &[]), "401 ticket-invalid", "{right:?} again");
    }
    for guess in ["", "x", &"A".repeat(43), &t1.to_lowercase()] {
        assert_eq!(outcome(&authenticator, Right::WatchScreen, &query(guess), &[]), "401 ticket-invalid", "{guess}");
    }
    assert!(!server.pipeline.audit().contains(&t1), "the ticket is in the log");
    assert!(server.pipeline.audit().contains(r#""right":"watch-screen","subject":"walter","code":"allowed""#));
}

#[tokio::test]
async fn ticket_has_the_scope_of_its_owner_or_a_smaller_one() {
    let server = Server::new("{}");
    let authenticator = server.open();
    for (key, wanted, expected) in [
        ("w1", "", Ok(Scope::Watch)),
        ("d1", "", Ok(Scope::Drive)),
        ("d1", r#"{"scope":"watch"}"#, Ok(Scope::Watch)),
        ("a1", r#"{"scope":"drive"}"#, Ok(Scope::Drive)),
        ("w1", r#"{"scope":"drive"}"#, Err("scope-insufficient")),
        ("d1", r#"{"scope":"admin"}"#, Err("scope-insufficient")),
        ("d1", r#"{"scope":"all"}"#, Err("arguments-invalid")),
        ("d1", r#"{"scope":"watch","x":1}"#, Err("arguments-invalid")),
        ("d1", "{}", Err("arguments-invalid")),
        ("d1", "watch", Err("arguments-invalid")),
    ] {
        let found = match ticket(&authenticator, key, wanted).await {
            Ok(ticket) => {
                let parts = request(&format!("/websockify?ticket={ticket}"), &[]);
                let principal = authenticator.authorize(Right::WatchScreen, &parts).expect("accepted");
                let may_control = authenticator.demand(&principal, Right::ControlScreen).is_ok();
                assert_eq!(may_control, principal.scope >= Some(Scope::Drive), "{key} {wanted}");
                Ok(principal.scope.expect("a scope"))
            }
            Err(code) => Err(code),
        };
        assert_eq!(found.as_ref().map_err(String::as_str), expected.as_ref().map_err(|code| *code), "{key} {wanted}");
    }
}

#[tokio::test]
async fn screen_is_for_admins_where_sessions_belong_to_subjects() {
    let server = Server::new(r#"{"access":{"sessions":"own"},"browser":{"isolation":"session"}}"#);
    let authenticator = server.open();
    let with = |key| [("X-AIO-API-Key", key)];
    assert_eq!(ticket(&authenticator, "d1", "").await, Err("scope-insufficient".to_owned()));
    let issued = ticket(&authenticator, "a1", "").await.expect("a ticket");
    let target = format!("/websockify?ticket={issued}");
    assert_eq!(outcome(&authenticator, Right::WatchScreen, &target, &[]), "accepted");
    for right in [Right::OpenViewer, Right::WatchScreen, Right::IssueTicket] {
        assert_eq!(outcome(&authenticator, right, "/", &with("d1")), "403 scope-insufficient", "{right:?}");
        assert_eq!(outcome(&authenticator, right, "/", &with("a1")), "accepted", "{right:?}");
    }
    assert_eq!(outcome(&authenticator, Right::CallTool, "/mcp", &with("d1")), "accepted");
    server.pipeline.write_policy("{");
    assert_eq!(outcome(&authenticator, Right::WatchScreen, "/", &with("a1")), "403 policy-invalid");
    assert_eq!(outcome(&authenticator, Right::CallTool, "/mcp", &with("d1")), "accepted", "each call says it");
}

#[tokio::test]
async fn screen_of_a_page_is_for_all_where_sessions_have_owners() {
    let server = Server::new(r#"{"access":{"sessions":"own"},"browser":{"isolation":"session"}}"#);
    let windows = server.open();
    let page = server.open().with_screen(ScreenContent::Page);
    for key in ["w1", "d1", "a1"] {
        for right in [Right::OpenViewer, Right::WatchScreen, Right::IssueTicket] {
            assert_eq!(outcome(&page, right, "/", &[("X-AIO-API-Key", key)]), "accepted", "{key} {right:?}");
        }
        let issued = ticket(&page, key, "").await.expect("a ticket");
        let parts = request(&format!("/websockify?ticket={issued}"), &[]);
        let principal = page.authorize(Right::WatchScreen, &parts).expect("accepted");
        assert_eq!(page.demand(&principal, Right::ControlScreen).is_ok(), key != "w1", "{key}");
        assert_eq!(windows.demand(&principal, Right::WatchScreen).is_ok(), key == "a1", "control: {key}");
    }
}

#[tokio::test]
async fn challenge_names_the_metadata_and_the_scope() {
    let server = Server::new("{}");
    let challenge = |authenticator: &Authenticator, headers: &[(&str, &str)]| {
        let refusal = authenticator.authorize(Right::CallTool, &request("/mcp", headers)).expect_err("refused");
        refusal.into_response().headers()[WWW_AUTHENTICATE].to_str().expect("text").to_owned()
    };
    let metadata = "resource_metadata=\"https://browser.example/.well-known/oauth-protected-resource\"";
    let authenticator = server.open();
    assert_eq!(challenge(&authenticator, &[]), format!("Bearer scope=\"drive\", {metadata}"));
    assert_eq!(
        challenge(&authenticator, &[("Authorization", &token(&Signer::p256(8), "drive"))]),
        format!(
            "Bearer error=\"invalid_token\", error_description=\"no key of the server has signed the token\", scope=\"drive\", {metadata}"
        )
    );
    assert_eq!(
        challenge(&authenticator, &[("X-AIO-API-Key", "w1")]),
        format!(
            "Bearer error=\"insufficient_scope\", error_description=\"this needs the scope drive\", scope=\"drive\", {metadata}"
        )
    );
    let document = body(authenticator.metadata(&HeaderMap::new()).expect("metadata")).await;
    assert_eq!(
        document,
        json!({
            "resource": AUDIENCE,
            "resource_name": "browser-shell",
            "authorization_servers": [ISSUER],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["watch", "drive"],
        })
    );

    // Without a public URL, the address is the one that the client used.
    let settings =
        CredentialSettings { public_url: None, jwt_audiences: vec!["browser".to_owned()], ..server.settings.clone() };
    let local = Authenticator::open(server.pipeline.services(), &settings).expect("opened");
    let own = "resource_metadata=\"http://localhost:8080/.well-known/oauth-protected-resource\"";
    assert_eq!(challenge(&local, &[]), format!("Bearer scope=\"drive\", {own}"));
    let document = body(local.metadata(&request("/", &[]).headers).expect("metadata")).await;
    assert_eq!(document["resource"], "http://localhost:8080/mcp");
    assert_eq!(
        outcome(&local, Right::CallTool, "/mcp", &[("Authorization", &token(&Signer::p256(9), "drive"))]),
        "401 token-audience-refused"
    );

    // Keys alone need no authorization server.
    let keys = CredentialSettings { api_keys: server.settings.api_keys.clone(), ..CredentialSettings::default() };
    let keys = Authenticator::open(server.pipeline.services(), &keys).expect("opened");
    assert_eq!(challenge(&keys, &[]), "Bearer scope=\"drive\"");
    assert!(keys.metadata(&HeaderMap::new()).is_none());
}

#[test]
fn host_of_public_url_has_its_port_and_needs_credentials() {
    let server = Server::new("{}");
    let host = |url: &str, settings: &CredentialSettings| {
        let settings = CredentialSettings { public_url: Some(url.to_owned()), ..settings.clone() };
        Authenticator::open(server.pipeline.services(), &settings).expect("opened").public_host()
    };
    for (url, wanted) in [
        ("https://browser.example", "browser.example"),
        ("http://browser.example:8443", "browser.example:8443"),
        ("http://[::1]:81", "[::1]:81"),
    ] {
        assert_eq!(host(url, &server.settings).as_deref(), Some(wanted));
        assert_eq!(host(url, &CredentialSettings::default()), None, "without credentials");
    }
}

#[test]
fn key_files_are_reloaded_and_unusable_ones_let_nobody_in() {
    let server = Server::new("{}");
    let authenticator = server.open();
    let with_key = |key: &str| outcome(&authenticator, Right::CallTool, "/mcp", &[("X-AIO-API-Key", key)]);
    let with_token = |signer: &Signer| {
        outcome(&authenticator, Right::CallTool, "/mcp", &[("Authorization", &token(signer, "drive"))])
    };
    assert_eq!((with_key("d1"), with_key("d2")), ("accepted".to_owned(), "401 credential-unknown".to_owned()));
    server.write_keys(&[("doris", "drive", "d2")]);
    assert_eq!((with_key("d1"), with_key("d2")), ("401 credential-unknown".to_owned(), "accepted".to_owned()));

    let (old, new) = (Signer::p256(9), Signer::ed25519(7));
    assert_eq!((with_token(&old), with_token(&new)), ("accepted".to_owned(), "401 token-algorithm-refused".to_owned()));
    server.write_jwks(&new);
    assert_eq!((with_token(&old), with_token(&new)), ("401 token-algorithm-refused".to_owned(), "accepted".to_owned()));

    let remove = |path: &Option<PathBuf>| std::fs::remove_file(path.as_ref().expect("a path")).expect("removed");
    let watcher = authenticator
        .authorize(Right::WatchScreen, &request("/websockify", &[("X-AIO-API-Key", "d2")]))
        .expect("control");
    for text in [Some(""), Some("# no keys\n"), Some("{"), Some("doris drive d3"), Some("\u{0}"), None] {
        match text {
            Some(text) => {
                write(server.settings.api_keys.clone(), text);
                write(server.settings.jwt_keys.clone(), text);
            }
            None => [&server.settings.api_keys, &server.settings.jwt_keys].map(remove).into_iter().collect(),
        }
        assert_eq!([with_key("d2"), with_key(""), with_key("d3")], ["401 credential-unknown"; 3], "{text:?}");
        assert_eq!([with_token(&old), with_token(&new)], ["401 token-key-unknown"; 2], "{text:?}");
        assert!(authenticator.confirm(&watcher, Right::WatchScreen).is_err(), "an open screen: {text:?}");
        // The same bytes as before: the file is right again without a restart.
        server.write_keys(&[("doris", "drive", "d2")]);
        server.write_jwks(&new);
        assert_eq!([with_key("d2"), with_token(&new)], ["accepted"; 2], "control: {text:?}");
    }
}

#[tokio::test]
async fn right_is_lost_when_credential_or_policy_changes() {
    let policy = r#"{"browser":{"isolation":"session"},"access":{"sessions":"own"}}"#;
    let server = Server::new("{}");
    let authenticator = server.open();
    let of = |key: &str| {
        authenticator
            .authorize(Right::WatchScreen, &request("/websockify", &[("X-AIO-API-Key", key)]))
            .expect("accepted")
    };
    let (walter, doris, anna) = (of("w1"), of("d1"), of("a1"));
    let parts = request("/websockify", &[("Authorization", &token(&Signer::p256(9), "watch"))]);
    let tom = authenticator.authorize(Right::WatchScreen, &parts).expect("accepted");
    let lost = || {
        [&walter, &doris, &anna, &tom].map(|principal| {
            let confirmed = authenticator.confirm(principal, Right::WatchScreen);
            confirmed.err().map_or("", |decision| decision.code.as_str())
        })
    };
    assert_eq!(lost(), [""; 4], "control");
    server.write_keys(&[("walter", "drive", "w1"), ("anna", "admin", "a1")]);
    assert_eq!(lost(), ["", "credential-unknown", "", ""], "a removed key");
    server.write_jwks(&Signer::p256(8));
    assert_eq!(lost(), ["", "credential-unknown", "", "token-key-unknown"], "another key of the authorization server");
    server.pipeline.write_policy(policy);
    let all = ["scope-insufficient", "credential-unknown", "", "token-key-unknown"];
    assert_eq!(lost(), all, "the screen needs another scope");
    authenticator.until_lost(&doris, Right::WatchScreen).await;
}

#[test]
fn file_of_keys_that_cannot_be_used_says_nothing_about_subjects() {
    let server = Server::new("{}");
    let credentials = Credentials::open(&server.settings).expect("valid").expect("some");
    let subjects = || credentials.subjects_with_key().map(|subjects| subjects.len());
    assert_eq!(subjects(), Some(3));
    write(server.settings.api_keys.clone(), "walter");
    assert_eq!(subjects(), None);
    server.write_keys(&[("walter", "drive", "w2")]);
    assert_eq!(subjects(), Some(1));
}

#[test]
fn login_that_every_subject_could_take_is_refused() {
    let policy = |subject: &str| {
        let state = format!(r#"{{"mail-*":{{"cookies":[]{subject}}}}}"#);
        format!(r#"{{"access":{{"sessions":"own"}},"browser":{{"isolation":"session","state":{state}}}}}"#)
    };
    let (bound, unbound) = (policy(r#","subject":"doris""#), policy(""));
    let server = Server::new(&unbound);
    let error = Authenticator::open(server.pipeline.services(), &server.settings).map(|_| ()).expect_err("refused");
    assert!(error.to_string().contains("browser.state.mail-*: names no subject"), "{error}");
    let without = CredentialSettings::default();
    assert!(
        Authenticator::open(server.pipeline.services(), &without).is_ok(),
        "control: without credentials it proves nothing"
    );
    server.pipeline.write_policy(&bound);
    let authenticator = server.open();
    let call = || {
        let refused = authenticator.authorize(Right::CallTool, &request("/mcp", &[("X-AIO-API-Key", "d1")])).err();
        refused.map(|refusal| refusal.decision().code.as_str())
    };
    assert_eq!(call(), None, "control");
    server.pipeline.write_policy(&unbound);
    assert_eq!(call(), Some("policy-invalid"), "the file as it is now");
}

#[test]
fn base_image_variables_mean_the_same_here() {
    let pipeline = TestPipeline::without_browser("{}");
    let rsa = Signer::rsa();
    let open = |variables: &[(&str, &str)]| {
        let variable =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        let settings = CredentialSettings::default().with_base_variables(variable)?;
        Authenticator::open(pipeline.services(), &settings)
    };
    let pem = BASE64_STANDARD.encode(rsa.pem());
    let both =
        open(&[("JWT_PUBLIC_KEY", &pem), ("SANDBOX_API_KEY", " key \n"), ("TICKET_TTL_SECONDS", "5")]).expect("opened");
    let call = |authenticator: &Authenticator, value: &str| {
        outcome(authenticator, Right::CallTool, "/mcp", &[("Authorization", &format!("Bearer {value}"))])
    };
    assert_eq!(call(&both, "key"), "accepted");
    assert_eq!(call(&both, " key"), "accepted");
    assert_eq!(call(&both, "Key"), "401 credential-unknown");
    assert_eq!(call(&both, &rsa.token(&json!({}))), "accepted", "no claim is needed");
    assert_eq!(call(&both, &rsa.token(&json!({ "exp": now() - 1 }))), "401 token-expired");
    assert_eq!(call(&both, &Signer::Shared(rsa.pem().into_bytes()).token(&json!({}))), "401 token-algorithm-refused");
    let parts = request("/tickets", &[("X-AIO-API-Key", "key")]);
    let principal = both.authorize(Right::IssueTicket, &parts).expect("accepted");
    assert_eq!((&principal.subject, principal.scope), (&None, Some(Scope::Drive)));
    let answer = both.issue_ticket(&principal, &parts.headers, b"").expect("a ticket");
    assert_eq!(tokio::runtime::Runtime::new().expect("an executor").block_on(body(answer))["expires_in"], 5);

    for blank in ["", " ", "\n"] {
        let open = open(&[("JWT_PUBLIC_KEY", blank), ("SANDBOX_API_KEY", blank), ("TICKET_TTL_SECONDS", blank)]);
        let open = open.expect("opened");
        assert!(!open.has_credentials());
        assert_eq!(outcome(&open, Right::CallTool, "/mcp", &[]), "accepted", "a server without credentials");
    }
}

#[test]
fn errors_of_settings_match_snapshot() {
    let server = Server::new("{}");
    let valid = &server.settings;
    let path = |name: &str| Some(server.pipeline.folder().join(name));
    write(path("broken"), "alice drive\nbob all sha256:00\n");
    write(path("secret"), r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#);
    let base = |key: &str| CredentialSettings { base_jwt_key: Some(key.to_owned()), ..CredentialSettings::default() };
    let public_url = |url: &str| CredentialSettings { public_url: Some(url.to_owned()), ..valid.clone() };
    let rows = [
        CredentialSettings { api_keys: path("missing"), ..valid.clone() },
        CredentialSettings { api_keys: path("broken"), ..valid.clone() },
        CredentialSettings { jwt_keys: path("secret"), ..valid.clone() },
        CredentialSettings { jwt_issuer: None, ..valid.clone() },
        CredentialSettings { public_url: None, ..valid.clone() },
        CredentialSettings { jwt_keys: None, ..valid.clone() },
        CredentialSettings { jwt_keys: None, jwt_issuer: None, jwt_audiences: vec!["x".to_owned()], ..valid.clone() },
        CredentialSettings { base_jwt_key: Some("x".to_owned()), ..valid.clone() },
        base("-----"),
        base(&BASE64_STANDARD.encode("no key")),
        public_url("browser.example"),
        public_url("https://browser.example/mcp"),
        public_url("https://user@browser.example"),
        public_url("https://browser.example?x"),
        public_url("ftp://browser.example"),
    ];
    let folder = server.pipeline.folder().display().to_string();
    let services = server.pipeline.services();
    let lines: Vec<_> = rows
        .iter()
        .map(|settings| match Authenticator::open(services.clone(), settings) {
            Ok(_) => "opened".to_owned(),
            Err(error) => error.to_string().replace(&folder, "FOLDER"),
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    for value in ["0", "-1", "x", "3601", "1.5"] {
        let variable = |name: &str| (name == "TICKET_TTL_SECONDS").then(|| value.to_owned());
        let error = CredentialSettings::default().with_base_variables(variable).expect_err(value);
        assert!(error.to_string().contains(&format!("`{value}`")), "{error}");
    }
    assert!(
        Authenticator::open(services, &CredentialSettings { jwt_leeway: Duration::from_secs(5), ..valid.clone() })
            .is_ok()
    );
}

#[test]
fn health_tells_a_broken_file_of_keys_from_all() {
    let server = Server::new("{}");
    let authenticator = server.open();
    assert_eq!(authenticator.health(), CredentialHealth::Healthy);
    write(server.settings.jwt_keys.clone(), "{");
    assert_eq!(authenticator.health(), CredentialHealth::Degraded, "API keys are in force");
    assert_eq!(outcome(&authenticator, Right::CallTool, "/mcp", &[("X-AIO-API-Key", "d1")]), "accepted");
    write(server.settings.api_keys.clone(), "");
    assert_eq!(authenticator.health(), CredentialHealth::Unhealthy);
    server.write_jwks(&Signer::p256(9));
    assert_eq!(authenticator.health(), CredentialHealth::Degraded, "tokens are");
    server.write_keys(&[("doris", "drive", "d1")]);
    assert_eq!(authenticator.health(), CredentialHealth::Healthy);
    let none = Authenticator::open(server.pipeline.services(), &CredentialSettings::default()).expect("opened");
    assert_eq!(none.health(), CredentialHealth::None);
}
