//! Backend `bubblewrap`: namespaces by `bwrap`, and in them the same rules as `landlock`; and the trial of such namespaces.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use thiserror::Error;
use tokio::process::Command;

use crate::sandbox::confine::confine_arguments;
use crate::sandbox::host::{Enforcement, PROBE_TIMEOUT, SandboxHost, missing_inside};
use crate::sandbox::plan::Plan;
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::policy::sandbox::SandboxPolicy;
use browser_shell_system::os::exec::{Program, find_on_path};

/// Every namespace except the network: the browser's port is on the machine's loopback.
const NAMESPACES: &[&str] =
    &["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"];

/// Reason why bubblewrap cannot be used.
#[derive(Debug, Error)]
pub enum BubblewrapError {
    /// The program is missing.
    #[error("`bwrap` is not on PATH: install bubblewrap")]
    NotInstalled,
    /// The commands of a version in Node cannot find its daemon.
    #[error(
        "an agent-browser with a daemon in Node finds it by a process id, which has no meaning in the namespace of another command: choose \
         `landlock`, `srt` or `docker` in sandbox.backend, or install agent-browser {}", AgentBrowser::Native.tested_version()
    )]
    DaemonInNode,
    /// It cannot make namespaces.
    #[error(transparent)]
    Namespaces(#[from] NamespaceError),
}

fn find(policy: &SandboxPolicy) -> Result<PathBuf, BubblewrapError> {
    let configured = policy.backends.bubblewrap.program.clone();
    configured.or_else(|| find_on_path("bwrap")).ok_or(BubblewrapError::NotInstalled)
}

/// Returns true if a plan is for the version of agent-browser that has a daemon in Node.
fn has_daemon_in_node(plan: &Plan) -> bool {
    let is_its = |path: &Path| {
        path.ends_with("daemon.js") || ["daemon.js", "dist/daemon.js"].iter().any(|name| path.join(name).is_file())
    };
    plan.read.iter().any(|path| is_its(path))
}

/// Determines how much of a plan bubblewrap enforces on this machine.
pub(super) async fn probe(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: &Plan,
) -> Result<Enforcement, BubblewrapError> {
    if has_daemon_in_node(plan) {
        return Err(BubblewrapError::DaemonInNode);
    }
    try_namespaces(&find(policy)?, NAMESPACES, host).await?;
    // The file view replaces Landlock's rules for files. For ports and system calls it has no replacement.
    let mut missing = missing_inside(host.kernel, policy, plan);
    if host.kernel.landlock < 6 {
        missing.push("rules for abstract sockets".to_owned());
    }
    Ok(Enforcement::without(missing))
}

/// Returns bubblewrap with a file view of the plan's files at their own paths, running the program confined as `landlock` does.
pub(super) fn wrap(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: &Plan,
    program: &Program,
) -> Result<Program, BubblewrapError> {
    let mut arguments: Vec<OsString> = NAMESPACES.iter().map(OsString::from).collect();
    let mut add = |flag: &str, paths: &[&Path]| {
        arguments.push(flag.into());
        arguments.extend(paths.iter().map(|path| OsString::from(path.as_os_str())));
    };
    add("--dev", &[Path::new("/dev")]);
    add("--proc", &[Path::new("/proc")]);
    let readable = plan.read.iter().chain(&plan.execute).chain(&host.loader_files).chain([&host.executable]);
    let mut bound: Vec<&Path> = Vec::new();
    for path in readable.filter(|path| !path.starts_with("/proc")) {
        // A path in a folder that is bound already needs no separate mount point.
        if !bound.iter().any(|folder| path.starts_with(folder)) {
            add("--ro-bind-try", &[path, path]);
            bound.push(path);
        }
    }
    for path in plan.write.iter().chain(&plan.sockets) {
        add("--bind-try", &[path, path]);
    }
    for path in &plan.read_only {
        add("--ro-bind-try", &[path, path]);
    }
    for path in &plan.masked {
        // An empty file or folder covers the path. A path that does not exist needs no cover.
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                add("--tmpfs", &[path]);
                add("--remount-ro", &[path]);
            }
            Ok(_) => add("--ro-bind", &[Path::new("/dev/null"), path]),
            Err(_) => {}
        }
    }
    add("--chdir", &[&program.directory]);
    add("--", &[&host.executable]);
    arguments.extend(confine_arguments(host, &plan.for_private_view(), program));
    Ok(Program { path: find(policy)?, arguments, ..program.clone() })
}

/// Reason why bubblewrap cannot make namespaces.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// bubblewrap did not end in time.
    #[error("`{}` makes no namespaces within {} s", .0.display(), PROBE_TIMEOUT.as_secs())]
    TimedOut(PathBuf),
    /// bubblewrap could not be started.
    #[error("cannot start `{}`: {source}", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// bubblewrap failed.
    #[error("`{}` cannot make namespaces here: {message}", path.display())]
    Refused {
        /// The program.
        path: PathBuf,
        /// The first line of its error output.
        message: String,
    },
}

/// Checks that bubblewrap can make these namespaces, by running this program in them.
///
/// # Errors
///
/// If bubblewrap cannot be started, fails, or does not end within [`PROBE_TIMEOUT`].
pub(super) async fn try_namespaces(bwrap: &Path, flags: &[&str], host: &SandboxHost) -> Result<(), NamespaceError> {
    let path = || bwrap.to_owned();
    let running = Command::new(bwrap)
        .args(flags)
        .args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"])
        .arg(&host.executable)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        // The caller may drop this future.
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PROBE_TIMEOUT, running)
        .await
        .map_err(|_| NamespaceError::TimedOut(path()))?
        .map_err(|source| NamespaceError::Start { path: path(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.lines().next().unwrap_or("no reason given").to_owned();
    Err(NamespaceError::Refused { path: path(), message })
}
