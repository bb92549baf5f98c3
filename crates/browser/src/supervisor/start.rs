//! Preconditions and errors of a start of Chromium.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::launch::LaunchConfig;

/// Timeout for a start.
pub(super) const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Reason why a start failed.
#[derive(Debug, Error)]
pub(super) enum BrowserStartError {
    #[error("cannot use the folder `{path}`: {source}")]
    Folder { path: String, source: io::Error },
    #[error("`{0}` is a link; the profile must be in the workspace itself")]
    Link(String),
    #[error("cannot start: {0}")]
    Spawn(io::Error),
    #[error("it ended at once ({status}): {stderr}")]
    Ended { status: String, stderr: String },
    #[error("it did not answer within {} s", START_TIMEOUT.as_secs())]
    TimedOut,
    #[error("the display does not run")]
    NoDisplay,
    #[error("the server stops")]
    Stopped,
}

/// Returns the folder of the profile in a workspace.
#[must_use]
pub fn profile_folder(workspace: &Path) -> PathBuf {
    workspace.join(".browser").join("profile")
}

/// Creates the folders.
pub(super) fn prepare(config: &LaunchConfig) -> Result<(), BrowserStartError> {
    // The profile may be in the private folder.
    for folder in [config.private.as_path(), config.profile.as_path()] {
        let failed = |source| BrowserStartError::Folder { path: folder.display().to_string(), source };
        // The profile's folder and its parent are ours; the folders above them are the orchestrator's.
        for path in folder.parent().into_iter().chain([folder]) {
            match fs::create_dir(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => result.map_err(failed)?,
            }
            let metadata = fs::symlink_metadata(path).map_err(failed)?;
            if !metadata.is_dir() {
                return Err(BrowserStartError::Link(path.display().to_string()));
            }
        }
    }
    // Links that name the host that last used the profile: Chromium would take it for still in use there.
    for name in ["SingletonLock", "SingletonCookie", "SingletonSocket"] {
        let _ = fs::remove_file(config.profile.join(name));
    }
    Ok(())
}
