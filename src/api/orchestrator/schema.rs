//! JSON schemas of the orchestrator's requests and replies, derived from their types, and validation by them, with the errors as
//! clients of the contract know them.
//!
//! The types of the requests are the only description of a request: the schema of the `OpenAPI` document, the input schema of
//! the MCP tool and the validation all follow from them. See `docs/design/runtime-contract.md`.
//!
//! Invariants: validation reports every error at once, and repeats nothing of the value. Requirement 4.1.

use std::borrow::Cow;
use std::fmt;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value};

use browser_shell_core::session_id::{DOTTED_NAME_PATTERN, TenantId};

/// Keyword that becomes `description`. Doc comments, which schemars takes for descriptions, are for readers of the code.
const DESCRIPTION: &str = "x-description";

/// One error in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FieldError {
    /// Kind of error, a stable code.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Path to the field, beginning with the part of the request, such as `body`.
    #[serde(rename = "loc")]
    pub location: Vec<Segment>,
    /// Message for people.
    #[serde(rename = "msg")]
    pub message: String,
}

/// One step of the path to a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Segment {
    /// Name of a member.
    Name(Cow<'static, str>),
    /// Position in a list or in a text, from 0.
    Index(usize),
}

impl FieldError {
    /// Returns an error at a location below the root, such as `body`, that [`Self::below`] adds later.
    pub(crate) fn new(kind: &'static str, location: &[Segment], message: impl Into<String>) -> Self {
        Self { kind, location: location.to_vec(), message: message.into() }
    }

    /// Returns the same error with `root` in front of its location.
    pub(crate) fn below(mut self, root: &'static str) -> Self {
        self.location.insert(0, Segment::Name(root.into()));
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<_> = self.location.iter().map(ToString::to_string).collect();
        if !path.is_empty() {
            write!(f, "{}: ", path.join("."))?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

/// Returns the schema of a request. It has no references.
pub(crate) fn request_schema<T: JsonSchema>() -> Value {
    schema::<T>().into()
}

/// Returns the schema of a reply. It has no references, and allows no other members.
pub(crate) fn reply_schema<T: JsonSchema>() -> Value {
    let mut schema = schema::<T>();
    RecursiveTransform(close).transform(&mut schema);
    schema.into()
}

/// Returns a schema as an MCP tool publishes it, with only what the libraries of model vendors convert: `anyOf` in place of a list of
/// types, and no `additionalProperties`.
pub(crate) fn tool_schema(mut schema: Value) -> Value {
    if let Ok(schema) = <&mut Schema>::try_from(&mut schema) {
        RecursiveTransform(simplify).transform(schema);
    }
    schema
}

fn simplify(schema: &mut Schema) {
    schema.remove("additionalProperties");
    let Some(types) = schema.get("type").and_then(Value::as_array).cloned() else { return };
    let mut limits = std::mem::take(schema.ensure_object());
    let annotations = ["description", "default"].map(|keyword| (keyword, limits.remove(keyword)));
    let choice = |name: Value| {
        let mut choice = if name == "null" { Map::new() } else { limits.clone() };
        choice.insert("type".to_owned(), name);
        Value::Object(choice)
    };
    schema.insert("anyOf".to_owned(), types.into_iter().map(choice).collect());
    for (keyword, value) in annotations {
        value.and_then(|value| schema.insert(keyword.to_owned(), value));
    }
}

fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.with_transform(RecursiveTransform(normalize)).into_generator().into_root_schema_for::<T>()
}

fn close(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// Removes what Rust adds to a schema: doc comments, names of types, sizes of numbers, defaults that are `null`.
fn normalize(schema: &mut Schema) {
    for keyword in ["title", "format", "description"] {
        schema.remove(keyword);
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(description) = schema.remove(DESCRIPTION) {
        schema.insert("description".to_owned(), description);
    }
}

/// Returns every error of a value under a schema of [`request_schema`]; keywords that no request uses are not supported.
pub(crate) fn validate(schema: &Value, value: &Value) -> Vec<FieldError> {
    let mut validator = Validator::default();
    validator.value(schema, value);
    validator.errors
}

#[derive(Default)]
struct Validator {
    location: Vec<Segment>,
    errors: Vec<FieldError>,
}

impl Validator {
    fn error(&mut self, kind: &'static str, message: impl Into<String>) {
        self.errors.push(FieldError::new(kind, &self.location, message));
    }

    fn at(&mut self, segment: Segment, check: impl FnOnce(&mut Self)) {
        self.location.push(segment);
        check(self);
        self.location.pop();
    }

    fn value(&mut self, schema: &Value, value: &Value) {
        match (type_of(schema), value) {
            (_, Value::Null) if is_nullable(schema) => {}
            ("object", Value::Object(object)) => self.object(schema, object),
            ("array", Value::Array(items)) => self.array(schema, items),
            ("string", Value::String(text)) => self.string(schema, text),
            ("boolean", Value::Bool(_)) => {}
            // 30.0 is an integer, as in JSON Schema.
            ("integer", _) => match value.as_f64().filter(|number| number.fract() == 0.0) {
                Some(number) => self.number(schema, number),
                None => self.error("int_type", "must be a whole number"),
            },
            ("object", _) => self.error("model_type", "must be an object"),
            ("array", _) => self.error("list_type", "must be a list"),
            ("boolean", _) => self.error("bool_type", "must be true or false"),
            _ => self.error("string_type", "must be a string"),
        }
    }

    fn object(&mut self, schema: &Value, object: &Map<String, Value>) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let required = schema.get("required").and_then(Value::as_array);
        for (name, schema) in properties {
            let is_required = required.is_some_and(|names| names.iter().any(|other| other == name));
            // A required name that is null is not given.
            let value = object.get(name).filter(|value| !(is_required && value.is_null() && is_nullable(schema)));
            self.at(Segment::Name(name.clone().into()), |validator| match value {
                Some(value) => validator.value(schema, value),
                None if is_required => validator.error("missing", "the field is required"),
                None => {}
            });
        }
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            let unknown = object.keys().filter(|name| !properties.contains_key(*name)).count();
            if unknown > 0 {
                let names: Vec<_> = properties.keys().map(String::as_str).collect();
                self.error(
                    "extra_forbidden",
                    format!("unknown fields: {unknown}; the fields are {}", names.join(", ")),
                );
            }
        }
    }

    fn array(&mut self, schema: &Value, items: &[Value]) {
        let limit = |keyword| usize::try_from(schema.get(keyword)?.as_u64()?).ok();
        if let Some(min) = limit("minItems").filter(|min| items.len() < *min) {
            self.error("too_short", format!("must have at least {min} item"));
        }
        if let Some(max) = limit("maxItems").filter(|max| items.len() > *max) {
            return self.error("too_long", format!("must have at most {max} items"));
        }
        for (index, item) in items.iter().enumerate() {
            self.at(Segment::Index(index), |validator| validator.value(&schema["items"], item));
        }
    }

    fn string(&mut self, schema: &Value, text: &str) {
        // Names are the only strings with a pattern.
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else { return };
        let name = if pattern == DOTTED_NAME_PATTERN { TenantId::with_dots(text) } else { TenantId::new(text) };
        if name.is_none() {
            self.error("string_pattern_mismatch", format!("must match {pattern}"));
        }
    }

    fn number(&mut self, schema: &Value, number: f64) {
        let limit = |keyword| schema.get(keyword).and_then(Value::as_f64);
        if let Some(min) = limit("minimum").filter(|min| number < *min) {
            self.error("greater_than_equal", format!("must be at least {min}"));
        } else if let Some(max) = limit("maximum").filter(|max| number > *max) {
            self.error("less_than_equal", format!("must be at most {max}"));
        }
    }
}

/// Returns the type that a schema asks for, besides null.
fn type_of(schema: &Value) -> &str {
    let types = schema.get("type");
    types.and_then(|types| types.get(0)).or(types).and_then(Value::as_str).unwrap_or_default()
}

fn is_nullable(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_array).is_some_and(|types| types.iter().any(|kind| kind == "null"))
}
