//! Request for a call, as a front end hands it to the pipeline, with the options that depend on the front end.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::workspace::Workspace;
use browser_shell_core::auth::Principal;
use browser_shell_core::decision::Decision;
use browser_shell_core::grammar::Profile;
use browser_shell_core::request::{CallArguments, find_session_id};
use browser_shell_core::session_id::SessionId;

/// One call as a front end has read it.
///
/// Arguments that a front end cannot read are a refusal, which goes through the same steps as any other and gets its audit
/// line.
#[derive(Clone, Debug)]
pub(crate) struct CallRequest {
    /// Session of the call, for replies and audit lines. It is set if the id is valid, even if other arguments are not.
    pub session: Option<SessionId>,
    /// First element of `argv` as received. The audit line contains it only if the grammar knows it.
    pub word: Option<String>,
    /// Arguments, or the reason why they are invalid.
    pub arguments: Result<CallArguments, Decision>,
    /// Options of the front end.
    pub options: CallOptions,
    /// Principal of the caller, at a front end that authenticates requests.
    pub principal: Option<Principal>,
}

impl CallRequest {
    /// Reads the arguments of an MCP tool call.
    ///
    /// Requirement 1.1.
    #[must_use]
    pub(crate) fn of_tool(arguments: &Map<String, Value>) -> Self {
        let word = arguments.get("argv").and_then(|argv| argv.get(0)).and_then(Value::as_str).map(str::to_owned);
        Self {
            session: find_session_id(arguments),
            word,
            arguments: CallArguments::from_json(arguments),
            options: CallOptions::default(),
            principal: None,
        }
    }

    /// Sets the principal of the caller.
    #[must_use]
    pub(crate) fn of_principal(self, principal: Option<Principal>) -> Self {
        Self { principal, ..self }
    }
}

/// Options of a call. The default is that of the MCP tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    /// Grammar profile.
    pub profile: Profile,
    /// Part of the call that the timeout covers.
    pub timeout_scope: TimeoutScope,
    /// Destination of files that the command writes.
    pub file_target: FileTarget,
    /// Format of `stdout`.
    pub output_style: OutputStyle,
    /// Page that the browser shows after `close`.
    pub page_after_close: PageAfterClose,
}

/// Page that the browser shows after `close`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PageAfterClose {
    /// The same as before: other sessions, or a person, may use it.
    #[default]
    Same,
    /// An empty one in a single tab, for a browser that only one session uses.
    Blank,
}

/// Part of a call that its timeout covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimeoutScope {
    /// The command, and separately the wait for its session. A timeout above the policy's limit is refused.
    #[default]
    Command,
    /// Everything from the request to the reply. The policy's limit shortens it.
    Whole,
}

/// Destination of the files of a call.
#[derive(Clone, Debug, Default)]
pub(crate) enum FileTarget {
    /// The session's folder. The reply contains screenshots.
    #[default]
    Session,
    /// A path in this workspace.
    Workspace(Arc<Workspace>),
    /// None: commands that write a file are refused with this decision.
    Nowhere(Decision),
}

/// Format of `stdout`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputStyle {
    /// The data of agent-browser's answer as one JSON line.
    #[default]
    Data,
    /// Plain text for a language model, which the policy can choose for the tool.
    Plain {
        /// The exit code and the code are structured content too.
        with_code: bool,
    },
    /// The text that agent-browser prints.
    Text,
    /// The JSON that agent-browser prints with `--json`, with data, error and success.
    Envelope,
}

impl OutputStyle {
    /// Returns true for plain text for a language model.
    pub(crate) const fn is_plain(self) -> bool {
        matches!(self, Self::Plain { .. })
    }

    /// Returns true for a form in which agent-browser prints answers, which stays as it is.
    pub(crate) const fn is_of_agent_browser(self) -> bool {
        matches!(self, Self::Text | Self::Envelope)
    }
}
