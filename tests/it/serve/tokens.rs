//! Tokens of an authorization server at the public port, for programs and for people at the screen.

use serde_json::{Value, json};

use super::super::{
    credentials::signer::Signer,
    e2e::{hosts::SHOP, issuer::Issuer, oauth, test_env},
    harness::{
        processes::wait_for,
        server::{CallReply, free_port},
    },
};
use super::server::{DRIVE_KEY, PUBLIC_URL, Server, WATCH_KEY, bearer, key_file, stand_in_settings};
use super::viewer::Viewer;

#[test]
fn scope_of_token_opens_its_part_of_public_port() {
    let signer = Signer::p256(9);
    let server = Server::start_with_tokens(stand_in_settings(), &signer);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let list_tools = |credential: &str| {
        let credential = format!("{credential}\r\nContent-Type: application/json");
        server.request_as(&credential, "POST /mcp", &list).0
    };
    let tickets = |credential: &str, body: &str| server.request_as(credential, "POST /tickets", body).0;
    for (scope, tool, ticket, ticket_for_drive) in
        [("openid", 403, 403, 403), ("watch", 403, 200, 403), ("drive", 200, 200, 200), ("openid admin", 200, 200, 200)]
    {
        let token = bearer(&signer, scope, 300);
        let seen = [list_tools(&token), tickets(&token, ""), tickets(&token, r#"{"scope":"drive"}"#)];
        assert_eq!(seen, [tool, ticket, ticket_for_drive], "{scope}");
        assert_eq!(server.request_as(&token, "GET /", "").0, 403, "{scope} opens no other path");
    }
    for token in [bearer(&Signer::p256(8), "drive", 300), bearer(&signer, "drive", 0), "X-None: 1".to_owned()] {
        assert_eq!((list_tools(&token), tickets(&token, "")), (401, 401), "{token}");
    }

    // Anybody finds the authorization server.
    let metadata = "GET /.well-known/oauth-protected-resource";
    let (status, body) = server.request(metadata);
    let body: Value = serde_json::from_str(&body).unwrap();
    let expected = json!({
        "resource": format!("{PUBLIC_URL}/mcp"), "resource_name": "browser-shell",
        "authorization_servers": ["https://issuer.example"],
        "bearer_methods_supported": ["header"], "scopes_supported": ["watch", "drive"],
    });
    assert_eq!((status, body), (200, expected));
    for line in ["POST /.well-known/oauth-protected-resource", "GET /.well-known/oauth-protected-resource/"] {
        assert_eq!(server.request(line).0, 403, "{line}");
    }
}

#[test]
fn no_stream_of_the_tool_outlives_its_request() {
    let signer = Signer::p256(9);
    let server = Server::start_with_tokens(stand_in_settings(), &signer);
    let credential = format!(
        "{}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream",
        bearer(&signer, "drive", 300)
    );
    let post = |version: &str, method: &str, params: Value| {
        let headers = format!("{credential}\r\nMCP-Protocol-Version: {version}\r\nMcp-Method: {method}");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        server.request_as(&headers, "POST /mcp", &body)
    };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let (status, body) = post("2026-07-28", "tools/list", json!({"_meta": meta}));
    assert!(status == 200 && body.contains("browser-shell"), "control: {status} {body}");
    // Each answer is read until the server closes its connection.
    let listen = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
    let (status, body) = post("2026-07-28", "subscriptions/listen", listen);
    assert!(!body.contains("acknowledged") && body.contains("error"), "{status} {body}");
    assert_eq!(server.request_as(&credential, "GET /mcp", "").0, 405);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn client_signs_in_at_serve_by_its_metadata() {
    let issuer = Issuer::start();
    test_env::hosts();
    let port = free_port();
    let env = test_env::env_with(test_env::no_agent_browser());
    let keys = env.write_file("jwks.json", &issuer.jwks());
    let env = env
        .with("BROWSER_SHELL_SCREEN", "none")
        .with("BROWSER_SHELL_JWT_KEYS", keys)
        .with("BROWSER_SHELL_JWT_ISSUER", issuer.address())
        .with("BROWSER_SHELL_PUBLIC_URL", format!("http://localhost:{port}"));
    let server = Server::start_on(port, env);
    let url = format!("http://localhost:{port}/mcp");
    assert_eq!(server.request("POST /mcp").0, 401, "control: without a token");
    let argv: [&[&str]; 2] = [&["open", &format!("http://{SHOP}/")], &["snapshot", "-i"]];
    let replies = oauth::calls(&url, server.env(), ("OAUTH", "1"), &argv);
    let [_, seen] = <[_; 2]>::try_from(replies).unwrap().map(CallReply::ok);
    seen.reference("button", "Save");
    let audit = server.env().audit();
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(lines.filter(|line| line["subject"] == "alice" && line["code"] == "ok").count(), 2, "{audit}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn screen_takes_input_of_drive_tokens_only() {
    let signer = Signer::p256(9);
    test_env::hosts();
    let env =
        test_env::env_with(test_env::no_agent_browser()).with_policy(&json!({"subcommands": {"enable": ["get"]}}));
    let server = Server::start_with_tokens(env, &signer);
    let connect = |scope: &str, body: &str| {
        Viewer::connect(server.port, &server.ticket_as(&bearer(&signer, scope, 300), body)).expect("connected")
    };
    let mut watching = connect("watch", "");
    let mut reduced = connect("drive", r#"{"scope":"watch"}"#);
    let mut driving = connect("drive", "");
    assert_eq!(server.call("s1", &["open", &format!("http://{SHOP}/")]).0, 0);
    assert_eq!(server.call("s1", &["click", "#name"]).0, 0);
    wait_for("the typed text", || {
        watching.key(b'w');
        reduced.key(b'z');
        driving.key(b'q');
        server.call("s1", &["get", "value", "#name"]).1.contains('q').then_some(())
    });
    // All of them receive the screen.
    for viewer in [&mut watching, &mut reduced, &mut driving] {
        assert_eq!(viewer.read_line(10).len(), 1280);
    }
    let (code, value) = server.call("s1", &["get", "value", "#name"]);
    assert!(code == 0 && !value.contains(['w', 'z']), "{value}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn screen_closes_when_its_credential_ends() {
    let signer = Signer::p256(9);
    test_env::require_test_network();
    let server = Server::start_with_tokens(test_env::env_with(test_env::no_agent_browser()), &signer);
    let token = |seconds| server.ticket_as(&bearer(&signer, "watch", seconds), "");
    let connect = |ticket: &str| Viewer::connect(server.port, ticket).expect("connected");
    let mut other = connect(&token(3600));
    let [drive, watch] = [DRIVE_KEY, WATCH_KEY].map(|key| connect(&server.ticket(key)).closed_later());
    let unused = server.ticket(WATCH_KEY);
    let expiring = connect(&token(20)).closed_later();
    // A key that is removed, and one whose scope is reduced.
    server.env().write_file("keys", &key_file(&[("ada", "watch", DRIVE_KEY)]));
    assert_eq!(watch.join().unwrap(), 1008);
    assert_eq!(drive.join().unwrap(), 1008);
    assert_eq!(Viewer::connect(server.port, &unused).err(), Some(401), "a ticket of a removed key");
    assert_eq!(expiring.join().unwrap(), 1008);
    assert_eq!(other.read_line(10).len(), 1280, "control: a token that is still valid");
    // The key of the authorization server.
    server.env().write_file("jwks.json", &json!({"keys": [Signer::p256(8).jwk(Some("k2"))]}).to_string());
    assert_eq!(other.closed_later().join().unwrap(), 1008);
    let audit = server.env().audit();
    let ends: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["right"] == "watch-screen" && line["code"] != "allowed")
        .map(|line| json!([line["subject"], line["code"]]))
        .collect();
    for end in
        [json!(["bob", "credential-unknown"]), json!(["tom", "token-expired"]), json!(["tom", "token-key-unknown"])]
    {
        assert!(ends.contains(&end), "{end}: {audit}");
    }
}
