//! Request for a call, as a front end hands it to the pipeline.

use serde_json::{Map, Value};

use crate::call::options::CallOptions;
use browser_shell_core::auth::Principal;
use browser_shell_core::decision::Decision;
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
