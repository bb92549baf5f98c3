//! Errors of commands.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::api::mcp::http::HttpError;
use crate::api::mcp::stdio::StdioError;
use browser_shell_egress::EgressError;
use browser_shell_system::os::io_error::describe;
use browser_shell_system::paths::PathError;
use browser_shell_system::policy_source::PolicyError;

/// Error that ends a command.
#[derive(Debug, Error)]
pub(super) enum CliError {
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    #[error("cannot start the executor: {0}")]
    Executor(io::Error),
    #[error("cannot open the audit log `{}`: {}; choose another file with --audit", path.display(), describe(error))]
    Audit { path: PathBuf, error: io::Error },
    #[error("cannot read `{}`: no such file; give the path of a policy file", .0.display())]
    NoFile(PathBuf),
    #[error(
        "the policy names the engine `cdp`, whose references need one process for all calls; run `browser-shell serve`, and call it with \
         `browser-shell call --server URL`, or set `\"engine\": \"agent-browser\"`"
    )]
    EngineNeedsServer,
    #[error("there is no command `{0}`; `browser-shell --help` lists all")]
    NoCommand(String),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Paths(#[from] PathError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Stdio(#[from] StdioError),
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// Error of a command that defines its own.
    #[error(transparent)]
    Command(Box<dyn StdError + Send + Sync>),
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
