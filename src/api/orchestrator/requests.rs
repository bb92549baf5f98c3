//! Request bodies of the orchestrator's contract.
//!
//! REST ignores fields that it does not know, as the contract says; MCP refuses them, because a model wrote them.
//!
//! The runtime that this one replaces reads numbers and booleans from strings, and has no limit for the length of a batch. Clients of
//! the compat profile may send such bodies: only the spelling of a value is converted; ranges and required fields are those of the
//! schema.
//!
//! Invariants: a request that was read is within its ranges; errors repeat nothing of what was sent.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::api::orchestrator::schema::{FieldError, Segment, request_schema, validate};
use browser_shell_core::session_id::{CargoId, DOTTED_NAME_PATTERN, NAME_PATTERN, TenantId};

/// Timeouts of one command, in seconds.
pub const EXEC_TIMEOUT: TimeoutRange = TimeoutRange { min: 1, max: 300, default: 30 };

/// Timeouts of a whole batch, in seconds.
pub const BATCH_TIMEOUT: TimeoutRange = TimeoutRange { min: 1, max: 600, default: 60 };

/// Maximum number of commands in a batch.
pub const MAX_COMMANDS: usize = 100;

/// Description of a command for those who write one.
const COMMAND: &str = "a command such as `open https://example.com`, `snapshot -i` or `fill @e1 'some text'`, in words as a POSIX \
    shell reads them, without `agent-browser` before it; nothing in it is ever expanded or run by a shell";

/// Maximum number of commands in a batch of the compat profile.
const MAX_LENIENT_COMMANDS: usize = 1000;

/// Words for true and false.
const BOOLEANS: [(&str, bool); 12] = [
    ("true", true),
    ("t", true),
    ("yes", true),
    ("y", true),
    ("on", true),
    ("1", true),
    ("false", false),
    ("f", false),
    ("no", false),
    ("n", false),
    ("off", false),
    ("0", false),
];

/// Range of a timeout in whole seconds, and its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutRange {
    /// Shortest timeout.
    pub min: u64,
    /// Longest timeout.
    pub max: u64,
    /// Timeout of a request that gives none.
    pub default: u64,
}

/// Request for one command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "Exec")]
pub(crate) struct ExecRequest {
    /// Command to run.
    pub cmd: ExecCommand,
    /// Time for everything.
    #[serde(default = "exec_timeout", deserialize_with = "seconds")]
    #[schemars(with = "u64", range(min = EXEC_TIMEOUT.min, max = EXEC_TIMEOUT.max))]
    #[schemars(extend("default" = EXEC_TIMEOUT.default, "x-description" = "seconds for everything, waiting included"))]
    pub timeout: Duration,
    /// Sender of the request.
    #[serde(flatten)]
    pub caller: Caller,
}

/// Request for several commands, one after another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "Batch")]
pub(crate) struct BatchRequest {
    /// Commands to run.
    #[schemars(length(min = 1, max = MAX_COMMANDS))]
    pub commands: Vec<ExecCommand>,
    /// Time for all of them together.
    #[serde(default = "batch_timeout", deserialize_with = "seconds")]
    #[schemars(with = "u64", range(min = BATCH_TIMEOUT.min, max = BATCH_TIMEOUT.max))]
    #[schemars(extend("default" = BATCH_TIMEOUT.default, "x-description" = "seconds for all commands together"))]
    pub timeout: Duration,
    /// True if the first failure ends the batch.
    #[serde(default = "yes")]
    #[schemars(extend("x-description" = "whether the first exit code that is not 0 ends the batch"))]
    pub stop_on_error: bool,
    /// Sender of the request.
    #[serde(flatten)]
    pub caller: Caller,
}

/// Command of agent-browser on one line, without `agent-browser` in front.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("x-description" = COMMAND))]
pub(crate) struct ExecCommand(pub String);

/// Tenant and cargo of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct Caller {
    /// Tenant, where several share one runtime.
    #[serde(rename = "sandbox_id", default, deserialize_with = "tenant")]
    #[schemars(with = "Option<String>", regex(pattern = NAME_PATTERN))]
    #[schemars(extend("x-description" = "whose session it is; needed only where several sandboxes share the runtime"))]
    pub tenant: Option<TenantId>,
    /// Workspace of the tenant.
    #[serde(rename = "cargo_id", default, deserialize_with = "cargo")]
    #[schemars(with = "Option<String>", regex(pattern = NAME_PATTERN))]
    #[schemars(extend("x-description" = "whose workspace files go to; needed only where several sandboxes share the runtime"))]
    pub cargo: Option<CargoId>,
}

const fn exec_timeout() -> Duration {
    Duration::from_secs(EXEC_TIMEOUT.default)
}

const fn batch_timeout() -> Duration {
    Duration::from_secs(BATCH_TIMEOUT.default)
}

const fn yes() -> bool {
    true
}

/// Reads whole seconds; some clients print 30 as 30.0.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn tenant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TenantId>, D::Error> {
    // The schema says if dots are allowed.
    name(deserializer, TenantId::with_dots)
}

fn cargo<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CargoId>, D::Error> {
    name(deserializer, CargoId::new)
}

fn name<'de, D: Deserializer<'de>, T>(deserializer: D, parse: fn(&str) -> Option<T>) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| parse(&text).ok_or_else(|| D::Error::custom(NAME_PATTERN))).transpose()
}

/// Rules that differ between front ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestRules {
    /// True if `sandbox_id` is required.
    pub requires_tenant: bool,
    /// True if unknown fields are errors.
    pub is_strict: bool,
}

/// Schemas of the requests of one front end.
#[derive(Clone, Debug)]
pub(crate) struct RequestSchemas {
    /// Schema of [`ExecRequest`].
    pub exec: Value,
    /// Schema of [`BatchRequest`].
    pub batch: Value,
}

impl RequestSchemas {
    /// Returns the schemas under these rules.
    pub(crate) fn new(rules: RequestRules) -> Self {
        let apply = |mut schema: Value| {
            if rules.requires_tenant
                && let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut)
            {
                required.push("sandbox_id".into());
            }
            if rules.is_strict
                && let Some(schema) = schema.as_object_mut()
            {
                schema.insert("additionalProperties".to_owned(), false.into());
            }
            schema
        };
        Self { exec: apply(request_schema::<ExecRequest>()), batch: apply(request_schema::<BatchRequest>()) }
    }

    /// Allows longer batches, and dots in the names of tenants.
    pub(crate) fn lenient(mut self) -> Self {
        for schema in [&mut self.exec, &mut self.batch] {
            if let Some(tenant) = schema.pointer_mut("/properties/sandbox_id").and_then(Value::as_object_mut) {
                tenant.insert("pattern".to_owned(), DOTTED_NAME_PATTERN.into());
            }
            if let Some(commands) = schema.pointer_mut("/properties/commands").and_then(Value::as_object_mut) {
                commands.insert("maxItems".to_owned(), MAX_LENIENT_COMMANDS.into());
            }
        }
        self
    }
}

/// Parses a request by its schema, one of [`RequestSchemas`].
///
/// # Errors
///
/// Returns every error of the request.
pub(crate) fn parse<T: DeserializeOwned>(schema: &Value, value: Value) -> Result<T, Vec<FieldError>> {
    let errors = validate(schema, &value);
    if !errors.is_empty() {
        return Err(errors);
    }
    // The text of serde's error may hold what was sent.
    serde_json::from_value(value).map_err(|_| vec![FieldError::new("value_error", &[], "the request is not valid")])
}

/// Parses a body as JSON.
///
/// # Errors
///
/// Returns the position in the body where it stops being JSON.
pub(crate) fn parse_json(bytes: &[u8]) -> Result<Value, Vec<FieldError>> {
    serde_json::from_slice(bytes).map_err(|error| {
        let lines = bytes.split(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let offset = lines.map(|line| line.len() + 1).sum::<usize>() + error.column().saturating_sub(1);
        vec![FieldError::new("json_invalid", &[Segment::Index(offset)], "the body is not valid JSON")]
    })
}

/// Converts the members of a body to the types of its schema, where their text or number means such a value.
pub(crate) fn convert(schema: &Value, body: &mut Value) {
    let (Some(properties), Some(body)) = (schema.get("properties").and_then(Value::as_object), body.as_object_mut())
    else {
        return;
    };
    convert_members(properties, body);
}

fn convert_members(properties: &Map<String, Value>, body: &mut Map<String, Value>) {
    for (name, schema) in properties {
        let Some(value) = body.get_mut(name) else { continue };
        let converted = match schema.get("type").and_then(Value::as_str) {
            Some("integer") => to_integer(value),
            Some("boolean") => to_boolean(value),
            _ => None,
        };
        if let Some(converted) = converted {
            *value = converted;
        }
    }
}

/// Returns the whole number that a text means, such as `5`, ` 5 ` or `5.0`.
fn to_integer(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_whole = fraction.bytes().all(|byte| byte == b'0') && (fraction.is_empty() != text.contains('.'));
    whole.parse::<i64>().ok().filter(|_| is_whole).map(Value::from)
}

/// Returns the boolean that 0, 1 or a word means.
fn to_boolean(value: &Value) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.to_ascii_lowercase(),
        Value::Number(number) => {
            number.as_f64().filter(|number| number.fract() == 0.0).map(|number| number.to_string())?
        }
        _ => return None,
    };
    BOOLEANS.iter().find(|(word, _)| *word == text).map(|(_, value)| Value::Bool(*value))
}

#[cfg(test)]
mod tests;
