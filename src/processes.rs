//! The processes of a session: finding them all and ending them (spec [1.10], [1.11]).
//!
//! Decides which processes belong to a session: those whose environment holds the session's own `TMPDIR`, which everything
//! that agent-browser starts inherits, its detached daemon included. Nothing else can tell: a daemon leaves the process group
//! and the family tree. Must never signal a process that does not carry the mark.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

/// How long processes have between TERM and KILL.
pub const GRACE: Duration = Duration::from_millis(500);

/// How often to look whether they are gone.
const POLL: Duration = Duration::from_millis(20);

/// The variable whose value marks a session's processes.
pub const MARK: &str = "TMPDIR";

/// A process that carries the mark, held so that no other can take its number.
#[derive(Debug)]
pub struct Marked {
    /// Its number.
    pub pid: Pid,
    handle: OwnedFd,
}

/// The processes that carry the mark, but for this one.
#[must_use]
pub fn marked(tmpdir: &Path) -> Vec<Marked> {
    let mut entry = format!("{MARK}=").into_bytes();
    entry.extend_from_slice(tmpdir.as_os_str().as_encoded_bytes());
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = rustix::process::getpid();
    processes
        .filter_map(|process| Pid::from_raw(process.ok()?.file_name().to_str()?.parse().ok()?))
        .filter(|pid| *pid != own && carries(*pid, &entry))
        .filter_map(|pid| {
            let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
            // Asked again: between the first look and the handle the number may have gone to another process.
            carries(pid, &entry).then_some(Marked { pid, handle })
        })
        .collect()
}

/// Whether a process has this variable. Unreadable means another user's, or gone; a process that has ended and waits for its
/// parent has none.
fn carries(pid: Pid, entry: &[u8]) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == entry))
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
        let found = marked(tmpdir);
        if found.is_empty() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        for process in found {
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
