//! Folders and secrets that only this user can read, and the error of a file or folder of sessions.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::os::{self, describe, is_out_of_space};
use browser_shell_core::decision::{Code, Decision};

/// The length of a secret, in bytes.
const SECRET_LEN: usize = 32;

/// Files of a runtime folder, of which one that was used has some.
const OWN_FILES: [&str; 3] = ["secret", "server.lock", "i"];

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
    /// Users other than its owner can enter the folder, which this program has not made.
    #[error("other users can enter the folder `{}`; use a folder of its own, with the mode 0700", .0.display())]
    NotPrivate(PathBuf),
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
    /// Another server has the folder.
    #[error("another server uses `{}`; give each one its own with --runtime-dir", .0.display())]
    InUse(PathBuf),
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

/// Creates a folder that only this user can enter, or checks that the existing one is such a folder.
///
/// # Errors
///
/// If the path is not a folder of this user, or cannot be created.
pub(super) fn create(path: &Path) -> Result<(), PathError> {
    let failed = |source| PathError::Io { path: path.to_owned(), source };
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    if check(path)?.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Creates the runtime folder, or checks that the existing one is private. The mode of a folder that others have made for their own use is
/// not changed.
///
/// # Errors
///
/// As for [`create`], and if other users can enter a folder that this program has not used.
pub(super) fn create_runtime(path: &Path) -> Result<(), PathError> {
    runtime_exists(path)?;
    create(path)
}

/// Returns true if there is a folder that [`create_runtime`] accepts, and false if it would be made. Nothing is changed.
///
/// # Errors
///
/// As for [`create_runtime`], if there is something.
pub(super) fn runtime_exists(path: &Path) -> Result<bool, PathError> {
    if !exists(path)? {
        return Ok(false);
    }
    let metadata = check(path)?;
    let is_ours = |name: &&str| fs::symlink_metadata(path.join(name)).is_ok_and(|file| file.uid() == metadata.uid());
    if metadata.mode() & 0o077 != 0 && !OWN_FILES.iter().any(is_ours) {
        return Err(PathError::NotPrivate(path.to_owned()));
    }
    Ok(true)
}

/// Returns true if there is a folder that [`create`] accepts, and false if it would be made. Nothing is changed.
///
/// # Errors
///
/// As for [`create`], if there is something.
pub(super) fn exists(path: &Path) -> Result<bool, PathError> {
    match check(path) {
        Err(PathError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map(|_| true),
    }
}

/// Returns the metadata of a folder of this user.
fn check(path: &Path) -> Result<fs::Metadata, PathError> {
    // Not `metadata`: another user could have put a link to one of our folders there.
    let metadata = fs::symlink_metadata(path).map_err(|source| PathError::Io { path: path.to_owned(), source })?;
    if !metadata.is_dir() {
        return Err(PathError::NotAFolder(path.to_owned()));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(PathError::NotOurs(path.to_owned()));
    }
    Ok(metadata)
}

/// Returns the secret of a folder. The first process that needs it creates it.
///
/// # Errors
///
/// If it can neither be read nor created.
pub(super) fn secret(folder: &Path) -> Result<Vec<u8>, PathError> {
    let path = folder.join("secret");
    let failed = |source| PathError::Io { path: path.clone(), source };
    let read = || fs::read(&path).ok().filter(|secret| secret.len() == SECRET_LEN);
    if let Some(secret) = read() {
        return Ok(secret);
    }
    let secret: [u8; SECRET_LEN] = os::random_bytes().map_err(failed)?;
    // A hard link is atomic and never replaces a file: other processes see no partial secret, and the first one wins.
    let draft = folder.join(format!("secret.{}", std::process::id()));
    fs::write(&draft, secret).map_err(failed)?;
    let linked = fs::hard_link(&draft, &path);
    fs::remove_file(&draft).map_err(failed)?;
    match (linked, read()) {
        (_, Some(secret)) => Ok(secret),
        (Err(source), None) => Err(failed(source)),
        (Ok(()), None) => Err(failed(io::Error::other("it does not hold what was written"))),
    }
}
