//! File of the audit log.
//!
//! Invariants: a line is in the file whole or not at all, and begins on a line of its own, whatever a failed write or a killed
//! process left; lines go to the file that the path names, as long as that can be opened.

use std::fs::{File, Metadata, metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;

/// Room that a check asks for, in bytes: the lines of the calls that can run at a time, and more.
const ROOM: u64 = 64 * 1024;

/// Open file of the audit log.
#[derive(Debug)]
pub(super) struct AuditFile {
    path: PathBuf,
    file: File,
    identity: Identity,
    /// True if the file may end with a part of a line.
    has_half_line: bool,
    /// True after the path could not be opened again.
    is_detached: bool,
}

/// Device and inode.
type Identity = (u64, u64);

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Opening a pipe without a reader fails instead of waiting.
    let options = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().create(true).append(true).custom_flags(options).open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Returns true if a regular file ends with a part of a line. One that cannot be read is taken to end with a whole line.
fn ends_with_half_line(path: &Path, metadata: &Metadata) -> bool {
    let last = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last).map(|()| last)
    };
    metadata.is_file() && metadata.len() > 0 && last().is_ok_and(|last: [u8; 1]| last != *b"\n")
}

impl AuditFile {
    /// Opens the file of a path, and creates it if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (file, metadata) = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            identity: identity(&metadata),
            has_half_line: ends_with_half_line(path, &metadata),
            is_detached: false,
        })
    }

    /// Opens the path again. If that fails, lines still go to the old file.
    pub(super) fn reopen(&mut self) {
        if let Err(error) = self.try_reopen() {
            self.is_detached = true;
            let path = self.path.display();
            tracing::error!(%path, %error, "cannot open the audit file again, so lines still go to the old one");
        }
    }

    fn try_reopen(&mut self) -> io::Result<()> {
        *self = Self::open(&self.path)?;
        tracing::info!(path = %self.path.display(), "the audit file was opened again");
        Ok(())
    }

    /// Opens the path again if it names another file, or none.
    fn follow_path(&mut self) {
        if metadata(&self.path).is_ok_and(|named| identity(&named) == self.identity) {
            return;
        }
        if self.is_detached {
            // That it fails was said.
            let _ = self.try_reopen();
        } else {
            self.reopen();
        }
    }

    /// Appends a line, with its line break.
    ///
    /// # Errors
    ///
    /// If the whole line could not be written. Then nothing of it is left in the file, or the next line begins after a line break.
    pub(super) fn write(&mut self, line: &str) -> io::Result<()> {
        self.follow_path();
        let text = format!("{}{line}", if self.has_half_line { "\n" } else { "" });
        let written = loop {
            match self.file.write(text.as_bytes()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if written == text.len() {
            self.has_half_line = false;
            return Ok(());
        }
        self.has_half_line |= !self.remove_last(written as u64).unwrap_or(false);
        Err(io::Error::new(ErrorKind::StorageFull, "there was room for a part of the line only"))
    }

    /// Removes the bytes that were written last, unless another process has written behind them. Returns true if they are gone.
    fn remove_last(&mut self, written: u64) -> io::Result<bool> {
        let end = self.file.stream_position()?;
        if self.file.metadata()?.len() != end {
            return Ok(false);
        }
        self.file.set_len(end.saturating_sub(written))?;
        Ok(true)
    }

    /// Reserves room for the lines of the next calls, behind the end of the file. Returns false if the file is of a kind that has
    /// no such room.
    ///
    /// # Errors
    ///
    /// If there is no room.
    pub(super) fn reserve(&mut self) -> io::Result<bool> {
        self.follow_path();
        let end = self.file.metadata()?.len();
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, end, ROOM) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NODEV | Errno::SPIPE | Errno::INVAL) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn line_begins_after_the_half_line_of_a_killed_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        for (before, after) in [("", "2\n"), ("1\n", "1\n2\n"), ("{\"ti", "{\"ti\n2\n")] {
            fs::write(&path, before).expect("written");
            AuditFile::open(&path).expect("opened").write("2\n").expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), after);
        }
    }

    #[test]
    fn renamed_and_removed_files_get_no_further_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        let mut file = AuditFile::open(&path).expect("opened");
        file.write("1\n").expect("written");
        fs::rename(&path, path.with_extension("1")).expect("renamed");
        file.write("2\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), "2\n");
        fs::remove_file(&path).expect("removed");
        file.write("3\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), "3\n");
        assert_eq!(fs::read_to_string(path.with_extension("1")).expect("read"), "1\n");
    }
}
