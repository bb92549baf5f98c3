//! Part of a chain for a role: `role=button[name="Save"i][pressed]`, and the texts in quotes of chains, in which a backslash stands in
//! front of a quote or another backslash.

use std::fmt::{self, Write as _};

/// Largest level of a heading.
const MAX_LEVEL: u32 = 1000;

/// Role that an element has to have, with what it is called and its states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleMatch {
    /// Role in lower case.
    pub role: String,
    /// Conditions for the name.
    pub names: Vec<NameMatch>,
    /// Conditions for the states.
    pub states: Vec<StateMatch>,
}

/// Condition for the name of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameMatch {
    /// Comparison.
    pub operator: NameOperator,
    /// Text that the name is compared with.
    pub text: String,
    /// `true` if upper and lower case are the same.
    pub ignores_case: bool,
}

/// Comparison of a name with a text, as CSS compares attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOperator {
    /// The name is the text.
    Equals,
    /// The name has the text in it.
    Contains,
    /// The name begins with the text.
    Begins,
    /// The name ends with the text.
    Ends,
    /// The text is one of the words of the name.
    Word,
    /// The name is the text, or continues it after a hyphen.
    Prefix,
}

/// Condition for a state of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateMatch {
    /// State.
    pub state: RoleState,
    /// Value that it has to have.
    pub value: StateValue,
}

/// State of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleState {
    /// Of checkboxes and radio buttons.
    Checked,
    /// Takes no input.
    Disabled,
    /// Shows what belongs to it.
    Expanded,
    /// Level of a heading or an item of a tree.
    Level,
    /// Of buttons that stay down.
    Pressed,
    /// Of options, tabs and rows.
    Selected,
}

/// Value of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateValue {
    /// On.
    True,
    /// Off.
    False,
    /// Neither on nor off.
    Mixed,
    /// Number.
    Number(u32),
}

impl NameOperator {
    /// All comparisons, with their signs.
    pub(super) const ALL: &[(Self, &'static str)] = &[
        (Self::Equals, "="),
        (Self::Contains, "*="),
        (Self::Begins, "^="),
        (Self::Ends, "$="),
        (Self::Word, "~="),
        (Self::Prefix, "|="),
    ];
}

impl RoleState {
    /// All states, with the names of their attributes.
    pub(super) const ALL: &[(Self, &'static str)] = &[
        (Self::Checked, "checked"),
        (Self::Disabled, "disabled"),
        (Self::Expanded, "expanded"),
        (Self::Level, "level"),
        (Self::Pressed, "pressed"),
        (Self::Selected, "selected"),
    ];
}

impl NameMatch {
    /// Returns true if a name fulfills the condition. Both are compared after `normalize`.
    pub(crate) fn matches(&self, name: &str, normalize: impl Fn(&str) -> String) -> bool {
        let fold = |text: &str| if self.ignores_case { text.to_lowercase() } else { text.to_owned() };
        let (name, text) = (fold(&normalize(name)), fold(&normalize(&self.text)));
        if self.operator == NameOperator::Equals {
            return name == text;
        }
        // As in CSS, nothing contains the empty text.
        !text.is_empty()
            && match self.operator {
                NameOperator::Equals => false,
                NameOperator::Contains => name.contains(&text),
                NameOperator::Begins => name.starts_with(&text),
                NameOperator::Ends => name.ends_with(&text),
                NameOperator::Word => name.split(' ').any(|word| word == text),
                NameOperator::Prefix => {
                    name.strip_prefix(&text).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
                }
            }
    }
}

impl RoleMatch {
    /// Reads what follows `role=`, and returns it with the rest. `None` if it has another form.
    pub(super) fn read(input: &str) -> Option<(Self, &str)> {
        let (role, mut rest) = identifier(input.trim_start())?;
        let mut read = Self { role: role.to_ascii_lowercase(), names: Vec::new(), states: Vec::new() };
        loop {
            rest = rest.trim_start();
            let Some(attribute) = rest.strip_prefix('[') else { return Some((read, rest)) };
            rest = read.attribute(attribute)?;
        }
    }

    /// Reads an attribute after its bracket, and returns the rest.
    fn attribute<'a>(&mut self, input: &'a str) -> Option<&'a str> {
        let (name, rest) = identifier(input.trim_start())?;
        let rest = rest.trim_start();
        if name == "name" {
            let (operator, sign) = NameOperator::ALL.iter().find(|(_, sign)| rest.starts_with(sign))?;
            let rest = rest.strip_prefix(sign)?.trim_start();
            let (text, ignores_case, rest) = name_with_sign(rest).or_else(|| words(rest))?;
            self.names.push(NameMatch { operator: *operator, text, ignores_case });
            return Some(rest);
        }
        let (state, _) = RoleState::ALL.iter().find(|(_, known)| *known == name)?;
        let (value, rest) = match rest.strip_prefix('=') {
            Some(rest) => {
                let (text, rest) = quoted_or_word(rest.trim_start())?;
                (StateValue::read(*state, &text)?, rest)
            }
            None if *state == RoleState::Level => return None,
            None => (StateValue::True, rest),
        };
        self.states.push(StateMatch { state: *state, value });
        rest.trim_start().strip_prefix(']')
    }
}

impl StateValue {
    fn read(state: RoleState, text: &str) -> Option<Self> {
        match (state, text) {
            (RoleState::Level, _) => {
                text.parse().ok().filter(|level| (1..=MAX_LEVEL).contains(level)).map(Self::Number)
            }
            (_, "true") => Some(Self::True),
            (_, "false") => Some(Self::False),
            (RoleState::Checked | RoleState::Pressed, "mixed") => Some(Self::Mixed),
            _ => None,
        }
    }
}

impl fmt::Display for RoleMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "role={}", self.role)?;
        for name in &self.names {
            let sign =
                NameOperator::ALL.iter().find(|(known, _)| *known == name.operator).map_or("=", |(_, sign)| sign);
            write!(f, "[name{sign}")?;
            write_quoted(&name.text, f)?;
            f.write_str(if name.ignores_case { "i]" } else { "]" })?;
        }
        for condition in &self.states {
            let name = RoleState::ALL.iter().find(|(known, _)| *known == condition.state).map_or("", |(_, name)| name);
            match condition.value {
                StateValue::True => write!(f, "[{name}]")?,
                StateValue::False => write!(f, "[{name}=false]")?,
                StateValue::Mixed => write!(f, "[{name}=mixed]")?,
                StateValue::Number(number) => write!(f, "[{name}={number}]")?,
            }
        }
        Ok(())
    }
}

/// Reads a name in quotes or of one word, the sign for upper and lower case, and the bracket. Returns them with the rest.
fn name_with_sign(input: &str) -> Option<(String, bool, &str)> {
    let (text, rest) = quoted_or_word(input)?;
    let rest = rest.trim_start();
    let (ignores_case, rest) = match rest.strip_prefix(['i', 'I']) {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(['s', 'S']).unwrap_or(rest)),
    };
    Some((text, ignores_case, rest.trim_start().strip_prefix(']')?))
}

/// Reads a name of several words without quotes, and the bracket: `name=Go to page 3]`.
fn words(input: &str) -> Option<(String, bool, &str)> {
    let (text, rest) = input.split_once(']')?;
    let text = text.trim_end();
    let is_plain = !text.is_empty() && !text.starts_with(['/', '\'']) && !text.contains(['"', '[', '\\']);
    is_plain.then(|| (text.to_owned(), false, rest))
}

/// Reads the text in quotes, or the word, that an input begins with.
fn quoted_or_word(input: &str) -> Option<(String, &str)> {
    read_quoted(input).or_else(|| identifier(input).map(|(word, rest)| (word.to_owned(), rest)))
}

/// Reads the word that an input begins with, and returns it with the rest.
fn identifier(input: &str) -> Option<(&str, &str)> {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let end = input.find(|c| !is_inside(c)).unwrap_or(input.len());
    input.split_at_checked(end).filter(|(word, _)| !word.is_empty())
}

/// Reads the text in quotes that an input begins with. Returns it with the rest, or `None` if there is none that ends.
pub(super) fn read_quoted(input: &str) -> Option<(String, &str)> {
    let quote = input.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let mut text = String::new();
    let mut characters = input.char_indices().skip(1);
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            _ if character == quote => return Some((text, input.get(position + 1..)?)),
            _ => text.push(character),
        }
    }
    None
}

/// Writes a text in quotes.
pub(super) fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(character)?;
    }
    f.write_char('"')
}
