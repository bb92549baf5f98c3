//! Sandbox plan: the files, ports and limits of one session's agent-browser, as data.
//!
//! A plan follows from the policy, the session's paths and the program's files. Of the file system it reads only links, because a
//! denied file is denied under every path. Backends turn a plan into rules. They report what they cannot enforce, and never allow
//! more.
//!
//! Invariants: a plan names no folder that holds files of several sessions, except in the mode `shared`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::installation::files::ProgramFiles;
use browser_shell_core::policy::sandbox::{BackendName, FileRule, ResourceLimits, SandboxMode, SandboxPolicy};
use browser_shell_system::paths::SessionPaths;

/// The resources that one session may use. Everything else is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    /// Programs to execute, which includes reading them.
    pub execute: Vec<PathBuf>,
    /// Folders to read and write, for plain files and folders only.
    pub write: Vec<PathBuf>,
    /// Folders in which sockets may be created too.
    pub sockets: Vec<PathBuf>,
    /// Device files to read and write.
    pub devices: Vec<PathBuf>,
    /// Paths that cannot be seen although a parent folder is readable.
    pub masked: Vec<PathBuf>,
    /// Paths that cannot be written although a parent folder is writable.
    pub read_only: Vec<PathBuf>,
    /// TCP ports to connect to.
    pub connect: Vec<u16>,
    /// Port of the session's endpoint outside of a sandbox with its own network.
    pub endpoint: u16,
    /// True if the session may listen on TCP ports.
    pub bind: bool,
    /// Resource limits; `None` leaves the inherited ones.
    pub limits: Option<ResourceLimits>,
}

/// Files in `/proc` that reveal nothing about users or processes.
///
/// None of `/proc/<pid>`, not even of the process itself: `net/unix` there lists the sockets of all sessions. agent-browser,
/// its daemons and Node read `maps` and `cgroup` of their own, and do without.
const PROC: &[&str] = &["/proc/meminfo", "/proc/cpuinfo", "/proc/version", "/proc/sys/vm/overcommit_memory"];

/// Devices that any program may open.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// Port of the session's endpoint in a sandbox with its own network.
const INSIDE_PORT: u16 = 9222;

/// Returns true if programs in the sandbox have a network of their own.
const fn has_own_network(backend: BackendName) -> bool {
    matches!(backend, BackendName::Srt | BackendName::Docker)
}

/// Returns the plan of a session whose endpoint has this port.
#[must_use]
pub fn plan(
    policy: &SandboxPolicy,
    backend: BackendName,
    paths: &SessionPaths,
    files: &ProgramFiles,
    action_policy: &Path,
    endpoint: u16,
) -> Plan {
    let shared = policy.mode == SandboxMode::Shared;
    let scope = |path: &Path| if shared { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() };
    let rules = &policy.filesystem;
    // Names and wildcards without a folder apply to what the file and the program name, not to the session's own folders.
    let without_denied = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().filter(|path| !is_named(&rules.deny_read, path)).cloned().collect()
    };
    let mut read = without_denied(&files.read);
    read.push(action_policy.to_owned());
    read.extend(PROC.iter().map(PathBuf::from));
    let mut write = vec![scope(&paths.files)];
    if shared {
        // Home, temporary and working folders of all sessions, and their locks.
        write.push(scope(&paths.private));
    } else {
        read.push(paths.cwd());
        write.extend([paths.home(), paths.tmp()]);
    }
    let (fixed, writable): (Vec<_>, Vec<_>) =
        without_denied(&rules.allow_write).into_iter().partition(|path| is_named(&rules.deny_write, path));
    read.extend(fixed);
    write.extend(writable);
    let mut plan = Plan {
        read,
        execute: without_denied(&files.execute),
        write,
        sockets: vec![scope(&paths.sockets)],
        devices: DEVICES.iter().map(PathBuf::from).collect(),
        masked: Vec::new(),
        read_only: Vec::new(),
        connect: vec![if has_own_network(backend) { INSIDE_PORT } else { endpoint }],
        endpoint,
        bind: policy.network.allow_local_binding,
        limits: Some(match backend {
            BackendName::Bubblewrap => policy.backends.bubblewrap.limits,
            _ => policy.backends.landlock,
        }),
    };
    for denied in &rules.deny_read {
        plan.deny_read(denied);
    }
    for denied in &rules.deny_write {
        plan.deny_write(denied);
    }
    plan.remove_masked_from_read_only();
    plan
}

/// Returns true if a rule without a folder matches the path.
fn is_named(rules: &[FileRule], path: &Path) -> bool {
    let real = real_path(path);
    let patterns = rules.iter().filter_map(FileRule::pattern).filter(|pattern| pattern.is_anywhere());
    patterns.into_iter().any(|pattern| pattern.matches(path) || pattern.matches(&real))
}

/// Returns true if the rule denies a path as a whole.
fn is_denied(rule: &FileRule, path: &Path) -> bool {
    let real = real_path(path);
    match rule {
        FileRule::Path(denied) => {
            let target = real_path(denied);
            [path, &real].into_iter().any(|path| path.starts_with(denied) || path.starts_with(&target))
        }
        FileRule::Pattern(pattern) if pattern.is_anywhere() => false,
        FileRule::Pattern(pattern) => pattern.covers(path) || pattern.covers(&real),
    }
}

/// Returns a path without links. The part that does not exist is kept as it is.
pub(super) fn real_path(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    match existing {
        Some((folder, real)) => match path.strip_prefix(folder) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => path.to_owned(),
        },
        None => path.to_owned(),
    }
}

impl Plan {
    /// Returns the rules for programs with their own file view. The view itself masks paths and makes them read-only.
    pub(super) fn for_private_view(&self) -> Self {
        Self { masked: Vec::new(), read_only: Vec::new(), ..self.clone() }
    }

    /// Returns the port at which programs in the sandbox reach the session's endpoint.
    pub(super) fn browser_port(&self) -> u16 {
        self.connect.first().copied().unwrap_or_default()
    }

    /// Removes the read-only paths that are masked anyway. A mount cannot be put into a masked folder.
    pub(super) fn remove_masked_from_read_only(&mut self) {
        self.read_only.retain(|path| !self.masked.iter().any(|masked| path.starts_with(masked)));
    }

    /// Removes denied paths from everything readable. Writable paths are readable too.
    fn deny_read(&mut self, rule: &FileRule) {
        for list in [&mut self.read, &mut self.execute, &mut self.write, &mut self.sockets, &mut self.devices] {
            list.retain(|path| !is_denied(rule, path));
        }
        if let FileRule::Path(denied) = rule {
            let readable = [&self.read, &self.execute, &self.write, &self.sockets].into_iter().flatten();
            let inside: Vec<_> = readable.filter_map(|folder| path_inside(folder, denied)).collect();
            extend_without_nested(&mut self.masked, inside);
        }
    }

    /// Removes denied paths from everything writable. They stay readable.
    fn deny_write(&mut self, rule: &FileRule) {
        for list in [&mut self.write, &mut self.sockets] {
            let (denied_paths, kept) = list.drain(..).partition(|path| is_denied(rule, path));
            *list = kept;
            self.read.extend::<Vec<PathBuf>>(denied_paths);
        }
        if let FileRule::Path(denied) = rule {
            let writable = [&self.write, &self.sockets].into_iter().flatten();
            let inside: Vec<_> = writable.filter_map(|folder| path_inside(folder, denied)).collect();
            extend_without_nested(&mut self.read_only, inside);
        }
    }
}

/// Returns the path, without further links, by which a file is reached through a folder.
pub(super) fn path_inside(folder: &Path, file: &Path) -> Option<PathBuf> {
    real_path(file).strip_prefix(real_path(folder)).ok().map(|rest| folder.join(rest))
}

/// Adds paths that are neither in the list nor below a path in it.
pub(super) fn extend_without_nested(list: &mut Vec<PathBuf>, paths: Vec<PathBuf>) {
    for path in paths {
        if !list.iter().any(|known| path.starts_with(known)) {
            list.retain(|known| !known.starts_with(&path));
            list.push(path);
        }
    }
}

#[cfg(test)]
mod tests;
