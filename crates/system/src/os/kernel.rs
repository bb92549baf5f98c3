//! Random bytes of the kernel, and the text of system errors for people.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Read};

use rustix::io::Errno;

/// Returns random bytes that nobody can guess.
///
/// # Errors
///
/// Returns the error of the system if its source of random bytes cannot be read.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns the text of an error of a file or a connection: lower case, without the system's number.
#[must_use]
pub fn describe(error: &Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        return "no such file or folder".to_owned();
    }
    let text = error.to_string();
    let text = text.rsplit_once(" (os error ").map_or(text.as_str(), |(text, _)| text);
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns true if an error means that a volume, a quota or the size limit of a file leaves no room.
pub fn is_out_of_space(error: &Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_are_described_without_number() {
        let by_number = |errno: Errno| describe(&Error::from(errno));
        assert_eq!(by_number(Errno::NOENT), "no such file or folder");
        assert_eq!(by_number(Errno::ACCESS), "permission denied");
        assert_eq!(describe(&Error::from(ErrorKind::NotFound)), "no such file or folder", "not `entity not found`");
        assert_eq!(describe(&Error::other("It broke (twice)")), "it broke (twice)");
        assert_eq!(describe(&Error::other("")), "");
    }

    #[test]
    fn full_volume_quota_and_size_limit_are_out_of_space() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            assert!(is_out_of_space(&errno.into()), "{errno}");
        }
        assert!(!is_out_of_space(&Errno::ACCESS.into()) && !is_out_of_space(&Error::other("x")), "control");
    }
}
