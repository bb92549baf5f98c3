//! Which process may use a session (spec [1.11]).
//!
//! Decides it by a lock file beside the session's folder, which the system lets go of however its holder ends. The file is
//! removed with the session, by the holder of the lock alone. Must never give two processes the same session: a lock on a file
//! that has been removed in the meantime is none.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often to try a lock that another process holds.
const POLL: Duration = Duration::from_millis(50);

/// A session that this process holds. Dropping it lets go of the session and leaves the file.
#[derive(Debug)]
pub struct SessionLock {
    path: PathBuf,
    // held for its lock
    _file: File,
}

impl SessionLock {
    /// Takes the lock, waiting until the deadline for another process to let go of it. `None` if that does not.
    ///
    /// # Errors
    ///
    /// When the file cannot be made or locked.
    pub async fn take(path: &Path, deadline: Instant) -> io::Result<Option<Self>> {
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(Some(lock));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .custom_flags(nofollow)
                .open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Between opening and locking the file its holder may have removed it; then another one may be there by now.
            let held = file.metadata()?;
            match path.symlink_metadata() {
                Ok(there) if (there.dev(), there.ino()) == (held.dev(), held.ino()) => {
                    return Ok(Some(Self { path: path.to_owned(), _file: file }));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the file and lets go of the session, which must be closed.
    pub fn remove(self) {
        // In this order: whoever opened the file before must see that it is not the one there any more.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(120)
    }

    #[tokio::test]
    async fn a_lock_has_one_holder() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.lock");
        let first = SessionLock::take(&path, soon()).await.expect("asked").expect("free");
        assert!(SessionLock::take(&path, soon()).await.expect("asked").is_none());
        drop(first);
        let second = SessionLock::take(&path, soon()).await.expect("asked").expect("free again");
        second.remove();
        assert!(!path.exists());
        assert!(SessionLock::take(&path, soon()).await.expect("asked").is_some());
    }

    #[tokio::test]
    async fn a_lock_on_a_removed_file_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.lock");
        let first = SessionLock::take(&path, soon()).await.expect("asked").expect("free");
        // As somebody who opened the file before its holder removed it.
        let stale = File::open(&path).expect("opened");
        first.remove();
        stale.try_lock().expect("nobody holds the removed file");
        let second = SessionLock::take(&path, soon()).await.expect("asked");
        assert!(second.is_some(), "the removed file does not count");
        assert!(SessionLock::take(&path, soon()).await.expect("asked").is_none(), "control: the new one does");
    }

    #[tokio::test]
    async fn many_who_take_and_remove_it_never_hold_it_together() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.lock");
        let holders = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut held = 0;
                    while held < 200 {
                        let Some(lock) = SessionLock::try_take(&path).expect("asked") else {
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
