//! Helpers of the benchmarks that compare with a bare spawn: the bare command, alternation, and statistics.
//!
//! The bare command is copied from a child of the server while it runs, with its arguments, environment and working
//! directory. Nothing is parsed, built or printed while a measurement runs.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Runs both closures `count` times, in alternating order.
pub(crate) fn in_turns(
    count: usize,
    mut first: impl FnMut() -> Duration,
    mut second: impl FnMut() -> Duration,
) -> (Vec<Duration>, Vec<Duration>) {
    let (mut firsts, mut seconds) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for turn in 0..count {
        in_turn(turn, || firsts.push(first()), || seconds.push(second()));
    }
    (firsts, seconds)
}

/// Runs both closures; in every other turn the second one goes first.
pub(crate) fn in_turn(turn: usize, first: impl FnOnce(), second: impl FnOnce()) {
    if turn.is_multiple_of(2) {
        first();
        second();
    } else {
        second();
        first();
    }
}

/// Returns a value in KiB from the status of a process, such as `VmRSS`.
pub(crate) fn kib(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process is gone");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect("no such figure");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The command that the server runs, for a bare spawn.
pub(crate) struct Bare {
    program: PathBuf,
    before: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

impl Bare {
    /// Copies the command from a child of the server, which must be running a call with this subcommand.
    pub(crate) fn learn(server: u32, subcommand: &str) -> Self {
        let own = std::fs::read_link(format!("/proc/{server}/exe")).expect("the server is gone");
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            assert!(Instant::now() < deadline, "no child of the server was found");
            let threads = std::fs::read_dir(format!("/proc/{server}/task")).expect("the server is gone");
            let children = threads
                .flatten()
                .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
                .fold(String::new(), |all, more| all + " " + &more);
            if let Some(bare) = children.split_whitespace().find_map(|child| Self::copied_from(child, &own, subcommand))
            {
                return bare;
            }
        }
    }

    fn copied_from(process: &str, server: &Path, subcommand: &str) -> Option<Self> {
        let own = PathBuf::from(format!("/proc/{process}"));
        let program = std::fs::read_link(own.join("exe")).ok()?;
        let mut before = strings(&std::fs::read(own.join("cmdline")).ok()?);
        // Before `exec`, a child has the server's program: first a copy of it, then the program that confines the
        // command.
        if program == server {
            return None;
        }
        let at = before.iter().position(|argument| argument == subcommand)?;
        before.truncate(at);
        before.remove(0);
        let environment = strings(&std::fs::read(own.join("environ")).ok()?)
            .into_iter()
            .filter_map(|variable| {
                let (name, value) = variable.to_str()?.split_once('=')?;
                Some((name.into(), value.into()))
            })
            .collect();
        let folder = std::fs::read_link(own.join("cwd")).ok()?;
        Some(Self { program, before, environment, folder })
    }

    /// Gives the command its own folders and files, and so its own daemon.
    pub(crate) fn moved_below(mut self, root: &Path) -> Self {
        std::fs::create_dir_all(root).expect("a folder for the bare command");
        for (name, value) in self.environment.iter_mut().filter(|(name, _)| name != "PATH") {
            let (old, new) = (PathBuf::from(&*value), root.join(name));
            if old.is_dir() {
                std::fs::create_dir(&new).expect("a folder for the bare command");
            } else if old.is_file() {
                std::fs::copy(&old, &new).map(drop).expect("a copy for the bare command");
            } else {
                continue;
            }
            *value = new.into();
        }
        Self { folder: root.to_owned(), ..self }
    }

    pub(crate) fn run(&self, argv: &[&str]) -> Duration {
        let mut command = Command::new(&self.program);
        command.args(&self.before).args(argv).env_clear().current_dir(&self.folder).stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let start = Instant::now();
        let output = command.output().expect("cannot start the command");
        let took = start.elapsed();
        assert!(output.status.success(), "{argv:?}: {output:?}");
        took
    }

    /// Waits until no process has the command's TMPDIR. Its daemon inherited that.
    pub(crate) fn wait_for_end(&self) {
        let (_, folder) = self.environment.iter().find(|(name, _)| name == "TMPDIR").expect("the command has a TMPDIR");
        let mark = [b"TMPDIR=", folder.as_bytes()].concat();
        let carries_it = |process: std::fs::DirEntry| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::fs::read_dir("/proc").expect("cannot read /proc").flatten().any(carries_it) {
            assert!(Instant::now() < deadline, "the bare command's daemon did not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn spawns_per_second(&self, lanes: usize, spawns: usize, argv: &[&str]) -> f64 {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..lanes {
                scope.spawn(|| (0..spawns / lanes).for_each(|_| _ = self.run(argv)));
            }
        });
        (spawns / lanes * lanes) as f64 / start.elapsed().as_secs_f64()
    }
}

fn strings(bytes: &[u8]) -> Vec<OsString> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| OsString::from_vec(part.to_vec()))
        .collect()
}

/// Returns the median and the 99th percentile in microseconds.
pub(crate) fn micros(times: &[Duration]) -> Value {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |index: usize| times[index.min(times.len() - 1)].as_nanos() as f64 / 1e3;
    json!({"median": at(times.len() / 2), "p99": at(times.len() * 99 / 100)})
}

/// Returns the median difference between a call and the spawn next to it, in microseconds.
pub(crate) fn added(ours: &[Duration], spawn: &[Duration]) -> f64 {
    middle(ours.iter().zip(spawn).map(|(ours, spawn)| (ours.as_secs_f64() - spawn.as_secs_f64()) * 1e6).collect())
}

pub(crate) fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
