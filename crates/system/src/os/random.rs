//! Random bytes of the kernel.

use std::fs::File;
use std::io::{self, Read};

/// Returns random bytes that nobody can guess.
///
/// # Errors
///
/// Returns the error of the system if its source of random bytes cannot be read.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
