//! JSON Web Tokens in the compact form (RFC 7515 section 3.1), before their signature is verified.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::decision::{Code, Decision};
use crate::json;

/// Maximum length of a token, in bytes.
const MAX_LENGTH: usize = 16 * 1024;

/// Token whose signature has not been verified.
#[derive(Debug)]
pub(super) struct Token<'a> {
    /// Algorithm that the header names.
    pub algorithm: String,
    /// Id of the key, if the header names one.
    pub key_id: Option<String>,
    /// Text that the signature is about.
    pub signed: &'a [u8],
    /// Bytes of the claims.
    pub claims: Vec<u8>,
    /// Bytes of the signature.
    pub signature: Vec<u8>,
}

impl<'a> Token<'a> {
    /// Splits and decodes a token.
    ///
    /// # Errors
    ///
    /// `token-malformed` for anything that is not exactly one header, one payload and one signature, for a header that is not a
    /// JSON object with unique names, and for one with extensions (`crit`, RFC 7515 section 4.1.11), as none is supported.
    pub(super) fn parse(text: &'a str) -> Result<Self, Decision> {
        if text.len() > MAX_LENGTH {
            return Err(malformed(format!("the token is longer than {MAX_LENGTH} bytes")));
        }
        let parts = || malformed("a token has three parts with dots between them");
        let (signed, signature) = text.rsplit_once('.').ok_or_else(parts)?;
        let (header, claims) = signed.split_once('.').ok_or_else(parts)?;
        if claims.contains('.') {
            return Err(parts());
        }
        let decode = |part: &str| {
            BASE64_URL_SAFE_NO_PAD
                .decode(part)
                .map_err(|_| malformed("the parts must be Base64 for URLs, without padding"))
        };
        let header = object(&decode(header)?).ok_or_else(|| malformed("the header is not a JSON object"))?;
        let member = |name: &str| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(malformed(format!("`{name}` in the header must be a string"))),
        };
        if header.get("crit").is_some() {
            return Err(malformed("`crit` in the header names extensions, and none is supported"));
        }
        Ok(Self {
            algorithm: member("alg")?.ok_or_else(|| malformed("`alg` is missing in the header"))?,
            key_id: member("kid")?,
            signed: signed.as_bytes(),
            claims: decode(claims)?,
            signature: decode(signature)?,
        })
    }
}

/// Parses a JSON object in which every name is unique.
pub(super) fn object(bytes: &[u8]) -> Option<Value> {
    let mut problems = Vec::new();
    let value = json::parse(str::from_utf8(bytes).ok()?, &mut problems).ok()?;
    (problems.is_empty() && value.is_object()).then_some(value)
}

fn malformed(reason: impl Into<String>) -> Decision {
    Decision::new(Code::TokenMalformed, reason)
}
