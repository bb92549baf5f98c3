//! A key pair of the operator, and tokens that it signs, as any issuer would.
//!
//! The keys never leave this process and its temporary folder; every run has new ones.

use std::{
    fs,
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

/// An RSA key for JWTs.
#[derive(Debug)]
pub(super) struct Key {
    folder: TempDir,
}

impl Key {
    pub(super) fn new() -> Self {
        let key = Self { folder: TempDir::with_prefix("key").unwrap() };
        openssl(&["genrsa", "-out", &key.file(), "2048"]);
        key
    }

    /// The private key, as PEM.
    pub(super) fn file(&self) -> String {
        self.folder.path().join("key.pem").to_str().unwrap().to_owned()
    }

    /// What `JWT_PUBLIC_KEY` wants: base64 of the PEM.
    pub(super) fn public(&self) -> String {
        BASE64_STANDARD.encode(openssl(&["pkey", "-in", &self.file(), "-pubout"]))
    }

    /// A token that ends so many seconds from now, or ended before now.
    pub(super) fn token(&self, seconds: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let end = i64::try_from(now).unwrap() + seconds;
        let part = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(json!({"alg": "RS256", "typ": "JWT"})), part(json!({"sub": "t", "exp": end})));
        let file = NamedTempFile::new_in(self.folder.path()).unwrap();
        fs::write(file.path(), &text).unwrap();
        let signature = openssl(&["dgst", "-sha256", "-sign", &self.file(), file.path().to_str().unwrap()]);
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

fn openssl(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("openssl").args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("`openssl` must start: run tests/aio-base/setup");
    assert!(output.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
