//! Value of one secret field, as a script in the page reports it.

use serde_json::Value;

use crate::gate::secret_values::{FieldKey, FieldValue};
use crate::gate::secrets::error::SecretsError;

/// Function that returns the begin of the value of a field, its length, and whether it is shown as plain text; `null` for what
/// is no field.
pub(super) const READ: &str = "function (maxLength) {
    if (typeof this.value !== 'string') return null;
    const isHidden = getComputedStyle(this).webkitTextSecurity !== 'none' || !this.checkVisibility();
    const text = this.value.slice(0, maxLength);
    return [text.toWellFormed ? text.toWellFormed() : text, this.value.length, !isHidden];
}";

/// Result of reading a field in a world.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FieldRead {
    Value(FieldValue),
    /// The element is no field.
    NoValue,
    /// The field is in a document of another origin, or gone.
    OtherOrigin,
}

/// Returns what [`READ`] has returned about a field.
pub(super) fn read_value(answer: &Value, field: FieldKey) -> Result<FieldRead, SecretsError> {
    if answer.get("exceptionDetails").is_some() {
        return Err(SecretsError::Field);
    }
    let value = answer.pointer("/result/value").ok_or(SecretsError::Field)?;
    if value.is_null() {
        return Ok(FieldRead::NoValue);
    }
    let read = move || {
        let text = value.get(0)?.as_str()?.to_owned();
        let value = FieldValue { field, text, length: value.get(1)?.as_u64()?, is_visible: value.get(2)?.as_bool()? };
        // An empty field shows nothing.
        Some(if value.length == 0 { FieldRead::NoValue } else { FieldRead::Value(value) })
    };
    read().ok_or(SecretsError::Field)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answer_that_is_no_value_is_an_error() {
        let field = || ("s".to_owned(), 1);
        let read = |answer: Value| read_value(&answer, field()).ok();
        let value = FieldValue { field: field(), text: "secret".to_owned(), length: 6, is_visible: true };
        assert_eq!(read(json!({ "result": { "value": ["secret", 6, true] } })), Some(FieldRead::Value(value)));
        assert_eq!(read(json!({ "result": { "value": ["", 0, true] } })), Some(FieldRead::NoValue));
        assert_eq!(read(json!({ "result": { "subtype": "null", "value": null } })), Some(FieldRead::NoValue));
        for answer in [
            json!({}),
            json!({ "result": { "type": "undefined" } }),
            json!({ "result": { "value": ["secret"] } }),
            json!({ "result": { "value": "secret" } }),
            json!({ "result": { "value": null }, "exceptionDetails": {} }),
        ] {
            assert_eq!(read(answer.clone()), None, "{answer}");
        }
    }
}
