//! Stand-in for an authorization server: metadata, registration, consent at once, and tokens by code and PKCE.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use crate::credentials::signer::Signer;

/// Authorization server whose only person is alice.
pub(crate) struct Issuer {
    address: String,
    signer: Signer,
}

impl Issuer {
    /// Starts the server. It ends with the process.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let issuer = Self { address, signer: Signer::p256(9) };
        let served = Self { address: issuer.address.clone(), signer: issuer.signer.clone() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                served.answer(stream.unwrap());
            }
        });
        issuer
    }

    /// Returns the issuer's name.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the keys of its tokens.
    pub(crate) fn jwks(&self) -> String {
        json!({ "keys": [self.signer.jwk(Some("k1"))] }).to_string()
    }

    fn answer(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim_end() {
                "" => break,
                text => lines.push(text.to_owned()),
            }
        }
        let Some(target) = lines.first().and_then(|line| line.split(' ').nth(1)) else { return };
        let length = lines.iter().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let url = Url::parse(&format!("{}{target}", self.address)).unwrap();
        let (status, headers, content) = self.route(&url, &body);
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{content}",
            content.len()
        );
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    }

    fn route(&self, url: &Url, body: &[u8]) -> (&'static str, String, String) {
        let query =
            |name: &str| url.query_pairs().find(|(other, _)| other == name).map(|(_, value)| value.into_owned());
        let address = &self.address;
        match url.path() {
            "/.well-known/oauth-authorization-server" => {
                let metadata = json!({
                    "issuer": address,
                    "authorization_endpoint": format!("{address}/authorize"),
                    "token_endpoint": format!("{address}/token"),
                    "registration_endpoint": format!("{address}/register"),
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["authorization_code"],
                    "token_endpoint_auth_methods_supported": ["none"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                });
                ("200 OK", String::new(), metadata.to_string())
            }
            "/register" => {
                let mut client: Value = serde_json::from_slice(body).unwrap();
                client["client_id"] = "client".into();
                client["token_endpoint_auth_method"] = "none".into();
                ("201 Created", String::new(), client.to_string())
            }
            "/authorize" => {
                // The code carries what the token will be for, so that this server keeps no state.
                let grant = json!([query("code_challenge"), query("resource"), query("scope")]).to_string();
                let mut back = Url::parse(&query("redirect_uri").unwrap()).unwrap();
                back.query_pairs_mut()
                    .append_pair("code", &BASE64_URL_SAFE_NO_PAD.encode(grant))
                    .append_pair("state", &query("state").unwrap())
                    .append_pair("iss", address);
                ("302 Found", format!("Location: {back}\r\n"), String::new())
            }
            "/token" => {
                let form = |name: &str| {
                    let mut pairs = url::form_urlencoded::parse(body);
                    pairs.find(|(other, _)| other == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
                };
                let grant = BASE64_URL_SAFE_NO_PAD.decode(form("code")).unwrap();
                let [challenge, resource, scope]: [String; 3] = serde_json::from_slice(&grant).unwrap();
                let verifier = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(form("code_verifier")));
                assert_eq!((challenge, &resource), (verifier, &form("resource")));
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
                let claims =
                    json!({ "iss": address, "aud": resource, "sub": "alice", "scope": scope, "exp": now + 300 });
                let token = self.signer.sign(&json!({ "alg": "ES256", "kid": "k1", "typ": "at+jwt" }), &claims);
                let answer =
                    json!({ "access_token": token, "token_type": "Bearer", "expires_in": 300, "scope": scope });
                ("200 OK", String::new(), answer.to_string())
            }
            _ => ("404 Not Found", String::new(), String::new()),
        }
    }
}
