//! Sandbox plan: the files, ports and limits of one session's agent-browser, as data.
//!
//! A plan follows from the policy, the session's paths and the program's files, without I/O. Backends turn it into rules. They
//! report what they cannot enforce, and never allow more.
//!
//! Invariants: a plan names no folder that holds files of several sessions, except in the mode `shared`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::installation::files::ProgramFiles;
use crate::paths::SessionPaths;
use browser_shell_core::policy::sandbox::{BackendName, ResourceLimits, SandboxMode, SandboxPolicy};

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

/// Returns the plan of a session.
#[must_use]
pub fn plan(
    policy: &SandboxPolicy,
    backend: BackendName,
    paths: &SessionPaths,
    files: &ProgramFiles,
    action_policy: &Path,
    cdp_port: u16,
) -> Plan {
    let shared = policy.mode == SandboxMode::Shared;
    let scope = |path: &Path| if shared { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() };
    let mut read: Vec<PathBuf> = files.read.clone();
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
    write.extend(policy.filesystem.allow_write.iter().cloned());
    let mut plan = Plan {
        read,
        execute: files.execute.clone(),
        write,
        sockets: vec![scope(&paths.sockets)],
        devices: DEVICES.iter().map(PathBuf::from).collect(),
        masked: Vec::new(),
        read_only: Vec::new(),
        connect: vec![cdp_port],
        bind: policy.network.allow_local_binding,
        limits: Some(match backend {
            BackendName::Bubblewrap => policy.backends.bubblewrap.limits,
            _ => policy.backends.landlock,
        }),
    };
    for denied in &policy.filesystem.deny_read {
        plan.deny_read(denied);
    }
    for denied in &policy.filesystem.deny_write {
        plan.deny_write(denied);
    }
    plan
}

impl Plan {
    /// Returns the rules for programs with their own file view. The view itself masks paths and makes them read-only.
    pub(super) fn for_private_view(&self) -> Self {
        Self { masked: Vec::new(), read_only: Vec::new(), ..self.clone() }
    }

    /// Returns the browser's port.
    pub(super) fn browser_port(&self) -> u16 {
        self.connect.first().copied().unwrap_or_default()
    }

    /// Removes a path from everything readable. Writable paths are readable too.
    fn deny_read(&mut self, denied: &Path) {
        for list in [&mut self.read, &mut self.execute, &mut self.write, &mut self.sockets, &mut self.devices] {
            list.retain(|path| !path.starts_with(denied));
        }
        let readable = [&self.read, &self.execute, &self.write, &self.sockets].into_iter().flatten();
        if readable.into_iter().any(|path| denied.starts_with(path)) {
            self.masked.push(denied.to_owned());
        }
    }

    /// Removes a path from everything writable. It stays readable.
    fn deny_write(&mut self, denied: &Path) {
        for list in [&mut self.write, &mut self.sockets] {
            let (denied_paths, kept) = list.drain(..).partition(|path| path.starts_with(denied));
            *list = kept;
            self.read.extend::<Vec<PathBuf>>(denied_paths);
        }
        if [&self.write, &self.sockets].into_iter().flatten().any(|path| denied.starts_with(path)) {
            self.read_only.push(denied.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
