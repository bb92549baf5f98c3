//! File of keys that can change at any time.
//!
//! Invariants: a change applies to the next request. A file that cannot be used any more is logged once, and has no keys until it
//! is right again: who removes a key with the file, or breaks the file, leaves no key in force.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use browser_shell_core::policy::Problem;
use browser_shell_system::os::io_error::describe;
use browser_shell_system::os::text_file;

/// Maximum size of a file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Error of a file of keys.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {reason}; check its path and its permissions", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The file is not valid.
    #[error("`{}` has {} problem(s): {}", path.display(), problems.len(), join(problems))]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// All problems.
        problems: Vec<Problem>,
    },
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Function that parses the text of a file.
type Parse<T> = fn(&str) -> Result<T, Vec<Problem>>;

/// File of keys.
pub(super) struct KeyFile<T> {
    path: PathBuf,
    parse: Parse<T>,
    state: Mutex<KeyFileState<T>>,
}

struct KeyFileState<T> {
    /// Bytes of the file when it was read last, or the reason why it could not be read.
    seen: Result<Vec<u8>, String>,
    /// Keys in force: none if the file cannot be used.
    keys: Arc<T>,
}

impl<T: Default> KeyFile<T> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not valid.
    pub(super) fn open(path: &Path, parse: Parse<T>) -> Result<Self, KeyFileError> {
        let bytes = read(path).map_err(|reason| KeyFileError::Unreadable { path: path.to_owned(), reason })?;
        let keys =
            parse_bytes(&bytes, parse).map_err(|problems| KeyFileError::Invalid { path: path.to_owned(), problems })?;
        Ok(Self {
            path: path.to_owned(),
            parse,
            state: Mutex::new(KeyFileState { seen: Ok(bytes), keys: Arc::new(keys) }),
        })
    }

    /// Returns the keys in force.
    pub(super) fn keys(&self) -> Arc<T> {
        // Read under the lock, so that an older content never follows a newer one.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = read(&self.path);
        if state.seen != seen {
            let path = self.path.display();
            let bytes = seen.as_ref().map_err(Clone::clone);
            let keys = bytes.and_then(|bytes| parse_bytes(bytes, self.parse).map_err(|problems| join(&problems)));
            match &keys {
                Ok(_) => tracing::info!(%path, "the keys were read again"),
                Err(reason) => tracing::error!(%path, reason, "the file cannot be used, so no key is in force"),
            }
            state.keys = Arc::new(keys.unwrap_or_default());
            state.seen = seen;
        }
        Arc::clone(&state.keys)
    }
}

impl<T> fmt::Debug for KeyFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyFile").field("path", &self.path).finish_non_exhaustive()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    text_file::read(path, MAX_BYTES).map_err(|error| describe(&error))
}

fn parse_bytes<T>(bytes: &[u8], parse: Parse<T>) -> Result<T, Vec<Problem>> {
    let text = str::from_utf8(bytes).map_err(|_| vec![Problem::new("", "is not UTF-8; save it as UTF-8")])?;
    parse(text)
}
