//! Problems of files that an operator wrote, and JSON documents without duplicate keys.
//!
//! `serde_json` silently keeps the last of two members with the same key. An operator who reads the first one would be wrong
//! about the policy, so a duplicate key is a problem here.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// One error in a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The JSON path, such as `open.allow_hosts[3]`; empty for the document as a whole.
    pub path: String,
    /// The error and its fix, in lower case and without a full stop.
    pub message: String,
}

impl Problem {
    /// Creates a problem.
    #[must_use]
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "(document)" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

/// Parses a document and adds a problem for each duplicate key.
///
/// # Errors
///
/// A text that is not one JSON value, with line and column.
pub(crate) fn parse(text: &str, problems: &mut Vec<Problem>) -> Result<Value, Problem> {
    if text.starts_with('\u{feff}') {
        return Err(Problem::new("", "begins with a byte order mark; save it as UTF-8 without one"));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = UniqueKeys { path: String::new(), problems };
    // Without `end`, text after the value would be ignored.
    let value = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| Problem::new("", format!("not valid JSON: {error}")))
}

/// Returns the path of a member. A key that is not a plain word is quoted, so that a path can be read back.
pub(crate) fn member_path(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match (is_plain, path.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{}]", Value::from(name)),
    }
}

/// The value at a path, with a problem for each duplicate key in it.
struct UniqueKeys<'a> {
    path: String,
    problems: &'a mut Vec<Problem>,
}

impl<'de> DeserializeSeed<'de> for UniqueKeys<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, array.len());
            match items.next_element_seed(UniqueKeys { path, problems: self.problems })? {
                Some(item) => array.push(item),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = member_path(&self.path, &name);
            let value = members.next_value_seed(UniqueKeys { path: path.clone(), problems: self.problems })?;
            if object.insert(name, value).is_some() {
                self.problems.push(Problem::new(path, "duplicate key; keep one"));
            }
        }
        Ok(Value::Object(object))
    }
}
