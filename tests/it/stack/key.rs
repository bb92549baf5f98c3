//! A key pair of the operator and tokens that it signs, as any issuer would.
//!
//! The keys exist only in this process and its temporary folder. Every run creates new ones.

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

    /// Returns the path of the private key in PEM format.
    pub(super) fn file(&self) -> String {
        self.folder.path().join("key.pem").to_str().unwrap().to_owned()
    }

    /// Returns the value of `JWT_PUBLIC_KEY`: the PEM file in base64.
    pub(super) fn public(&self) -> String {
        BASE64_STANDARD.encode(openssl(&["pkey", "-in", &self.file(), "-pubout"]))
    }

    /// Returns a token that expires the given number of seconds from now. Negative values are in the past.
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
    let output = output.expect("cannot start `openssl`: run tests/aio-base/setup");
    assert!(output.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
