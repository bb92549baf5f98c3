//! A limit of processor time for one process and everything that it starts.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::Signal;

use super::processes::{self, Process, wait_for};

/// Period of the limit. In each, the processes run for `SHARE_MS`.
const PERIOD_MS: u64 = 100;
const SHARE_MS: u64 = 30;

/// A limit to 0.3 of one processor.
#[derive(Debug)]
pub(crate) enum CpuLimit {
    /// A control group.
    Group(PathBuf),
    /// Stopping and continuing, where this machine lets nobody create control groups.
    Cycle(Arc<AtomicBool>, Option<thread::JoinHandle<()>>),
}

impl CpuLimit {
    /// Limits a process, whose descendants `list` returns.
    pub(crate) fn new(id: i32, list: impl Fn() -> Vec<Process> + Send + 'static) -> Self {
        group(id).map_or_else(|| cycle(id, list), Self::Group)
    }
}

/// Creates a control group of version 1 or 2 with the process.
fn group(id: i32) -> Option<PathBuf> {
    let quota = format!("{}", SHARE_MS * 1000);
    let period = format!("{}", PERIOD_MS * 1000);
    let version_1 = [("cpu.cfs_period_us", period.clone()), ("cpu.cfs_quota_us", quota.clone())];
    let version_2 = [("cpu.max", format!("{quota} {period}"))];
    // In version 2. Without it, the group below has no file for the limit.
    if Path::new("/sys/fs/cgroup/cgroup.subtree_control").exists() {
        let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
    }
    [("/sys/fs/cgroup/cpu", &version_1[..]), ("/sys/fs/cgroup", &version_2[..])].into_iter().find_map(
        |(root, values)| {
            let folder = Path::new(root).join(format!("browser-shell-{id}"));
            fs::create_dir(&folder).ok()?;
            let set = |name: &str, value: &str| {
                let file = folder.join(name);
                // A control group has the file; in another folder it would be a new one.
                file.exists().then(|| fs::write(file, value).ok()).flatten()
            };
            let is_set = values.iter().all(|(name, value)| set(name, value).is_some());
            if is_set && set("cgroup.procs", &id.to_string()).is_some() {
                return Some(folder);
            }
            fs::remove_dir(&folder).unwrap();
            None
        },
    )
}

fn cycle(id: i32, list: impl Fn() -> Vec<Process> + Send + 'static) -> CpuLimit {
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    let cycle = thread::spawn(move || {
        while !ended.load(Ordering::Relaxed) {
            let own: Vec<i32> = list().iter().map(|process| process.id).chain([id]).collect();
            for id in &own {
                processes::signal(*id, Signal::STOP);
            }
            thread::sleep(Duration::from_millis(PERIOD_MS - SHARE_MS));
            for id in &own {
                processes::signal(*id, Signal::CONT);
            }
            thread::sleep(Duration::from_millis(SHARE_MS));
        }
    });
    CpuLimit::Cycle(has_ended, Some(cycle))
}

impl Drop for CpuLimit {
    /// Ends the limit. Its processes must have ended, or nobody else may wait for them.
    fn drop(&mut self) {
        match self {
            Self::Group(folder) => {
                // Each process in it goes back to the parent group.
                let inside = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
                for id in inside.lines() {
                    drop(fs::write(folder.with_file_name("cgroup.procs"), id));
                }
                wait_for("an empty control group", || fs::remove_dir(&folder).ok());
            }
            Self::Cycle(has_ended, thread) => {
                has_ended.store(true, Ordering::Relaxed);
                if let Some(thread) = thread.take() {
                    thread.join().unwrap();
                }
            }
        }
    }
}
