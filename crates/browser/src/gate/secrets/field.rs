//! Value of one secret field, as a script in the page reports it.

use crate::gate::secret_values::{FieldKey, FieldValue};
use crate::gate::secrets::error::SecretsError;
use browser_shell_cdp::protocol::runtime::Evaluated;

/// Function that returns the begin of the value of a field, its length, whether it is shown as plain text, and the begin of the value that its
/// document gives it, if that is another one; `null` for what is no field. From then on its text cannot be copied, cut or dragged, which
/// `report` is called for with `kept`.
pub(super) const READ: &str = "function (maxLength, report, kept) {
    const isEdited = this.isContentEditable || this.ownerDocument.designMode === 'on';
    const value = this.value ?? (isEdited ? this.innerText : null);
    if (typeof value !== 'string') return null;
    const keep = globalThis[Symbol.for('keep')] ??= event => {
        if (!event.isTrusted) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        globalThis[report](kept);
    };
    for (const kind of ['copy', 'cut', 'dragstart']) this.addEventListener(kind, keep, true);
    const isHidden = getComputedStyle(this).webkitTextSecurity !== 'none' || !this.checkVisibility();
    const begin = text => { const begin = text.slice(0, maxLength); return begin.toWellFormed ? begin.toWellFormed() : begin; };
    const given = typeof this.defaultValue === 'string' && this.defaultValue !== value ? begin(this.defaultValue) : '';
    return [begin(value), value.length, !isHidden, given];
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
pub(super) fn read_value(answer: Evaluated, field: FieldKey) -> Result<FieldRead, SecretsError> {
    if answer.result.value.is_none() {
        return Err(SecretsError::Field);
    }
    Ok(match answer.value::<Option<(String, u64, bool, String)>>().ok_or(SecretsError::Field)? {
        None => FieldRead::NoValue,
        Some((text, length, is_visible, default)) => {
            // An empty field shows nothing.
            let is_visible = is_visible && length > 0;
            let default = Some(default).filter(|text| !text.is_empty());
            FieldRead::Value(FieldValue { field, text, length, is_visible, default })
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use browser_shell_cdp::protocol::BackendNodeId;

    #[test]
    fn answer_that_is_no_value_is_an_error() {
        let field = || ("s".into(), BackendNodeId(1));
        let read = |answer: Value| read_value(serde_json::from_value(answer).ok()?, field()).ok();
        let value = |text: &str, length, is_visible, default: Option<&str>| {
            let (text, default) = (text.to_owned(), default.map(str::to_owned));
            Some(FieldRead::Value(FieldValue { field: field(), text, length, is_visible, default }))
        };
        assert_eq!(read(json!({ "result": { "value": ["secret", 6, true, ""] } })), value("secret", 6, true, None));
        assert_eq!(read(json!({ "result": { "value": ["", 0, true, "old"] } })), value("", 0, false, Some("old")));
        assert_eq!(read(json!({ "result": { "subtype": "null", "value": null } })), Some(FieldRead::NoValue));
        for answer in [
            json!({}),
            json!({ "result": { "type": "undefined" } }),
            json!({ "result": { "value": ["secret"] } }),
            json!({ "result": { "value": ["secret", 6, true] } }),
            json!({ "result": { "value": "secret" } }),
            json!({ "result": { "value": null }, "exceptionDetails": {} }),
        ] {
            assert_eq!(read(answer.clone()), None, "{answer}");
        }
    }
}
