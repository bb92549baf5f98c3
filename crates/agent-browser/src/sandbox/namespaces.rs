//! Trial of bubblewrap's namespaces.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use thiserror::Error;
use tokio::process::Command;

use super::host::{PROBE_TIMEOUT, SandboxHost};

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
