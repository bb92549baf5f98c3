//! One line of a snapshot.
//!
//! A line is `- ROLE "NAME" [KEY] [KEY=VALUE]`, indented by two blanks for each level. The name and values are JSON, so that
//! nothing that a page chooses can be mistaken for another part of the line or for another line.

use std::fmt;

use serde_json::Value;

use crate::output::quoted;

/// Key of a reference.
const REFERENCE: &str = "ref";

/// Line of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Level, from 0.
    pub level: usize,
    /// Role.
    pub role: String,
    /// Name, or the text of a node without one.
    pub name: String,
    /// Number of its reference.
    pub reference: Option<u32>,
    /// States and other properties; `Null` for one without a value.
    pub states: Vec<(String, Value)>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, role, name, reference, states } = self;
        for _ in 0..*level {
            f.write_str("  ")?;
        }
        write!(f, "- {role}")?;
        if !name.is_empty() {
            write!(f, " {}", quoted(name))?;
        }
        if let Some(number) = reference {
            write!(f, " [{REFERENCE}=e{number}]")?;
        }
        for (key, value) in states {
            match value {
                Value::Null => write!(f, " [{key}]")?,
                Value::String(text) => write!(f, " [{key}={}]", quoted(text))?,
                value => write!(f, " [{key}={value}]")?,
            }
        }
        Ok(())
    }
}

impl Line {
    /// Parses a line. Returns `None` if it has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.trim_start_matches(' ');
        let blanks = text.len() - rest.len();
        let rest = rest.strip_prefix("- ")?;
        let (role, mut rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        let mut line = Self { level: blanks / 2, role: role.to_owned(), ..Self::default() };
        if let Some(quoted) = rest.strip_prefix(' ').filter(|quoted| quoted.starts_with('"')) {
            let (name, after) = json(quoted)?;
            name.as_str()?.clone_into(&mut line.name);
            rest = after;
        }
        while let Some(state) = rest.strip_prefix(" [") {
            let (key, after) = state.split_at(state.find(['=', ']'])?);
            let (value, after) = match after.strip_prefix('=') {
                Some(reference) if key == REFERENCE => {
                    let (number, after) = reference.strip_prefix('e')?.split_once(']')?;
                    line.reference = Some(number.parse().ok()?);
                    rest = after;
                    continue;
                }
                Some(value) => json(value)?,
                None => (Value::Null, after),
            };
            line.states.push((key.to_owned(), value));
            rest = after.strip_prefix(']')?;
        }
        (blanks.is_multiple_of(2) && rest.is_empty() && !role.is_empty()).then_some(line)
    }
}

/// Parses the JSON that a text begins with, and returns it with the rest.
fn json(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let offset = values.byte_offset();
    Some((value, text.get(offset..)?))
}
