//! Processes of a session: finding and ending them.
//!
//! A process belongs to a session if its environment holds the session's `TMPDIR`, or the second marker with the same value
//! (the processes around a sandbox). Everything that agent-browser starts inherits it, its detached daemon included. Process
//! groups and parents do not identify them: a daemon leaves both.
//!
//! Invariants: a process without the marker is never signaled.
//!
//! Requirements 1.10 and 1.11.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

/// Time between TERM and KILL.
pub const TERM_TIMEOUT: Duration = Duration::from_millis(500);

/// Time from the first KILL on for which the end of processes is awaited.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval between two scans while processes end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Interval between two looks at programs that were starting.
const RESCAN_INTERVAL: Duration = Duration::from_millis(1);

/// Maximum time for which programs that were starting are looked at again.
const CERTAINTY_TIMEOUT: Duration = Duration::from_secs(1);

/// The environment variable whose value identifies a session's processes.
pub const MARKER: &str = "TMPDIR";

/// A second variable with the same value, for processes of a session that have their temporary files elsewhere.
pub const SECOND_MARKER: &str = "BROWSER_SHELL_SESSION";

/// A variable of agent-browser's, and of the relay in front of a sandbox with its own network, whose value no other session knows.
pub const SOCKET_MARKER: &str = "AGENT_BROWSER_SOCKET_DIR";

/// A process with the marker. The handle keeps signals from reaching another process that gets the same PID.
#[derive(Debug)]
struct MarkedProcess {
    pid: Pid,
    handle: OwnedFd,
}

/// Result of a scan of all processes.
#[derive(Debug, Default)]
struct Scan {
    /// The processes with the marker, except this one.
    marked: Vec<MarkedProcess>,
    /// Processes in the middle of `execve`, whose environment is not known yet.
    uncertain: Vec<Pid>,
}

/// Relation of a process to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    Marked,
    Other,
    Uncertain,
}

/// Scans all processes for those of a session.
fn scan(tmpdir: &Path) -> Scan {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Scan::default();
    };
    let this = rustix::process::getpid();
    let pids = processes.filter_map(|process| Pid::from_raw(process.ok()?.file_name().to_str()?.parse().ok()?));
    scan_of(pids.filter(|pid| *pid != this), tmpdir)
}

/// Scans these processes for those of a session.
fn scan_of(pids: impl IntoIterator<Item = Pid>, tmpdir: &Path) -> Scan {
    let entries = marker_entries(tmpdir);
    let mut found = Scan::default();
    for pid in pids {
        match ownership(pid, &entries) {
            Ownership::Other => {}
            Ownership::Uncertain => found.uncertain.push(pid),
            Ownership::Marked => {
                let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
                // Checked again: before the handle was opened, another process may have got the PID.
                match ownership(pid, &entries) {
                    Ownership::Marked => found.marked.push(MarkedProcess { pid, handle }),
                    Ownership::Uncertain => found.uncertain.push(pid),
                    Ownership::Other => {}
                }
            }
        }
    }
    found
}

/// Returns true if a session has a process whose interpreter runs a script of this file name, or if that stays unknown for
/// [`CERTAINTY_TIMEOUT`].
///
/// A program that was starting is looked at again, since it belongs to others in most cases. Only that one: a busy machine always has
/// one that starts, so that no scan of all processes would be certain.
pub async fn runs_script(tmpdir: &Path, name: &str) -> bool {
    let deadline = Instant::now() + CERTAINTY_TIMEOUT;
    let runs = |process: &MarkedProcess| script_word(process.pid).is_some_and(|script| script.ends_with(name));
    let mut found = scan(tmpdir);
    loop {
        if found.marked.iter().any(runs) {
            return true;
        }
        if found.uncertain.is_empty() || Instant::now() > deadline {
            return !found.uncertain.is_empty();
        }
        tokio::time::sleep(RESCAN_INTERVAL).await;
        found = scan_of(found.uncertain, tmpdir);
    }
}

/// Returns the position of the first of these folders of sockets whose session has a process with this socket.
pub fn holder_of_socket(socket: u64, folders: &[PathBuf]) -> Option<usize> {
    let entries: Vec<_> = folders.iter().map(|folder| entry(SOCKET_MARKER, folder)).collect();
    let link = PathBuf::from(format!("socket:[{socket}]"));
    let processes = std::fs::read_dir("/proc").ok()?;
    processes.filter_map(Result::ok).find_map(|process| {
        let environment = std::fs::read(process.path().join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        let position = variables.find_map(|variable| entries.iter().position(|entry| entry == variable))?;
        let mut files = std::fs::read_dir(process.path().join("fd")).ok()?.filter_map(Result::ok);
        files.any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target == link)).then_some(position)
    })
}

/// Returns the second word of a command line.
fn script_word(pid: Pid) -> Option<PathBuf> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let word = line.split(|byte| *byte == 0).nth(1)?;
    Some(OsStr::from_bytes(word).into())
}

/// Returns both markers as they appear in `/proc/PID/environ`.
fn marker_entries(tmpdir: &Path) -> [Vec<u8>; 2] {
    [MARKER, SECOND_MARKER].map(|name| entry(name, tmpdir))
}

/// Returns a variable as it appears in `/proc/PID/environ`.
fn entry(name: &str, value: &Path) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat()
}

/// Determines whether a process has one of these variables. An unreadable environment belongs to another user, or the process
/// has ended.
fn ownership(pid: Pid, entries: &[Vec<u8>]) -> Ownership {
    loop {
        match std::fs::read(format!("/proc/{pid}/environ")) {
            Err(_) => return Ownership::Other,
            Ok(environment)
                if environment
                    .split(|byte| *byte == 0)
                    .any(|variable| entries.iter().any(|entry| variable == entry)) =>
            {
                return Ownership::Marked;
            }
            Ok(environment) if !environment.is_empty() => return Ownership::Other,
            // Empty: the process was started without variables, it has ended, or the kernel has set up the new program's
            // memory but not its variables yet.
            Ok(_) => {}
        }
        let is_program = std::fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        match environment_range(pid) {
            Some((_, 0)) if is_program => return Ownership::Uncertain,
            // They have been set since the first read.
            Some((start, end)) if start < end => {}
            _ => return Ownership::Other,
        }
    }
}

/// State of a process; see `stat` in proc(5).
struct Stat(String);

impl Stat {
    fn read(pid: Pid) -> Option<Self> {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().map(Self)
    }

    /// Returns a field, by its number from 3 on: that one follows the name, which may contain any byte.
    fn field(&self, number: usize) -> Option<&str> {
        self.0.rsplit_once(')')?.1.split_whitespace().nth(number.checked_sub(3)?)
    }

    fn number<T: FromStr>(&self, number: usize) -> Option<T> {
        self.field(number)?.parse().ok()
    }
}

/// Returns true if a process is stopped by a signal, and not by a debugger; see `stat` in proc(5).
#[must_use]
pub fn is_stopped(pid: Pid) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.field(3) == Some("T"))
}

/// Unit of processor times in `stat`, in milliseconds: the kernel gives programs hundredths of a second on every architecture of ours.
const TICK_MS: u64 = 10;

/// Process of a group.
#[derive(Debug)]
pub struct GroupMember {
    /// Its id.
    pub id: Pid,
    /// Process that started it.
    pub parent: Option<Pid>,
    /// Processor time that it took.
    pub time: Duration,
    /// Number of its threads.
    pub threads: usize,
}

impl GroupMember {
    /// Reads a process, if it is in the group.
    fn read(id: Pid, group: Pid) -> Option<Self> {
        let stat = Stat::read(id)?;
        if stat.number::<i32>(5)? != group.as_raw_nonzero().get() {
            return None;
        }
        let ticks = stat.number::<u64>(14)? + stat.number::<u64>(15)?;
        let time = Duration::from_millis(ticks.saturating_mul(TICK_MS));
        Some(Self { id, parent: Pid::from_raw(stat.number(4)?), time, threads: stat.number(20)? })
    }

    /// Returns true if the process has an argument.
    #[must_use]
    pub fn has_argument(&self, argument: &str) -> bool {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.id)).unwrap_or_default();
        // Chromium writes the arguments of its renderers anew, with spaces between them.
        line.split(|byte| [0, b' '].contains(byte)).any(|word| word == argument.as_bytes())
    }
}

/// Returns the processes of a group; see `stat` in proc(5).
pub fn members_of(group: Pid) -> impl Iterator<Item = GroupMember> + use<> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?));
    ids.filter_map(move |id| GroupMember::read(id, group))
}

/// Kills a process of a group. Returns false if it is not there any more.
#[must_use]
pub fn end_member(group: Pid, member: &GroupMember) -> bool {
    let Ok(handle) = pidfd_open(member.id, PidfdFlags::empty()) else { return false };
    // Checked again: before the handle was opened, another process may have got the id.
    let is_same = GroupMember::read(member.id, group).is_some();
    is_same && pidfd_send_signal(&handle, Signal::KILL).is_ok()
}

/// Returns the start and end address of a process's environment, zeros while it is not set up; see `stat` in proc(5).
fn environment_range(pid: Pid) -> Option<(u64, u64)> {
    let stat = Stat::read(pid)?;
    Some((stat.number(50)?, stat.number(51)?))
}

/// Way to the end of a session's processes.
#[derive(Debug)]
struct Ending {
    began: Instant,
    /// Time of the first KILL.
    killed: Option<Instant>,
}

/// Next step behind a scan for the processes that are to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextSignal {
    Signal(Signal),
    /// No more is waited. True if none is known to be left.
    Stop(bool),
}

impl Ending {
    const fn new(began: Instant) -> Self {
        Self { began, killed: None }
    }

    /// Decides what follows a scan at this time. A scan of a busy machine may take longer than a process has for its end: each process
    /// gets its KILL, however late that is.
    fn next(&mut self, found: &Scan, now: Instant) -> NextSignal {
        let has_marked = !found.marked.is_empty();
        if !has_marked && found.uncertain.is_empty() {
            return NextSignal::Stop(true);
        }
        let kill = if has_marked { self.killed } else { Some(self.began + TERM_TIMEOUT) };
        let end = kill.map(|kill| kill + KILL_TIMEOUT);
        if end.is_some_and(|end| now > end) {
            return NextSignal::Stop(!has_marked);
        }
        if now < self.began + TERM_TIMEOUT {
            return NextSignal::Signal(Signal::TERM);
        }
        if has_marked {
            self.killed.get_or_insert(now);
        }
        NextSignal::Signal(Signal::KILL)
    }
}

/// Ends every process of a session with TERM, then KILL. Gives up [`KILL_TIMEOUT`] after the first KILL.
///
/// Returns true if none is left.
pub async fn end_marked(tmpdir: &Path) -> bool {
    let mut ending = Ending::new(Instant::now());
    let mut terminated: Vec<Pid> = Vec::new();
    loop {
        // A new scan each time also finds what an ending process starts.
        let found = scan(tmpdir);
        let signal = match ending.next(&found, Instant::now()) {
            NextSignal::Stop(has_ended) => return has_ended,
            NextSignal::Signal(signal) => signal,
        };
        for process in found.marked {
            if signal == Signal::KILL || !terminated.contains(&process.pid) {
                let _ = pidfd_send_signal(&process.handle, signal);
                terminated.push(process.pid);
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Sends a signal to a process group. A group that is gone is no error.
pub fn signal_group(leader: Pid, signal: Signal) {
    let _ = kill_process_group(leader, signal);
}

#[cfg(test)]
mod tests;
