//! From a command to what agent-browser's daemon is asked, without its CLI in between.
//!
//! Decides which action a form of the table means and which field each of its values becomes. The names of actions and fields
//! are constants of the table; what an agent sends can only become the value of a field, as a JSON string or, where its kind
//! says so, a number. Must never make a field, an action or a launch option out of a text.

use serde_json::{Map, Value};

use super::Command;

/// What one form of a subcommand asks of the daemon of the known versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The daemon's name for it.
    pub action: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    /// Whether it can be done twice without anyone noticing, so that it may be asked again when it is not known whether it was
    /// done.
    pub repeatable: bool,
    /// What the form means instead when the value of this name is not there.
    pub without: Option<(&'static str, &'static Self)>,
}

/// One field of a request. `value` is the name of a positional or of a flag's value, `key` the daemon's name for the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The value as text; no field when it is not there.
    Text {
        /// Which value.
        value: &'static str,
        /// Which field.
        key: &'static str,
    },
    /// The value as text; `null` when it is not there.
    TextOrNull {
        /// Which value.
        value: &'static str,
        /// Which field.
        key: &'static str,
    },
    /// The value as text; the default when it is not there.
    TextOr {
        /// Which value.
        value: &'static str,
        /// Which field.
        key: &'static str,
        /// The default.
        default: &'static str,
    },
    /// One value as text, several as a list of texts.
    Texts {
        /// Which values.
        value: &'static str,
        /// Which field.
        key: &'static str,
    },
    /// The value as a number; no field when it is not there.
    Number {
        /// Which value.
        value: &'static str,
        /// Which field.
        key: &'static str,
    },
    /// The value as a number; the default when it is not there.
    NumberOr {
        /// Which value.
        value: &'static str,
        /// Which field.
        key: &'static str,
        /// The default.
        default: u32,
    },
    /// The value as a number where it reads as one, else as text.
    NumberOrText {
        /// Which value.
        value: &'static str,
        /// The field of a number.
        number: &'static str,
        /// The field of a text.
        text: &'static str,
    },
    /// `true` when the flag is there; no field when it is not.
    Switch {
        /// Which flag.
        flag: &'static str,
        /// Which field.
        key: &'static str,
    },
    /// Whether the flag is there.
    Bool {
        /// Which flag.
        flag: &'static str,
        /// Which field.
        key: &'static str,
    },
    /// Always this number.
    Constant {
        /// Which field.
        key: &'static str,
        /// The number.
        value: i32,
    },
    /// A list of one object with these fields.
    OneOf {
        /// Which field.
        key: &'static str,
        /// The object's fields.
        fields: &'static [Self],
    },
    /// Always `false`.
    False {
        /// Which field.
        key: &'static str,
    },
}

impl Mapping {
    /// A mapping that looks at the page or asks for the same state again.
    pub(super) const fn reads(action: &'static str, fields: &'static [Field]) -> Self {
        Self { action, fields, repeatable: true, without: None }
    }

    /// A mapping that does something, once.
    pub(super) const fn acts(action: &'static str, fields: &'static [Field]) -> Self {
        Self { action, fields, repeatable: false, without: None }
    }
}

/// What to ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The request, but for its id.
    pub fields: Map<String, Value>,
    /// See [`Mapping::repeatable`].
    pub repeatable: bool,
}

impl Request {
    /// The request for a command; `None` if its form has none, so that it goes through the CLI.
    #[must_use]
    pub fn of(command: &Command) -> Option<Self> {
        let mut mapping = command.form.mapping.as_ref()?;
        while let Some((value, other)) = mapping.without.filter(|(value, _)| command.named(value).next().is_none()) {
            debug_assert!(other.without.is_none_or(|(next, _)| next != value), "it ends");
            mapping = other;
        }
        let mut fields = Map::new();
        fields.insert("action".to_owned(), mapping.action.into());
        for field in mapping.fields {
            if let Some((key, value)) = field.of(command) {
                fields.insert(key.to_owned(), value);
            }
        }
        Some(Self { fields, repeatable: mapping.repeatable })
    }
}

impl Field {
    fn of(self, command: &Command) -> Option<(&'static str, Value)> {
        let first = |value: &str| command.named(value).next();
        let text = |value: &str| first(value).map(Value::from);
        let number = |value: &str| first(value).and_then(to_number);
        match self {
            Self::Text { value, key } => Some((key, text(value)?)),
            Self::TextOrNull { value, key } => Some((key, text(value).unwrap_or(Value::Null))),
            Self::TextOr { value, key, default } => Some((key, text(value).unwrap_or_else(|| default.into()))),
            Self::Texts { value, key } => {
                let mut texts: Vec<Value> = command.named(value).map(Value::from).collect();
                Some((key, if texts.len() == 1 { texts.remove(0) } else { texts.into() }))
            }
            Self::Number { value, key } => Some((key, number(value)?)),
            Self::NumberOr { value, key, default } => Some((key, number(value).unwrap_or_else(|| default.into()))),
            Self::NumberOrText { value, number: key, text: other } => {
                number(value).map(|number| (key, number)).or_else(|| Some((other, text(value)?)))
            }
            Self::Switch { flag, key } => command.has(flag).then_some((key, Value::Bool(true))),
            Self::Bool { flag, key } => Some((key, command.has(flag).into())),
            Self::Constant { key, value } => Some((key, value.into())),
            Self::OneOf { key, fields } => {
                let members = fields.iter().filter_map(|field| field.of(command));
                let object: Map<_, _> = members.map(|(key, value)| (key.to_owned(), value)).collect();
                Some((key, vec![Value::Object(object)].into()))
            }
            Self::False { key } => Some((key, Value::Bool(false))),
        }
    }
}

/// A number as agent-browser's CLI reads it: `+5` is one too.
fn to_number(text: &str) -> Option<Value> {
    text.parse::<u64>().ok().map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::super::table::{Availability, GRAMMAR, Kind, Row};
    use super::super::{COMPAT, Dialect, parse};
    use super::*;
    use proptest::prelude::*;

    fn request(argv: &[&str]) -> Request {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        Request::of(&parse(Dialect::Compat, &argv, |_| true).expect("accepted")).expect("mapped")
    }

    #[test]
    fn every_form_has_a_mapping_and_every_value_and_flag_is_used_by_it() {
        for row in GRAMMAR.iter().chain(COMPAT) {
            for form in row.forms {
                let mapping = form.mapping.expect(row.name);
                let one_of = mapping.fields.iter().filter_map(|field| match field {
                    Field::OneOf { fields, .. } => Some(fields.iter()),
                    _ => None,
                });
                let used: Vec<&str> = mapping
                    .fields
                    .iter()
                    .chain(one_of.flatten())
                    .filter_map(|field| match field {
                        Field::Text { value, .. }
                        | Field::TextOrNull { value, .. }
                        | Field::TextOr { value, .. }
                        | Field::Texts { value, .. }
                        | Field::Number { value, .. }
                        | Field::NumberOr { value, .. }
                        | Field::NumberOrText { value, .. } => Some(*value),
                        Field::Switch { flag, .. } | Field::Bool { flag, .. } => Some(*flag),
                        Field::False { .. } | Field::Constant { .. } | Field::OneOf { .. } => None,
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

    fn actions(rows: &[Row], wanted: bool) -> String {
        let mappings = rows.iter().flat_map(|row| row.forms).filter_map(|form| form.mapping);
        let all = mappings.flat_map(|mapping| std::iter::once(mapping).chain(mapping.without.map(|(_, other)| *other)));
        let mut names: Vec<_> =
            all.filter(|mapping| mapping.repeatable == wanted).map(|mapping| mapping.action).collect();
        names.sort_unstable();
        names.dedup();
        names.join(" ")
    }

    #[test]
    fn what_can_be_repeated_is_a_contract() {
        insta::assert_snapshot!(format!("again: {}\nonce: {}", actions(GRAMMAR, true), actions(GRAMMAR, false)));
    }

    #[test]
    fn what_can_be_repeated_of_compat_is_a_contract() {
        insta::assert_snapshot!(format!("again: {}\nonce: {}", actions(COMPAT, true), actions(COMPAT, false)));
    }

    #[test]
    fn numbers_lists_and_defaults() {
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
            (&["screenshot", "-f"], r#"{"action":"screenshot","selector":null,"fullPage":true,"annotate":false}"#),
            (&["snapshot", "-i", "-d", "0"], r#"{"action":"snapshot","interactive":true,"maxDepth":0}"#),
        ];
        for (argv, expected) in rows {
            assert_eq!(Value::Object(request(argv).fields).to_string(), *expected, "{argv:?}");
        }
    }

    proptest! {
        /// Whatever the text is, it is the value of its field, and the rest of the request is as without it.
        #[test]
        fn a_text_is_the_value_of_one_field_and_nothing_else(text in "\\PC{1,40}|[\\n\\r\\t\"\\\\{}:,]{1,10}") {
            for row in GRAMMAR.iter().chain(COMPAT).filter(|row| row.availability == Availability::On) {
                for form in row.forms {
                    let texts = form.positionals.iter().map(|positional| (positional.name, positional.kind));
                    let flags = form.flags.iter().filter_map(|flag| flag.value);
                    let slots: Vec<_> = texts.chain(flags).collect();
                    for (slot, _) in slots.iter().filter(|(_, kind)| is_free(*kind)) {
                        let with = |value: &str| {
                            let mut command = Command::bare(row, form);
                            for (name, kind) in &slots {
                                command.add(name, *kind, if name == slot { value } else { "1" });
                            }
                            Request::of(&command).expect("mapped").fields
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

    /// Kinds whose value can be any text here; whether the grammar lets it in is another matter.
    fn is_free(kind: Kind) -> bool {
        !matches!(kind, Kind::Number(..) | Kind::SelectorOrMilliseconds)
    }
}
