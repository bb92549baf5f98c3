//! Errors of writing to a workspace.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use thiserror::Error;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_system::os::io_error::is_out_of_space;

/// Reason why a file was not delivered.
#[derive(Debug, Error)]
pub(crate) enum WorkspaceError {
    /// The workspace does not exist or is not a folder.
    #[error("cannot use the workspace `{}`: {source}", path.display())]
    Root {
        /// Folder of the workspace.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The path leads out of the workspace through a link.
    #[error("`{0}` leads out of the workspace")]
    Outside(String),
    /// A file is where a folder is needed, or a folder has the name of the file.
    #[error("`{0}` is taken by something else")]
    Taken(String),
    /// The volume or its quota is full.
    #[error("there is no room for `{0}` in the workspace")]
    Full(String),
    /// agent-browser reported success and wrote no file.
    #[error("agent-browser wrote no file for `{0}`")]
    Missing(String),
    /// Any other error.
    #[error("cannot write `{path}` in the workspace: {source}")]
    Write {
        /// Path below the workspace.
        path: String,
        /// Error of the system.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// Classifies an error of the system about a path below the workspace.
    pub(super) fn from_io(path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_out_of_space(&source) {
            return Self::Full(path);
        }
        match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::XDEV | Errno::LOOP) => Self::Outside(path),
            Some(Errno::NOTDIR | Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => Self::Taken(path),
            _ => Self::Write { path, source },
        }
    }
}

impl From<WorkspaceError> for Decision {
    fn from(error: WorkspaceError) -> Self {
        let (code, reason) = match &error {
            WorkspaceError::Root { .. } => {
                (Code::WorkspaceUnavailable, "the workspace does not exist or is not a folder")
            }
            WorkspaceError::Outside(_) => (Code::FileOutside, "the path leads out of the workspace by a link"),
            WorkspaceError::Taken(_) => (Code::FileOutside, "the path is taken by something that is not a file"),
            WorkspaceError::Full(_) => (Code::WorkspaceFull, "there is no room in the workspace"),
            WorkspaceError::Missing(_) => (Code::WorkspaceUnavailable, "no such file: agent-browser wrote none"),
            WorkspaceError::Write { .. } => (Code::WorkspaceUnavailable, "the file cannot be written"),
        };
        if code == Code::WorkspaceUnavailable {
            tracing::error!(%error, "cannot deliver a file into the workspace");
        }
        Self::new(code, reason)
    }
}
