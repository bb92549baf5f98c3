//! Files: locks that one holder has at a time, also among processes, small files of an operator, such as a policy or keys, and the folders
//! that an operator names.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Access, OFlags, access};

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

/// Reads a regular file of at most `max_bytes`.
///
/// # Errors
///
/// The error of the system, or one that says that the file is of another kind or too large.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe must not wait; it is refused below.
    let options = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(options).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    // With room for one byte more, which is how the end is found.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(max_bytes) + 1).unwrap_or_default());
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {max_bytes} bytes")));
    }
    Ok(bytes)
}

/// Returns true if this user can make files in a folder, and false if the folder can be made first. Nothing is changed.
///
/// # Errors
///
/// The reason why neither is possible.
pub fn is_writable_folder(folder: &Path) -> io::Result<bool> {
    match std::fs::metadata(folder) {
        Ok(metadata) if !metadata.is_dir() => Err(ErrorKind::NotADirectory.into()),
        Ok(_) => {
            access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => match std::path::absolute(folder)?.parent() {
            Some(parent) => is_writable_folder(parent).map(|_| false),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_that_can_be_made_or_written_is_told_from_others() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").expect("written");
        assert!(is_writable_folder(dir.path()).expect("a folder"));
        assert!(!is_writable_folder(&at("new/below")).expect("it can be made"));
        for name in ["file", "file/below"] {
            let error = is_writable_folder(&at(name)).expect_err(name);
            assert_eq!(error.kind(), ErrorKind::NotADirectory, "{name}");
        }
        assert!(!at("new").exists(), "nothing is made");
    }

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
