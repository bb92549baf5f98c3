//! Nodes of the accessibility tree, as `Accessibility.getFullAXTree` reports them.
//!
//! Most of an answer says where each name comes from. It is passed over while the answer is parsed.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::Value;

use super::capture::CaptureError;
use crate::gate::read_chromium;

/// Node of the accessibility tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Accessible {
    pub(super) role: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_ignored: bool,
    /// Value, as far as it is text or a number.
    pub(super) value: Option<String>,
    properties: Vec<(String, String)>,
}

/// Nodes of the accessibility tree by the id of their node in its process.
#[derive(Clone, Debug, Default)]
pub struct Accessibility(HashMap<u64, Accessible>);

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawTree {
    nodes: Vec<RawNode>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawNode {
    #[serde(rename = "backendDOMNodeId")]
    id: Option<u64>,
    ignored: bool,
    role: Typed,
    name: Typed,
    description: Typed,
    value: Typed,
    properties: Vec<RawProperty>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawProperty {
    name: String,
    value: Typed,
}

/// Value with its type.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Typed {
    value: Scalar,
}

/// Text, number or truth value as text; nothing for other values.
#[derive(Default)]
struct Scalar(Option<String>);

impl Accessibility {
    /// Adds the nodes of an answer, whose texts `mask` masks.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer has another form.
    pub fn add(&mut self, answer: &str, mask: &dyn Fn(&mut String)) -> Result<(), CaptureError> {
        let tree: RawTree = read_chromium(answer)?;
        self.0.reserve(tree.nodes.len());
        for mut node in tree.nodes {
            if let Some(id) = node.id {
                node.texts().for_each(mask);
                self.0.entry(id).or_insert_with(|| node.into());
            }
        }
        Ok(())
    }

    /// Gives a node of a document that has this name another one.
    pub(super) fn rename(&mut self, id: u64, name: &str, other: &str) {
        if let Some(node) = self.0.get_mut(&id).filter(|node| node.name.trim() == name.trim()) {
            other.clone_into(&mut node.name);
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
        self.properties.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// Returns true if a property is true.
    pub(super) fn is(&self, name: &str) -> bool {
        self.property(name) == Some("true")
    }
}

impl RawNode {
    /// Returns the texts of the node.
    fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let own = [&mut self.role, &mut self.name, &mut self.description, &mut self.value];
        let properties = self.properties.iter_mut().map(|property| &mut property.value);
        own.into_iter().chain(properties).filter_map(|typed| typed.value.0.as_mut())
    }
}

impl From<RawNode> for Accessible {
    fn from(node: RawNode) -> Self {
        let text = |typed: Typed| typed.value.0.unwrap_or_default();
        let properties = node.properties.into_iter();
        Self {
            role: text(node.role),
            name: text(node.name),
            description: text(node.description),
            is_ignored: node.ignored,
            value: node.value.value.0,
            properties: properties.filter_map(|property| Some((property.name, property.value.value.0?))).collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(Some(text.to_owned())))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(Some(value.to_string())))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar(Some(number.to_string())))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(Some(number.to_string())))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar(Some(Value::from(number).to_string())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Scalar, E> {
        Ok(Scalar(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Scalar, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar(None))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_become_texts_and_others_are_left_out() {
        let property = |name: &str, value: Value| json!({ "name": name, "value": { "type": "x", "value": value } });
        let properties = [
            property("text", json!("a")),
            property("level", json!(2)),
            property("below", json!(-1)),
            property("part", json!(1.5)),
            property("on", json!(true)),
            property("none", Value::Null),
            property("list", json!([1, [2]])),
            property("object", json!({ "a": { "b": 1 } })),
            json!({ "name": "nodes", "value": { "type": "nodeList", "relatedNodes": [{ "text": "x" }] } }),
            json!({ "name": "nothing" }),
        ];
        let sources = json!([{ "type": "contents", "value": { "value": "source" } }]);
        let node = json!({
            "nodeId": "7", "backendDOMNodeId": 7, "ignored": false, "properties": properties, "childIds": ["8"],
            "role": { "type": "role", "value": "slider" }, "name": { "value": "Volume", "sources": sources },
            "value": { "type": "number", "value": 3 },
        });
        let nodes = json!([node, { "nodeId": "-1", "role": { "value": "InlineTextBox" } }, { "backendDOMNodeId": 8, "ignored": true }]);
        let mut tree = Accessibility::default();
        tree.add(&json!({ "nodes": nodes }).to_string(), &|_| {}).expect("a tree");
        let node = tree.get(7).expect("there");
        assert_eq!((node.role.as_str(), node.name.as_str(), node.value.as_deref()), ("slider", "Volume", Some("3")));
        let expected = [("text", "a"), ("level", "2"), ("below", "-1"), ("part", "1.5"), ("on", "true")];
        assert!(expected.iter().all(|(name, text)| node.property(name) == Some(text)), "{node:?}");
        assert_eq!(node.properties.len(), expected.len(), "{node:?}");
        assert!(tree.is_ignored(8) && tree.get(8).is_none() && tree.0.len() == 2);
        for answer in [json!({ "nodes": 1 }), json!({ "nodes": [{ "backendDOMNodeId": "7" }] })] {
            assert!(Accessibility::default().add(&answer.to_string(), &|_| {}).is_err(), "{answer}");
        }
    }

    #[test]
    fn all_texts_are_masked() {
        let value = json!({ "type": "string", "value": "secret" });
        let node = json!({
            "backendDOMNodeId": 7, "role": value, "name": value, "description": value, "value": value,
            "properties": [{ "name": "url", "value": value }],
        });
        let answer = json!({ "nodes": [node] }).to_string();
        let mut plain = Accessibility::default();
        plain.add(&answer, &|_| {}).expect("a tree");
        assert_eq!(format!("{plain:?}").matches("secret").count(), 5, "control");
        let mut masked = Accessibility::default();
        masked.add(&answer, &|text| *text = text.replace("secret", "***")).expect("a tree");
        assert!(!format!("{masked:?}").contains("secret"), "{masked:?}");
    }

    #[test]
    fn half_of_a_surrogate_pair_becomes_a_replacement_character() {
        let mut tree = Accessibility::default();
        tree.add(r#"{"nodes":[{"backendDOMNodeId":7,"name":{"value":"a\ud800b"}}]}"#, &|_| {}).expect("a tree");
        assert_eq!(tree.get(7).expect("there").name, "a\u{fffd}b");
    }
}
