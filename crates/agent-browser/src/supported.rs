//! The version that an agent-browser reports.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::output::RawOutput;
use browser_shell_system::os::exec::{ExecError, Program, child_path, run};

/// Returns the output of `--version` of the version of a kind that the tests run with.
#[must_use]
pub fn tested(kind: AgentBrowser) -> String {
    format!("agent-browser {}", kind.tested_version())
}

/// Maximum time of `agent-browser --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs `agent-browser --version`.
///
/// # Errors
///
/// As [`run`].
pub async fn read_version(program: &Path) -> Result<RawOutput, ExecError> {
    let program = Program {
        path: program.to_owned(),
        arguments: vec!["--version".into()],
        environment: vec![("PATH".into(), child_path()), ("HOME".into(), "/nonexistent".into())],
        directory: "/".into(),
    };
    run(&program, VERSION_TIMEOUT, &CancellationToken::new()).await
}
