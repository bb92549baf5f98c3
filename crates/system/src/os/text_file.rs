//! Small files of an operator, such as a policy or keys.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Reads a regular file of at most `max_bytes`.
///
/// # Errors
///
/// The error of the system, or one that says that the file is of another kind or too large.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe must not wait; it is refused below.
    let options = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(options).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    // With room for one byte more, which is how the end is found.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(max_bytes) + 1).unwrap_or_default());
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {max_bytes} bytes")));
    }
    Ok(bytes)
}
