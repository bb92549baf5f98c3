//! Signer of tokens for the tests of both crates, with fixed private keys that nothing else uses.

// Each of the tests uses a part.
#![allow(dead_code)]

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use p256::ecdsa::signature::Signer as _;
use rsa::pkcs8::EncodePublicKey;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, Pkcs1v15Sign, PrivateKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Primes of the RSA key.
const P: &str = "ce8219ffbd97ed91ba763d8a741ef9f4be38776074bac028f242acb90918980a9a1832b3ca015384be8344da33936bf3157c48dea255e5174e5b924507cceb76d8cefcacbfe2db1e61b2ccb06b16e969b1ad859523e0feb8f2eb897d124478c236b455f66c731f45cc5ea47a5b433b6ea97c94ec32dba326ca24ac35bf7cc2c3";
const Q: &str = "ce7e52175de1751352c9784a05ccac7630e5925d2f3f7edf867ff3239f6309db92020ed2419081aa0b7487daae9bef0eba1653b0a7c5e46b55693ea669fbe7c62955dd23c7b67a1891a8d109b68128b15a096906b275180ccbeee477da17ac49a7edee36f4196c4aac28e48957da65bc82adcdbda8fba86dc7c2ec1c999708af";

/// Private key.
#[derive(Clone)]
pub(crate) enum Signer {
    Rsa(Box<PrivateKey>),
    P256(p256::ecdsa::SigningKey),
    Ed25519(ed25519_dalek::SigningKey),
    /// A secret that both sides know (HS256).
    Shared(Vec<u8>),
    /// No key: tokens without a signature.
    None,
}

impl Signer {
    /// Returns the RSA key.
    pub(crate) fn rsa() -> Self {
        let number = |text: &str| BoxedUint::from_be_hex(text, 1024).expect("a number");
        let key = PrivateKey::from_p_q(number(P), number(Q), 65_537_u64.into()).expect("a key");
        Self::Rsa(Box::new(key))
    }

    /// Returns the P-256 key with this number.
    pub(crate) fn p256(number: u8) -> Self {
        Self::P256(p256::ecdsa::SigningKey::from_slice(&[number; 32]).expect("a key"))
    }

    /// Returns the Ed25519 key with this number.
    pub(crate) fn ed25519(number: u8) -> Self {
        Self::Ed25519(ed25519_dalek::SigningKey::from_bytes(&[number; 32]))
    }

    /// Returns the name of the key's algorithm.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
            Self::Shared(_) => "HS256",
            Self::None => "none",
        }
    }

    /// Returns a token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(&json!({ "typ": "JWT", "alg": self.algorithm() }), claims)
    }

    /// Returns a token with this header, whatever algorithm that names.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    /// Returns a token of these texts, which need not be JSON.
    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let signed = format!("{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()));
        let signature = self.signature(signed.as_bytes());
        format!("{signed}.{}", encode(&signature))
    }

    fn signature(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Rsa(key) => key.sign(Pkcs1v15Sign::new::<Sha256>(), &Sha256::digest(message)).expect("signed"),
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Self::Shared(secret) => hmac(secret, message),
            Self::None => Vec::new(),
        }
    }

    /// Returns the public key in PEM.
    pub(crate) fn pem(&self) -> String {
        let body = BASE64_STANDARD.encode(self.spki());
        let lines: Vec<_> = body.as_bytes().chunks(64).map(|line| str::from_utf8(line).expect("Base64")).collect();
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
    }

    fn spki(&self) -> Vec<u8> {
        // Of P-256 and Ed25519, everything in front of the key is the same in each.
        let prefix = |text: &str| BASE64_STANDARD.decode(text).expect("Base64");
        match self {
            Self::Rsa(key) => key.to_public_key().to_public_key_der().expect("encoded").into_vec(),
            Self::P256(key) => {
                let point = key.verifying_key().to_sec1_point(false).as_bytes().to_vec();
                [prefix("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA="), point].concat()
            }
            Self::Ed25519(key) => [prefix("MCowBQYDK2VwAyEA"), key.verifying_key().to_bytes().to_vec()].concat(),
            Self::Shared(_) | Self::None => panic!("no public key"),
        }
    }

    /// Returns the public key as a JSON Web Key.
    pub(crate) fn jwk(&self, id: Option<&str>) -> Value {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match self {
            Self::Rsa(key) => {
                let exponent = key.e().to_be_bytes();
                let zeros = exponent.iter().take_while(|byte| **byte == 0).count();
                json!({ "kty": "RSA", "n": encode(&key.n().to_be_bytes()), "e": encode(&exponent[zeros..]) })
            }
            Self::P256(key) => {
                let point = key.verifying_key().to_sec1_point(false).as_bytes().to_vec();
                let (x, y) = point[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) })
            }
            Self::Ed25519(key) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(&key.verifying_key().to_bytes()) })
            }
            Self::Shared(_) | Self::None => panic!("no public key"),
        };
        if let Some(id) = id {
            jwk["kid"] = id.into();
        }
        jwk
    }
}

/// Returns the HMAC with SHA-256 (RFC 2104).
fn hmac(secret: &[u8], message: &[u8]) -> Vec<u8> {
    let short = if secret.len() > 64 { Sha256::digest(secret).to_vec() } else { secret.to_vec() };
    let pad = |byte: u8| -> Vec<u8> { (0..64).map(|index| short.get(index).unwrap_or(&0) ^ byte).collect() };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}
