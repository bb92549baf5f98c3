//! Transport by agent-browser's CLI: one process for each command.
//!
//! The first command of a session starts its daemon, which keeps the port, the session and the environment given here.
//!
//! Invariants: the argument vector contains the parsed command and nothing else of the request, and the environment inherits
//! nothing.
//!
//! Requirements: 1.2, 1.12.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::daemon_start::DaemonStart;
use crate::installation::detect::InstallationKind;
use crate::installation::locate::find_agent_browser;
use crate::sandbox::SandboxError;
use crate::supported::read_version;
use crate::tabs;
use crate::transport::{Invocation, Transport};
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::grammar::Command;
use browser_shell_core::output::RawOutput;
use browser_shell_system::config::Settings;
use browser_shell_system::os::exec::{ExecError, Program};
use browser_shell_system::os::processes::{SOCKET_MARKER, end_marked};
use browser_shell_system::os::programs::child_path;
use browser_shell_system::paths::SessionPaths;

/// Transport that runs `agent-browser --session KEY --cdp PORT --json SUBCOMMAND ARGS...` for each command.
#[derive(Clone, Debug)]
pub struct CliTransport {
    program: PathBuf,
    kind: AgentBrowser,
    path: OsString,
    action_policy: PathBuf,
    action_timeout_ms: u64,
    daemon_idle_ms: u64,
    /// Permit to restart a daemon that did not start in time while others were starting.
    daemon_restart: Arc<Semaphore>,
}

/// Time by which the daemon's idle timeout exceeds that of the session, so that the daemon ends by itself only if no process is
/// left to close it.
const DAEMON_IDLE_MARGIN: Duration = Duration::from_mins(1);

/// Maximum number of retries of a command that had no effect.
const RETRIES: usize = 2;

impl CliTransport {
    /// Creates a transport with these settings; `action_policy` is agent-browser's own policy file.
    #[must_use]
    pub fn new(settings: &Settings, action_policy: PathBuf) -> Self {
        let margin = u64::try_from(DAEMON_IDLE_MARGIN.as_millis()).unwrap_or(0);
        let program = find_agent_browser(settings);
        Self {
            kind: InstallationKind::of(&program).agent_browser(),
            program,
            path: child_path(),
            action_policy,
            action_timeout_ms: settings.action_timeout_ms,
            daemon_idle_ms: settings.idle_sec * 1000 + margin,
            daemon_restart: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns the program for a command, with its arguments and its whole environment.
    #[must_use]
    pub fn program(&self, session: &SessionPaths, cdp_port: u16, command: &Command) -> Program {
        self.program_of(session, cdp_port, &command.to_argv())
    }

    fn program_of<S: AsRef<OsStr>>(&self, session: &SessionPaths, cdp_port: u16, argv: &[S]) -> Program {
        let mut arguments: Vec<OsString> =
            ["--session", &session.key, "--cdp", &cdp_port.to_string(), "--json"].iter().map(OsString::from).collect();
        arguments.extend(argv.iter().map(|element| element.as_ref().to_owned()));
        Program {
            path: self.program.clone(),
            arguments,
            environment: self.environment(session).into_iter().map(|(name, value)| (name.into(), value)).collect(),
            directory: session.cwd(),
        }
    }

    /// Returns the environment. Nothing is inherited: agent-browser and Node read dozens of variables, many of which run code,
    /// choose another browser or redirect the connection.
    fn environment(&self, session: &SessionPaths) -> Vec<(&'static str, OsString)> {
        vec![
            ("PATH", self.path.clone()),
            ("HOME", session.home().into()),
            ("TMPDIR", session.tmp().into()),
            ("LANG", "C.UTF-8".into()),
            // No proxy is set here; this also covers one that a library finds elsewhere.
            ("NO_PROXY", "127.0.0.1,localhost".into()),
            (SOCKET_MARKER, session.sockets.clone().into()),
            ("AGENT_BROWSER_IDLE_TIMEOUT_MS", self.daemon_idle_ms.to_string().into()),
            ("AGENT_BROWSER_DEFAULT_TIMEOUT", self.action_timeout_ms.to_string().into()),
            ("AGENT_BROWSER_ACTION_POLICY", self.action_policy.clone().into()),
            // Later versions ask a server for a newer version otherwise.
            ("AGENT_BROWSER_NO_VERSION_CHECK", "1".into()),
        ]
    }
}

impl Transport for CliTransport {
    fn kind(&self) -> AgentBrowser {
        self.kind
    }

    fn version(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async {
            let output = read_version(&self.program).await.ok().filter(|output| output.exit_code == 0)?;
            Some(output.stdout.to_text().trim().to_owned()).filter(|version| !version.is_empty())
        })
    }

    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
        Box::pin(async move {
            let Invocation { session, command, timeout, cdp_port, .. } = invocation;
            let deadline = Instant::now() + timeout;
            let mut program = self.program(session, cdp_port, command);
            let is_close = command.row.name == "tab" && command.form.word == Some("close");
            if self.kind == AgentBrowser::Node || (command.tab().is_none() && !is_close) {
                if let (Some(tab), Some(last)) = (command.tab(), program.arguments.last_mut()) {
                    *last = tab.index().to_string().into();
                }
                return self.with_retries(invocation, &program, command.only_reads(), deadline).await;
            }
            let list = self.program_of(session, cdp_port, &tabs::LIST);
            let list = self.with_retries(invocation, &list, true, deadline).await?;
            let chosen = match tabs::choose(&list, command.tab()) {
                Ok(chosen) => chosen,
                Err(output) => return Ok(output),
            };
            let number = command.tab().map(|tab| tab.index().to_string());
            if number.is_some() {
                program.arguments.pop();
            }
            // The active tab is named too: it could change meanwhile.
            program.arguments.extend(chosen.as_ref().map(|tab| tab.name.clone()).or(number).map(OsString::from));
            let output = self.with_retries(invocation, &program, command.only_reads(), deadline).await?;
            Ok(match chosen {
                Some(tab) => output.with_tab(tab.index, tab.count, is_close),
                None => output,
            })
        })
    }
}

impl CliTransport {
    /// Runs a program of the session, and runs it again if it had no effect, or only reads.
    async fn with_retries(
        &self,
        invocation: Invocation<'_>,
        program: &Program,
        only_reads: bool,
        deadline: Instant,
    ) -> Result<RawOutput, ExecError> {
        let Invocation { session, command, cancel, .. } = invocation;
        let start = DaemonStart::new(invocation, deadline);
        let (mut restarts, mut reruns, mut retries) = (0, 0, 0);
        let mut is_starting = start.was_left();
        let mut failure = None;
        loop {
            let _permit;
            if is_starting {
                // While the daemon does not listen, the CLI would start a second one beside it.
                let is_listening = start.wait().await?;
                let attempts = if is_listening { &mut reruns } else { &mut restarts };
                if let Some(output) = failure.take().filter(|_| *attempts == RETRIES) {
                    return Ok(output);
                }
                *attempts += 1;
                if !is_listening {
                    tracing::warn!(session = session.key, "agent-browser's daemon did not start; starting it again");
                    end_marked(&session.tmp()).await;
                    // Alone, since other starts slowed it down.
                    _permit = tokio::select! {
                        permit = self.daemon_restart.acquire() => permit,
                        () = cancel.cancelled() => return Err(ExecError::Cancelled),
                        () = tokio::time::sleep_until(deadline.into()) => return Err(ExecError::TimedOut),
                    };
                }
            }
            let output = match execute_in_sandbox(invocation, program, deadline).await {
                Err(ExecError::TimedOut) if start.is_going_on().await => return Err(start.leave()),
                result => result?,
            };
            is_starting = output.is_daemon_start_failure();
            if is_starting {
                failure = Some(output);
            } else if retries < RETRIES
                && ((command.is_navigation() && output.is_interrupted_navigation())
                    || (only_reads && output.is_without_response()))
            {
                retries += 1;
            } else {
                return Ok(output);
            }
        }
    }
}

/// Runs a program in the session's sandbox, at most until the deadline.
async fn execute_in_sandbox(
    invocation: Invocation<'_>,
    program: &Program,
    deadline: Instant,
) -> Result<RawOutput, ExecError> {
    let timeout = deadline.saturating_duration_since(Instant::now());
    invocation.sandbox.execute(program, timeout, invocation.cancel).await.map_err(|error| match error {
        SandboxError::Program(error) => error,
        other => ExecError::Refused(Box::new(other.into())),
    })
}
