//! Reply of a call, the refusals of calls whose command did not run to its end, and the time limits that these tell.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::{Body, CommandResult};
use browser_shell_core::policy::Engine;
use browser_shell_core::session_id::SessionId;
use browser_shell_system::os::exec::ExecError;

/// Minimum time for the command, however much of the timeout was spent before it.
pub(super) const MIN_COMMAND_TIME: Duration = Duration::from_secs(1);

/// Time for a page to come that an act has begun to load. Its answer says if the page still loads then.
pub(super) const COMMIT_TIME: Duration = Duration::from_secs(3);

/// Time before the end of a call in which its answer is given.
pub(super) const ANSWER_TIME: Duration = Duration::from_millis(250);

/// Picture that the reply contains in addition to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplyPicture {
    /// Content of the file, a PNG.
    pub png: Vec<u8>,
    /// Path of the file.
    pub path: PathBuf,
}

/// Reply of a call. The steps after the run complete it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallReply {
    /// Decision on the call.
    pub decision: Decision,
    /// Exit code.
    ///
    /// Requirement 1.9.
    pub exit_code: i32,
    /// Content of `stdout`, until it is rendered.
    pub body: Body,
    /// Field `stdout` of the result.
    pub stdout: String,
    /// Field `stderr` of the result.
    pub stderr: String,
    /// Screenshot.
    pub picture: Option<ReplyPicture>,
}

impl CallReply {
    /// Creates the reply to a refused call. It contains the decision and what to do, nothing else.
    #[must_use]
    pub(crate) fn refused(decision: Decision) -> Self {
        let exit_code = decision.code.class().exit_code().unwrap_or(1);
        let stderr = decision.to_string();
        Self { decision, exit_code, body: Body::Empty, stdout: String::new(), stderr, picture: None }
    }

    /// Creates the reply to a call that succeeded without agent-browser.
    #[must_use]
    pub(crate) fn done(body: Body) -> Self {
        Self::answered(CommandResult { exit_code: 0, body, stderr: String::new() })
    }

    /// Creates the reply for a result of agent-browser.
    #[must_use]
    pub(crate) fn answered(result: CommandResult) -> Self {
        let (code, exit_code, mut stderr) = if result.is_browser_unavailable() {
            let exit_code = Code::BrowserUnavailable.class().exit_code().unwrap_or(result.exit_code);
            (Code::BrowserUnavailable, exit_code, result.stderr)
        } else if result.exit_code == 0 {
            (Code::Ok, 0, result.stderr)
        } else {
            (Code::CommandFailed, result.exit_code, result.stderr)
        };
        if code == Code::BrowserUnavailable {
            stderr = format!("{}\n{stderr}", Decision::new(code, "the browser does not answer"));
        }
        Self {
            decision: Decision::new(code, ""),
            exit_code,
            body: result.body,
            stdout: String::new(),
            stderr,
            picture: None,
        }
    }

    /// Returns the dictionary of the reply, with exactly these four members.
    ///
    /// Requirement 1.6.
    #[must_use]
    pub(crate) fn to_json(&self, session: Option<&SessionId>) -> Value {
        json!({
            "session_id": session.map_or("", SessionId::as_str),
            "exit_code": self.exit_code,
            "stdout": self.stdout,
            "stderr": self.stderr,
        })
    }

    /// Appends a line to `stderr`.
    pub(super) fn note(&mut self, line: &str) {
        if !self.stderr.is_empty() && !self.stderr.ends_with('\n') {
            self.stderr.push('\n');
        }
        self.stderr.push_str(line);
    }
}

/// Returns the seconds of a duration, rounded to two decimal places.
pub(super) fn rounded_seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}

/// Returns the refusal of a command that an engine lacks.
pub(super) fn not_in_engine(engine: Engine) -> Decision {
    let other = match engine {
        Engine::Cdp => Engine::AgentBrowser,
        Engine::AgentBrowser => Engine::Cdp,
    };
    let reason =
        format!("the engine `{engine}` of this session lacks this form; `{other}` has it (`engine` in the policy)");
    Decision::new(Code::ArgumentInvalid, reason)
}

/// Returns the decision for a run without a result. Paths and system errors are logged only.
pub(super) fn decision_for(error: &ExecError, timeout: Duration) -> Decision {
    match error {
        ExecError::TimedOut => Decision::new(
            Code::TimedOut,
            format!("timed out after {} s; everything that the call started was ended", rounded_seconds(timeout)),
        ),
        ExecError::Starting => Decision::new(
            Code::TimedOut,
            format!(
                "timed out after {} s: agent-browser is still starting, and the command did not run; try again",
                rounded_seconds(timeout)
            ),
        ),
        ExecError::Cancelled => Decision::new(
            Code::Cancelled,
            "the client canceled the call, or the server stops; everything that it started was ended",
        ),
        ExecError::Unknown => Decision::new(
            Code::OutcomeUnknown,
            "the connection to agent-browser was lost, and it is not known whether the command ran",
        ),
        ExecError::Refused(decision) => (**decision).clone(),
        ExecError::Start { .. } | ExecError::Wait(_) => {
            tracing::error!(%error, "cannot run agent-browser");
            Decision::new(Code::AgentBrowserUnavailable, "agent-browser cannot be started")
        }
    }
}
