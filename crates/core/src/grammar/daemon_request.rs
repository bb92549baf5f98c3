//! Requests to agent-browser's daemon, built from commands without the CLI.
//!
//! Invariants: the names of actions and fields are constants of the grammar. An argument only becomes the value of a
//! field, as a JSON string or, where its kind allows, a number.

use serde_json::{Map, Value};

use super::action::ActionField;
use super::command::Command;
use super::value::tab;

/// Dialect of the requests that a daemon reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonDialect {
    /// The daemon in Node of version 0.19.
    Node,
    /// The native daemon of version 0.41.
    Native {
        /// Maximum time in milliseconds that a `wait` takes, which the CLI sends with each one.
        wait_timeout_ms: u64,
    },
}

/// Actions that wait for something on the page, with a time limit that the native CLI sends.
const WAITS: &[&str] = &["wait", "waitforurl", "waitforloadstate"];

/// JSON that asks the daemon for a command.
#[derive(Clone, Debug, PartialEq)]
pub struct DaemonRequest {
    /// Members of the request, except its id.
    pub fields: Map<String, Value>,
    /// `true` if the request can be repeated after an unknown outcome, because running it again has no further effect.
    pub is_repeatable: bool,
}

impl DaemonRequest {
    /// Builds the request for a command. Returns `None` if its form has no mapping, so that it has to run through the
    /// CLI.
    #[must_use]
    pub fn from_command(command: &Command, dialect: DaemonDialect) -> Option<Self> {
        // The native daemon names tabs, and the names have to be read first.
        if dialect != DaemonDialect::Node && command.row.name == "tab" && !command.is_list_of_tabs() {
            return None;
        }
        let mut mapping = command.form.mapping.as_ref()?;
        while let Some((value, other)) =
            mapping.if_absent.filter(|(value, _)| command.values_named(value).next().is_none())
        {
            debug_assert!(other.if_absent.is_none_or(|(next, _)| next != value), "the loop ends");
            mapping = other;
        }
        let mut fields = Map::new();
        fields.insert("action".to_owned(), mapping.action.into());
        for field in mapping.fields {
            if let Some((key, value)) = field.build(command) {
                fields.insert(key.to_owned(), value);
            }
        }
        if let DaemonDialect::Native { wait_timeout_ms } = dialect {
            if WAITS.contains(&mapping.action) && !fields.contains_key("timeout") {
                fields.insert("timeout".to_owned(), wait_timeout_ms.into());
            }
            fields.insert("plugins".to_owned(), Value::Array(Vec::new()));
        }
        Some(Self { fields, is_repeatable: mapping.is_repeatable })
    }
}

impl ActionField {
    /// Returns the name and value of the field, or `None` if the request does not have it.
    fn build(self, command: &Command) -> Option<(&'static str, Value)> {
        let first = |value: &str| command.values_named(value).next();
        let text = |value: &str| first(value).map(Value::from);
        let number = |value: &str| first(value).and_then(to_number);
        match self {
            Self::Text { value, key } => Some((key, text(value)?)),
            Self::TextOrNull { value, key } => Some((key, text(value).unwrap_or(Value::Null))),
            Self::TextOr { value, key, default } => Some((key, text(value).unwrap_or_else(|| default.into()))),
            Self::Texts { value, key } => {
                let mut texts: Vec<Value> = command.values_named(value).map(Value::from).collect();
                Some((key, if texts.len() == 1 { texts.remove(0) } else { texts.into() }))
            }
            Self::Number { value, key } => Some((key, number(value)?)),
            Self::Tab { value, key } => Some((key, tab(first(value)?)?.index().into())),
            Self::NumberOr { value, key, default } => Some((key, number(value).unwrap_or_else(|| default.into()))),
            Self::NumberOrText { value, number: key, text: other } => {
                number(value).map(|number| (key, number)).or_else(|| Some((other, text(value)?)))
            }
            Self::Switch { flag, key } => command.has_flag(flag).then_some((key, Value::Bool(true))),
            Self::Bool { flag, key } => Some((key, command.has_flag(flag).into())),
            Self::Constant { key, value } => Some((key, value.into())),
            Self::ConstantText { key, value } => Some((key, value.into())),
            Self::ObjectList { key, fields } => {
                let members = fields.iter().filter_map(|field| field.build(command));
                let object: Map<_, _> = members.map(|(key, value)| (key.to_owned(), value)).collect();
                Some((key, vec![Value::Object(object)].into()))
            }
            Self::False { key } => Some((key, Value::Bool(false))),
        }
    }
}

/// Parses a number as agent-browser's CLI does, so that `+5` is one too.
fn to_number(text: &str) -> Option<Value> {
    text.parse::<u64>().ok().map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::command::{Argument, NamedValue};
    use crate::grammar::compat::COMPAT;
    use crate::grammar::parser::parse;
    use crate::grammar::profile::Profile;
    use crate::grammar::spec::{Availability, SubcommandSpec, ValueKind};
    use crate::grammar::steps::STEPS;
    use crate::grammar::table::GRAMMAR;
    use proptest::prelude::*;

    const NATIVE: DaemonDialect = DaemonDialect::Native { wait_timeout_ms: 7000 };

    fn command(argv: &[&str]) -> Command {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        parse(Profile::Compat, &argv, |_| true).expect("accepted")
    }

    fn request(argv: &[&str]) -> DaemonRequest {
        DaemonRequest::from_command(&command(argv), DaemonDialect::Node).expect("mapped")
    }

    #[test]
    fn every_form_maps_all_its_values_and_flags() {
        for row in GRAMMAR.iter().chain(COMPAT).chain(STEPS) {
            for form in row.forms {
                let Some(mapping) = form.mapping else {
                    let stepped = ["click", "press", "scroll", "select-text"];
                    assert!(
                        ["dialog", "session", "--version", "--help"]
                            .iter()
                            .chain(&stepped)
                            .any(|name| *name == row.name),
                        "{}: no daemon answers it",
                        row.name
                    );
                    continue;
                };
                let nested = mapping.fields.iter().filter_map(|field| match field {
                    ActionField::ObjectList { fields, .. } => Some(fields.iter()),
                    _ => None,
                });
                let used: Vec<&str> = mapping
                    .fields
                    .iter()
                    .chain(nested.flatten())
                    .filter_map(|field| match field {
                        ActionField::Text { value, .. }
                        | ActionField::TextOrNull { value, .. }
                        | ActionField::TextOr { value, .. }
                        | ActionField::Texts { value, .. }
                        | ActionField::Number { value, .. }
                        | ActionField::Tab { value, .. }
                        | ActionField::NumberOr { value, .. }
                        | ActionField::NumberOrText { value, .. } => Some(*value),
                        ActionField::Switch { flag, .. } | ActionField::Bool { flag, .. } => Some(*flag),
                        ActionField::False { .. }
                        | ActionField::Constant { .. }
                        | ActionField::ConstantText { .. }
                        | ActionField::ObjectList { .. } => None,
                    })
                    .collect();
                let positionals = form.positionals.iter().map(|positional| positional.name);
                let flags = form.flags.iter().map(|flag| flag.value.map_or(flag.name, |(value, _)| value));
                let mut wanted: Vec<&str> = positionals.chain(flags).collect();
                let mut sorted = used.clone();
                wanted.sort_unstable();
                sorted.sort_unstable();
                assert_eq!(sorted, wanted, "{} {:?}", row.name, form.word);
            }
        }
    }

    fn actions(rows: &[SubcommandSpec], wanted: bool) -> String {
        let mappings = rows.iter().flat_map(|row| row.forms).filter_map(|form| form.mapping);
        let all =
            mappings.flat_map(|mapping| std::iter::once(mapping).chain(mapping.if_absent.map(|(_, other)| *other)));
        let mut names: Vec<_> =
            all.filter(|mapping| mapping.is_repeatable == wanted).map(|mapping| mapping.action).collect();
        names.sort_unstable();
        names.dedup();
        names.join(" ")
    }

    #[test]
    fn repeatable_actions_match_snapshot() {
        insta::assert_snapshot!(format!("again: {}\nonce: {}", actions(GRAMMAR, true), actions(GRAMMAR, false)));
    }

    #[test]
    fn repeatable_compat_actions_match_snapshot() {
        insta::assert_snapshot!(format!("again: {}\nonce: {}", actions(COMPAT, true), actions(COMPAT, false)));
    }

    #[test]
    fn daemon_requests_map_numbers_lists_and_defaults() {
        let rows: &[(&[&str], &str)] = &[
            (&["wait", "+5"], r#"{"action":"wait","timeout":5}"#),
            (&["wait", "5px"], r#"{"action":"wait","selector":"5px"}"#),
            (&["select", "#a", "1"], r##"{"action":"select","selector":"#a","values":"1"}"##),
            (&["select", "#a", "1", "2"], r##"{"action":"select","selector":"#a","values":["1","2"]}"##),
            (&["scroll"], r#"{"action":"scroll","direction":"down","amount":300}"#),
            (&["tab"], r#"{"action":"tab_list"}"#),
            (&["tab", "2"], r#"{"action":"tab_switch","index":2}"#),
            (&["tab", "new"], r#"{"action":"tab_new"}"#),
            (&["tab", "new", "https://a.example/"], r#"{"action":"tab_new","url":"https://a.example/"}"#),
            (&["tab", "close", "1"], r#"{"action":"tab_close","index":1}"#),
            (&["find", "last", "li", "text"], r#"{"action":"nth","index":-1,"selector":"li","subaction":"text"}"#),
            (
                &["find", "nth", "2", "li", "fill", "x"],
                r#"{"action":"nth","index":2,"selector":"li","subaction":"fill","value":"x"}"#,
            ),
            (
                &["find", "label", "Email", "check"],
                r#"{"action":"getbylabel","label":"Email","subaction":"check","exact":false}"#,
            ),
            (&["cookies", "set", "a", "b"], r#"{"action":"cookies_set","cookies":[{"name":"a","value":"b"}]}"#),
            (&["tab", "t3"], r#"{"action":"tab_switch","index":2}"#),
            (&["tab", "3"], r#"{"action":"tab_switch","index":3}"#),
            (&["tab", "close", "t1"], r#"{"action":"tab_close","index":0}"#),
            (&["get", "value", "#a"], r##"{"action":"inputvalue","selector":"#a"}"##),
            (&["drag", "#a", "@e2"], r##"{"action":"drag","source":"#a","target":"@e2"}"##),
            (&["screenshot", "-f"], r#"{"action":"screenshot","selector":null,"fullPage":true,"annotate":false}"#),
            (&["snapshot", "-i", "-d", "0"], r#"{"action":"snapshot","interactive":true,"maxDepth":0}"#),
        ];
        for (argv, expected) in rows {
            assert_eq!(Value::Object(request(argv).fields).to_string(), *expected, "{argv:?}");
        }
    }

    #[test]
    fn native_requests_name_wait_timeout_but_no_tab() {
        let rows: &[(&[&str], &str)] = &[
            (&["press", "End"], r#"{"action":"press","key":"End","plugins":[]}"#),
            (&["wait", "#a"], r##"{"action":"wait","selector":"#a","timeout":7000,"plugins":[]}"##),
            (&["wait", "50"], r#"{"action":"wait","timeout":50,"plugins":[]}"#),
            (&["wait", "--text", "x"], r#"{"action":"wait","text":"x","timeout":7000,"plugins":[]}"#),
            (&["wait", "--url", "**"], r#"{"action":"waitforurl","url":"**","timeout":7000,"plugins":[]}"#),
            (
                &["wait", "--load", "load"],
                r#"{"action":"waitforloadstate","state":"load","timeout":7000,"plugins":[]}"#,
            ),
            (&["tab"], r#"{"action":"tab_list","plugins":[]}"#),
        ];
        for (argv, expected) in rows {
            let request = DaemonRequest::from_command(&command(argv), NATIVE).expect("mapped");
            assert_eq!(Value::Object(request.fields).to_string(), *expected, "{argv:?}");
        }
        for argv in [&["tab", "2"][..], &["tab", "t2"], &["tab", "close"], &["tab", "close", "t2"]] {
            assert_eq!(DaemonRequest::from_command(&command(argv), NATIVE), None, "{argv:?}");
        }
    }

    proptest! {
        /// Any text becomes the value of its field and changes nothing else.
        #[test]
        fn text_sets_only_its_own_request_field(text in "\\PC{1,40}|[\\n\\r\\t\"\\\\{}:,]{1,10}") {
            for row in GRAMMAR.iter().chain(COMPAT).filter(|row| row.availability == Availability::On) {
                for form in row.forms.iter().filter(|form| form.mapping.is_some()) {
                    let texts = form.positionals.iter().map(|positional| (positional.name, positional.kind));
                    let flags = form.flags.iter().filter_map(|flag| flag.value);
                    let slots: Vec<_> = texts.chain(flags).collect();
                    for (slot, _) in slots.iter().filter(|(_, kind)| is_text(*kind)) {
                        let with = |value: &str| {
                            let argument = |(name, kind): &(&'static str, ValueKind)| {
                                let text = if name == slot { value } else { "1" }.to_owned();
                                Argument { flag: None, value: Some(NamedValue { name, kind: *kind, text }) }
                            };
                            let arguments = slots.iter().map(argument).collect();
                            let command = Command { row, form, arguments, cli_refusal: None };
                            DaemonRequest::from_command(&command, DaemonDialect::Node).expect("mapped").fields
                        };
                        let (plain, made) = (with("plain"), with(&text));
                        let keys = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
                        prop_assert_eq!(keys(&plain), keys(&made), "{}", row.name);
                        for (key, value) in &plain {
                            let expected = if value == "plain" { Value::from(text.as_str()) } else { value.clone() };
                            prop_assert_eq!(&made[key], &expected, "{} {}", row.name, key);
                        }
                        prop_assert_eq!(made.values().filter(|value| **value == text.as_str()).count() >= 1, true);
                    }
                }
            }
        }
    }

    /// Returns `true` for kinds whose value is passed on as text, whatever it is.
    fn is_text(kind: ValueKind) -> bool {
        !matches!(kind, ValueKind::Number(..) | ValueKind::SelectorOrMilliseconds | ValueKind::Tab)
    }
}
