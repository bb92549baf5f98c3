//! Files and folders of one session.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::error::PathError;
use super::private_folder;

/// Maximum number of files in a session's workspace folder.
pub const MAX_FILES: usize = 100;

/// The files and folders of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPaths {
    /// The session's name for agent-browser and in paths.
    pub key: String,
    /// The folder of its sockets.
    pub sockets: PathBuf,
    /// The session's private folder in the runtime folder.
    pub private: PathBuf,
    /// The session's folder in the workspace.
    pub files: PathBuf,
}

impl SessionPaths {
    /// Returns the file with the port of the session's endpoint, for sessions that outlive their process.
    #[must_use]
    pub fn port_file(&self) -> PathBuf {
        self.private.join("port")
    }

    /// Returns paths below a folder, for tests of the crates that use this one. Nothing is created.
    #[doc(hidden)]
    #[must_use]
    pub fn below(root: &std::path::Path) -> Self {
        Self { key: "s".to_owned(), sockets: root.join("s"), private: root.join("k"), files: root.join("w") }
    }

    /// Returns the session's lock file, next to its private folder.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        let mut path = self.private.clone().into_os_string();
        path.push(".lock");
        path.into()
    }

    /// Returns the socket of the session's daemon.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.sockets.join(format!("{}.sock", self.key))
    }

    /// Returns the folder of the host relay, which no program in the sandbox sees. Its path is short enough for sockets.
    #[must_use]
    pub fn relay_folder(&self) -> PathBuf {
        self.sockets.with_extension("x")
    }

    /// Returns `HOME` of the session's processes.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.private.join("home")
    }

    /// Returns `TMPDIR` of the session's processes, by which they are found.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.private.join("tmp")
    }

    /// Returns the working directory of the session's processes. It is empty and not writable, because agent-browser reads a
    /// configuration file with full power from there.
    #[must_use]
    pub fn cwd(&self) -> PathBuf {
        self.private.join("cwd")
    }

    /// Creates the private folders. Existing ones are kept: the session's daemon may be running.
    ///
    /// # Errors
    ///
    /// If one cannot be created or belongs to another user.
    pub fn make(&self) -> Result<(), PathError> {
        for folder in [&self.sockets, &self.relay_folder(), &self.private, &self.home(), &self.tmp(), &self.cwd()] {
            private_folder::create(folder)?;
        }
        let cwd = self.cwd();
        fs::set_permissions(&cwd, fs::Permissions::from_mode(0o500))
            .map_err(|source| PathError::Io { path: cwd, source })
    }

    /// Creates the session's workspace folder and returns the number of files in it.
    ///
    /// # Errors
    ///
    /// If it cannot be created or belongs to another user.
    pub fn make_files(&self) -> Result<usize, PathError> {
        if let Some(workspace) = self.files.parent() {
            fs::create_dir_all(workspace).map_err(|source| PathError::Io { path: workspace.to_owned(), source })?;
        }
        private_folder::create(&self.files)?;
        let entries = fs::read_dir(&self.files).map_err(|source| PathError::Io { path: self.files.clone(), source })?;
        Ok(entries.count())
    }

    /// Removes all files of the session except its lock. Missing ones are no error.
    pub fn remove(&self) {
        self.remove_private();
        let _ = fs::remove_dir_all(&self.files);
    }

    /// Removes all files of the session except its lock and its workspace folder.
    pub fn remove_private(&self) {
        // An unprivileged user could not remove the contents of a folder without write permission.
        let _ = fs::set_permissions(self.cwd(), fs::Permissions::from_mode(0o700));
        let _ = fs::remove_dir_all(&self.private);
        let _ = fs::remove_dir_all(&self.sockets);
        let _ = fs::remove_dir_all(self.relay_folder());
    }
}
