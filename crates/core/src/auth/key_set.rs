//! Sets of public keys, and the verification of tokens by them.
//!
//! A set is a JSON Web Key Set (RFC 7517, RFC 7518, RFC 8037), or public keys in PEM (RFC 7468).

use std::time::Duration;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use crate::auth::key::{KeyError, PublicKey, VerificationKey};
use crate::auth::principal::{Evidence, Principal};
use crate::auth::token::{Claims, Token, TokenRules};
use crate::decision::{Code, Decision};
use crate::json;
use crate::policy::Problem;

/// Maximum number of keys: a token without the id of its key is checked with each of them.
const MAX_KEYS: usize = 32;

/// Public keys of an authorization server.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<VerificationKey>);

impl KeySet {
    /// Parses a JSON Web Key Set, or public keys in PEM.
    ///
    /// # Errors
    ///
    /// Every problem of the text with its place.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let keys = if text.trim_start().starts_with('{') {
            read_jwks(text)?
        } else {
            read_pem(text)?.into_iter().map(|key| VerificationKey { id: None, key }).collect()
        };
        if keys.len() > MAX_KEYS {
            return Err(vec![Problem::new(
                "",
                format!("has more than {MAX_KEYS} keys; remove those that are not used"),
            )]);
        }
        Ok(Self(keys))
    }

    /// Returns the principal of a token that one of these keys has signed and that meets the rules.
    ///
    /// # Errors
    ///
    /// The first reason for refusing it. The claims of a token are read only after its signature was verified.
    pub fn verify(&self, token: &str, rules: &TokenRules, now: Duration) -> Result<Principal, Decision> {
        let token = Token::parse(token)?;
        let has_id = |key: &&VerificationKey| match (&key.id, &token.key_id) {
            (Some(id), Some(wanted)) => id == wanted,
            (None, _) | (_, None) => true,
        };
        let named: Vec<_> = self.0.iter().filter(has_id).collect();
        if named.is_empty() {
            return Err(Decision::new(Code::TokenKeyUnknown, "the server has no key with the token's `kid`"));
        }
        let mut fitting = named.into_iter().filter(|key| key.key.algorithm().has_name(&token.algorithm)).peekable();
        if fitting.peek().is_none() {
            return Err(Decision::new(
                Code::TokenAlgorithmRefused,
                "the server's key has another algorithm than the token",
            ));
        }
        let Some(signer) = fitting.find(|key| key.key.has_signed(token.signed, &token.signature)) else {
            return Err(Decision::new(Code::TokenSignatureInvalid, "no key of the server has signed the token"));
        };
        Claims::parse(&token.claims)?.check(rules, now, signer.key.fingerprint())
    }

    /// Decides if the token of a principal is still valid: it has not expired, and its key is among these.
    ///
    /// # Errors
    ///
    /// `token-expired` or `token-key-unknown`; `credential-unknown` for evidence that is not a token's.
    pub fn confirm(&self, evidence: &Evidence, now: Duration) -> Result<(), Decision> {
        let Evidence::Token { key, end } = evidence else {
            return Err(Decision::new(Code::CredentialUnknown, "the server does not have this credential"));
        };
        if end.is_some_and(|end| now >= end) {
            return Err(Decision::new(Code::TokenExpired, "the token has expired"));
        }
        if !self.0.iter().any(|known| known.key.fingerprint() == *key) {
            return Err(Decision::new(Code::TokenKeyUnknown, "the server has the key of the token no more"));
        }
        Ok(())
    }
}

/// Reads all keys of a set. Keys for other purposes or of other kinds are ignored, as RFC 7517 section 5 wants it; secret ones are
/// a problem, since nobody else may have them.
fn read_jwks(text: &str) -> Result<Vec<VerificationKey>, Vec<Problem>> {
    let mut problems = Vec::new();
    let document = match json::parse(text, &mut problems) {
        Ok(document) => document,
        Err(problem) => return Err(vec![problem]),
    };
    let mut keys = Vec::new();
    match document.get("keys").and_then(Value::as_array) {
        None => problems.push(Problem::new("keys", "must be an array of keys")),
        Some(entries) => {
            for (position, entry) in entries.iter().enumerate() {
                let place = format!("keys[{position}]");
                match entry.as_object().map(|entry| read_key(&place, entry)) {
                    Some(Ok(key)) => keys.extend(key),
                    Some(Err(problem)) => problems.push(problem),
                    None => problems.push(Problem::new(place, "must be an object")),
                }
            }
        }
    }
    if keys.is_empty() && problems.is_empty() {
        let message = "has no key to verify signatures by RS256, ES256 or EdDSA; add one";
        problems.push(Problem::new("keys", message));
    }
    if problems.is_empty() { Ok(keys) } else { Err(problems) }
}

/// Reads a key. Returns `None` for one that is of another kind or has another purpose.
fn read_key(place: &str, entry: &Map<String, Value>) -> Result<Option<VerificationKey>, Problem> {
    let member = |name: &str| match entry.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(Problem::new(format!("{place}.{name}"), "must be a string")),
    };
    let bytes = |name: &str| {
        let text = member(name)?.ok_or_else(|| Problem::new(format!("{place}.{name}"), "is missing"))?;
        let invalid = |_| Problem::new(format!("{place}.{name}"), "must be Base64 for URLs, without padding");
        BASE64_URL_SAFE_NO_PAD.decode(text).map_err(invalid)
    };
    let kind = member("kty")?.ok_or_else(|| Problem::new(format!("{place}.kty"), "is missing"))?;
    if kind == "oct" || entry.contains_key("d") {
        return Err(Problem::new(place, "is a secret key; give the public keys only"));
    }
    if member("use")?.is_some_and(|purpose| purpose != "sig") || !is_for_verifying(place, entry)? {
        return Ok(None);
    }
    let key: Result<PublicKey, KeyError> = match (kind, member("crv")?) {
        ("RSA", _) => PublicKey::from_modulus(&bytes("n")?, &bytes("e")?),
        ("EC", Some("P-256")) => PublicKey::from_coordinates(&bytes("x")?, &bytes("y")?),
        ("OKP", Some("Ed25519")) => PublicKey::from_ed25519(&bytes("x")?),
        _ => return Ok(None),
    };
    let key = key.map_err(|error| Problem::new(place, error.to_string()))?;
    if member("alg")?.is_some_and(|name| !key.algorithm().has_name(name)) {
        return Ok(None);
    }
    Ok(Some(VerificationKey { id: member("kid")?.map(str::to_owned), key }))
}

fn is_for_verifying(place: &str, entry: &Map<String, Value>) -> Result<bool, Problem> {
    match entry.get("key_ops") {
        None => Ok(true),
        Some(Value::Array(operations)) => Ok(operations.iter().any(|operation| operation == "verify")),
        Some(_) => Err(Problem::new(format!("{place}.key_ops"), "must be an array")),
    }
}

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_DASHES: &str = "-----";

/// Reads all keys of a text. Text between the blocks is ignored, as RFC 7468 section 2 wants it.
fn read_pem(text: &str) -> Result<Vec<PublicKey>, Vec<Problem>> {
    let (mut keys, mut problems) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((position, line)) = lines.next() {
        let Some(label) = line.trim().strip_prefix(PEM_BEGIN).and_then(|rest| rest.strip_suffix(PEM_DASHES)) else {
            continue;
        };
        let end = format!("{PEM_END}{label}{PEM_DASHES}");
        let mut body = String::new();
        let has_end = lines.by_ref().any(|(_, line)| {
            let is_end = line.trim() == end;
            if !is_end {
                body.extend(line.split_ascii_whitespace());
            }
            is_end
        });
        let key = if has_end { read_block(label, &body) } else { Err("has no END line; add it".to_owned()) };
        match key {
            Ok(key) => keys.push(key),
            Err(message) => problems.push(Problem::new(format!("line {}", position + 1), message)),
        }
    }
    if keys.is_empty() && problems.is_empty() {
        problems.push(Problem::new("", "has no PEM block `PUBLIC KEY`; add one"));
    }
    if problems.is_empty() { Ok(keys) } else { Err(problems) }
}

fn read_block(label: &str, body: &str) -> Result<PublicKey, String> {
    let read: fn(&[u8]) -> Result<PublicKey, KeyError> = match label {
        "PUBLIC KEY" => PublicKey::from_spki,
        "RSA PUBLIC KEY" => PublicKey::from_pkcs1,
        _ if label.ends_with("PRIVATE KEY") => {
            return Err("is a private key; give the public key as `openssl pkey -pubout` prints it".to_owned());
        }
        "CERTIFICATE" => {
            return Err("is a certificate; give its key as `openssl x509 -noout -pubkey` prints it".to_owned());
        }
        _ => return Err("is not a PEM block `PUBLIC KEY`; remove it".to_owned()),
    };
    let der = BASE64_STANDARD.decode(body).map_err(|_| "is not valid Base64; copy the block again".to_owned())?;
    read(&der).map_err(|error| error.to_string())
}
