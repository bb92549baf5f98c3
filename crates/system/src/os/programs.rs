//! Programs on PATH, and the PATH of children.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Folders of system programs; a child's PATH is these and the folder of `node`.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the first program of this name in an absolute folder of PATH.
#[must_use]
pub fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Returns the PATH of children: the folder of `node`, which a Node daemon runs on, and the system's folders.
pub fn child_path() -> OsString {
    let mut path = OsString::new();
    if let Some(folder) = find_on_path("node").as_deref().and_then(Path::parent)
        && !std::env::split_paths(SYSTEM_PATH).any(|known| known == folder)
    {
        path.push(folder);
        path.push(":");
    }
    path.push(SYSTEM_PATH);
    path
}
