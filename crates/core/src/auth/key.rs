//! Public keys, and the algorithm that each of them has.
//!
//! Invariants: a key verifies signatures of one algorithm only. Nothing in a token can choose another one.

use ed25519_dalek::VerifyingKey as Ed25519Key;
use p256::ecdsa::VerifyingKey as P256Key;
use p256::ecdsa::signature::Verifier;
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::pkcs1v15::VerifyingKey as RsaKey;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, PublicKey as RsaPublicKey};
use sha2::{Digest, Sha256};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};
use thiserror::Error;

/// Minimum size of the modulus of an RSA key, in bits (RFC 7518 section 3.3).
const MIN_RSA_BITS: u32 = 2048;

/// First byte of a point with both coordinates (SEC 1 section 2.3.3).
const UNCOMPRESSED: u8 = 4;

/// Object identifiers of the kinds of keys (RFC 3279, RFC 5480, RFC 8410).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// Signature algorithm of tokens (RFC 7518, RFC 8037).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA with PKCS #1 v1.5 and SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Returns true if this is the algorithm that a JOSE header names. `Ed25519` is the newer name of `EdDSA` (RFC 9864).
    pub(super) fn has_name(self, name: &str) -> bool {
        match self {
            Self::Rs256 => name == "RS256",
            Self::Es256 => name == "ES256",
            Self::EdDsa => matches!(name, "EdDSA" | "Ed25519"),
        }
    }
}

/// Reason why a key cannot be used.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum KeyError {
    #[error("is not a public key; give the public key as `openssl pkey -pubout` prints it")]
    Encoding,
    #[error("is not an RSA, P-256 or Ed25519 key; use one of these")]
    Kind,
    #[error("is not a valid RSA key of 2048 to 8192 bits; use another key")]
    Rsa,
    #[error("is not a valid key of its curve; use another key")]
    Point,
}

/// Public key.
#[derive(Clone, Debug)]
pub(super) enum PublicKey {
    Rsa(RsaKey<Sha256>),
    P256(P256Key),
    Ed25519(Ed25519Key),
}

impl PublicKey {
    /// Reads a `SubjectPublicKeyInfo` (RFC 5280), the content of a PEM block `PUBLIC KEY`.
    pub(super) fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        let info = SubjectPublicKeyInfoRef::try_from(der).map_err(|_| KeyError::Encoding)?;
        let key = info.subject_public_key.as_bytes().ok_or(KeyError::Encoding)?;
        let curve = || info.algorithm.parameters_oid().ok();
        match info.algorithm.oid {
            RSA => Self::from_pkcs1(key),
            EC if curve() == Some(P256) => Self::from_point(key),
            ED25519 => Self::from_ed25519(key),
            _ => Err(KeyError::Kind),
        }
    }

    /// Reads an `RSAPublicKey` (RFC 8017), the content of a PEM block `RSA PUBLIC KEY`.
    pub(super) fn from_pkcs1(der: &[u8]) -> Result<Self, KeyError> {
        Self::from_rsa(RsaPublicKey::from_pkcs1_der(der).map_err(|_| KeyError::Rsa)?)
    }

    /// Creates a key from the modulus and the exponent of RSA.
    pub(super) fn from_modulus(modulus: &[u8], exponent: &[u8]) -> Result<Self, KeyError> {
        let number = |bytes: &[u8]| {
            // A larger number than any valid one is refused before it is copied.
            let bits = u32::try_from(bytes.len()).ok().filter(|length| *length <= 2048)?.checked_mul(8)?;
            BoxedUint::from_be_slice(bytes, bits).ok()
        };
        let (modulus, exponent) = number(modulus).zip(number(exponent)).ok_or(KeyError::Rsa)?;
        Self::from_rsa(RsaPublicKey::new(modulus, exponent).map_err(|_| KeyError::Rsa)?)
    }

    fn from_rsa(key: RsaPublicKey) -> Result<Self, KeyError> {
        if key.n().bit_width_vartime() < MIN_RSA_BITS {
            return Err(KeyError::Rsa);
        }
        Ok(Self::Rsa(RsaKey::new(key)))
    }

    /// Creates a key from the coordinates of a point of P-256, each of 32 bytes (RFC 7518 section 6.2.1).
    pub(super) fn from_coordinates(x: &[u8], y: &[u8]) -> Result<Self, KeyError> {
        if [x.len(), y.len()] != [32, 32] {
            return Err(KeyError::Point);
        }
        Self::from_point(&[&[UNCOMPRESSED], x, y].concat())
    }

    /// Creates a key from a point of P-256 in the form of SEC 1.
    fn from_point(point: &[u8]) -> Result<Self, KeyError> {
        P256Key::from_sec1_bytes(point).map(Self::P256).map_err(|_| KeyError::Point)
    }

    /// Creates a key from the 32 bytes of an Ed25519 key.
    pub(super) fn from_ed25519(bytes: &[u8]) -> Result<Self, KeyError> {
        let bytes = bytes.try_into().map_err(|_| KeyError::Point)?;
        let key = Ed25519Key::from_bytes(bytes).map_err(|_| KeyError::Point)?;
        // For a weak key, one signature fits many messages.
        if key.is_weak() { Err(KeyError::Point) } else { Ok(Self::Ed25519(key)) }
    }

    /// Returns the SHA-256 of the key, by which it is recognized in another file.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let hash = match self {
            Self::Rsa(key) => {
                let key: &RsaPublicKey = key.as_ref();
                Sha256::new().chain_update(key.n().to_be_bytes()).chain_update(key.e().to_be_bytes())
            }
            Self::P256(key) => Sha256::new().chain_update(key.to_sec1_point(false).as_bytes()),
            Self::Ed25519(key) => Sha256::new().chain_update(key.as_bytes()),
        };
        hash.finalize().into()
    }

    /// Returns the only algorithm that this key is used with.
    pub(super) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa(_) => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Returns true if a signature of a message was made with the private key of this one.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa(key) => rsa::pkcs1v15::Signature::try_from(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            Self::P256(key) => p256::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            Self::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(message, &signature).is_ok()),
        }
    }
}

/// Public key with its id.
#[derive(Clone, Debug)]
pub(super) struct VerificationKey {
    /// Id of the key, which tokens name as `kid`. A key without one may have signed any token.
    pub id: Option<String>,
    /// The key.
    pub key: PublicKey,
}
