//! Members of JSON objects.

use serde_json::Value;

/// Returns an object with one more member, if it has a value.
pub(super) fn with(mut object: Value, name: &str, value: Option<impl Into<Value>>) -> Value {
    if let (Some(value), Some(members)) = (value, object.as_object_mut()) {
        members.insert(name.to_owned(), value.into());
    }
    object
}

/// Returns a text member of an object.
pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}
