//! Reply of a call.

use std::path::PathBuf;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::{Body, CommandResult};
use browser_shell_core::session_id::SessionId;
use serde_json::{Value, json};

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
