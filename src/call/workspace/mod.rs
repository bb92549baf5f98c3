//! Workspace: the folder that a session shares with its orchestrator's other containers.
//!
//! Other containers write to the folder too, and may put links into it at any moment. The kernel therefore resolves every path
//! below the folder (`openat2(2)`, `RESOLVE_BENEATH`).
//!
//! Invariants: no file is written outside of the workspace, and a file appears under its name complete or not at all; every folder
//! below it that is used was below it when it was opened.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use thiserror::Error;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::WORKSPACE_PREFIX;
use browser_shell_system::os::is_out_of_space;

/// Mode of delivered files: containers with other users read them too.
const FILE_MODE: u32 = 0o644;

/// Mode of new folders: containers with other users read them too.
const FOLDER_MODE: u32 = 0o755;

/// Attempts while other processes rename folders, which keeps the kernel from knowing that a path stayed below the root.
const MAX_ATTEMPTS: u32 = 16;

/// Flags for a folder from which others are opened.
const PATH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags for a folder whose mode is set.
const READABLE: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Folder for the files of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    root: PathBuf,
    /// Name of the workspace in `root`, if `root` holds many of them.
    name: Option<String>,
    /// Path of the workspace as agents see it.
    mount: String,
}

impl Workspace {
    /// Returns the workspace in a folder that agents see as `mount`.
    #[must_use]
    pub(crate) fn new(root: PathBuf, mount: String) -> Self {
        Self { root, name: None, mount }
    }

    /// Returns one of the workspaces below `root`, which agents see as `mount`. It must not be a link.
    #[must_use]
    pub(crate) fn below(root: PathBuf, name: String, mount: String) -> Self {
        Self { root, name: Some(name), mount }
    }

    /// Returns a path below the workspace as agents see it.
    #[must_use]
    pub(crate) fn agent_path(&self, path: &str) -> String {
        format!("{}/{path}", self.mount.trim_end_matches('/'))
    }

    /// Converts a path that an agent sees to the grammar's form, in which every workspace is `/workspace`.
    #[must_use]
    pub(crate) fn grammar_path(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(self.mount.trim_end_matches('/'))?.strip_prefix('/')?;
        Some(format!("{WORKSPACE_PREFIX}{rest}"))
    }

    /// Copies a file to a path below the workspace, creating missing folders. Returns the path as agents see it.
    ///
    /// # Errors
    ///
    /// Returns a [`WorkspaceError`]; then nothing of the file is in the workspace.
    pub(crate) fn deliver(&self, from: &Path, to: &str) -> Result<String, WorkspaceError> {
        let failed = |error: io::Error| WorkspaceError::from_io(to, error);
        // The source is in the session's folder; it is missing if agent-browser wrote no file.
        let source = rustix::fs::open(from, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| match error {
                Errno::NOENT => WorkspaceError::Missing(to.to_owned()),
                _ => failed(error.into()),
            })?;
        let mut source = File::from(source);
        if !source.metadata().map_err(failed)?.is_file() {
            return Err(WorkspaceError::Taken(to.to_owned()));
        }
        self.write(to, &mut source)?;
        Ok(self.agent_path(to))
    }

    /// Writes the content of a reader to a path below the workspace, creating missing folders.
    ///
    /// # Errors
    ///
    /// Returns a [`WorkspaceError`]; then nothing of the file is in the workspace.
    pub(crate) fn write(&self, to: &str, source: &mut impl io::Read) -> Result<(), WorkspaceError> {
        let failed = |error: io::Error| WorkspaceError::from_io(to, error);
        let (path, name) = to.rsplit_once('/').unwrap_or(("", to));
        let folder =
            open_or_create(&self.open()?, path).map_err(|error| WorkspaceError::from_io(path, error.into()))?;
        let temporary = temporary_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &temporary, flags, Mode::from_raw_mode(0o600))
            .map_err(|error| failed(error.into()))?;
        let mut file = File::from(file);
        let written = io::copy(source, &mut file)
            // Set afterwards, because our umask is for private files.
            .and_then(|_| rustix::fs::fchmod(&file, Mode::from_raw_mode(FILE_MODE)).map_err(io::Error::from))
            // Replaces a link of that name instead of following it.
            .and_then(|()| rustix::fs::renameat(&folder, &temporary, &folder, name).map_err(io::Error::from));
        written.map_err(|error| {
            let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
            failed(error)
        })
    }

    /// Opens the folder of the workspace. It is not kept open, because an orchestrator may mount it anew.
    fn open(&self) -> Result<OwnedFd, WorkspaceError> {
        let path = self.name.as_ref().map_or_else(|| self.root.clone(), |name| self.root.join(name));
        let failed = |source: Errno| WorkspaceError::Root { path: path.clone(), source: source.into() };
        let root = open_root(&self.root).map_err(failed)?;
        match &self.name {
            Some(name) => open_child(&root, name).map_err(failed),
            None => Ok(root),
        }
    }
}

/// Returns a name that no other file of this process has while it is written.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!(".browser-shell-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Opens the root of a workspace.
fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, PATH, Mode::empty())
}

/// Opens one folder in another one, unless it is a link.
fn open_child(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(folder, name, PATH, Mode::empty(), resolve)
}

/// Opens a folder below the root, creating missing folders. An empty path is the root.
fn open_or_create(root: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let mut folder =
        root.as_fd().try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let ends = path.match_indices('/').map(|(at, _)| at).chain((!path.is_empty()).then_some(path.len()));
    for end in ends {
        let prefix = path.get(..end).unwrap_or(path);
        let name = prefix.rsplit_once('/').map_or(prefix, |(_, name)| name);
        folder = match open_beneath(root, prefix, PATH) {
            Err(Errno::NOENT) => match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o700)) {
                Ok(()) => {
                    // The mode is set on the opened folder, because its name may be a link by now.
                    let created = open_beneath(root, prefix, READABLE)?;
                    rustix::fs::fchmod(&created, Mode::from_raw_mode(FOLDER_MODE))?;
                    created
                }
                Err(Errno::EXIST) => open_beneath(root, prefix, PATH)?,
                Err(error) => return Err(error),
            },
            result => result?,
        };
    }
    Ok(folder)
}

fn open_beneath(root: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..MAX_ATTEMPTS {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => {}
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

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
    fn from_io(path: &str, source: io::Error) -> Self {
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

#[cfg(test)]
mod tests;
