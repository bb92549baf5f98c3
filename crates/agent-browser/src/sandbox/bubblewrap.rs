//! Backend `bubblewrap`: namespaces by `bwrap`, and in them the same rules as `landlock`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::policy::sandbox::SandboxPolicy;
use thiserror::Error;

use super::enforcement::Enforcement;
use super::host::SandboxHost;
use super::landlock::confine_arguments;
use super::namespaces::{NamespaceError, try_namespaces};
use super::plan::Plan;
use super::view::missing_inside;
use browser_shell_system::os::exec::Program;
use browser_shell_system::os::programs::find_on_path;

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
