//! Comparison of the program's types of the debugging protocol with Chromium's description of it.
//!
//! `cdp_types/protocol.json` has the part of the description that is used; `cdp_types/update` writes it. `e2e/cdp_types.rs` compares
//! the same types with the installed Chromium.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use browser_shell::testing::{Described, described};
use serde_json::{Value, json};

/// Protocol as Chromium described it when the types were written.
const PROTOCOL: &str = include_str!("cdp_types/protocol.json");

/// Types of the core that read the text of a result, each with the type of the protocol that it reads.
const CORE_TYPES: &[(&str, &str, &str)] = &[
    ("capture.rs", "RawDocument", "DOMSnapshot.DocumentSnapshot"),
    ("capture.rs", "RawNodes", "DOMSnapshot.NodeTreeSnapshot"),
    ("capture.rs", "RawLayout", "DOMSnapshot.LayoutTreeSnapshot"),
    ("accessibility.rs", "RawNode", "Accessibility.AXNode"),
    ("accessibility.rs", "RawProperty", "Accessibility.AXProperty"),
    ("accessibility.rs", "Typed", "Accessibility.AXValue"),
];

/// Result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Differences with which a command or an event does not work.
    pub(crate) problems: Vec<String>,
    /// Parts that Chromium will drop.
    pub(crate) deprecated: Vec<String>,
    compared: HashSet<(String, String)>,
}

/// Description of a protocol.
struct Protocol<'a>(&'a Value);

/// Types of the program that are compared: the schema with its definitions, and the direction.
#[derive(Clone, Copy)]
struct Side<'a> {
    root: &'a Value,
    is_sent: bool,
}

impl<'a> Protocol<'a> {
    /// Returns a command, an event or a type by its full name.
    fn find(&self, kind: &str, name: &str) -> Option<&'a Value> {
        let (domain, own) = name.split_once('.')?;
        let domain = self.0["domains"].as_array()?.iter().find(|known| known["domain"] == domain)?;
        let member = if kind == "types" { "id" } else { "name" };
        domain[kind].as_array()?.iter().find(|item| item[member] == own)
    }
}

impl<'a> Side<'a> {
    /// Returns the schemas of which a value has one, without `null`.
    fn alternatives(self, schema: &'a Value) -> Vec<&'a Value> {
        if let Some(name) = schema["$ref"].as_str() {
            return self.alternatives(self.root.pointer(name.trim_start_matches('#')).expect("a definition"));
        }
        let several = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
        let found = several.map(|parts| parts.iter().flat_map(|part| self.alternatives(part)).collect());
        found.unwrap_or_else(|| vec![schema]).into_iter().filter(|schema| schema["type"] != "null").collect()
    }
}

/// Returns true if a schema is of a type. `Option` adds `null` to it.
fn is_type(schema: &Value, name: &str) -> bool {
    schema["type"] == name || schema["type"].as_array().is_some_and(|types| types.iter().any(|known| known == name))
}

impl Comparison {
    /// Compares commands and events with a description.
    pub(crate) fn of(types: &[Described], protocol: &Value) -> Self {
        let (mut comparison, protocol) = (Self::default(), Protocol(protocol));
        for described in types {
            comparison.method(described, &protocol);
        }
        comparison
    }

    fn method(&mut self, described: &Described, protocol: &Protocol<'_>) {
        let name = described.method;
        let kind = if described.is_event { "events" } else { "commands" };
        let Some(found) = protocol.find(kind, name) else {
            return self.problems.push(format!("`{name}` does not exist"));
        };
        self.note_deprecated(name, found);
        let domain = name.split_once('.').expect("a domain").0;
        let params = described.params.as_value();
        let side = Side { root: params, is_sent: !described.is_event };
        self.members(name, side, params, &found["parameters"], domain, protocol);
        if let Some(response) = described.response.as_ref().map(schemars::Schema::as_value) {
            let side = Side { root: response, is_sent: false };
            self.members(&format!("{name} result"), side, response, &found["returns"], domain, protocol);
        }
    }

    fn note_deprecated(&mut self, place: &str, found: &Value) {
        if found["deprecated"] == true {
            self.deprecated.push(place.to_owned());
        }
    }

    fn members(
        &mut self,
        place: &str,
        side: Side<'_>,
        schema: &Value,
        members: &Value,
        domain: &str,
        protocol: &Protocol<'_>,
    ) {
        let members = members.as_array().map_or(&[][..], Vec::as_slice);
        let is_required =
            |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name));
        for (name, part) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}: {name}");
            let Some(member) = members.iter().find(|member| member["name"] == **name) else {
                self.problems.push(format!("{place} does not exist"));
                continue;
            };
            self.note_deprecated(&place, member);
            if !side.is_sent && member["optional"] == true && is_required(name) {
                self.problems.push(format!("{place} may be missing"));
            }
            self.value(&place, side, part, member, domain, protocol);
        }
        for member in members.iter().filter(|member| side.is_sent && member["optional"] != true) {
            let name = member["name"].as_str().expect("a name");
            if !is_required(name) {
                self.problems.push(format!("{place}: {name} is needed"));
            }
        }
    }

    fn value(
        &mut self,
        place: &str,
        side: Side<'_>,
        schema: &Value,
        member: &Value,
        domain: &str,
        protocol: &Protocol<'_>,
    ) {
        let alternatives = side.alternatives(schema);
        if let Some(reference) = member["$ref"].as_str() {
            let name = if reference.contains('.') { reference.to_owned() } else { format!("{domain}.{reference}") };
            let Some(found) = protocol.find("types", &name) else {
                return self.problems.push(format!("{place}: the type {name} does not exist"));
            };
            let id = alternatives.first().and_then(|schema| schema["cdp"].as_str());
            let is_id = name.to_ascii_lowercase().ends_with("id") && found["type"] != "object";
            if (is_id || id.is_some()) && id != Some(&name) {
                self.problems.push(format!("{place} is a {name}, and not {}", id.unwrap_or("a type of its own")));
            }
            // A type may contain itself.
            if found["type"] == "object" && !self.compared.insert((place_of_type(schema, place), name.clone())) {
                return;
            }
            let domain = name.split_once('.').expect("a domain").0;
            return self.value(place, side, schema, found, domain, protocol);
        }
        let theirs = member["type"].as_str().expect("a type");
        let values: Vec<&str> = alternatives.iter().flat_map(|schema| enum_values(schema)).collect();
        if !values.is_empty() {
            let is_open = alternatives.iter().any(|schema| is_type(schema, "string") && enum_values(schema).is_empty());
            if !side.is_sent && !is_open {
                self.problems.push(format!("{place} has no value for one that is unknown"));
            }
            let known = member["enum"].as_array();
            let is_known = |value: &&str| known.is_none_or(|known| known.iter().any(|known| known == *value));
            let unknown: Vec<_> = values.iter().filter(|value| !is_known(value)).collect();
            if theirs != "string" || !unknown.is_empty() {
                self.problems.push(format!("{place} has no values {unknown:?}"));
            }
            return;
        }
        // A type without values is one of which none is sent.
        if alternatives.iter().all(|schema| schema.get("not").is_some()) {
            return;
        }
        let [ours] = alternatives[..] else {
            return self.problems.push(format!("{place} has several types: {schema}"));
        };
        let is = |name| is_type(ours, name);
        let is_right = match theirs {
            "any" => true,
            "string" | "binary" => is("string") && (side.is_sent || member.get("enum").is_none()),
            "integer" => is("integer") || (is("number") && !side.is_sent),
            "number" => is("number") || (is("integer") && side.is_sent),
            "array" => {
                if is("array") {
                    self.value(&format!("{place}[]"), side, &ours["items"], &member["items"], domain, protocol);
                }
                is("array")
            }
            "object" => {
                if is("object") && member.get("properties").is_some() {
                    self.members(place, side, ours, &member["properties"], domain, protocol);
                }
                is("object")
            }
            other => is(other),
        };
        if !is_right {
            self.problems.push(format!("{place} is {theirs} {}, and not {ours}", member["enum"]));
        }
    }
}

/// Returns the name of a schema's definition, or else its place.
fn place_of_type(schema: &Value, place: &str) -> String {
    schema["$ref"]
        .as_str()
        .map_or_else(|| place.to_owned(), |name| format!("{name} in {}", place.split(':').next().unwrap()))
}

fn enum_values(schema: &Value) -> Vec<&str> {
    let several = schema["enum"].as_array().into_iter().flatten();
    several.chain(schema.get("const")).filter_map(Value::as_str).collect()
}

/// Compares the types of the program with a description, those of the core too.
pub(crate) fn compare(protocol: &Value) -> Comparison {
    let mut comparison = Comparison::of(&described(), protocol);
    for (file, name, theirs) in CORE_TYPES {
        let found = Protocol(protocol).find("types", theirs).unwrap_or(&Value::Null);
        let known = found["properties"].as_array().map_or(&[][..], Vec::as_slice);
        for member in core_members(file, name) {
            if !known.iter().any(|known| known["name"] == *member) {
                comparison.problems.push(format!("{theirs}: {member} does not exist"));
            }
        }
    }
    comparison
}

/// Returns the members that a type of the core reads, as JSON names them.
fn core_members(file: &str, name: &str) -> Vec<String> {
    let path = root().join("crates/core/src/snapshot").join(file);
    let items = syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap().items;
    let found = items.into_iter().find_map(|item| match item {
        syn::Item::Struct(item) if item.ident == name => Some(item),
        _ => None,
    });
    let fields = found.expect("a type of this name").fields.into_iter();
    let renamed = |field: &syn::Field| {
        let text = quote::ToTokens::to_token_stream(field.attrs.first()?).to_string();
        text.contains("rename").then(|| text.split('"').nth(1).expect("a name").to_owned())
    };
    fields.map(|field| renamed(&field).unwrap_or_else(|| camel(&field.ident.expect("a name").to_string()))).collect()
}

fn camel(name: &str) -> String {
    let mut is_first = false;
    let mut camel = String::new();
    for character in name.chars() {
        match character {
            '_' => is_first = true,
            _ if std::mem::take(&mut is_first) => camel.push(character.to_ascii_uppercase()),
            _ => camel.push(character),
        }
    }
    camel
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn known() -> Value {
    serde_json::from_str(PROTOCOL).unwrap()
}

#[test]
fn cdp_types_match_protocol() {
    let comparison = compare(&known());
    assert_eq!(comparison.problems, Vec::<String>::new());
}

/// Changes a member of a command's parameters, or removes it for `Null`, and returns the problems.
fn problems_after(method: &str, kind: &str, part: &str, member: &str, change: impl Fn(&mut Value)) -> Vec<String> {
    let mut protocol = known();
    let (domain, name) = method.split_once('.').unwrap();
    let domains = protocol["domains"].as_array_mut().unwrap();
    let domain = domains.iter_mut().find(|known| known["domain"] == domain).unwrap();
    let items = domain[kind].as_array_mut().unwrap();
    let found = items.iter_mut().find(|item| item["name"] == name || item["id"] == name).unwrap();
    let members = found[part].as_array_mut().unwrap();
    let member = members.iter_mut().find(|known| known["name"] == member).unwrap();
    change(member);
    members.retain(|member| !member.is_null());
    compare(&protocol).problems
}

#[test]
fn changes_of_the_protocol_are_problems() {
    type Change = fn(&mut Value);
    let rename: Change = |member| member["name"] = "other".into();
    let remove: Change = |member| *member = Value::Null;
    let require: Change = |member| {
        member.as_object_mut().unwrap().remove("optional");
    };
    let release: Change = |member| member["optional"] = true.into();
    let text: Change = |member| *member = json!({ "name": member["name"], "type": "string" });
    let other: Change = |member| member["$ref"] = "Network.LoaderId".into();
    let values: Change = |member| member["enum"] = json!(["a"]);
    let cases: &[(&str, &str, &str, &str, Change, &str)] = &[
        ("Page.navigate", "commands", "parameters", "url", rename, "Page.navigate: url does not exist"),
        ("Page.navigate", "commands", "parameters", "url", remove, "Page.navigate: url does not exist"),
        ("Page.navigate", "commands", "parameters", "frameId", require, "Page.navigate: frameId is needed"),
        ("Page.navigate", "commands", "parameters", "referrer", require, "Page.navigate: referrer is needed"),
        ("Page.navigate", "commands", "parameters", "frameId", other, "Page.navigate: frameId is a Network.LoaderId"),
        ("Page.navigate", "commands", "returns", "errorText", remove, "Page.navigate result: errorText does not exist"),
        (
            "DOM.performSearch",
            "commands",
            "returns",
            "resultCount",
            text,
            "DOM.performSearch result: resultCount is string",
        ),
        (
            "Page.startScreencast",
            "commands",
            "parameters",
            "format",
            values,
            "Page.startScreencast: format has no values",
        ),
        (
            "Page.frameDetached",
            "events",
            "parameters",
            "frameId",
            release,
            "Page.frameDetached: frameId may be missing",
        ),
        (
            "Fetch.requestPaused",
            "events",
            "parameters",
            "request",
            remove,
            "Fetch.requestPaused: request does not exist",
        ),
        (
            "Page.Frame",
            "types",
            "properties",
            "loaderId",
            remove,
            "Page.frameNavigated: frame: loaderId does not exist",
        ),
        ("Network.CookieParam", "types", "properties", "url", require, "Storage.setCookies: cookies[]: url is needed"),
        (
            "DOMSnapshot.NodeTreeSnapshot",
            "types",
            "properties",
            "nodeType",
            remove,
            "DOMSnapshot.NodeTreeSnapshot: nodeType does",
        ),
    ];
    for (method, kind, part, member, change, problem) in cases {
        let found = problems_after(method, kind, part, member, change);
        assert!(found.iter().any(|found| found.starts_with(problem)), "{method} {member}: {problem}: {found:?}");
        let deprecated = problems_after(method, kind, part, member, |member| member["deprecated"] = true.into());
        assert_eq!(deprecated, Vec::<String>::new(), "control: {method} {member}");
    }
    let mut protocol = known();
    for domain in protocol["domains"].as_array_mut().unwrap() {
        if let Some(commands) = domain["commands"].as_array_mut() {
            commands.retain(|command| command["name"] != "navigate");
        }
    }
    assert_eq!(compare(&protocol).problems, ["`Page.navigate` does not exist"]);
}

/// Returns the source files of the program that may send commands, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !["core", "cdp/src/protocol", "gateway/client"].iter().any(|known| path.ends_with(known)) {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_name().unwrap().to_str().unwrap();
            if !matches!(name, "tests.rs" | "testing.rs") && !name.ends_with("_tests.rs") {
                files.push(path);
            }
        }
    }
    files
}

/// Returns the names of commands and events in a source, outside of its tests.
fn method_names<'a>(source: &'a str, protocol: &Value) -> Vec<&'a str> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let is_domain = |name: &str| protocol["domains"].as_array().unwrap().iter().any(|domain| domain["domain"] == name);
    let is_method = |text: &&str| {
        let rest = text.split_once('.').filter(|(domain, _)| is_domain(domain)).map(|(_, rest)| rest);
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|character| character.is_ascii_alphanumeric()))
    };
    source.split('"').filter(is_method).collect()
}

#[test]
fn only_the_types_name_commands_and_events() {
    let protocol = known();
    assert_eq!(method_names("send(\"Page.navigate\", \"SKILL.md\")", &protocol), ["Page.navigate"], "control");
    for path in sources(&root().join("src")).into_iter().chain(sources(&root().join("crates"))) {
        let source = std::fs::read_to_string(&path).unwrap();
        assert_eq!(method_names(&source, &protocol), Vec::<&str>::new(), "{}", path.display());
    }
}
