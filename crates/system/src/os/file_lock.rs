//! Lock on a file that one holder has at a time, also among processes.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Held lock. Dropping it releases the lock and leaves the file. The system releases it however its holder ends.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Takes the lock of a file, which is created with mode 0600 if it does not exist. Returns `None` if another holder has it.
    ///
    /// # Errors
    ///
    /// If the file is a link, or it cannot be created or locked.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let file =
            File::options().create(true).truncate(false).write(true).mode(0o600).custom_flags(flags).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the metadata of the locked file, which may no longer be the one at its path.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A program that another thread starts has a copy of the descriptor until it is executed. Closing this one alone would
        // leave the lock with the copy.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_lock_is_free_although_a_copy_of_its_file_is_open() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let held = FileLock::try_take(&path).expect("no error").expect("free");
        let copy = held.0.try_clone().expect("copied");
        assert!(FileLock::try_take(&path).expect("no error").is_none(), "control: it is held");
        drop(held);
        assert!(FileLock::try_take(&path).expect("no error").is_some());
        drop(copy);
    }

    #[test]
    fn link_is_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).expect("linked");
        assert!(FileLock::try_take(&path).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}
