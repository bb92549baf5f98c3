//! The runtime folder and the workspace, checked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::error::PathError;
use super::private_folder;
use super::session::SessionPaths;
use crate::config::Settings;
use browser_shell_core::grammar::Profile;
use browser_shell_core::session_id::{HASHED_LEN, MAX_LEN, SessionId};

/// The longest path of a Unix socket that agent-browser accepts, without its terminating NUL.
pub(super) const MAX_SOCKET_PATH: usize = 103;

/// The length of the name of a session's socket folder.
const NAME_LEN: usize = 16;

/// The length of a socket's path without the runtime folder and the session's key.
const SOCKET_PATH_REST: usize = "/s/".len() + NAME_LEN + "/".len() + ".sock".len();

/// The longest runtime folder whose sockets can have any session's key.
const MAX_RUNTIME_PATH: usize = MAX_SOCKET_PATH - SOCKET_PATH_REST - HASHED_LEN;

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
        let mut exists = true;
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
    fn folders(&self) -> [PathBuf; 3] {
        [self.runtime.clone(), self.runtime.join("s"), self.runtime.join("k")]
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
pub(super) fn runtime_folder(settings: &Settings) -> Result<PathBuf, PathError> {
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
