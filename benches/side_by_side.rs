//! What the benches beside a bare spawn have in common: the bare command, the turns, the figures.
//!
//! Decides what "the same command" is: copied from a child of the server while it runs, with its arguments, environment and
//! working directory. Must never parse, build or print anything while a clock runs.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Both, `count` times each.
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

/// Every other time the second goes first.
pub(crate) fn in_turn(turn: usize, first: impl FnOnce(), second: impl FnOnce()) {
    if turn.is_multiple_of(2) {
        first();
        second();
    } else {
        second();
        first();
    }
}

/// A figure in KiB from the status of a process, such as `VmRSS`.
pub(crate) fn kib(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect("such a figure");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The command that the server runs, as anybody would run it.
pub(crate) struct Bare {
    program: PathBuf,
    before: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

impl Bare {
    /// Copied from a child of the server, which must have been asked for this subcommand.
    pub(crate) fn learn(server: u32, subcommand: &str) -> Self {
        let own = std::fs::read_link(format!("/proc/{server}/exe")).expect("the server runs");
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            assert!(Instant::now() < deadline, "no child of the server was seen");
            let threads = std::fs::read_dir(format!("/proc/{server}/task")).expect("the server runs");
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
        // Until it has become the command, a child is the server's program: a copy of it, then what confines the command.
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

    /// The same command with folders and files of its own, and so with a daemon of its own.
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
        let output = command.output().expect("the command starts");
        let took = start.elapsed();
        assert!(output.status.success(), "{argv:?}: {output:?}");
        took
    }

    /// Waits until no process is left that has the command's folder for temporary files: its daemon inherited it.
    pub(crate) fn wait_for_end(&self) {
        let (_, folder) = self.environment.iter().find(|(name, _)| name == "TMPDIR").expect("the command has a TMPDIR");
        let mark = [b"TMPDIR=", folder.as_bytes()].concat();
        let carries_it = |process: std::fs::DirEntry| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::fs::read_dir("/proc").expect("/proc is there").flatten().any(carries_it) {
            assert!(Instant::now() < deadline, "the bare command's daemon does not end");
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

/// Median, and the values that 1 % lie above.
pub(crate) fn micros(times: &[Duration]) -> Value {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |index: usize| times[index.min(times.len() - 1)].as_nanos() as f64 / 1e3;
    json!({"median": at(times.len() / 2), "p99": at(times.len() * 99 / 100)})
}

/// The median of what a call took longer than the spawn next to it.
pub(crate) fn added(ours: &[Duration], spawn: &[Duration]) -> f64 {
    middle(ours.iter().zip(spawn).map(|(ours, spawn)| (ours.as_secs_f64() - spawn.as_secs_f64()) * 1e6).collect())
}

pub(crate) fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
