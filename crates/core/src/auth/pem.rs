//! Public keys in PEM (RFC 7468).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::auth::key::{KeyError, PublicKey};
use crate::policy::Problem;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// Reads all keys of a text. Text between the blocks is ignored, as RFC 7468 section 2 wants it.
pub(super) fn read(text: &str) -> Result<Vec<PublicKey>, Vec<Problem>> {
    let (mut keys, mut problems) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((position, line)) = lines.next() {
        let Some(label) = line.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(DASHES)) else { continue };
        let end = format!("{END}{label}{DASHES}");
        let mut body = String::new();
        let has_end = lines.by_ref().any(|(_, line)| {
            let is_end = line.trim() == end;
            if !is_end {
                body.extend(line.split_ascii_whitespace());
            }
            is_end
        });
        let key = if has_end { block(label, &body) } else { Err("has no END line; add it".to_owned()) };
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

fn block(label: &str, body: &str) -> Result<PublicKey, String> {
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
