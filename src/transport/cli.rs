//! Through agent-browser's own command line: one process a command (spec [1.2], [1.12]).
//!
//! Decides the argument vector and the whole environment of what is started. This is how a session's daemon comes to be, with
//! our port, our session and our environment. Must never pass on anything that the command does not hold.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Invocation, Transport, tabs};
use crate::agent_browser::Kind;
use crate::argv::Command;
use crate::config::Settings;
use crate::exec::{ExecError, Program};
use crate::output::RawOutput;
use crate::places::SessionPlaces;
use crate::processes::end_marked;
use crate::sandbox::{Sandbox, SandboxError};

/// The name of this way, for the audit line and `doctor`.
pub(super) const NAME: &str = "cli";

/// Starts `agent-browser --session KEY --cdp PORT --json SUBCOMMAND ARGS...` for every command.
#[derive(Clone, Debug)]
pub struct Cli {
    program: PathBuf,
    /// Whether it is one program with a daemon of its own.
    native: bool,
    cdp_port: u16,
    path: OsString,
    action_policy: PathBuf,
    action_timeout_ms: u64,
    daemon_idle_ms: u64,
    /// The turn of those whose daemon did not come up beside others.
    starting: Arc<Semaphore>,
}

/// Where system programs are; the child sees these and the folder of `node`.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How much longer a daemon waits than we do, so that it ends by itself only when nobody is left to close it.
const DAEMON_MARGIN: Duration = Duration::from_mins(1);

/// How often a command of which nothing was done is tried again.
const RETRIES: usize = 2;

impl Cli {
    /// Uses the settings; `action_policy` is agent-browser's own policy file.
    #[must_use]
    pub fn new(settings: &Settings, action_policy: PathBuf) -> Self {
        let margin = u64::try_from(DAEMON_MARGIN.as_millis()).unwrap_or(0);
        let program = find_agent_browser(settings);
        Self {
            native: Kind::of(&program).is_native(),
            program,
            cdp_port: settings.cdp_port,
            path: child_path(),
            action_policy,
            action_timeout_ms: settings.action_timeout_ms,
            daemon_idle_ms: settings.idle_sec * 1000 + margin,
            starting: Arc::new(Semaphore::new(1)),
        }
    }

    /// The program with its arguments and its whole environment.
    #[must_use]
    pub fn program(&self, session: &SessionPlaces, command: &Command) -> Program {
        self.program_of(session, &command.to_argv())
    }

    fn program_of<S: AsRef<OsStr>>(&self, session: &SessionPlaces, argv: &[S]) -> Program {
        let mut arguments: Vec<OsString> = ["--session", &session.key, "--cdp", &self.cdp_port.to_string(), "--json"]
            .iter()
            .map(OsString::from)
            .collect();
        arguments.extend(argv.iter().map(|element| element.as_ref().to_owned()));
        Program {
            path: self.program.clone(),
            arguments,
            environment: self.environment(session).into_iter().map(|(name, value)| (name.into(), value)).collect(),
            directory: session.cwd(),
        }
    }

    /// The program file, as it is started.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The environment, from scratch: agent-browser and Node read dozens of variables, many of which run code, choose
    /// another browser or redirect the connection.
    fn environment(&self, session: &SessionPlaces) -> Vec<(&'static str, OsString)> {
        vec![
            ("PATH", self.path.clone()),
            ("HOME", session.home().into()),
            ("TMPDIR", session.tmp().into()),
            ("LANG", "C.UTF-8".into()),
            // A proxy can be set nowhere here; this also covers one that a library finds elsewhere.
            ("NO_PROXY", "127.0.0.1,localhost".into()),
            ("AGENT_BROWSER_SOCKET_DIR", session.sockets.clone().into()),
            ("AGENT_BROWSER_IDLE_TIMEOUT_MS", self.daemon_idle_ms.to_string().into()),
            ("AGENT_BROWSER_DEFAULT_TIMEOUT", self.action_timeout_ms.to_string().into()),
            ("AGENT_BROWSER_ACTION_POLICY", self.action_policy.clone().into()),
            // Later versions ask a server for news otherwise.
            ("AGENT_BROWSER_NO_VERSION_CHECK", "1".into()),
        ]
    }
}

impl Transport for Cli {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
        Box::pin(async move {
            let Invocation { session, command, timeout, link, .. } = invocation;
            if command.refusal_by_cli().is_some() {
                return Err(ExecError::NotByCli { later: false });
            }
            link.took(NAME);
            let deadline = Instant::now() + timeout;
            let mut program = self.program(session, command);
            if let Some(place) = tabs::place_in(command).filter(|_| self.native) {
                let all = self.patiently(invocation, &self.program_of(session, &tabs::LIST), deadline).await?;
                match (tabs::name_at(&all, place), program.arguments.last_mut()) {
                    (Ok(name), Some(last)) => *last = name.into(),
                    (Ok(_), None) => {}
                    (Err(answer), _) => return Ok(answer),
                }
            }
            self.patiently(invocation, &program, deadline).await
        })
    }
}

impl Cli {
    /// Runs a program of the session, and again where nothing was done.
    async fn patiently(
        &self,
        invocation: Invocation<'_>,
        program: &Program,
        deadline: Instant,
    ) -> Result<RawOutput, ExecError> {
        let Invocation { session, command, cancel, sandbox, .. } = invocation;
        let left = || deadline.saturating_duration_since(Instant::now());
        let mut output = in_sandbox(sandbox, program, left(), cancel).await?;
        for _ in 0..RETRIES {
            let _turn;
            if output.is_without_daemon() {
                // Nothing was done yet, so it can be tried again; not beside others, which is what made it slow, and not
                // with a half-started daemon about.
                tracing::warn!(
                    session = session.key,
                    "agent-browser's daemon did not come up in time; starting it again"
                );
                end_marked(&session.tmp()).await;
                _turn = tokio::select! {
                    turn = self.starting.acquire() => turn,
                    () = cancel.cancelled() => return Err(ExecError::Cancelled),
                    () = tokio::time::sleep_until(deadline.into()) => return Err(ExecError::TimedOut),
                };
            } else if !(command.navigates() && output.is_overtaken()) {
                break;
            }
            output = in_sandbox(sandbox, program, left(), cancel).await?;
        }
        Ok(output)
    }
}

/// Runs the program in the session's sandbox.
async fn in_sandbox(
    sandbox: &dyn Sandbox,
    program: &Program,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<RawOutput, ExecError> {
    sandbox.execute(program, timeout, cancel).await.map_err(|error| match error {
        SandboxError::Execution(error) => error,
        other => ExecError::Start { path: program.path.clone(), source: std::io::Error::other(other.to_string()) },
    })
}

/// The agent-browser program: as set, else the first on PATH, else its bare name, so that the error names it.
#[must_use]
pub fn find_agent_browser(settings: &Settings) -> PathBuf {
    let set =
        settings.agent_browser.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    set.or_else(|| find_on_path("agent-browser")).unwrap_or_else(|| PathBuf::from("agent-browser"))
}

/// The first program of this name in an absolute folder of PATH.
#[must_use]
pub fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The system's folders, and before them that of `node`, which the pinned agent-browser's daemon runs on.
pub(crate) fn child_path() -> OsString {
    let mut path = OsString::new();
    if let Some(folder) = find_on_path("node").as_deref().and_then(Path::parent)
        && !std::env::split_paths(SYSTEM_PATH).any(|known| known == folder)
    {
        path.push(folder);
        path.push(":");
    }
    path.push(SYSTEM_PATH);
    path
}
