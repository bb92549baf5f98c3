//! Objects of the policy file, field by field, and the kinds of JSON values in them, each with its reader and its schema.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::json::{Problem, member_path};

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

/// The fields of one object, which are either read or described.
pub(super) struct Fields<'a> {
    path: &'a str,
    /// The object to read; without one the fields are described.
    object: Option<&'a Map<String, Value>>,
    /// The home folder of the server's user, if it is known.
    home: Option<&'a Path>,
    problems: &'a mut Vec<Problem>,
    /// The schema of each field; null while the fields are read.
    properties: Map<String, Value>,
    dependencies: Map<String, Value>,
    required: Vec<Value>,
    least_members: usize,
}

/// Reads an object, with `~` for this home folder. Problems are added to `problems`, those of unknown keys first.
pub(super) fn read(
    path: &str,
    value: &Value,
    home: Option<&Path>,
    problems: &mut Vec<Problem>,
    visit: impl FnOnce(&mut Fields<'_>),
) {
    let Some(object) = value.as_object() else {
        problems.push(Problem::new(path, format!("must be an object, not {}", type_name(value))));
        return;
    };
    let mut found = Vec::new();
    let fields = Fields::visit(path, Some(object), home, &mut found, visit);
    for name in object.keys().filter(|name| !fields.properties.contains_key(*name)) {
        let message = match closest(name, &fields.properties) {
            Some(known) => format!("unknown key; did you mean `{known}`?"),
            None => "unknown key; remove it".to_owned(),
        };
        problems.push(Problem::new(member_path(path, name), message));
    }
    problems.append(&mut found);
}

/// Returns the JSON Schema of an object.
pub(super) fn describe(visit: impl FnOnce(&mut Fields<'_>)) -> Value {
    let mut problems = Vec::new();
    let fields = Fields::visit("", None, None, &mut problems, visit);
    let Fields { properties, dependencies, required, least_members, .. } = fields;
    let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if let Some(schema) = schema.as_object_mut() {
        if !dependencies.is_empty() {
            schema.insert("dependentRequired".to_owned(), dependencies.into());
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        if least_members > 0 {
            schema.insert("minProperties".to_owned(), least_members.into());
        }
    }
    schema
}

impl<'a> Fields<'a> {
    fn visit(
        path: &'a str,
        object: Option<&'a Map<String, Value>>,
        home: Option<&'a Path>,
        problems: &'a mut Vec<Problem>,
        visit: impl FnOnce(&mut Self),
    ) -> Self {
        let mut fields = Self {
            path,
            object,
            home,
            problems,
            properties: Map::new(),
            dependencies: Map::new(),
            required: Vec::new(),
            least_members: 0,
        };
        visit(&mut fields);
        fields
    }

    /// Returns the home folder of the server's user, if it is known.
    pub(super) const fn home(&self) -> Option<&'a Path> {
        self.home
    }

    /// Reads a field into `target`, which keeps its value if the field is absent.
    pub(super) fn field<K: FieldKind>(
        &mut self,
        name: &'static str,
        description: &str,
        kind: &K,
        target: &mut impl From<K::Output>,
    ) {
        match self.value(name, description, || kind.schema()).map(|value| kind.read(value)) {
            None => {}
            Some(Ok(value)) => *target = value.into(),
            Some(Err(invalid)) => self.problem(&[name], invalid.to_string()),
        }
    }

    /// Reads a field that must be present into `target`.
    pub(super) fn required<K: FieldKind>(
        &mut self,
        name: &'static str,
        description: &str,
        kind: &K,
        target: &mut impl From<K::Output>,
    ) {
        self.field(name, description, kind, target);
        self.demand(name);
    }

    /// Demands that a field is present.
    pub(super) fn demand(&mut self, name: &'static str) {
        self.required.push(name.into());
        if self.object.is_some_and(|object| !object.contains_key(name)) {
            self.problem(&[name], "is missing; add it");
        }
    }

    /// Demands that the object has at least one member.
    pub(super) fn needs_a_member(&mut self, message: &str) {
        self.least_members = 1;
        if self.object.is_some_and(Map::is_empty) {
            self.problem(&[], message);
        }
    }

    /// Reads an array; `None` if the field is absent. The items count only if there are no problems.
    pub(super) fn list<K: FieldKind>(
        &mut self,
        name: &'static str,
        description: &str,
        item: &K,
    ) -> Option<Vec<K::Output>> {
        let value = self.value(name, description, || json!({ "type": "array", "items": item.schema() }))?;
        let Some(items) = value.as_array() else {
            self.problem(&[name], format!("must be an array, not {}", type_name(value)));
            return None;
        };
        let mut list = Vec::new();
        for (position, value) in items.iter().enumerate() {
            match item.read(value) {
                Ok(value) => list.push(value),
                Err(invalid) => {
                    let path = format!("{}[{position}]", member_path(self.path, name));
                    self.problems.push(Problem::new(path, invalid.to_string()));
                }
            }
        }
        Some(list)
    }

    /// Reads an array, or the one word that is allowed in its place; `None` if the field is absent or the word.
    pub(super) fn list_or_word<K: FieldKind>(
        &mut self,
        name: &'static str,
        description: &str,
        word: &'static str,
        item: &K,
    ) -> Option<Vec<K::Output>> {
        if self.object.and_then(|object| object.get(name)).is_some_and(|value| value == word) {
            self.properties.insert(name.to_owned(), Value::Null);
            return None;
        }
        let list = self.list(name, description, item);
        if let Some(property) = self.properties.get_mut(name).filter(|property| property.is_object()) {
            *property = json!({
                "anyOf": [{ "enum": [word] }, { "type": "array", "items": item.schema() }],
                "description": description,
            });
        }
        list
    }

    /// Reads an array of objects; `None` if the field is absent. The items count only if there are no problems.
    pub(super) fn objects<T>(
        &mut self,
        name: &'static str,
        description: &str,
        visit: impl Fn(&mut Fields<'_>) -> T,
    ) -> Option<Vec<T>> {
        let schema = || json!({ "type": "array", "items": describe(|fields| drop(visit(fields))) });
        let value = self.value(name, description, schema)?;
        let Some(items) = value.as_array() else {
            self.problem(&[name], format!("must be an array, not {}", type_name(value)));
            return None;
        };
        let mut list = Vec::new();
        for (position, value) in items.iter().enumerate() {
            let path = format!("{}[{position}]", member_path(self.path, name));
            read(&path, value, self.home, self.problems, |fields| list.push(visit(fields)));
        }
        Some(list)
    }

    /// Reads an object whose keys are of a kind and whose values are objects, in the order of the file.
    pub(super) fn members<K: FieldKind, T>(
        &mut self,
        name: &'static str,
        description: &str,
        key: &K,
        visit: impl Fn(&mut Fields<'_>) -> T,
    ) -> Vec<(K::Output, T)> {
        let schema = || {
            let member = describe(|fields| drop(visit(fields)));
            json!({ "type": "object", "propertyNames": key.schema(), "additionalProperties": member })
        };
        let Some(value) = self.value(name, description, schema) else { return Vec::new() };
        let path = member_path(self.path, name);
        let Some(object) = value.as_object() else {
            self.problem(&[name], format!("must be an object, not {}", type_name(value)));
            return Vec::new();
        };
        let mut members = Vec::new();
        for (name, value) in object {
            let path = member_path(&path, name);
            match key.read(&name.as_str().into()) {
                Ok(key) => read(&path, value, self.home, self.problems, |fields| members.push((key, visit(fields)))),
                Err(invalid) => self.problems.push(Problem::new(path, format!("the key {invalid}"))),
            }
        }
        members
    }

    /// Reads or describes an object within this one.
    pub(super) fn section(&mut self, name: &'static str, description: &str, visit: impl FnOnce(&mut Fields<'_>)) {
        if self.object.is_none() {
            self.value(name, description, || describe(visit));
        } else if let Some(value) = self.value(name, description, || Value::Null) {
            read(&member_path(self.path, name), value, self.home, self.problems, visit);
        }
    }

    /// Demands that `other` is present if `name` is.
    pub(super) fn requires(&mut self, name: &'static str, other: &'static str, message: &str) {
        self.dependencies.insert(name.to_owned(), json!([other]));
        if self.object.is_some_and(|object| object.contains_key(name) && !object.contains_key(other)) {
            self.problem(&[name], message);
        }
    }

    /// Demands that `name` is absent if `other` is present.
    pub(super) fn excludes(&mut self, name: &'static str, other: &'static str, message: &str) {
        if self.object.is_some_and(|object| object.contains_key(name) && object.contains_key(other)) {
            self.problem(&[name], message);
        }
    }

    /// Reports a problem of a field; `names` are the keys that lead to it from this object.
    pub(super) fn problem(&mut self, names: &[&str], message: impl Into<String>) {
        let path = names.iter().fold(self.path.to_owned(), |path, name| member_path(&path, name));
        self.problems.push(Problem::new(path, message));
    }

    /// Reports a problem of a field of an object in an array.
    pub(super) fn problem_in_item(&mut self, list: &str, position: usize, field: &str, message: &str) {
        let item = format!("{}[{position}]", member_path(self.path, list));
        self.problems.push(Problem::new(member_path(&item, field), message));
    }

    /// Registers a field and returns its value, if there is one to read.
    fn value(&mut self, name: &str, description: &str, schema: impl FnOnce() -> Value) -> Option<&'a Value> {
        let mut property = Value::Null;
        if self.object.is_none() {
            property = schema();
            if let Some(property) = property.as_object_mut() {
                property.insert("description".to_owned(), description.into());
            }
        }
        self.properties.insert(name.to_owned(), property);
        self.object?.get(name)
    }
}

/// Returns the known key that a mistyped one most likely means.
fn closest<'a>(name: &str, known: &'a Map<String, Value>) -> Option<&'a str> {
    let similar = known.keys().map(|known| (strsim::jaro_winkler(name, known), known.as_str()));
    similar.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
