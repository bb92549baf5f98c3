//! Cookie file of the display: who can read it can connect (xauth(1)).

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use browser_shell_system::os::random;

/// Name of the method in the file.
const METHOD: &[u8] = b"MIT-MAGIC-COOKIE-1";

/// Family of an entry for every display (`FamilyWild`).
const EVERY_DISPLAY: u16 = 0xffff;

/// Writes a new cookie to a file that only this user can read.
///
/// # Errors
///
/// Returns the error of the system if there is no randomness or the file exists.
pub(super) fn write(path: &Path) -> io::Result<()> {
    let cookie: [u8; 16] = random::bytes()?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(&entry(&cookie))
}

/// Returns the entry of a cookie: a family and four texts, each with its length in two bytes.
fn entry(cookie: &[u8]) -> Vec<u8> {
    let mut entry = EVERY_DISPLAY.to_be_bytes().to_vec();
    for text in [b"".as_slice(), b"", METHOD, cookie] {
        entry.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        entry.extend(text);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_file_has_one_entry_for_every_display() {
        let expected = [b"\xff\xff\0\0\0\0\0\x12MIT-MAGIC-COOKIE-1\0\x10".as_slice(), &[7; 16]].concat();
        assert_eq!(entry(&[7; 16]), expected);
    }
}
