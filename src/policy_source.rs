//! Policy file on disk.
//!
//! The file is read for every decision and parsed when its content has changed.
//!
//! Invariants: without a file, the safe defaults apply. If the file cannot be read or is invalid, every decision that needs it
//! is a refusal; neither the defaults nor the previous policy apply.
//!
//! Requirement 2.1.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::os::io_error::describe;
use crate::os::text_file;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::Policy;
use browser_shell_core::policy::Problem;
use browser_shell_core::policy::file::{MAX_BYTES, parse_for_home};
use browser_shell_core::session_id::SessionId;

/// Error that leaves no policy in force.
#[derive(Clone, Debug, Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("cannot read the policy file `{path}`: {message}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// System error.
        message: String,
    },
    /// The file is not a valid policy.
    #[error("the policy file `{path}` has {} problem(s), the first at {}", problems.len(), problems.first().map(ToString::to_string).unwrap_or_default())]
    Invalid {
        /// Path of the file.
        path: String,
        /// All problems.
        problems: Vec<Problem>,
    },
}

impl From<PolicyError> for Decision {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Unreadable { message, .. } => {
                Self::new(Code::PolicyInvalid, format!("the policy file cannot be read: {message}"))
            }
            PolicyError::Invalid { problems, .. } => {
                let mut problems = problems.into_iter();
                let first = problems.next();
                let others = problems.count();
                let more = if others == 0 { String::new() } else { format!(" and {others} more") };
                let location = first.as_ref().map(|problem| problem.path.clone()).filter(|path| !path.is_empty());
                let message = first.map(|problem| problem.message).unwrap_or_default();
                let decision = Self::new(Code::PolicyInvalid, format!("the policy file is not valid: {message}{more}"));
                match location {
                    Some(location) => decision.at(location),
                    None => decision,
                }
            }
        }
    }
}

/// Returns the home folder of this process's user: `HOME`, else the one of the user's account. A relative one does not count.
#[must_use]
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Content of the file, its hash and the policy.
type Cached = (Vec<u8>, String, Result<Arc<Policy>, PolicyError>);

/// Policy file that can change at any time.
#[derive(Debug)]
pub struct PolicySource {
    path: PathBuf,
    /// The folder that `~` means.
    home: Option<PathBuf>,
    cached: Mutex<Option<Cached>>,
}

impl PolicySource {
    /// Creates a source that reads this file.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, home: home(), cached: Mutex::new(None) }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file exists; otherwise the defaults apply.
    #[must_use]
    pub fn exists(&self) -> bool {
        // A broken link is an unreadable file, not a missing one.
        self.path.symlink_metadata().is_ok()
    }

    /// Returns the policy in force.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is invalid.
    pub fn current(&self) -> Result<Arc<Policy>, PolicyError> {
        self.in_force().1
    }

    /// Returns the policy in force for a session; without one, it is the policy without its sections for sessions.
    ///
    /// # Errors
    ///
    /// As for [`current`](Self::current).
    pub fn current_for(&self, session: Option<&SessionId>) -> Result<Arc<Policy>, PolicyError> {
        let policy = self.current()?;
        Ok(match policy.for_session(session) {
            Cow::Borrowed(_) => Arc::clone(&policy),
            Cow::Owned(own) => Arc::new(own),
        })
    }

    /// Returns the policy in force and the SHA-256 of the bytes that it was parsed from. Without a file there is no hash.
    pub fn in_force(&self) -> (Option<String>, Result<Arc<Policy>, PolicyError>) {
        let bytes = match self.read() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return (None, Ok(Arc::new(Policy::default()))),
            Err(error) => return (None, Err(error)),
        };
        // The content is compared, since an edit within the resolution of the clock or a replaced link can keep the date.
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hash, result)) = cached.as_ref().filter(|(old, ..)| *old == bytes) {
            return (Some(hash.clone()), result.clone());
        }
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let path = self.path.display().to_string();
        let result = match std::str::from_utf8(&bytes) {
            Ok(text) => parse_for_home(text, self.home.as_deref())
                .map(Arc::new)
                .map_err(|problems| PolicyError::Invalid { path, problems }),
            Err(error) => Err(PolicyError::Unreadable { path, message: format!("not UTF-8: {error}") }),
        };
        *cached = Some((bytes, hash.clone(), result.clone()));
        (Some(hash), result)
    }

    /// Reads the bytes of the file. Returns `None` if there is no file.
    fn read(&self) -> Result<Option<Vec<u8>>, PolicyError> {
        match text_file::read(&self.path, MAX_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound && !self.exists() => Ok(None),
            Err(error) => {
                Err(PolicyError::Unreadable { path: self.path.display().to_string(), message: describe(&error) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 2.1.
    #[test]
    fn missing_changed_and_broken_policy_files_are_handled() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("policy.json");
        let source = PolicySource::new(path.clone());
        assert_eq!(*source.current().expect("no file means the defaults"), Policy::default());

        std::fs::write(&path, r#"{"subcommands":{"enable":["back"]}}"#).expect("written");
        assert!(source.current().expect("valid").enables("back"), "without a restart");

        std::fs::write(&path, r#"{"subcommands":{"enable":["tabs"]}}"#).expect("written");
        let decision = Decision::from(source.current().expect_err("the old policy is not kept"));
        assert_eq!((decision.code, decision.location.as_deref()), (Code::PolicyInvalid, Some("subcommands.enable[0]")));

        std::fs::write(&path, [0xff, 0xfe]).expect("written");
        assert!(source.current().is_err(), "not UTF-8");

        std::fs::write(&path, vec![b' '; usize::try_from(MAX_BYTES).expect("small") + 1]).expect("written");
        assert!(source.current().is_err(), "too large");

        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &path).expect("linked");
        assert!(source.current().is_err(), "a broken link is not a missing file");

        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir(&path).expect("a folder");
        assert!(source.current().is_err(), "a folder is not a file");

        std::fs::remove_dir(&path).expect("removed");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        assert!(source.current().is_err(), "a pipe is not a file");
        std::fs::remove_file(&path).expect("removed");

        std::fs::write(&path, "{}").expect("written");
        assert_eq!(*source.current().expect("valid again"), Policy::default());
    }
}
