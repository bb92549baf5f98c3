//! Resolution of folders below a workspace by the kernel.
//!
//! Invariants: every folder returned was below the root when it was opened.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};

/// Mode of new folders: containers with other users read them too.
const FOLDER_MODE: u32 = 0o755;

/// Attempts while other processes rename folders, which keeps the kernel from knowing that a path stayed below the root.
const MAX_ATTEMPTS: u32 = 16;

/// Flags for a folder from which others are opened.
const PATH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags for a folder whose mode is set.
const READABLE: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens the root of a workspace.
pub(super) fn open_root(path: &Path) -> Result<OwnedFd> {
    rustix::fs::open(path, PATH, Mode::empty())
}

/// Opens one folder in another one, unless it is a link.
pub(super) fn open_child(folder: &OwnedFd, name: &str) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(folder, name, PATH, Mode::empty(), resolve)
}

/// Opens a folder below the root, creating missing folders. An empty path is the root.
pub(super) fn open_or_create(root: &OwnedFd, path: &str) -> Result<OwnedFd> {
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

fn open_beneath(root: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..MAX_ATTEMPTS {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => {}
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}
