//! Sets of public keys, and the verification of tokens by them.

use std::time::Duration;

use crate::auth::claims::{Claims, TokenRules};
use crate::auth::evidence::Evidence;
use crate::auth::jwks;
use crate::auth::key::VerificationKey;
use crate::auth::pem;
use crate::auth::principal::Principal;
use crate::auth::token::Token;
use crate::decision::{Code, Decision};
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
            jwks::read(text)?
        } else {
            pem::read(text)?.into_iter().map(|key| VerificationKey { id: None, key }).collect()
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
