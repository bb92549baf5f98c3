//! Delivery of files into a workspace.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::call::workspace::error::WorkspaceError;
use crate::call::workspace::walk;
use browser_shell_core::grammar::WORKSPACE_PREFIX;

/// Mode of delivered files: containers with other users read them too.
const FILE_MODE: u32 = 0o644;

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
            walk::open_or_create(&self.open()?, path).map_err(|error| WorkspaceError::from_io(path, error.into()))?;
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
        let root = walk::open_root(&self.root).map_err(failed)?;
        match &self.name {
            Some(name) => walk::open_child(&root, name).map_err(failed),
            None => Ok(root),
        }
    }
}

/// Returns a name that no other file of this process has while it is written.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!(".browser-shell-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
