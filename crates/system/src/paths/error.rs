//! Errors of files and folders of sessions.

use std::io;
use std::path::PathBuf;

use browser_shell_core::decision::{Code, Decision};
use thiserror::Error;

use crate::os::io_error::{describe, is_out_of_space};

/// Error of a file or folder of sessions.
#[derive(Debug, Error)]
pub enum PathError {
    /// The folder cannot be created or read.
    #[error("cannot use the folder `{}`: {}", path.display(), describe(source))]
    Io {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path is a link or a file.
    #[error("`{}` is not a folder; remove it", .0.display())]
    NotAFolder(PathBuf),
    /// The folder belongs to another user.
    #[error("the folder `{}` belongs to another user; choose another one", .0.display())]
    NotOurs(PathBuf),
    /// Users other than its owner can write to the folder.
    #[error("other users can write to the folder `{}`; run `chmod go-w` on it", .0.display())]
    WritableByOthers(PathBuf),
    /// The path is not UTF-8. agent-browser and the reaper receive it as text.
    #[error("the path `{}` is not UTF-8; choose another one", .0.display())]
    NotUtf8(PathBuf),
    /// The paths of sockets in the folder would be too long.
    #[error("the path `{}` is too long for sockets; choose a runtime folder of at most {limit} bytes", path.display())]
    TooLong {
        /// The runtime folder.
        path: PathBuf,
        /// Maximum length of its path, in bytes.
        limit: usize,
    },
    /// Other processes have all folders of their own.
    #[error("{limit} servers use the folder `{}`; end some, or choose another runtime folder with --runtime-dir", path.display())]
    InstancesInUse {
        /// The folder with their folders.
        path: PathBuf,
        /// Maximum number of servers.
        limit: u8,
    },
}

impl From<PathError> for Decision {
    fn from(error: PathError) -> Self {
        // The path is in the log only; it is of no use to the agent.
        tracing::error!(%error, "a session's folder cannot be used");
        if matches!(&error, PathError::Io { source, .. } if is_out_of_space(source)) {
            return Self::new(Code::WorkspaceFull, "there is no room for the session's files");
        }
        Self::new(Code::WorkspaceUnavailable, "the session's folder cannot be used")
    }
}
