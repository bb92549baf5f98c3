//! Kinds of JSON values in the policy file, each with its reader and its schema.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

/// The reason why a value is not of its kind, with what to write instead.
#[derive(Debug)]
pub(super) struct InvalidValue(String);

impl InvalidValue {
    /// Creates an error from the expected and the found value.
    pub(super) fn new(expected: &str, found: impl fmt::Display) -> Self {
        Self(format!("must be {expected}, not {found}"))
    }

    /// Creates an error from a message that already names the value and its fix.
    pub(super) fn from_message(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A kind of JSON value.
pub(super) trait FieldKind {
    /// The type of a valid value.
    type Output;

    /// Returns the JSON Schema.
    fn schema(&self) -> Value;

    /// Reads a value.
    fn read(&self, value: &Value) -> Result<Self::Output, InvalidValue>;
}

/// `true` or `false`.
pub(super) struct FlagValue;

impl FieldKind for FlagValue {
    type Output = bool;

    fn schema(&self) -> Value {
        json!({ "type": "boolean" })
    }

    fn read(&self, value: &Value) -> Result<bool, InvalidValue> {
        value.as_bool().ok_or_else(|| InvalidValue::new("true or false", type_name(value)))
    }
}

/// A whole number within a range.
pub(super) struct Whole<T>(pub(super) RangeInclusive<T>);

/// A TCP port.
pub(super) const PORT: Whole<u16> = Whole(1..=u16::MAX);

impl<T> FieldKind for Whole<T>
where
    T: Copy + PartialOrd + fmt::Display + TryFrom<u64>,
    Value: From<T>,
{
    type Output = T;

    fn schema(&self) -> Value {
        let (least, most): (Value, Value) = ((*self.0.start()).into(), (*self.0.end()).into());
        json!({ "type": "integer", "minimum": least, "maximum": most })
    }

    fn read(&self, value: &Value) -> Result<T, InvalidValue> {
        let number = value.as_u64().and_then(|number| T::try_from(number).ok());
        number.filter(|number| self.0.contains(number)).ok_or_else(|| {
            let expected = format!("a whole number from {} to {}", self.0.start(), self.0.end());
            InvalidValue::new(&expected, type_name(value))
        })
    }
}

/// One of a list of words.
pub(super) struct Choice<T>(Vec<(&'static str, T)>);

impl<T: Clone> Choice<T> {
    pub(super) fn new(words: impl IntoIterator<Item = (&'static str, T)>) -> Self {
        Self(words.into_iter().collect())
    }

    /// Returns the words as `` `a`, `b` or `c` ``.
    fn alternatives(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|(word, _)| format!("`{word}`")).collect();
        match words.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => words.concat(),
        }
    }
}

impl<T: Clone> FieldKind for Choice<T> {
    type Output = T;

    fn schema(&self) -> Value {
        json!({ "enum": self.0.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
    }

    fn read(&self, value: &Value) -> Result<T, InvalidValue> {
        let chosen = self.0.iter().find(|(word, _)| value.as_str() == Some(word));
        chosen.map(|(_, chosen)| chosen.clone()).ok_or_else(|| {
            let found = value.as_str().map_or_else(|| type_name(value), |text| format!("`{text}`"));
            InvalidValue::new(&self.alternatives(), found)
        })
    }
}

/// Returns a name for a value in messages. Strings are not repeated: they may hold a password.
pub(super) fn type_name(value: &Value) -> String {
    match value {
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
    }
}
