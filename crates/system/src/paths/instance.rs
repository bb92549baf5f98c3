//! Folder of one server among several that share a runtime folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::PathError;
use super::private_folder;
use super::roots::runtime_folder;
use crate::config::{DEFAULT_WORKSPACE, Settings};
use crate::os::file_lock::FileLock;

/// Maximum number of servers that share a runtime folder.
const MAX_INSTANCES: u8 = 64;

/// Time for the processes of a killed server to end.
const END_TIME: Duration = Duration::from_secs(10);

/// Interval between two looks for their end.
const END_INTERVAL: Duration = Duration::from_millis(20);

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
        for folder in [&runtime, &all] {
            private_folder::create(folder)?;
        }
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
mod tests {
    use super::*;
    use crate::paths::tests::settings;

    #[test]
    fn each_process_has_a_folder_that_ends_with_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let settings = settings(dir.path());
        let runtime = settings.runtime_dir.clone().expect("named");
        let [first, second] = [(); 2].map(|()| Instance::take(&settings).expect("free"));
        assert_ne!(first.folder, second.folder);
        assert!(first.folder.starts_with(&runtime) && first.folder.is_dir() && second.folder.is_dir());

        let left = second.folder.join("left");
        fs::write(&left, "").expect("written");
        drop(first);
        let third = Instance::take(&settings).expect("free");
        assert!(left.exists(), "a living process keeps its folder");
        let path = second.folder.clone();
        drop(second);
        assert!(!path.exists() && third.folder.is_dir());

        // A process that was killed.
        fs::create_dir_all(path.join("left")).expect("created");
        let fourth = Instance::take(&settings).expect("free");
        assert_eq!(fourth.folder, path);
        assert!(!path.join("left").exists());
    }

    #[test]
    fn folder_that_is_written_to_for_a_moment_longer_is_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let settings = settings(dir.path());
        let path = Instance::take(&settings).expect("free").folder.clone();
        fs::create_dir_all(&path).expect("created");
        let (started, has_started) = std::sync::mpsc::channel();
        let writer = std::thread::spawn({
            let path = path.clone();
            move || {
                for number in 0..2000 {
                    // Its folder may be gone at any time.
                    let _ = fs::create_dir_all(path.join(number.to_string()));
                    if number == 100 {
                        let _ = started.send(());
                    }
                }
            }
        });
        has_started.recv().expect("started");
        let taken = Instance::take(&settings).expect("a folder");
        writer.join().expect("ended");
        assert_eq!(taken.folder, path);
    }

    #[test]
    fn workspace_is_in_the_folder_unless_it_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut named = settings(dir.path());
        let instance = Instance::take(&named).expect("free");
        assert_eq!(instance.settings(&named).workspace, named.workspace);
        named.workspace = DEFAULT_WORKSPACE.into();
        let own = instance.settings(&named);
        assert!(own.workspace.starts_with(&instance.folder));
        assert_eq!(own.runtime_dir, Some(instance.folder.clone()));
    }
}
