//! Transport of commands to agent-browser: its interface, and the one by agent-browser's CLI, with one process for each command.
//!
//! The first command of a session starts its daemon, which keeps the port, the session and the environment given here. The CLI
//! gives up after five seconds, in which a busy machine may not have started Node. The daemon goes on starting, and a second one
//! would only slow it down.
//!
//! Invariants: the argument vector contains the parsed command and nothing else of the request, and the environment inherits
//! nothing; a start is left to the next call only while the daemon does not listen, so that it cannot have got a command.
//!
//! Requirements: 1.2, 1.12.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::installation::{InstallationKind, find_agent_browser};
use crate::sandbox::{Sandbox, SandboxError};
use crate::supported::read_version;
use crate::tabs;
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::grammar::Command;
use browser_shell_core::output::RawOutput;
use browser_shell_system::config::Settings;
use browser_shell_system::os::exec::{ExecError, Program, child_path};
use browser_shell_system::os::processes::{SOCKET_MARKER, end_marked, runs_script};
use browser_shell_system::paths::SessionPaths;

/// Interval between two checks of a daemon that starts.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// File name of the daemon's script. A native agent-browser has none, and starts in a few milliseconds.
const SCRIPT: &str = "daemon.js";

/// Time after which a daemon that does not listen is not left to the next call any more.
const START_TIMEOUT: Duration = Duration::from_mins(3);

/// One command for one session.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// Paths of the session; its key is agent-browser's name for the session.
    pub session: &'a SessionPaths,
    /// Command, checked and completed.
    pub command: &'a Command,
    /// Maximum time of the command.
    pub timeout: Duration,
    /// Cancellation by the client.
    pub cancel: &'a CancellationToken,
    /// State that the transport keeps for the session.
    pub state: &'a TransportState,
    /// Port at which agent-browser reaches the session's endpoint of the control gate.
    pub cdp_port: u16,
    /// Sandbox that agent-browser runs in.
    pub sandbox: &'a dyn Sandbox,
}

/// Transport of commands to agent-browser.
pub trait Transport: Send + Sync {
    /// Returns the kind of agent-browser.
    fn kind(&self) -> AgentBrowser {
        AgentBrowser::Node
    }

    /// Returns the version that agent-browser reports; `None` if it cannot be started.
    fn version(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Runs a command. The caller runs one command of a session at a time, and ends the session's processes after an error
    /// other than [`ExecError::Starting`].
    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>>;
}

/// Time at which a session's daemon began to start, if a call has left it to that. A transport keeps it between the calls.
#[derive(Debug, Default)]
pub struct TransportState(Mutex<Option<Instant>>);

impl TransportState {
    fn starting(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time at which the session's daemon began to start, if an earlier call did not wait until its end.
    fn starting_since(&self) -> Option<Instant> {
        *self.starting()
    }

    fn set_starting_since(&self, since: Option<Instant>) {
        *self.starting() = since;
    }
}

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

/// A start during one call.
struct DaemonStart<'a> {
    invocation: Invocation<'a>,
    deadline: Instant,
    /// Time at which this call, or the one that left the start, began.
    since: Instant,
    was_left: bool,
}

impl<'a> DaemonStart<'a> {
    /// Creates the start of a call, which ends at the deadline. It continues one that an earlier call has left.
    fn new(invocation: Invocation<'a>, deadline: Instant) -> Self {
        let left = invocation.state.starting_since();
        invocation.state.set_starting_since(None);
        Self { invocation, deadline, since: left.unwrap_or_else(Instant::now), was_left: left.is_some() }
    }

    /// Returns true if an earlier call has left the start to this one.
    const fn was_left(&self) -> bool {
        self.was_left
    }

    /// Waits until the daemon listens. Returns false if it has ended.
    ///
    /// # Errors
    ///
    /// `Cancelled`; `Starting` at the deadline, or `TimedOut` if the start takes too long.
    async fn wait(&self) -> Result<bool, ExecError> {
        let listening = async {
            loop {
                if self.is_listening().await {
                    return true;
                }
                if !self.is_running().await {
                    return false;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            is_listening = listening => Ok(is_listening),
            () = self.invocation.cancel.cancelled() => Err(ExecError::Cancelled),
            () = tokio::time::sleep_until(self.deadline.into()) => Err(self.leave()),
        }
    }

    /// Returns true if the daemon has not got a command yet and can still start.
    async fn is_going_on(&self) -> bool {
        !self.is_listening().await && self.is_running().await
    }

    /// Leaves the start to the next call, and returns the error that says so. A daemon that takes too long is not left.
    fn leave(&self) -> ExecError {
        if self.since.elapsed() > START_TIMEOUT {
            return ExecError::TimedOut;
        }
        self.invocation.state.set_starting_since(Some(self.since));
        ExecError::Starting
    }

    async fn is_running(&self) -> bool {
        runs_script(&self.invocation.session.tmp(), SCRIPT).await
    }

    async fn is_listening(&self) -> bool {
        UnixStream::connect(self.invocation.session.socket()).await.is_ok()
    }
}
