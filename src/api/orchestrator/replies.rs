//! Replies of the orchestrator's contract.
//!
//! The schemas of the `OpenAPI` document and of the MCP tools follow from these types.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::orchestrator::schema::FieldError;

/// Reply to one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Executed")]
pub(crate) struct ExecResult {
    /// Answer of the command.
    pub stdout: String,
    /// Reason of a failure, and what to do.
    pub stderr: String,
    /// 0 on success.
    #[schemars(extend("x-description" = EXIT_CODE))]
    pub exit_code: i32,
}

/// Description of `exit_code`.
const EXIT_CODE: &str = "0 done; 64 the command is refused, 77 the policy refuses it, 69 the browser does not answer, 75 too \
    busy; -1 (one sandbox) or 124 (several): timed out; -1 or 127: agent-browser cannot be started; else agent-browser's own";

/// Reply to one step of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct StepResult {
    /// Command line of the request.
    pub cmd: String,
    /// Reply to the command.
    #[serde(flatten)]
    pub result: ExecResult,
    /// Position in the batch, from 0.
    pub step_index: usize,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// Reply to a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BatchReply")]
pub(crate) struct BatchResult {
    /// Steps that ran.
    pub results: Vec<StepResult>,
    /// Number of commands in the request.
    pub total_steps: usize,
    /// Number of steps that ran.
    pub completed_steps: usize,
    /// True if all steps ran and ended with 0.
    pub success: bool,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// Reply of `/health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Health")]
pub(crate) struct HealthReply {
    /// State of the browser in the words of the contract.
    #[schemars(extend("enum" = ["healthy", "degraded", "unhealthy"]))]
    pub status: &'static str,
    /// True if a browser runs and answers.
    pub browser_active: bool,
    /// The same.
    pub browser_ready: bool,
    /// Name of the runtime's own session.
    pub session: String,
    /// Version of browser-shell.
    pub version: &'static str,
}

/// Reply of `/meta`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Meta {
    /// Runtime and contract.
    pub runtime: RuntimeMeta,
    /// Workspace of the agents.
    pub workspace: WorkspaceMeta,
    /// Capabilities of the runtime.
    pub capabilities: Capabilities,
    /// Skills that came with the runtime.
    pub built_in_skills: Vec<SkillMeta>,
}

/// Name and versions of the runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RuntimeMeta {
    /// Name of the contract.
    pub name: &'static str,
    /// Version of browser-shell.
    pub version: &'static str,
    /// Version of the contract.
    pub api_version: &'static str,
}

/// Workspace as `/meta` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WorkspaceMeta {
    /// Path of the workspace as agents see it.
    pub mount_path: String,
}

/// Capabilities of the runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Capabilities {
    /// The only capability.
    pub browser: Capability,
}

/// Version of a capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Capability {
    /// Version in the contract.
    pub version: &'static str,
}

/// Skill as `/meta` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SkillMeta {
    /// Name of the skill.
    pub name: String,
    /// Advice on when to read it.
    pub description: String,
    /// Path of its `SKILL.md` in the workspace as agents see it.
    pub path: String,
}

/// Reply to a request that ends a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Destroyed {
    /// Tenant of the session.
    pub sandbox_id: String,
    /// True if no such session exists any more.
    pub destroyed: bool,
}

/// Reply to a request that was refused unread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Refused {
    /// Reason.
    pub detail: String,
}

/// Reply to a request with errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Invalid {
    /// Every error of the request.
    #[schemars(length(min = 1))]
    pub detail: Vec<FieldError>,
}
