//! What a door asks the pipeline for.
//!
//! Decides what differs between the doors: how long a call may take in all, where its files go, and how its answer is
//! written. Everything else is the same whichever door a call came through. A door reads its own arguments; what it could not
//! read is a refusal that goes through all steps like any other.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::argv::Dialect;
use crate::decision::Decision;
use crate::request::{Request, session_of};
use crate::runtime::workspace::Workspace;
use crate::session_id::SessionId;

/// One call as a door has read it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The session, if the arguments named a valid one, whatever else is wrong with them: replies and audit lines carry it.
    pub session: Option<SessionId>,
    /// The first word as it came, for the audit line, which names it only if it is a word that is known.
    pub word: Option<String>,
    /// The request, or why there is none. Taken by the first step.
    pub request: Option<Result<Request, Decision>>,
    /// What holds for it.
    pub terms: Terms,
}

/// What holds for the calls of a door.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// What may be said.
    pub dialect: Dialect,
    /// What the time-out of a call is for.
    pub budget: Budget,
    /// Where files go.
    pub files: Files,
    /// How `stdout` is written.
    pub rendering: Rendering,
}

/// What a time-out is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Budget {
    /// For the command, and once more for the wait for its turn. More than the policy allows is refused.
    #[default]
    Command,
    /// For everything from the request to the reply. The policy's limit shortens it.
    Whole,
}

/// Where the files of a call go.
#[derive(Clone, Debug, Default)]
pub enum Files {
    /// They stay in the session's own folder, and pictures come back with the reply.
    #[default]
    Session,
    /// They are carried into this workspace.
    Workspace(Arc<Workspace>),
    /// Nowhere, for this reason: commands that write one are refused.
    Nowhere(Decision),
}

/// How `stdout` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rendering {
    /// agent-browser's data as one JSON line.
    #[default]
    Data,
    /// As text where there is one text to read.
    Text,
}

impl Ask {
    /// A call of the tool (spec [1.1]).
    #[must_use]
    pub fn of_tool(arguments: &Map<String, Value>) -> Self {
        let word = arguments.get("argv").and_then(|argv| argv.get(0)).and_then(Value::as_str).map(str::to_owned);
        let request = Request::from_arguments(arguments);
        Self { session: session_of(arguments), word, request: Some(request), terms: Terms::default() }
    }
}
