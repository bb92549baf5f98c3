//! Lock file that keeps other processes out of a session.
//!
//! The file is next to the session's private folder. The system releases the lock however its holder ends. Only the holder removes the
//! file, together with the session.
//!
//! Invariant: one process at a time holds a session; a lock on a file that was removed after it was opened does not count.
//!
//! Requirement 1.11.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use browser_shell_system::os::files::FileLock;

/// Interval between attempts to take a lock that another process holds.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Lock of a session. Dropping it releases the lock and leaves the file.
#[derive(Debug)]
pub(crate) struct SessionLock {
    path: PathBuf,
    /// Released when it is dropped.
    _lock: FileLock,
}

impl SessionLock {
    /// Takes the lock, and waits for another process to release it. Returns `None` if it is still held at the deadline.
    ///
    /// # Errors
    ///
    /// If the file cannot be created or locked.
    pub(crate) async fn take(path: &Path, deadline: Instant) -> io::Result<Option<Self>> {
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(Some(lock));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn try_take(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let Some(lock) = FileLock::try_take(path)? else { return Ok(None) };
            // Its holder may have removed the file before this lock, and another process may have created a new one.
            let held = lock.metadata()?;
            match path.symlink_metadata() {
                Ok(current) if (current.dev(), current.ino()) == (held.dev(), held.ino()) => {
                    return Ok(Some(Self { path: path.to_owned(), _lock: lock }));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the file and releases the lock. The session must be closed.
    pub(crate) fn remove(self) {
        // The file is removed while it is locked, so that a process which has it open sees that it is no longer the current one.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::atomic::Ordering::SeqCst;

    fn deadline() -> Instant {
        Instant::now() + Duration::from_millis(120)
    }

    #[tokio::test]
    async fn lock_has_one_holder() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.lock");
        let first = SessionLock::take(&path, deadline()).await.expect("no error").expect("free");
        assert!(SessionLock::take(&path, deadline()).await.expect("no error").is_none());
        drop(first);
        let second = SessionLock::take(&path, deadline()).await.expect("no error").expect("free again");
        second.remove();
        assert!(!path.exists());
        assert!(SessionLock::take(&path, deadline()).await.expect("no error").is_some());
    }

    #[tokio::test]
    async fn lock_on_removed_file_is_invalid() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.lock");
        let first = SessionLock::take(&path, deadline()).await.expect("no error").expect("free");
        // Opened before its holder removes it.
        let stale = File::open(&path).expect("opened");
        first.remove();
        stale.try_lock().expect("the removed file is not locked");
        let second = SessionLock::take(&path, deadline()).await.expect("no error");
        assert!(second.is_some(), "the removed file does not count");
        assert!(SessionLock::take(&path, deadline()).await.expect("no error").is_none(), "control: the new one counts");
    }

    #[tokio::test]
    async fn concurrent_lock_holders_never_overlap() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.lock");
        let holders = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut held = 0;
                    while held < 200 {
                        let Some(lock) = SessionLock::try_take(&path).expect("no error") else {
                            std::thread::yield_now();
                            continue;
                        };
                        assert_eq!(holders.fetch_add(1, SeqCst), 0);
                        assert_eq!(holders.fetch_sub(1, SeqCst), 1);
                        lock.remove();
                        held += 1;
                    }
                });
            }
        });
    }
}
