//! Proxy addresses of sessions, and the files that name the session of each.
//!
//! ```text
//! DIR/127.0.1.5         id of the session that has this address of the egress guard, and its owner in a second line, if it has one
//! DIR/127.0.1.5.lock    locked by the process that gave the address to the session
//! ```
//!
//! A connection shows nothing of the browser context that opened it, but a context can have a proxy of its own. So each
//! session uses another address of the guard. The guard can run as another user: it only reads the files.
//!
//! Invariants: no two sessions have the same address at the same time, not even of two processes; a reader sees a complete
//! file or none; nobody but the folder's owner can write to it, and links in it are not followed.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::OFlags;

use crate::os::describe;
use crate::os::files::FileLock;
use crate::paths::private_folder::PathError;
use browser_shell_core::auth::Subject;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::session_id::SessionId;
use browser_shell_core::session_id::TenantId;

/// Maximum number of session addresses.
pub const MAX_SESSION_ADDRESSES: u8 = 250;

/// Maximum size of a file, in bytes: the longest name of a tenant, the longest subject, and two line feeds.
const MAX_FILE_BYTES: u64 = 129 + 256;

/// Returns the session addresses in order, the first `count` of them.
pub fn session_addresses(count: u8) -> impl Iterator<Item = Ipv4Addr> + Clone {
    (1..=count.min(MAX_SESSION_ADDRESSES)).map(|number| Ipv4Addr::new(127, 0, 1, number))
}

/// Session addresses of an egress guard, to give to sessions.
#[derive(Debug)]
pub struct SessionAddresses {
    folder: PathBuf,
    port: u16,
    count: u8,
    /// Position at which the search for a free address begins.
    next: AtomicUsize,
}

impl SessionAddresses {
    /// Creates the folder, or checks the existing one, and removes the files that an ended process left in it. `port` is the
    /// guard's port, and `count` the number of its session addresses, at most 250.
    ///
    /// # Errors
    ///
    /// If the path is not a folder of this user, others can write to it, or it cannot be created.
    pub fn create(folder: &Path, port: u16, count: u8) -> Result<Self, PathError> {
        let failed = |source| PathError::Io { path: folder.to_owned(), source };
        match DirBuilder::new().mode(0o755).create(folder) {
            // The guard's user must be able to read it, whatever the umask is.
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(failed)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        if check_folder(folder)?.uid() != rustix::process::geteuid().as_raw() {
            return Err(PathError::NotOurs(folder.to_owned()));
        }
        let addresses = Self { folder: folder.to_owned(), port, count, next: AtomicUsize::default() };
        for address in session_addresses(MAX_SESSION_ADDRESSES) {
            let file = addresses.file(address);
            if file.symlink_metadata().is_ok() && addresses.lock(address).is_ok_and(|lock| lock.is_some()) {
                fs::remove_file(&file).map_err(failed)?;
            }
        }
        Ok(addresses)
    }

    /// Gives a free address to a session. Returns `None` if there is none, or if its file cannot be written, which is logged.
    ///
    /// The address that was freed last is used last, so that a late connection of its old session is not taken for one of the
    /// new session.
    #[must_use]
    pub fn allocate(&self, id: &SessionId) -> Option<SessionAddress> {
        let start = self.next.load(Ordering::Relaxed);
        let count = usize::from(self.count.min(MAX_SESSION_ADDRESSES));
        for (position, address) in session_addresses(self.count).enumerate().cycle().skip(start).take(count) {
            match self.claim(address, id) {
                Ok(Some(claimed)) => {
                    self.next.store(position + 1, Ordering::Relaxed);
                    return Some(claimed);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%address, error = describe(&error), "cannot give the address to a session");
                    return None;
                }
            }
        }
        None
    }

    /// Returns the session that has an address of the guard. Any process that may read the folder can ask.
    ///
    /// # Errors
    ///
    /// A refusal with the code `session-unknown`, if no session has the address or its file is not valid.
    pub fn session_of(folder: &Path, address: IpAddr) -> Result<SessionId, Decision> {
        let unknown = |reason: String| Decision::new(Code::SessionUnknown, reason);
        let text = read(&folder.join(address.to_string())).map_err(|error| match error.kind() {
            ErrorKind::NotFound => unknown(format!("no session has the address `{address}` of the guard")),
            _ => unknown(format!("the session of the address `{address}` cannot be read: {}", describe(&error))),
        })?;
        parse(&text).ok_or_else(|| unknown(format!("the file of the address `{address}` has no valid session id")))
    }

    fn file(&self, address: Ipv4Addr) -> PathBuf {
        self.folder.join(address.to_string())
    }

    /// Locks an address. Returns `None` if it is in use.
    fn lock(&self, address: Ipv4Addr) -> io::Result<Option<FileLock>> {
        FileLock::try_take(&self.folder.join(format!("{address}.lock")))
    }

    fn claim(&self, address: Ipv4Addr, id: &SessionId) -> io::Result<Option<SessionAddress>> {
        let Some(lock) = self.lock(address)? else { return Ok(None) };
        let file = self.file(address);
        // The lock is held, so no other process writes this name.
        let draft = self.folder.join(format!("{address}.new"));
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut new = File::options().create(true).truncate(true).write(true).custom_flags(flags).open(&draft)?;
        new.set_permissions(Permissions::from_mode(0o644))?;
        let owner = id.owner().map_or_else(String::new, |owner| format!("{owner}\n"));
        new.write_all(format!("{id}\n{owner}").as_bytes())?;
        fs::rename(&draft, &file)?;
        Ok(Some(SessionAddress { proxy: (address, self.port).into(), file, _lock: lock }))
    }
}

/// Proxy address of one session. The drop frees it.
#[derive(Debug)]
pub struct SessionAddress {
    proxy: SocketAddr,
    file: PathBuf,
    /// Released after the file is removed.
    _lock: FileLock,
}

impl SessionAddress {
    /// Returns the address of the guard that the session's browser context must use as its proxy.
    #[must_use]
    pub const fn proxy(&self) -> SocketAddr {
        self.proxy
    }
}

impl Drop for SessionAddress {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.file) {
            tracing::warn!(proxy = %self.proxy, error = describe(&error), "cannot free the address of a session");
        }
    }
}

/// Checks that a path is a folder that only its owner can write to, and returns its metadata.
///
/// # Errors
///
/// If it is not.
pub fn check_folder(path: &Path) -> Result<fs::Metadata, PathError> {
    let metadata = fs::symlink_metadata(path).map_err(|source| PathError::Io { path: path.to_owned(), source })?;
    if !metadata.is_dir() {
        return Err(PathError::NotAFolder(path.to_owned()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(PathError::WritableByOthers(path.to_owned()));
    }
    Ok(metadata)
}

/// Parses the content of a file.
fn parse(text: &str) -> Option<SessionId> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let (name, owner) = text.split_once('\n').map_or((text, None), |(name, owner)| (name, Some(owner)));
    let id = SessionId::new(name).or_else(|| Some(TenantId::with_dots(name)?.session_id()))?;
    match owner {
        None => Some(id),
        Some(owner) => Some(id.owned_by(Subject::new(owner)?)),
    }
}

/// Reads a small regular file.
fn read(path: &Path) -> io::Result<String> {
    // Opening a pipe must not wait.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
