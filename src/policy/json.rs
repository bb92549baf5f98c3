//! JSON that says the same thing to every reader.
//!
//! Decides whether a document is one JSON value without a key that stands twice in an object: `serde_json` would silently take
//! the last one, and an operator who reads the first would be wrong about the policy. Must never accept what it cannot keep.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::file::Problem;

/// Reads a document; problems are syntax errors (with line and column) and duplicate keys (with their path).
pub(super) fn read(text: &str) -> Result<Value, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = Unique { path: String::new(), problems: &mut problems };
    // `end` matters: without it, text after the value would be ignored.
    match seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) if problems.is_empty() => Ok(value),
        Ok(_) => Err(problems),
        Err(error) => {
            problems.push(Problem { path: String::new(), message: format!("not valid JSON: {error}") });
            Err(problems)
        }
    }
}

/// The path of a member; names that are not plain words are quoted, so that a path can be read back.
pub(super) fn member(path: &str, name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match (plain, path.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{}]", Value::from(name)),
    }
}

struct Unique<'a> {
    path: String,
    problems: &'a mut Vec<Problem>,
}

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
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
            match items.next_element_seed(Unique { path, problems: self.problems })? {
                Some(item) => array.push(item),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = member(&self.path, &name);
            let value = members.next_value_seed(Unique { path: path.clone(), problems: self.problems })?;
            if object.insert(name, value).is_some() {
                self.problems.push(Problem { path, message: "stands twice; keep one".to_owned() });
            }
        }
        Ok(Value::Object(object))
    }
}
