//! The arguments of a tool call, from JSON to values (spec [1.1]).
//!
//! Decides about types, unknown fields and ranges; what the elements of `argv` mean is the grammar's business. Every refusal
//! names the field. Must never ignore a field or bend a value into shape, but for numbers and booleans in `argv`, which
//! become the strings that agents mean by them.

use std::time::Duration;

use serde_json::{Map, Number, Value};

use crate::decision::{Code, Decision};
use crate::session_id::SessionId;

/// The time-out of a call that asks for none, in seconds.
pub const DEFAULT_TIMEOUT_SEC: u64 = 30;

/// The longest time-out, in seconds.
pub const MAX_TIMEOUT_SEC: u64 = 120;

/// A call as the agent made it, with valid types.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The session.
    pub session: SessionId,
    /// The subcommand and its arguments, as strings.
    pub argv: Vec<String>,
    /// The time-out, if the call asks for one: 1 to 120 seconds.
    pub timeout: Option<Duration>,
}

impl Request {
    /// Reads the `arguments` of a call.
    ///
    /// # Errors
    ///
    /// The first refusal; its place is the field.
    pub fn from_arguments(arguments: &Map<String, Value>) -> Result<Self, Decision> {
        if let Some(unknown) =
            arguments.keys().find(|name| !matches!(name.as_str(), "session_id" | "argv" | "timeout_sec"))
        {
            return Err(Decision::new(Code::ArgumentsInvalid, "unknown field").at(short(unknown)));
        }
        Ok(Self {
            session: session(arguments.get("session_id"))?,
            argv: argv(arguments.get("argv"))?,
            timeout: arguments.get("timeout_sec").map(timeout).transpose()?,
        })
    }
}

/// The valid session id of arguments, whatever else is wrong with them: replies carry it.
#[must_use]
pub fn session_of(arguments: &Map<String, Value>) -> Option<SessionId> {
    arguments.get("session_id")?.as_str().and_then(SessionId::new)
}

/// A field's name for a message: only as much as identifies it.
fn short(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn invalid(place: impl Into<String>, reason: &str) -> Decision {
    Decision::new(Code::ArgumentsInvalid, reason).at(place)
}

fn session(value: Option<&Value>) -> Result<SessionId, Decision> {
    match value {
        None => Err(invalid("session_id", "the field is missing")),
        Some(Value::String(text)) => SessionId::new(text)
            .ok_or_else(|| Decision::new(Code::SessionIdInvalid, "not a valid session id").at("session_id")),
        Some(_) => Err(invalid("session_id", "must be a string")),
    }
}

fn argv(value: Option<&Value>) -> Result<Vec<String>, Decision> {
    match value {
        None => Err(invalid("argv", "the field is missing")),
        Some(Value::Array(items)) => items.iter().enumerate().map(|(position, item)| element(position, item)).collect(),
        Some(_) => Err(invalid("argv", "must be an array")),
    }
}

fn element(position: usize, item: &Value) -> Result<String, Decision> {
    match item {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(print(number)),
        _ => Err(invalid(format!("argv[{position}]"), "must be a string, a number or a boolean")),
    }
}

/// A number as a person would write it: `3.0` is `3`, as every JavaScript client prints it.
fn print(number: &Number) -> String {
    match number.as_f64() {
        // Beyond 2^53 a float has no digits left to trust.
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

fn timeout(value: &Value) -> Result<Duration, Decision> {
    let Some(seconds) = value.as_f64() else {
        return Err(invalid("timeout_sec", "must be a number"));
    };
    let range = 1.0..=120.0;
    if range.contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        let reason = format!("must be a number of seconds from 1 to {MAX_TIMEOUT_SEC}");
        Err(Decision::new(Code::TimeoutInvalid, reason).at("timeout_sec"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Request, Decision> {
        Request::from_arguments(value.as_object().expect("an object"))
    }

    #[test]
    fn spec_1_1_valid_arguments() {
        let request =
            read(json!({"session_id": "s", "argv": ["fill", "@e1", 5, 1.5, 3.0, -7, true], "timeout_sec": 1.5}))
                .expect("valid");
        assert_eq!(request.argv, ["fill", "@e1", "5", "1.5", "3", "-7", "true"]);
        assert_eq!(request.timeout, Some(Duration::from_millis(1500)));
        assert_eq!(read(json!({"session_id": "s", "argv": ["snapshot"]})).expect("valid").timeout, None);
        for seconds in [1, 120] {
            assert!(read(json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": seconds})).is_ok());
        }
    }

    #[test]
    fn spec_1_1_errors_name_the_field() {
        let rows = [
            json!({}),
            json!({"session_id": "s"}),
            json!({"argv": ["snapshot"]}),
            json!({"session_id": 5, "argv": ["snapshot"]}),
            json!({"session_id": "..", "argv": ["snapshot"]}),
            json!({"session_id": "s", "argv": "snapshot"}),
            json!({"session_id": "s", "argv": ["fill", null]}),
            json!({"session_id": "s", "argv": [["snapshot"]]}),
            json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": "5"}),
            json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": 0.5}),
            json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": 121}),
            json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": null}),
            json!({"session_id": "s", "argv": ["snapshot"], "timeout": 5}),
        ];
        let texts: Vec<_> =
            rows.into_iter().map(|row| format!("{row}\n  {}", read(row.clone()).expect_err("refused"))).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
