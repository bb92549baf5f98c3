//! The processes of a session: finding them all and ending them (spec [1.10], [1.11]).
//!
//! Decides which processes belong to a session: those whose environment holds the session's own `TMPDIR` (or the second
//! mark with the same value, of what stands around a session's sandbox), which everything
//! that agent-browser starts inherits, its detached daemon included. Nothing else can tell: a daemon leaves the process group
//! and the family tree. Must never signal a process that does not carry the mark.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

/// How long processes have between TERM and KILL.
pub const GRACE: Duration = Duration::from_millis(500);

/// How often to look whether they are gone.
const POLL: Duration = Duration::from_millis(20);

/// The variable whose value marks a session's processes.
pub const MARK: &str = "TMPDIR";

/// Another variable with the same value, for what belongs to a session and has its temporary files elsewhere.
pub const SECOND_MARK: &str = "BROWSER_SHELL_SESSION";

/// A process that carries the mark, held so that no other can take its number.
#[derive(Debug)]
pub struct Marked {
    /// Its number.
    pub pid: Pid,
    handle: OwnedFd,
}

/// What a look at all processes has found.
#[derive(Debug, Default)]
pub struct Look {
    /// The processes that carry the mark, but for this one.
    pub marked: Vec<Marked>,
    /// Whether there are processes of which nothing can be said yet: they are just becoming another program.
    pub unsure: bool,
}

/// What a process is to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinship {
    Marked,
    Other,
    Unsure,
}

/// Looks at all processes.
#[must_use]
pub fn look(tmpdir: &Path) -> Look {
    let entries = entry_of(tmpdir);
    let mut found = Look::default();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return found;
    };
    let own = rustix::process::getpid();
    let pids = processes.filter_map(|process| Pid::from_raw(process.ok()?.file_name().to_str()?.parse().ok()?));
    for pid in pids.filter(|pid| *pid != own) {
        match kinship(pid, &entries) {
            Kinship::Other => {}
            Kinship::Unsure => found.unsure = true,
            Kinship::Marked => {
                let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
                // Asked again: between the first look and the handle the number may have gone to another process.
                match kinship(pid, &entries) {
                    Kinship::Marked => found.marked.push(Marked { pid, handle }),
                    Kinship::Unsure => found.unsure = true,
                    Kinship::Other => {}
                }
            }
        }
    }
    found
}

/// Whether a process carries the mark of a session; one of which nothing can be said does not.
#[must_use]
pub fn has_mark(pid: Pid, tmpdir: &Path) -> bool {
    kinship(pid, &entry_of(tmpdir)) == Kinship::Marked
}

/// The file that an interpreter was started with: the second word of its command line, without links.
#[must_use]
pub fn script_of(pid: Pid) -> Option<PathBuf> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let script = line.split(|byte| *byte == 0).nth(1)?;
    // A relative one would be looked up from our own folder.
    let script = Path::new(OsStr::from_bytes(script));
    script.is_absolute().then(|| script.canonicalize().ok())?
}

/// The variables as they stand among a process's own.
fn entry_of(tmpdir: &Path) -> [Vec<u8>; 2] {
    [MARK, SECOND_MARK].map(|name| [name.as_bytes(), b"=", tmpdir.as_os_str().as_encoded_bytes()].concat())
}

/// Whether a process has one of these variables. Unreadable means another user's, or gone.
fn kinship(pid: Pid, entries: &[Vec<u8>]) -> Kinship {
    loop {
        match std::fs::read(format!("/proc/{pid}/environ")) {
            Err(_) => return Kinship::Other,
            Ok(environment)
                if environment
                    .split(|byte| *byte == 0)
                    .any(|variable| entries.iter().any(|entry| variable == entry)) =>
            {
                return Kinship::Marked;
            }
            Ok(environment) if !environment.is_empty() => return Kinship::Other,
            // Nothing there: it was started without variables, or it has ended, or the kernel has put the new program's memory
            // in place and not yet its variables.
            Ok(_) => {}
        }
        let is_program = std::fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        match variables_at(pid) {
            Some((_, 0)) if is_program => return Kinship::Unsure,
            // They have come in the meantime.
            Some((start, end)) if start < end => {}
            _ => return Kinship::Other,
        }
    }
}

/// Where a process's variables begin and end in its memory; zeros as long as they are not there (proc(5), `stat`).
fn variables_at(pid: Pid) -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything, stands field 3.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(50 - 3);
    let mut next = || fields.next()?.parse().ok();
    Some((next()?, next()?))
}

/// Ends every process of a session: TERM, then KILL. Returns when none is left, or after a few seconds if one cannot die.
///
/// Returns whether none is left.
pub async fn end_marked(tmpdir: &Path) -> bool {
    let deadline = Instant::now() + GRACE + Duration::from_secs(2);
    let kill_at = Instant::now() + GRACE;
    let mut asked: Vec<Pid> = Vec::new();
    loop {
        // Looking again each time also finds what a dying process starts.
        let found = look(tmpdir);
        if found.marked.is_empty() && !found.unsure {
            return true;
        }
        if Instant::now() > deadline {
            return found.marked.is_empty();
        }
        for process in found.marked {
            if Instant::now() >= kill_at {
                let _ = pidfd_send_signal(&process.handle, Signal::KILL);
            } else if !asked.contains(&process.pid) {
                let _ = pidfd_send_signal(&process.handle, Signal::TERM);
                asked.push(process.pid);
            }
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Asks a process group to end, or makes it.
pub fn signal_group(leader: Pid, signal: Signal) {
    // It may be gone already.
    let _ = kill_process_group(leader, signal);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_process_without_variables_is_known_to_be_another() {
        let mut child = Command::new("/bin/sleep").arg("600").env_clear().spawn().expect("started");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a number");
        while variables_at(pid).is_none_or(|(_, end)| end == 0) {
            std::thread::yield_now();
        }
        assert_eq!(kinship(pid, &entry_of(Path::new("/"))), Kinship::Other);
        child.kill().expect("ended");
        assert_eq!(kinship(pid, &entry_of(Path::new("/"))), Kinship::Other, "nor is one that waits for its parent");
        child.wait().expect("waited");
        let (start, end) = variables_at(rustix::process::getpid()).expect("own");
        assert!(start < end, "control: this process has variables");
    }

    /// A parent learns that its child runs before the kernel shows the child's variables: without a second look about one
    /// process in a thousand is missed, more on a busy machine.
    #[test]
    fn a_process_that_has_just_started_is_seen_or_said_to_be_unsure() {
        let dir = tempfile::tempdir().expect("a folder");
        for round in 0..500 {
            let mut command = Command::new("/bin/sleep");
            // Naming the user has it forked: a child that still shares our memory shows our variables. A session's processes
            // are not started by us but by each other, and share the mark with it.
            command.arg("600").env(MARK, dir.path()).uid(rustix::process::geteuid().as_raw());
            let mut child = command.spawn().expect("started");
            let found = look(dir.path());
            let seen =
                found.marked.iter().any(|process| process.pid.as_raw_nonzero().get().cast_unsigned() == child.id());
            child.kill().expect("ended");
            child.wait().expect("waited");
            assert!(seen || found.unsure, "round {round}");
            assert!(look(&dir.path().join("other")).marked.is_empty(), "control: only those with the mark");
        }
    }
}
