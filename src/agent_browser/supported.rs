//! Versions of agent-browser that the tests run with.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::installation::locate::child_path;
use crate::os::exec::{ExecError, Program, run};
use browser_shell_core::output::RawOutput;

/// Output of `--version` of every version that the tests run with. Others may work, and `browser-shell doctor` warns of them.
pub(crate) const TESTED: &[&str] = &[WITH_DAEMON, "agent-browser 0.41.2"];

/// Output of `--version` of the tested version whose daemon is a script for Node.
pub(crate) const WITH_DAEMON: &str = "agent-browser 0.19.0";

/// Maximum time of `agent-browser --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs `agent-browser --version`.
///
/// # Errors
///
/// As [`run`].
pub(crate) async fn read_version(program: &Path) -> Result<RawOutput, ExecError> {
    let program = Program {
        path: program.to_owned(),
        arguments: vec!["--version".into()],
        environment: vec![("PATH".into(), child_path()), ("HOME".into(), "/nonexistent".into())],
        directory: "/".into(),
    };
    run(&program, VERSION_TIMEOUT, &CancellationToken::new()).await
}
