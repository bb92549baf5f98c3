//! The policy file on disk: read for every decision, parsed when it changes (spec [2.1]).
//!
//! Decides which policy is in force now. No file means the safe defaults; a file that is there and cannot be read or is
//! wrong is an error that refuses, never the defaults and never the policy of before.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::decision::{Code, Decision};
use crate::policy::Policy;
use crate::policy::file::{MAX_BYTES, Problem, parse};

/// Why there is no policy.
#[derive(Clone, Debug, Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("cannot read the policy file `{path}`: {message}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        message: String,
    },
    /// The file is not a valid policy.
    #[error("the policy file `{path}` has {} problem(s), the first at {}", problems.len(), problems.first().map(ToString::to_string).unwrap_or_default())]
    Invalid {
        /// The file.
        path: String,
        /// Every problem.
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
                let place = first.as_ref().map(|problem| problem.path.clone()).filter(|path| !path.is_empty());
                let message = first.map(|problem| problem.message).unwrap_or_default();
                let decision = Self::new(Code::PolicyInvalid, format!("the policy file is not valid: {message}{more}"));
                match place {
                    Some(place) => decision.at(place),
                    None => decision,
                }
            }
        }
    }
}

/// The content of the file, its hash and what it says.
type Cached = (Vec<u8>, String, Result<Arc<Policy>, PolicyError>);

/// A policy file that may change at any time.
#[derive(Debug)]
pub struct PolicySource {
    path: PathBuf,
    cached: Mutex<Option<Cached>>,
}

impl PolicySource {
    /// Reads from this file.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, cached: Mutex::new(None) }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a file; if not, the defaults apply.
    #[must_use]
    pub fn exists(&self) -> bool {
        // A link that leads nowhere is a file that is wrong, not a missing one.
        self.path.symlink_metadata().is_ok()
    }

    /// The policy in force.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not valid.
    pub fn current(&self) -> Result<Arc<Policy>, PolicyError> {
        self.in_force().1
    }

    /// The policy in force, and the SHA-256 of the very bytes that say so; without a file there is no hash.
    pub fn in_force(&self) -> (Option<String>, Result<Arc<Policy>, PolicyError>) {
        let bytes = match self.read() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return (None, Ok(Arc::new(Policy::default()))),
            Err(error) => return (None, Err(error)),
        };
        // The content is compared, not its date: an edit within the same tick or a swapped link must count.
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hash, result)) = cached.as_ref().filter(|(old, ..)| *old == bytes) {
            return (Some(hash.clone()), result.clone());
        }
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let path = self.path.display().to_string();
        let result = match std::str::from_utf8(&bytes) {
            Ok(text) => parse(text).map(Arc::new).map_err(|problems| PolicyError::Invalid { path, problems }),
            Err(error) => Err(PolicyError::Unreadable { path, message: format!("not UTF-8: {error}") }),
        };
        *cached = Some((bytes, hash.clone(), result.clone()));
        (Some(hash), result)
    }

    /// The bytes of the file, `None` if there is none.
    fn read(&self) -> Result<Option<Vec<u8>>, PolicyError> {
        let unreadable = |message: String| PolicyError::Unreadable { path: self.path.display().to_string(), message };
        // A pipe has nothing to say yet and must not be waited for; that it is no file is found out below.
        let options = OFlags::NONBLOCK.bits().cast_signed();
        let file = match std::fs::File::options().read(true).custom_flags(options).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound && !self.exists() => return Ok(None),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let metadata = file.metadata().map_err(|error| unreadable(error.to_string()))?;
        if !metadata.is_file() {
            return Err(unreadable("it is not a regular file".to_owned()));
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(unreadable(format!("it is larger than {MAX_BYTES} bytes")));
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_2_1_missing_changed_and_broken_files() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("policy.json");
        let source = PolicySource::new(path.clone());
        assert_eq!(*source.current().expect("no file means the defaults"), Policy::default());

        std::fs::write(&path, r#"{"subcommands":{"enable":["back"]}}"#).expect("written");
        assert!(source.current().expect("valid").enables("back"), "picked up without a restart");

        std::fs::write(&path, r#"{"subcommands":{"enable":["tabs"]}}"#).expect("written");
        let decision = Decision::from(source.current().expect_err("the old policy is not kept"));
        assert_eq!((decision.code, decision.place.as_deref()), (Code::PolicyInvalid, Some("subcommands.enable[0]")));

        std::fs::write(&path, [0xff, 0xfe]).expect("written");
        assert!(source.current().is_err(), "not UTF-8");

        std::fs::write(&path, vec![b' '; usize::try_from(MAX_BYTES).expect("small") + 1]).expect("written");
        assert!(source.current().is_err(), "too large");

        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &path).expect("linked");
        assert!(source.current().is_err(), "a link that leads nowhere is not a missing file");

        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir(&path).expect("a folder");
        assert!(source.current().is_err(), "a folder is not a file");

        std::fs::remove_dir(&path).expect("removed");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        assert!(source.current().is_err(), "a pipe is not a file, and nobody waits for it");
        std::fs::remove_file(&path).expect("removed");

        std::fs::write(&path, "{}").expect("written");
        assert_eq!(*source.current().expect("valid again"), Policy::default());
    }
}
