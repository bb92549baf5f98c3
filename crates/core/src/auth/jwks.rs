//! Public keys in a JSON Web Key Set (RFC 7517, RFC 7518, RFC 8037).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::auth::key::{KeyError, PublicKey, VerificationKey};
use crate::json;
use crate::policy::Problem;

/// Reads all keys of a set. Keys for other purposes or of other kinds are ignored, as RFC 7517 section 5 wants it; secret ones are
/// a problem, since nobody else may have them.
pub(super) fn read(text: &str) -> Result<Vec<VerificationKey>, Vec<Problem>> {
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
