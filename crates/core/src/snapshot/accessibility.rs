//! Nodes of the accessibility tree, as `Accessibility.getFullAXTree` reports them.

use std::collections::HashMap;

use serde_json::Value;

/// Node of the accessibility tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Accessible {
    pub(super) role: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_ignored: bool,
    /// Value, as far as it is text or a number.
    pub(super) value: Option<String>,
    properties: HashMap<String, String>,
}

/// Nodes of the accessibility tree by the id of their node in its process.
#[derive(Clone, Debug, Default)]
pub struct Accessibility(HashMap<u64, Accessible>);

impl Accessibility {
    /// Adds the nodes of an answer.
    pub fn add(&mut self, answer: &Value) {
        for node in answer.get("nodes").and_then(Value::as_array).into_iter().flatten() {
            if let Some(id) = node.get("backendDOMNodeId").and_then(Value::as_u64) {
                self.0.entry(id).or_insert_with(|| read(node));
            }
        }
    }

    /// Returns true if a node of a document is there and ignored.
    pub(super) fn is_ignored(&self, id: u64) -> bool {
        self.0.get(&id).is_some_and(|node| node.is_ignored)
    }

    /// Returns the node that stands for a node of a document, if it is not ignored.
    pub(super) fn get(&self, id: u64) -> Option<&Accessible> {
        self.0.get(&id).filter(|node| !node.is_ignored)
    }
}

impl Accessible {
    /// Returns the text of a property.
    pub(super) fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// Returns true if a property is true.
    pub(super) fn is(&self, name: &str) -> bool {
        self.property(name) == Some("true")
    }
}

fn read(node: &Value) -> Accessible {
    let text = |member: &str| node.get(member).and_then(|member| scalar(member.get("value")?));
    let properties = node.get("properties").and_then(Value::as_array).into_iter().flatten().filter_map(|property| {
        let name = property.get("name")?.as_str()?;
        Some((name.to_owned(), scalar(property.pointer("/value/value")?)?))
    });
    Accessible {
        role: text("role").unwrap_or_default(),
        name: text("name").unwrap_or_default(),
        description: text("description").unwrap_or_default(),
        is_ignored: node.get("ignored").and_then(Value::as_bool).unwrap_or_default(),
        value: text("value"),
        properties: properties.collect(),
    }
}

/// Returns a text, a number or a truth value as text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
