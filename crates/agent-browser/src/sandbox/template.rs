//! Workspace template: files that a session's workspace begins with.

use std::fs;
use std::io;
use std::path::Path;

use browser_shell_system::paths::MAX_FILES;

/// Maximum size of a template, in bytes.
const MAX_TEMPLATE_BYTES: u64 = 64 * 1024 * 1024;

/// Copies a template: regular files and folders, at most as many as a workspace may hold.
///
/// # Errors
///
/// If a file cannot be copied, is neither a file nor a folder, or the template is too large.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut files, mut bytes) = (0, 0);
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (file_type, target) = (entry.file_type()?, to.join(entry.file_name()));
            files += 1;
            if file_type.is_dir() {
                fs::create_dir(&target)?;
                folders.push((entry.path(), target));
            } else if file_type.is_file() {
                bytes += entry.metadata()?.len();
                fs::copy(entry.path(), target)?;
            } else {
                return Err(io::Error::other(format!("`{}` is neither a file nor a folder", entry.path().display())));
            }
            if files > MAX_FILES || bytes > MAX_TEMPLATE_BYTES {
                return Err(io::Error::other(format!(
                    "a template has at most {MAX_FILES} files and folders and {MAX_TEMPLATE_BYTES} bytes"
                )));
            }
        }
    }
    Ok(())
}
