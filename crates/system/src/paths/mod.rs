//! Files and folders of sessions, below two roots: the private runtime folder and the workspace.
//!
//! ```text
//! RUNTIME/secret                  the key of the names below
//! RUNTIME/s/NAME/KEY.sock, KEY.pid    agent-browser's own sockets. The name cannot be guessed: no rule of the kernel keeps
//!                                 a program of the same user from a socket whose path it knows
//! RUNTIME/s/NAME.x/               files of the host relay, which no program in the sandbox sees
//! RUNTIME/k/KEY/{home,tmp,cwd}    HOME, TMPDIR and working directory of the session's processes
//! RUNTIME/k/KEY.lock              held by the process that uses the session; removed with the session
//! RUNTIME/server.lock             held by the server whose Chromium and display are in RUNTIME/b and RUNTIME/d
//! RUNTIME/b/browser/              HOME, temporary files and maybe the profile of a server's Chromium
//! RUNTIME/e/                      sessions of the egress guard's addresses, see `session_addresses`
//! RUNTIME/d/NAME/                 cookie and socket of a display, in a folder whose name cannot be guessed
//! RUNTIME/i/N/, N.lock            a runtime folder of its own for each `mcp --browser`, and the lock that it holds
//! RUNTIME/action-policy*.json     agent-browser's own policy, a second line of defense behind the grammar
//! WORKSPACE/KEY/                  screenshots
//! ```
//!
//! Invariants: only a session's key becomes a path component; links that others put there are not followed; a folder of
//! another user is not used.
//!
//! Requirements 1.2, 1.5 and 1.12.

mod private_folder;
mod session_addresses;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::config::{DEFAULT_WORKSPACE, Settings};
use crate::os::files::FileLock;
use browser_shell_core::grammar::Profile;
use browser_shell_core::session_id::{HASHED_LEN, MAX_LEN, SessionId};

pub use private_folder::PathError;
pub use session_addresses::{MAX_SESSION_ADDRESSES, SessionAddress, SessionAddresses, check_folder, session_addresses};

/// The longest path of a Unix socket that agent-browser accepts, without its terminating NUL.
const MAX_SOCKET_PATH: usize = 103;

/// The length of the name of a session's socket folder.
const NAME_LEN: usize = 16;

/// The length of a socket's path without the runtime folder and the session's key.
const SOCKET_PATH_REST: usize = "/s/".len() + NAME_LEN + "/".len() + ".sock".len();

/// The longest runtime folder whose sockets can have any session's key.
const MAX_RUNTIME_PATH: usize = MAX_SOCKET_PATH - SOCKET_PATH_REST - HASHED_LEN;

/// Maximum number of files in a session's workspace folder.
pub const MAX_FILES: usize = 100;

/// Maximum number of servers that share a runtime folder.
const MAX_INSTANCES: u8 = 64;

/// Time for the processes of a killed server to end.
const END_TIME: Duration = Duration::from_secs(10);

/// Interval between two looks for their end.
const END_INTERVAL: Duration = Duration::from_millis(20);

/// The runtime folder and the workspace, checked.
#[derive(Clone, Debug)]
pub struct Paths {
    runtime: PathBuf,
    workspace: PathBuf,
    key_limit: usize,
    secret: Vec<u8>,
    profile: Profile,
}

impl Paths {
    /// Creates and checks the runtime folder, for commands of a profile. The workspace is created with the first screenshot.
    ///
    /// # Errors
    ///
    /// If the runtime folder is not usable or not private, or a path is not UTF-8.
    pub fn open(settings: &Settings, profile: Profile) -> Result<Self, PathError> {
        let mut paths = Self::without_secret(settings, profile)?;
        private_folder::create_runtime(&paths.runtime)?;
        for folder in paths.folders() {
            private_folder::create(&folder)?;
        }
        paths.secret = private_folder::secret(&paths.runtime)?;
        paths.write_action_policy()?;
        Ok(paths)
    }

    /// Checks the runtime folder and changes nothing. Returns true with the paths if the folder exists, and false if it would be
    /// made. The paths are not those of sessions, which have a secret in their names.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`], of what exists.
    pub fn inspect(settings: &Settings, profile: Profile) -> Result<(Self, bool), PathError> {
        let paths = Self::without_secret(settings, profile)?;
        let mut exists = private_folder::runtime_exists(&paths.runtime)?;
        for folder in paths.folders() {
            exists &= private_folder::exists(&folder)?;
        }
        Ok((paths, exists))
    }

    /// Returns the runtime folder.
    #[must_use]
    pub fn runtime(&self) -> &Path {
        &self.runtime
    }

    /// Returns the folders of all sessions.
    fn folders(&self) -> [PathBuf; 2] {
        [self.runtime.join("s"), self.runtime.join("k")]
    }

    fn without_secret(settings: &Settings, profile: Profile) -> Result<Self, PathError> {
        let runtime = runtime_folder(settings)?;
        let workspace = absolute(&settings.workspace)?;
        if let Some(path) = [&runtime, &workspace].into_iter().find(|path| path.to_str().is_none()) {
            return Err(PathError::NotUtf8(path.clone()));
        }
        let rest = runtime.as_os_str().len() + SOCKET_PATH_REST;
        let key_limit = MAX_SOCKET_PATH.saturating_sub(rest).min(MAX_LEN);
        if key_limit < HASHED_LEN {
            return Err(PathError::TooLong { path: runtime, limit: MAX_RUNTIME_PATH });
        }
        Ok(Self { runtime, workspace, key_limit, secret: Vec::new(), profile })
    }

    /// Returns the paths of a session. Nothing is created.
    #[must_use]
    pub fn session(&self, id: &SessionId) -> SessionPaths {
        let key = id.key(self.key_limit);
        SessionPaths {
            sockets: self.runtime.join("s").join(self.socket_folder_name(&key)),
            private: self.runtime.join("k").join(&key),
            files: self.workspace.join(&key),
            key,
        }
    }

    /// Returns the name of a session's socket folder: always the same, and not to be guessed without the secret.
    fn socket_folder_name(&self, key: &str) -> String {
        let digest = Sha256::new().chain_update(&self.secret).chain_update(key).finalize();
        let first = digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
        format!("{first:0NAME_LEN$x}")
    }

    /// Returns agent-browser's own policy file. Each profile has one, because several programs can use the folder.
    #[must_use]
    pub fn action_policy(&self) -> PathBuf {
        self.runtime.join(match self.profile {
            Profile::Tool => "action-policy.json",
            Profile::Strict => "action-policy.strict.json",
            Profile::Compat => "action-policy.compat.json",
        })
    }

    /// Returns the folder that names the sessions of the egress guard's addresses, for a guard of this process.
    #[must_use]
    pub fn session_addresses(&self) -> PathBuf {
        self.runtime.join("e")
    }

    /// Takes the runtime folder for a server with a browser of its own, whose folders no other one may use.
    ///
    /// # Errors
    ///
    /// If another server has the folder, or the lock cannot be taken.
    pub fn lock_for_server(&self) -> Result<ServerLock, PathError> {
        let failed = |source| PathError::Io { path: self.runtime.clone(), source };
        match FileLock::try_take(&self.runtime.join("server.lock")).map_err(failed)? {
            Some(lock) => Ok(ServerLock { _lock: lock }),
            None => Err(PathError::InUse(self.runtime.clone())),
        }
    }

    /// Returns the private folder of a browser that this process starts.
    #[must_use]
    pub fn browser(&self) -> PathBuf {
        self.runtime.join("b").join("browser")
    }

    /// Returns the private folder of a display that this process starts.
    #[must_use]
    pub fn display(&self) -> PathBuf {
        self.runtime.join("d")
    }

    /// Writes agent-browser's policy file, which allows the actions of the profile and nothing else.
    fn write_action_policy(&self) -> Result<(), PathError> {
        let allow = self.profile.action_policy();
        let text = json!({ "default": "deny", "allow": allow }).to_string();
        let path = self.action_policy();
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        // Other processes may read the file at any time, so it is replaced atomically.
        let draft = self.runtime.join(format!("action-policy.{}", std::process::id()));
        fs::write(&draft, &text)
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(|source| PathError::Io { path, source })
    }
}

/// Returns a private folder for the sessions' files, for a process that moves them elsewhere.
///
/// # Errors
///
/// If the runtime folder's path cannot be made absolute.
pub fn staging_folder(settings: &Settings) -> Result<PathBuf, PathError> {
    Ok(runtime_folder(settings)?.join("f"))
}

/// Returns the path of the runtime folder. Nothing is created.
fn runtime_folder(settings: &Settings) -> Result<PathBuf, PathError> {
    absolute(&settings.runtime_dir.clone().unwrap_or_else(default_runtime))
}

fn default_runtime() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute()) {
        Some(dir) => Path::new(&dir).join("browser-shell"),
        None => PathBuf::from(format!("/tmp/browser-shell-{}", rustix::process::geteuid().as_raw())),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, PathError> {
    std::path::absolute(path).map_err(|source| PathError::Io { path: path.to_owned(), source })
}

/// Runtime folder of a server with a browser of its own. The system frees it however the server ends, because the programs that the server
/// starts have no copy of the lock.
#[derive(Debug)]
pub struct ServerLock {
    /// Keeps others out for the life of the server.
    _lock: FileLock,
}

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
    pub fn below(root: &Path) -> Self {
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

/// Folder that this process has for itself, below the runtime folder. Dropping it deletes the folder, and so does the next process if
/// this one is killed.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    /// Keeps others out for the life of the process.
    _lock: FileLock,
}

impl Instance {
    /// Takes the first folder that no living process has.
    ///
    /// # Errors
    ///
    /// If a folder cannot be used, or too many processes have one.
    pub fn take(settings: &Settings) -> Result<Self, PathError> {
        let runtime = runtime_folder(settings)?;
        let all = runtime.join("i");
        private_folder::create_runtime(&runtime)?;
        private_folder::create(&all)?;
        let mut taken = None;
        for number in 1..=MAX_INSTANCES {
            let folder = all.join(number.to_string());
            let path = folder.with_extension("lock");
            // Nobody had a folder without a lock yet, nor those with higher numbers.
            if taken.is_some() && !path.exists() {
                break;
            }
            let failed = |source| PathError::Io { path: folder.clone(), source };
            let Some(lock) = FileLock::try_take(&path).map_err(failed)? else { continue };
            match remove_when_left(&folder) {
                Ok(()) => {
                    taken.get_or_insert(Self { folder, _lock: lock });
                }
                // Processes of a server that was killed do not end. The next process does it.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                    tracing::warn!(path = %folder.display(), "the folder of a server that ended is still in use");
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let taken = taken.ok_or(PathError::InstancesInUse { path: all, limit: MAX_INSTANCES })?;
        private_folder::create(&taken.folder)?;
        Ok(taken)
    }

    /// Returns the settings with this runtime folder, and with a workspace in it unless the operator named one.
    #[must_use]
    pub fn settings(&self, settings: &Settings) -> Settings {
        let is_default = settings.workspace == Path::new(DEFAULT_WORKSPACE);
        Settings {
            runtime_dir: Some(self.folder.clone()),
            workspace: if is_default { self.folder.join("files") } else { settings.workspace.clone() },
            ..settings.clone()
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // If that fails, the next process does it.
        let _ = remove(&self.folder);
    }
}

/// Removes a folder of a process that has ended. If it was killed, its Chromium may write there for a moment longer.
fn remove_when_left(folder: &Path) -> std::io::Result<()> {
    let end = Instant::now() + END_TIME;
    loop {
        match remove(folder) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && Instant::now() < end => {
                std::thread::sleep(END_INTERVAL);
            }
            removed => return removed,
        }
    }
}

/// Removes a folder, if it exists. Links in it are not followed.
fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
