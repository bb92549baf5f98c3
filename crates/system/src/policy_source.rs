//! Policy file on disk.
//!
//! The file is read for every decision and parsed when its content has changed.
//!
//! Invariants: the defaults of the command apply only while the default path never had a file in the life of this process. If a file that
//! was named or was there once is missing, cannot be read or is invalid, every decision that needs it is a refusal; neither the
//! defaults nor the previous policy apply. Clones of a source agree on whether there was a file.
//!
//! Requirement 2.1.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio::sync::watch;

use crate::os::{describe, files};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::file::{DEFAULT_PATH, MAX_BYTES, parse_for_home};
use browser_shell_core::policy::{Policy, Problem, SessionAccess};
use browser_shell_core::session_id::SessionId;

/// Interval at which a server looks for a change that no call meets.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Error that leaves no policy in force.
#[derive(Clone, Debug, Error)]
pub enum PolicyError {
    /// There is no file, and there must be one.
    #[error(
        "the policy file `{path}` does not exist; write it, or name another one with --policy or BROWSER_SHELL_POLICY"
    )]
    Missing {
        /// Path of the file.
        path: String,
    },
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
            PolicyError::Missing { path } => {
                Self::new(Code::PolicyInvalid, format!("the policy file `{path}` does not exist"))
            }
            PolicyError::Unreadable { path, message } => {
                Self::new(Code::PolicyInvalid, format!("the policy file `{path}` cannot be read: {message}"))
            }
            PolicyError::Invalid { path, problems } => {
                let mut problems = problems.into_iter();
                let first = problems.next();
                let others = problems.count();
                let more = if others == 0 { String::new() } else { format!(" and {others} more") };
                let location = first.as_ref().map(|problem| problem.path.clone()).filter(|path| !path.is_empty());
                let message = first.map(|problem| problem.message).unwrap_or_default();
                let reason = format!("the policy file `{path}` is not valid: {message}{more}");
                let decision = Self::new(Code::PolicyInvalid, reason);
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
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Returns true if there is a file, or a broken link, which is an unreadable file and not a missing one.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Content of the file, its hash and the policy.
type Cached = (Vec<u8>, String, Result<Arc<Policy>, PolicyError>);

/// Policy file that can change at any time. Clones are the same source.
#[derive(Clone, Debug)]
pub struct PolicySource(Arc<SourceState>);

#[derive(Debug)]
struct SourceState {
    path: PathBuf,
    /// The folder that `~` means.
    home: Option<PathBuf>,
    /// Set if the file was named, or was there once: from then on it must be there.
    is_required: AtomicBool,
    cached: Mutex<Option<Cached>>,
    /// Policy without a file.
    default: Arc<Policy>,
    /// Policy that was in force last.
    seen: watch::Sender<SeenPolicy>,
    /// Owners of sessions under the last valid policy.
    sessions: Mutex<Option<SessionAccess>>,
}

/// Policy that was in force at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenPolicy {
    /// Hash of the file, if it was read.
    hash: Option<String>,
    /// Reason why there was none.
    error: Option<String>,
}

impl PolicySource {
    /// Creates a source that reads this file. The defaults apply until it is there.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self::with_default(path, Policy::default())
    }

    fn with_default(path: PathBuf, default: Policy) -> Self {
        let is_required = AtomicBool::new(is_there(&path));
        let (cached, default, seen) = (Mutex::new(None), Arc::new(default), watch::Sender::default());
        let sessions = Mutex::default();
        Self(Arc::new(SourceState { path, home: home(), is_required, cached, default, seen, sessions }))
    }

    /// Opens the file that the operator named, or the default one, which may be absent.
    ///
    /// # Errors
    ///
    /// If the named file does not exist. One that cannot be used refuses what needs it, as later.
    pub fn open(named: Option<&Path>) -> Result<Self, PolicyError> {
        Self::open_with_default(named, Policy::default())
    }

    /// Opens the same with another policy in force while there is no file.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_with_default(named: Option<&Path>, default: Policy) -> Result<Self, PolicyError> {
        let source = Self::with_default(named.unwrap_or(Path::new(DEFAULT_PATH)).to_owned(), default);
        if let Some(path) = named {
            let error = path.metadata().err().map(|error| error.kind());
            if matches!(error, Some(ErrorKind::NotFound | ErrorKind::NotADirectory)) {
                return Err(source.missing());
            }
            source.0.is_required.store(true, Ordering::Relaxed);
        }
        Ok(source)
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns true if the file exists.
    #[must_use]
    pub fn exists(&self) -> bool {
        is_there(self.path())
    }

    /// Returns the policy in force.
    ///
    /// # Errors
    ///
    /// If the file is missing and must be there, cannot be read or is invalid.
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

    /// Returns to whom sessions belong: under the policy in force, or the last one before it. It tells which session a name means, so that one
    /// can be closed while there is no policy.
    #[must_use]
    pub fn last_sessions(&self) -> Option<SessionAccess> {
        *self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the policy in force and the SHA-256 of the bytes that it was parsed from. Without a file there is no hash.
    pub fn in_force(&self) -> (Option<String>, Result<Arc<Policy>, PolicyError>) {
        let (hash, policy) = self.read_in_force();
        if let Ok(policy) = &policy {
            *self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner) = Some(policy.access.sessions);
        }
        let now = SeenPolicy { hash: hash.clone(), error: policy.as_ref().err().map(ToString::to_string) };
        self.0.seen.send_if_modified(|seen| {
            let has_changed = *seen != now;
            *seen = now;
            has_changed
        });
        (hash, policy)
    }

    /// Returns a receiver that sees each change of what is in force, if [`watch`](Self::watch) runs.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<SeenPolicy> {
        self.0.seen.subscribe()
    }

    /// Looks for changes of the file, and logs when it cannot be used, and when it can again. Never ends.
    pub async fn watch(self) {
        let mut last = None;
        loop {
            let error = self.current().err().map(|error| error.to_string());
            match &error {
                Some(error) if last.as_ref() != Some(error) => {
                    tracing::error!(%error, "no policy is in force, and what needs it is refused until you correct the file");
                }
                None if last.is_some() => tracing::info!(path = %self.path().display(), "the policy is in force again"),
                _ => {}
            }
            last = error;
            tokio::time::sleep(WATCH_INTERVAL).await;
        }
    }

    fn read_in_force(&self) -> (Option<String>, Result<Arc<Policy>, PolicyError>) {
        let bytes = match self.read() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return (None, Ok(self.0.default.clone())),
            Err(error) => return (None, Err(error)),
        };
        // The content is compared, since an edit within the resolution of the clock or a replaced link can keep the date.
        let mut cached = self.0.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hash, result)) = cached.as_ref().filter(|(old, ..)| *old == bytes) {
            return (Some(hash.clone()), result.clone());
        }
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let path = self.path().display().to_string();
        let result = match std::str::from_utf8(&bytes) {
            Ok(text) => parse_for_home(text, self.0.home.as_deref())
                .map(Arc::new)
                .map_err(|problems| PolicyError::Invalid { path, problems }),
            Err(error) => Err(PolicyError::Unreadable { path, message: format!("not UTF-8: {error}") }),
        };
        *cached = Some((bytes, hash.clone(), result.clone()));
        (Some(hash), result)
    }

    /// Reads the bytes of the file. Returns `None` if there is no file and there need not be one.
    fn read(&self) -> Result<Option<Vec<u8>>, PolicyError> {
        let read = files::read(self.path(), MAX_BYTES);
        if matches!(&read, Err(error) if error.kind() == ErrorKind::NotFound) && !self.exists() {
            let is_required = self.0.is_required.load(Ordering::Relaxed);
            return if is_required { Err(self.missing()) } else { Ok(None) };
        }
        self.0.is_required.store(true, Ordering::Relaxed);
        let path = || self.path().display().to_string();
        read.map(Some).map_err(|error| PolicyError::Unreadable { path: path(), message: describe(&error) })
    }

    fn missing(&self) -> PolicyError {
        PolicyError::Missing { path: self.path().display().to_string() }
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
        assert_eq!(*source.current().expect("also the second time"), Policy::default());

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

    // Requirement 2.1.
    #[test]
    fn file_that_was_there_once_refuses_while_it_is_missing() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("policy.json");
        let text = path.display().to_string();
        let source = PolicySource::new(path.clone());
        let clone = source.clone();
        for content in ["{}", "{", "\u{fffe}"] {
            std::fs::write(&path, content).expect("written");
            // Only one of the clones sees the file.
            let seen = source.current().is_ok();
            assert_eq!(seen, content == "{}", "{content:?}");
            std::fs::remove_file(&path).expect("removed");
            for source in [&source, &clone] {
                let decision = Decision::from(source.current().expect_err("the file is missing"));
                assert_eq!(decision.code, Code::PolicyInvalid);
                assert!(decision.reason.contains(&text) && decision.reason.contains("does not exist"), "{decision:?}");
            }
        }
        std::fs::write(&path, "{}").expect("written");
        assert!(clone.current().is_ok(), "without a restart");
        let unread = PolicySource::new(path.clone());
        std::fs::remove_file(&path).expect("removed");
        assert!(unread.current().is_err(), "the file was there when the source was made");
        let fresh = PolicySource::new(dir.path().join("other.json"));
        assert!(fresh.current().is_ok(), "control: a file that never was there");
    }

    // Requirement 2.1.
    #[test]
    fn named_file_must_exist_from_the_start() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("policy.json");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), dir.path().join("link")).expect("linked");
        for missing in [path.clone(), dir.path().join("link"), dir.path().join("no/policy.json")] {
            let error = PolicySource::open(Some(&missing)).expect_err("missing").to_string();
            assert!(error.contains(&missing.display().to_string()) && error.contains("--policy"), "{error}");
        }
        std::fs::write(&path, "{").expect("written");
        assert!(PolicySource::open(Some(&path.join("below"))).is_err(), "below a file");
        let source = PolicySource::open(Some(&path)).expect("a broken file refuses what needs it");
        std::fs::remove_file(&path).expect("removed");
        assert!(matches!(source.current(), Err(PolicyError::Missing { .. })), "removed before it was read");
        std::fs::write(&path, "{}").expect("written");
        assert!(source.current().is_ok(), "control");
    }
}
