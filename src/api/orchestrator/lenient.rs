//! Request bodies as clients of the compat profile send them.
//!
//! The runtime that this one replaces reads numbers and booleans from strings, and has no limit for the length of a batch.
//!
//! Invariants: only the spelling of a value is converted; ranges and required fields are those of the schema.

use serde_json::{Map, Value};

use crate::api::orchestrator::requests::RequestSchemas;
use browser_shell_core::tenant::DOTTED_NAME_PATTERN;

/// Maximum number of commands in a batch.
pub(crate) const MAX_COMMANDS: usize = 1000;

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

impl RequestSchemas {
    /// Allows longer batches, and dots in the names of tenants.
    pub(crate) fn lenient(mut self) -> Self {
        for schema in [&mut self.exec, &mut self.batch] {
            if let Some(tenant) = schema.pointer_mut("/properties/sandbox_id").and_then(Value::as_object_mut) {
                tenant.insert("pattern".to_owned(), DOTTED_NAME_PATTERN.into());
            }
            if let Some(commands) = schema.pointer_mut("/properties/commands").and_then(Value::as_object_mut) {
                commands.insert("maxItems".to_owned(), MAX_COMMANDS.into());
            }
        }
        self
    }
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
mod tests {
    use super::*;
    use crate::api::orchestrator::field_error::FieldError;
    use crate::api::orchestrator::requests::{BatchRequest, ExecRequest, RequestRules, parse};
    use serde_json::json;

    fn schemas() -> RequestSchemas {
        RequestSchemas::new(RequestRules { requires_tenant: false, is_strict: false })
    }

    fn exec(mut body: Value) -> Result<ExecRequest, Vec<FieldError>> {
        let schemas = schemas().lenient();
        convert(&schemas.exec, &mut body);
        parse(&schemas.exec, body)
    }

    fn batch(mut body: Value) -> Result<BatchRequest, Vec<FieldError>> {
        let schemas = schemas().lenient();
        convert(&schemas.batch, &mut body);
        parse(&schemas.batch, body)
    }

    // Requirement 4.1.
    #[test]
    fn numbers_and_booleans_are_read_from_text() {
        for (timeout, seconds) in
            [(json!("5"), 5), (json!(" 5 "), 5), (json!("5.0"), 5), (json!("+5"), 5), (json!(5), 5)]
        {
            let request = exec(json!({"cmd": "a", "timeout": timeout})).expect("valid");
            assert_eq!(request.timeout.as_secs(), seconds, "{timeout}");
        }
        for (value, expected) in
            [(json!(1), true), (json!(0), false), (json!("No"), false), (json!("on"), true), (json!(1.0), true)]
        {
            let request = batch(json!({"commands": ["a"], "stop_on_error": value})).expect("valid");
            assert_eq!(request.stop_on_error, expected, "{value}");
        }
        for timeout in
            [json!("0"), json!("301"), json!("x"), json!(""), json!("5."), json!("5.5"), json!("1e1"), json!(["5"])]
        {
            assert!(exec(json!({"cmd": "a", "timeout": timeout})).is_err(), "{timeout}");
        }
        for value in [json!(2), json!("maybe"), json!(""), json!(0.5), json!([])] {
            assert!(batch(json!({"commands": ["a"], "stop_on_error": value})).is_err(), "{value}");
        }
        assert!(exec(json!({"cmd": 5})).is_err(), "a command is a text");
        let strict = parse::<ExecRequest>(&schemas().exec, json!({"cmd": "a", "timeout": "5"}));
        assert!(strict.is_err(), "control: other profiles read numbers only");
    }

    // Requirement 4.1.
    #[test]
    fn tenants_may_have_dots_and_batches_a_thousand_commands() {
        for (name, is_valid) in [("a.b", true), ("a", true), ("..", false), (".a", false), ("a/b", false)] {
            assert_eq!(exec(json!({"cmd": "a", "sandbox_id": name})).is_ok(), is_valid, "{name}");
        }
        assert!(exec(json!({"cmd": "a", "cargo_id": "a.b"})).is_err(), "a cargo is a folder");
        assert!(batch(json!({"commands": vec!["a"; MAX_COMMANDS]})).is_ok());
        assert!(batch(json!({"commands": vec!["a"; MAX_COMMANDS + 1]})).is_err());
        let strict = parse::<ExecRequest>(&schemas().exec, json!({"cmd": "a", "sandbox_id": "a.b"}));
        assert!(strict.is_err(), "control");
    }
}
