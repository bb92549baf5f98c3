//! Random bytes and the load of the kernel, and the text of system errors for people.

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

/// Returns the number of tasks that want a processor now or did in the last minute, for each processor, and at least 1. A system that does not
/// tell counts as one with nothing to do.
#[must_use]
pub fn load() -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let tasks = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| tasks_in(&text)).unwrap_or_default();
    (tasks / f64::from(u32::try_from(processors).unwrap_or(u32::MAX))).max(1.0)
}

/// Returns the larger one of both numbers of tasks in the text of `/proc/loadavg`: the mean of a minute, and that of now.
fn tasks_in(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let mean: f64 = words.next()?.parse().ok()?;
    let now: f64 = words.nth(2)?.split('/').next()?.parse().ok()?;
    Some(mean.max(now))
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
    fn load_is_that_of_now_or_of_the_last_minute() {
        assert_eq!(tasks_in("17.00 15.96 12.23 5/173 4858\n"), Some(17.0));
        assert_eq!(tasks_in("0.10 0.20 0.30 9/173 4858\n"), Some(9.0));
        for text in ["", "1.0", "x 1 1 1/2 3", "1 1 1 x 3"] {
            assert_eq!(tasks_in(text), None, "{text}");
        }
        assert!(load() >= 1.0);
    }

    #[test]
    fn full_volume_quota_and_size_limit_are_out_of_space() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            assert!(is_out_of_space(&errno.into()), "{errno}");
        }
        assert!(!is_out_of_space(&Errno::ACCESS.into()) && !is_out_of_space(&Error::other("x")), "control");
    }
}
