//! Arguments of a tool call, parsed from JSON.
//!
//! Requirement 1.1. Only types, unknown fields and ranges are checked here; the [grammar](crate::grammar) checks the
//! elements of `argv`.
//!
//! Invariants: every refusal names a field. No field is ignored and no value is converted, except that numbers and
//! booleans in `argv` become strings, and a `timeout_sec` of null is none: some libraries send every field.

use std::time::Duration;

use serde_json::{Map, Number, Value};

use crate::decision::{Code, Decision};
use crate::session_id::SessionId;

/// Default timeout of a call, in seconds.
pub const DEFAULT_TIMEOUT_SEC: u64 = 30;

/// Longest timeout of a call, in seconds.
pub const MAX_TIMEOUT_SEC: u64 = 120;

/// JSON object of a tool call, with valid types.
#[derive(Clone, Debug, PartialEq)]
pub struct CallArguments {
    /// Session id.
    pub session: SessionId,
    /// Subcommand and its arguments, as strings.
    pub argv: Vec<String>,
    /// Timeout from 1 to 120 seconds, if the call sets one.
    pub timeout: Option<Duration>,
}

impl CallArguments {
    /// Parses the `arguments` of a call.
    ///
    /// # Errors
    ///
    /// Returns the first refusal, with the field as its location.
    pub fn from_json(arguments: &Map<String, Value>) -> Result<Self, Decision> {
        if let Some(unknown) =
            arguments.keys().find(|name| !matches!(name.as_str(), "session_id" | "argv" | "timeout_sec"))
        {
            return Err(Decision::new(Code::ArgumentsInvalid, "unknown field").at(shorten(unknown)));
        }
        Ok(Self {
            session: parse_session_id(arguments.get("session_id"))?,
            argv: parse_argv(arguments.get("argv"))?,
            timeout: arguments.get("timeout_sec").filter(|value| !value.is_null()).map(parse_timeout).transpose()?,
        })
    }
}

/// Returns the session id of arguments if it is valid, even if other fields are not, because replies repeat it.
#[must_use]
pub fn find_session_id(arguments: &Map<String, Value>) -> Option<SessionId> {
    arguments.get("session_id")?.as_str().and_then(SessionId::new)
}

/// Returns the start of a field's name, for a message.
fn shorten(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn invalid(location: impl Into<String>, reason: &str) -> Decision {
    Decision::new(Code::ArgumentsInvalid, reason).at(location)
}

fn parse_session_id(value: Option<&Value>) -> Result<SessionId, Decision> {
    match value {
        None => Err(invalid("session_id", "the field is missing")),
        Some(Value::String(text)) => SessionId::new(text)
            .ok_or_else(|| Decision::new(Code::SessionIdInvalid, "not a valid session id").at("session_id")),
        Some(_) => Err(invalid("session_id", "must be a string")),
    }
}

fn parse_argv(value: Option<&Value>) -> Result<Vec<String>, Decision> {
    match value {
        None => Err(invalid("argv", "the field is missing")),
        Some(Value::Array(items)) => {
            items.iter().enumerate().map(|(position, item)| parse_element(position, item)).collect()
        }
        Some(_) => Err(invalid("argv", "must be an array")),
    }
}

fn parse_element(position: usize, item: &Value) -> Result<String, Decision> {
    match item {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(format_number(number)),
        _ => Err(invalid(format!("argv[{position}]"), "must be a string, a number or a boolean")),
    }
}

/// Formats a number as JavaScript does: `3.0` becomes `3`.
fn format_number(number: &Number) -> String {
    match number.as_f64() {
        // From 2^53 on, a float no longer represents every integer.
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

fn parse_timeout(value: &Value) -> Result<Duration, Decision> {
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

    fn parse(value: Value) -> Result<CallArguments, Decision> {
        CallArguments::from_json(value.as_object().expect("an object"))
    }

    // Requirement 1.1.
    #[test]
    fn valid_arguments_are_accepted() {
        let arguments =
            parse(json!({"session_id": "s", "argv": ["fill", "@e1", 5, 1.5, 3.0, -7, true], "timeout_sec": 1.5}))
                .expect("valid");
        assert_eq!(arguments.argv, ["fill", "@e1", "5", "1.5", "3", "-7", "true"]);
        assert_eq!(arguments.timeout, Some(Duration::from_millis(1500)));
        for none in [
            json!({"session_id": "s", "argv": ["snapshot"]}),
            json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": null}),
        ] {
            assert_eq!(parse(none).expect("valid").timeout, None);
        }
        for seconds in [1, 120] {
            assert!(parse(json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": seconds})).is_ok());
        }
    }

    // Requirement 1.1.
    #[test]
    fn argument_errors_name_the_field() {
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
            json!({"session_id": null, "argv": ["snapshot"]}),
            json!({"session_id": "s", "argv": null}),
            json!({"session_id": "s", "argv": ["snapshot"], "timeout": 5}),
        ];
        let texts: Vec<_> =
            rows.into_iter().map(|row| format!("{row}\n  {}", parse(row.clone()).expect_err("refused"))).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
