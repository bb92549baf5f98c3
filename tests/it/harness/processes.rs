//! Processes of a server under test, and waiting for conditions.
//!
//! A process belongs to a server if its environment contains the path of the server's temporary folder. The name of
//! that folder is random, and child processes inherit the environment. No function here touches a process without
//! such a path.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Upper limit for waiting, so that a failing test does not hang. No assertion depends on it.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(5);

/// A process as it was when it was listed. The command line is for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) parent: i32,
    pub(crate) command: String,
}

/// Returns every running process with `folder` in its environment, except the ids in `besides`. A zombie has no
/// environment, so it is not included.
pub(crate) fn belonging_to(folder: &Path, besides: &[i32]) -> Vec<Process> {
    let needle = folder.to_str().unwrap().as_bytes();
    let own = i32::try_from(std::process::id()).unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if id == own || besides.contains(&id) {
            continue;
        }
        let environment = environment_of(&entry.path());
        if environment.windows(needle.len()).any(|part| part == needle) {
            found.push(Process { id, parent: parent_of(id).unwrap_or_default(), command: command_of(id) });
        }
    }
    found
}

/// Reads the environment of a process. It is empty if the process ended after it was listed.
fn environment_of(process: &Path) -> Vec<u8> {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        if !environment.is_empty() || fs::read_link(process.join("exe")).is_err() {
            return environment;
        }
        // Fields 50 and 51 are the start and end address of the environment. Without an end address, the kernel is
        // still in the middle of `execve`. Equal addresses mean an empty environment. Otherwise the environment has
        // become readable since.
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        if fields.len() < 49 || (fields[47] == fields[48] && fields[48] != "0") {
            return environment;
        }
        assert!(Instant::now() < end, "`execve` did not finish: {}", process.display());
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the running direct children of a process.
pub(crate) fn children_of(parent: i32) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if parent_of(id) == Some(parent) {
            found.push(Process { id, parent, command: command_of(id) });
        }
    }
    found
}

/// Returns the parent of a process. It is `None` if the process has ended, also while it waits to be reaped.
fn parent_of(id: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // After the command name, which may contain any character: state, parent.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    fields.next().filter(|state| *state != "Z")?;
    fields.next()?.parse().ok()
}

/// Returns all running descendants of a process.
pub(crate) fn descendants_of(parent: i32) -> Vec<Process> {
    let mut found = Vec::new();
    for child in children_of(parent) {
        found.extend(descendants_of(child.id));
        found.push(child);
    }
    found
}

/// Returns true while the same process still runs.
pub(crate) fn is_alive(process: &Process) -> bool {
    // A process that has ended, or that waits to be reaped, has no command line.
    !process.command.is_empty() && command_of(process.id) == process.command
}

fn command_of(id: i32) -> String {
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).replace('\0', " ")
}

/// Sends SIGKILL to processes.
pub(crate) fn kill(processes: &[Process]) {
    for process in processes {
        signal(process.id, rustix::process::Signal::KILL);
    }
}

/// Sends a signal to a process. A process that no longer exists is not an error.
pub(crate) fn signal(id: i32, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(id).unwrap();
    match rustix::process::kill_process(id, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("cannot signal {id:?}: {error}"),
    }
}

/// Polls `probe` until it returns a value. Fails after [`TEST_TIMEOUT`] with the name of the condition. The pauses grow with the time that it
/// takes already, because other tests need the processor.
#[track_caller]
pub(crate) fn wait_for<T>(condition: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = probe() {
            return value;
        }
        let waited = start.elapsed();
        assert!(waited < TEST_TIMEOUT, "timed out waiting for {condition}");
        thread::sleep((waited / 8).clamp(Duration::from_millis(20), Duration::from_millis(200)));
    }
}

/// Returns the peak resident set size of a process in bytes.
pub(crate) fn peak_memory(id: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}
