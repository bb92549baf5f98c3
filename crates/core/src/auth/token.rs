//! JSON Web Tokens: the compact form (RFC 7515 section 3.1), before the signature is verified, and the claims behind it (RFC 7519
//! section 4.1, RFC 9068 section 2.2) with the rules that they must meet.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::auth::principal::{Evidence, Principal, Scope};
use crate::decision::{Code, Decision};
use crate::json;
use crate::session_id::Subject;

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
fn object(bytes: &[u8]) -> Option<Value> {
    let mut problems = Vec::new();
    let value = json::parse(str::from_utf8(bytes).ok()?, &mut problems).ok()?;
    (problems.is_empty() && value.is_object()).then_some(value)
}

fn malformed(reason: impl Into<String>) -> Decision {
    Decision::new(Code::TokenMalformed, reason)
}

/// Rules for the claims of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRules {
    /// Issuer that `iss` must name, unless any one may.
    pub issuer: Option<String>,
    /// Names of this server, one of which `aud` must have; empty if tokens need none.
    pub audiences: Vec<String>,
    /// Tolerance for clocks that differ.
    pub leeway: Duration,
    /// Claims that a token may leave out.
    pub claims: ClaimRules,
}

/// Claims that a token may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRules {
    /// None: a token has a subject, an end, and the scope that it gives.
    Strict,
    /// Those that the base image's `JWT_PUBLIC_KEY` does not ask for: a token without an end is valid for ever, and one that names
    /// none of our scopes gives `drive`.
    Base,
}

/// Claims of a token with a valid signature.
#[derive(Debug)]
pub(super) struct Claims(Value);

impl Claims {
    /// Parses the payload of a token.
    ///
    /// # Errors
    ///
    /// `token-claims-invalid` if it is not a JSON object with unique names.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Decision> {
        object(bytes).map(Self).ok_or_else(|| invalid("the payload is not a JSON object"))
    }

    /// Returns the principal that the claims name, if they meet the rules now. `key` is the fingerprint of the key that has signed
    /// them.
    ///
    /// # Errors
    ///
    /// The first claim that does not.
    pub(super) fn check(&self, rules: &TokenRules, now: Duration, key: [u8; 32]) -> Result<Principal, Decision> {
        let now = now.as_secs_f64();
        let leeway = rules.leeway.as_secs_f64();
        let end = self.time("exp")?;
        match end {
            None if rules.claims == ClaimRules::Strict => return Err(invalid("the claim `exp` is missing")),
            Some(end) if now >= end + leeway => {
                return Err(Decision::new(Code::TokenExpired, "the token has expired"));
            }
            _ => {}
        }
        if self.time("nbf")?.is_some_and(|begin| now + leeway < begin) {
            return Err(Decision::new(Code::TokenNotYetValid, "the token is not valid yet"));
        }
        let issuer = self.text("iss")?;
        if rules.issuer.as_deref().is_some_and(|wanted| issuer != Some(wanted)) {
            return Err(Decision::new(Code::TokenIssuerRefused, "the token is of another issuer"));
        }
        let audiences = self.texts("aud")?.unwrap_or_default();
        if !rules.audiences.is_empty() && !audiences.iter().any(|name| rules.audiences.iter().any(|own| own == name)) {
            return Err(Decision::new(Code::TokenAudienceRefused, "the token is for another server"));
        }
        let subject = match self.text("sub")? {
            Some(text) => {
                let long = || invalid("the claim `sub` must have 1 to 255 bytes and no control characters");
                Some(Subject::new(text).ok_or_else(long)?)
            }
            None if rules.claims == ClaimRules::Strict => return Err(invalid("the claim `sub` is missing")),
            None => None,
        };
        let scope = match (self.scope()?, rules.claims) {
            (None, ClaimRules::Base) => Some(Scope::Drive),
            (scope, _) => scope,
        };
        // A time that is too far away for the type never comes.
        let end = end.and_then(|end| Duration::try_from_secs_f64(end + leeway).ok());
        Ok(Principal { subject, scope, evidence: Evidence::Token { key, end } })
    }

    /// Returns the greatest of our scopes in `scope` (RFC 9068), or in `scp`, as some authorization servers call it.
    fn scope(&self) -> Result<Option<Scope>, Decision> {
        let claim = match self.texts("scope")? {
            Some(names) => Some(names),
            None => self.texts("scp")?,
        };
        let names = claim.iter().flatten().flat_map(|text| text.split(' '));
        Ok(names.filter_map(Scope::parse).max())
    }

    /// Returns a claim that is a time, in seconds since 1970.
    fn time(&self, name: &str) -> Result<Option<f64>, Decision> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => {
                let number = value.as_f64().filter(|number| number.is_finite());
                number.map(Some).ok_or_else(|| invalid(format!("the claim `{name}` must be a number")))
            }
        }
    }

    /// Returns a claim that is a string.
    fn text(&self, name: &str) -> Result<Option<&str>, Decision> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(format!("the claim `{name}` must be a string"))),
        }
    }

    /// Returns a claim that is a string or an array of strings.
    fn texts(&self, name: &str) -> Result<Option<Vec<&str>>, Decision> {
        let texts = match self.0.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) => Some(vec![text.as_str()]),
            Some(Value::Array(items)) => items.iter().map(Value::as_str).collect(),
            Some(_) => None,
        };
        texts.map(Some).ok_or_else(|| invalid(format!("the claim `{name}` must be a string or an array of strings")))
    }
}

fn invalid(reason: impl Into<String>) -> Decision {
    Decision::new(Code::TokenClaimsInvalid, reason)
}
