//! Which processes belong to a server under test, and waiting without clocks.
//!
//! A process belongs to a server when the server's own temporary folder is in
//! its environment: the folder's name is random, and children inherit it.
//! Nothing here may touch a process that does not carry such a folder.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// A net for a test that would otherwise hang; no assertion is about this time.
pub(crate) const SAFETY_NET: Duration = Duration::from_mins(2);

/// A living process, with its command line for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) command: String,
}

/// Every living process with `folder` in its environment, except `besides`.
/// A zombie has no environment, so it does not count.
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
            found.push(Process { id, command: command_of(id) });
        }
    }
    found
}

/// The environment of a process; empty if it has ended, which it may between the listing and the reading.
fn environment_of(process: &Path) -> Vec<u8> {
    let end = Instant::now() + SAFETY_NET;
    loop {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        if !environment.is_empty() || fs::read_link(process.join("exe")).is_err() {
            return environment;
        }
        // Fields 50 and 51: where its variables begin and end. Without an end the kernel is still putting another program in
        // its place; with both the same it has none; else they have come in the meantime.
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        if fields.len() < 49 || (fields[47] == fields[48] && fields[48] != "0") {
            return environment;
        }
        assert!(Instant::now() < end, "never became a program: {}", process.display());
        thread::sleep(Duration::from_millis(1));
    }
}

/// The living processes that one process started and has not lost to another.
pub(crate) fn children_of(parent: i32) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // it may end between the listing and the reading
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // behind the name, which may hold anything: state, parent
        let mut fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        if fields.next() != Some("Z") && fields.next() == Some(parent.to_string().as_str()) {
            found.push(Process { id, command: command_of(id) });
        }
    }
    found
}

/// Whether a process still lives, and is still the one that it was.
pub(crate) fn lives(process: &Process) -> bool {
    // a process that has ended, and one that waits for its parent, has no command line
    !process.command.is_empty() && command_of(process.id) == process.command
}

fn command_of(id: i32) -> String {
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).replace('\0', " ")
}

/// Ends processes by id, at once.
pub(crate) fn kill(processes: &[Process]) {
    for process in processes {
        signal(process.id, rustix::process::Signal::KILL);
    }
}

/// Sends one signal to one process; a process that is gone already is fine.
pub(crate) fn signal(id: i32, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(id).unwrap();
    match rustix::process::kill_process(id, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("cannot signal {id:?}: {error}"),
    }
}

/// Looks again until `probe` gives a value, or fails saying what was awaited.
#[track_caller]
pub(crate) fn until<T>(awaited: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + SAFETY_NET;
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(Instant::now() < end, "never came: {awaited}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The largest resident size that a process has ever had, in bytes.
pub(crate) fn peak_memory(id: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}
