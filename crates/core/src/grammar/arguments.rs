//! Parsing of the arguments of a subcommand as one of its forms.

use super::command::{Argument, NamedValue};
use super::profile::Profile;
use super::spec::{Flag, Form, Occurrence, Positional, SubcommandSpec, ValueKind};
use super::value;
use crate::decision::{Code, Decision};

/// Parser of the elements after the subcommand.
#[derive(Clone, Copy)]
pub(super) struct ArgumentParser<'a> {
    pub(super) profile: Profile,
    pub(super) row: &'static SubcommandSpec,
    pub(super) form: &'static Form,
    /// Returns `true` for the forms that usage lines show.
    pub(super) is_offered: &'a dyn Fn(&Form) -> bool,
}

impl ArgumentParser<'_> {
    /// Assigns the elements to positionals and flags, in this order.
    pub(super) fn parse(self, rest: &[String]) -> Result<Vec<Argument>, Decision> {
        let form = self.form;
        let skip = usize::from(form.word.is_some());
        let mut elements = rest.iter().enumerate().skip(skip).map(|(index, element)| (index + 1, element.as_str()));
        let mut flags: Vec<Argument> = Vec::new();
        let mut positionals: Vec<(usize, &str)> = Vec::new();
        while let Some((position, element)) = elements.next() {
            let Some(flag) = self.flag(element) else {
                positionals.push((position, element));
                continue;
            };
            if flags.iter().any(|argument| argument.flag == Some(flag.name)) {
                let reason = format!("`{}` is repeated", flag.name);
                return Err(Decision::new(Code::FlagConflict, reason).at_element(position));
            }
            let value = match flag.value {
                None => None,
                Some((name, kind)) => {
                    let Some((position, text)) = elements.next() else {
                        let reason = format!("`{}` needs a value, {name}", flag.name);
                        return Err(Decision::new(Code::ArgumentMissing, reason).at_element(position));
                    };
                    Some(self.parse_value(name, kind, text, position)?)
                }
            };
            flags.push(Argument { flag: Some(flag.name), value });
        }
        let mut arguments = self.parse_positionals(&positionals)?;
        let is_present = |name| flags.iter().any(|argument| argument.flag == Some(name));
        if let Some(missing) = form.flags.iter().find(|flag| flag.is_required && !is_present(flag.name)) {
            return Err(self.missing(&format!("`{}`", missing.name)));
        }
        arguments.append(&mut flags);
        Ok(arguments)
    }

    /// Returns the flag of the form, of one that can be combined with it, or of the one that it extends, that an element is.
    fn flag(self, element: &str) -> Option<&'static Flag> {
        let is_combined =
            |other: &&Form| self.form.extends(other) || self.row.combines(self.form, other) && (self.is_offered)(other);
        let others = || self.row.forms.iter().filter(is_combined).find_map(|other| other.flag(element));
        self.form.flag(element).or_else(others)
    }

    fn parse_positionals(self, elements: &[(usize, &str)]) -> Result<Vec<Argument>, Decision> {
        let mut arguments = Vec::new();
        let mut elements = elements.iter().copied().peekable();
        for (index, positional) in self.form.positionals.iter().enumerate() {
            let is_optional = positional.presence == Occurrence::Optional;
            match elements.peek() {
                Some((_, text)) if is_optional && self.is_later_file_name(index, text) => continue,
                Some(_) => {}
                None if is_optional => continue,
                None => return Err(self.missing(positional.name)),
            }
            for (position, text) in elements.by_ref() {
                let value = self.parse_value(positional.name, positional.kind, text, position)?;
                arguments.push(Argument { flag: None, value: Some(value) });
                if positional.presence != Occurrence::Repeated {
                    break;
                }
            }
        }
        match elements.next() {
            None => Ok(arguments),
            Some((position, text)) if text.starts_with('-') && text != "-" => Err(self.flag_unknown(position)),
            Some((position, _)) => {
                let reason = format!("one argument too many; the usage is `{}`", self.usage());
                Err(Decision::new(Code::ArgumentUnexpected, reason).at_element(position))
            }
        }
    }

    /// Returns `true` if an element is the file name of a later positional, so that the optional one at `index` is
    /// absent, as in `screenshot a.png`.
    fn is_later_file_name(self, index: usize, text: &str) -> bool {
        let later: &[Positional] = self.form.positionals.get(index + 1..).unwrap_or_default();
        later.iter().any(|positional| match positional.kind {
            // `.hero.png` is a class selector, `../a.png` is not a selector.
            ValueKind::FileName(ending) => {
                let is_name = text.ends_with(ending) && (text.contains('/') || !text.starts_with(['@', '#', '.']));
                // `/workspace/a.jpg` is a file name too, which is refused. `//div` is XPath.
                is_name || self.profile.has_workspace_paths() && text.starts_with('/') && !text.starts_with("//")
            }
            _ => false,
        })
    }

    /// Checks a value and returns the text to pass on.
    fn parse_value(
        self,
        name: &'static str,
        kind: ValueKind,
        text: &str,
        position: usize,
    ) -> Result<NamedValue, Decision> {
        let refuse = |code, reason| Err(Decision::new(code, reason).at_element(position));
        if self.row.reserved.contains(&text) {
            let reason = format!("agent-browser would parse this as a flag of `{}`", self.row.name);
            return refuse(Code::FlagUnknown, reason);
        }
        if text.starts_with('-') && !value::may_begin_with_dash(kind, text) {
            return Err(self.flag_unknown(position));
        }
        if let Some(line_break) = text.chars().find(|c| value::is_line_break(*c))
            && kind != ValueKind::MultilineText
        {
            let reason = format!("a line break (U+{:04X}) is not allowed here", u32::from(line_break));
            return refuse(Code::CharacterNotAllowed, reason);
        }
        match value::check(self.profile, kind, text) {
            Ok(text) => Ok(NamedValue { name, kind, text: text.to_owned() }),
            Err(error) => refuse(Code::ArgumentInvalid, self.hint(text).unwrap_or_else(|| error.to_string())),
        }
    }

    /// Returns what to do with a value that is a word of one of the flags, such as `bottom` in `scroll bottom`.
    fn hint(self, text: &str) -> Option<String> {
        let offered = self.row.forms.iter().filter(|form| (self.is_offered)(form));
        offered.flat_map(|form| form.flags).find_map(|flag| match flag.value {
            Some((_, ValueKind::Word(words))) => {
                let (row, flag, word) = (self.row.name, flag.name, words.iter().find(|word| **word == text)?);
                Some(format!("`{word}` goes behind `{flag}`, as in `{row} {flag} {word}`"))
            }
            _ => None,
        })
    }

    fn missing(self, name: &str) -> Decision {
        let reason = format!("{name} is missing; the usage is `{}`", self.usage());
        Decision::new(Code::ArgumentMissing, reason).at("argv")
    }

    fn flag_unknown(self, position: usize) -> Decision {
        let reason = format!("`{}` has no such flag; the usage is `{}`", self.row.name, self.usage());
        Decision::new(Code::FlagUnknown, reason).at_element(position)
    }

    fn usage(self) -> String {
        self.row.usage_of(self.form, self.is_offered)
    }
}
