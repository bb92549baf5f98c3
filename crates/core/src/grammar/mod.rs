//! Command grammar: from `argv` to a command that every version of agent-browser parses the same way.
//!
//! Requirements 1.3 and 1.4. [`GRAMMAR`] lists every subcommand with its forms, and [`parse`] accepts nothing else.
//!
//! The flag `--json` is for clients that know agent-browser's own command line. agent-browser finds it anywhere on the line, also in
//! text. Here it is a flag only where no text of the caller can be: before the subcommand, and last in a command without free text.
//!
//! Invariants: a command contains only canonical flag spellings and checked values. An element that the grammar does
//! not define is refused, and so is one that any known version of agent-browser parses as a global flag.
//!
//! ```
//! use browser_shell_core::decision::Code;
//! use browser_shell_core::grammar::{Profile, parse};
//!
//! let argv = |elements: &[&str]| elements.iter().map(|element| (*element).to_owned()).collect::<Vec<String>>();
//! // No optional subcommand is enabled.
//! let is_enabled = |_: &str| false;
//!
//! let command = parse(Profile::Tool, &argv(&["snapshot", "--interactive"]), is_enabled).expect("accepted");
//! assert_eq!(command.to_argv(), ["snapshot", "-i"]);
//!
//! let refusal = parse(Profile::Tool, &argv(&["fill", "@e1", "--cdp=9222"]), is_enabled).expect_err("refused");
//! assert_eq!(refusal.code, Code::FlagGlobal);
//! assert_eq!(refusal.location.as_deref(), Some("argv[2]"));
//! ```

mod command;
mod forbidden;
mod probe;
mod profile;
mod selector;
mod spec;
mod table;
mod value;
pub mod words;

use crate::decision::{Code, Decision};
use command::{Argument, NamedValue};
use forbidden::{FORMER_NAMES, SUBCOMMAND_ALIASES};
use spec::{Flag, Occurrence};

pub use command::{Awaited, Command, LocalAnswer};
pub use forbidden::{FORBIDDEN_SUBCOMMANDS, find_global_flag};
pub use probe::compares_with_page;
pub use profile::{COMPAT, Profile};
pub use spec::{Availability, Form, Positional, SubcommandSpec, ValueKind};
pub use table::GRAMMAR;
pub(crate) use table::{AT, BUTTON, EDGES, FIND, FROM, GONE, HOLD, MODIFIERS, TO};
pub use value::{Tab, WORKSPACE_PREFIX};

/// Maximum number of elements of `argv`, including the subcommand.
pub const MAX_ELEMENTS: usize = 129;

/// Maximum length of one element, in characters.
pub const MAX_CHARACTERS: usize = 8192;

/// Maximum length of all elements together, in bytes. Linux starts no program with much more, and reports no usable
/// error.
const MAX_TOTAL_BYTES: usize = 1024 * 1024;

/// Parses `argv`. `is_enabled` returns `true` for a subcommand that the policy enables; it is called only for a
/// subcommand that has to be enabled.
///
/// # Errors
///
/// Returns the first refusal, with the position of the element as its location.
pub fn parse(profile: Profile, argv: &[String], is_enabled: impl Fn(&str) -> bool) -> Result<Command, Decision> {
    check_elements(argv)?;
    if let Some((position, flag)) = global_flags(profile, argv, &is_enabled).next() {
        let reason = format!("`{flag}` is a global flag of agent-browser, even inside text");
        return Err(Decision::new(Code::FlagGlobal, reason).at_element(position));
    }
    parse_checked(profile, argv, &is_enabled)
}

/// Returns the elements that are global flags of the CLI, with their positions.
fn global_flags(
    profile: Profile,
    argv: &[String],
    is_enabled: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (usize, &'static str)> {
    let row = argv.first().and_then(|name| profile.row(name));
    argv.iter()
        .enumerate()
        // A subcommand is no flag, not even `--version`.
        .filter(move |(position, element)| {
            let is_offered = |form: &Form| profile.offers(form, &is_enabled);
            !row.is_some_and(|row| *position == 0 || row.allows_global_flag(element, is_offered))
        })
        .filter_map(|(position, element)| Some((position, find_global_flag(element)?)))
}

fn parse_checked(profile: Profile, argv: &[String], is_enabled: impl Fn(&str) -> bool) -> Result<Command, Decision> {
    let Some((name, rest)) = argv.split_first() else {
        return Err(Decision::new(Code::ArgumentMissing, "the subcommand is missing").at("argv"));
    };
    let row = find_subcommand(profile, name, &is_enabled)?;
    let is_offered = |form: &Form| profile.offers(form, &is_enabled);
    let form = select_form(row, rest, &is_offered)?;
    let arguments = ArgumentParser { profile, row, form, is_offered: &is_offered }.parse(rest)?;
    Ok(Command { row, form, arguments })
}

/// Checks the rules for all elements, which do not depend on the subcommand.
fn check_elements(argv: &[String]) -> Result<(), Decision> {
    if argv.len() > MAX_ELEMENTS {
        return Err(Decision::new(Code::ArgumentUnexpected, format!("more than {MAX_ELEMENTS} elements")).at("argv"));
    }
    if argv.iter().map(String::len).sum::<usize>() > MAX_TOTAL_BYTES {
        let reason = format!("more than {MAX_TOTAL_BYTES} bytes in total; split the text into several calls");
        return Err(Decision::new(Code::ArgumentInvalid, reason).at("argv"));
    }
    for (position, element) in argv.iter().enumerate() {
        if element.len() > MAX_CHARACTERS && element.chars().count() > MAX_CHARACTERS {
            let reason = format!("longer than {MAX_CHARACTERS} characters; split the text into several calls");
            return Err(Decision::new(Code::ArgumentInvalid, reason).at_element(position));
        }
        if element.contains('\0') {
            return Err(Decision::new(Code::CharacterNotAllowed, "NUL is not allowed").at_element(position));
        }
    }
    Ok(())
}

fn find_subcommand(
    profile: Profile,
    name: &str,
    is_enabled: impl Fn(&str) -> bool,
) -> Result<&'static SubcommandSpec, Decision> {
    if let Some(row) = profile.row(name) {
        return if profile.needs_enabling(row) && !is_enabled(row.name) {
            let (code, location) = profile.not_enabled(row);
            Err(Decision::new(code, format!("`{}` is not enabled", row.name)).at(location))
        } else {
            Ok(row)
        };
    }
    let (code, reason) = if let Some(forbidden) = FORBIDDEN_SUBCOMMANDS.iter().find(|forbidden| **forbidden == name) {
        (Code::SubcommandForbidden, format!("`{forbidden}` is never available"))
    } else if let Some((alias, target)) =
        SUBCOMMAND_ALIASES.iter().chain(FORMER_NAMES).find(|(alias, _)| *alias == name)
    {
        (Code::SubcommandUnknown, format!("`{alias}` is called `{target}` here"))
    } else if name == "agent-browser" {
        (Code::SubcommandUnknown, "leave out `agent-browser`: the first element is the subcommand".to_owned())
    } else {
        (Code::SubcommandUnknown, "no such subcommand".to_owned())
    };
    Err(Decision::new(code, reason).at_element(0))
}

/// Selects one of the offered forms by its word, else by its required flag, else the first that has neither and has room
/// for all elements.
fn select_form(
    row: &'static SubcommandSpec,
    rest: &[String],
    is_offered: &dyn Fn(&Form) -> bool,
) -> Result<&'static Form, Decision> {
    let first = rest.first().map(String::as_str);
    let forms = || row.forms.iter().filter(|form| is_offered(form));
    let mut by_word = forms().filter(|form| form.word.is_some() && form.word == first);
    match (by_word.next(), by_word.next()) {
        (Some(form), None) => return Ok(form),
        (Some(form), Some(_)) => return select_by_action(row, form, rest, is_offered),
        (None, _) => {}
    }
    let is_present = |flag: &Flag| rest.iter().any(|element| flag.matches(element));
    let mut by_flag = forms().filter(|form| form.flags.iter().any(|flag| flag.is_required && is_present(flag)));
    match (by_flag.next(), by_flag.next()) {
        (Some(form), None) => return Ok(form),
        (Some(form), Some(other)) if row.combines(form, other) && by_flag.all(|other| row.combines(form, other)) => {
            return Ok(form);
        }
        (Some(_), Some(_)) => {
            let reason = format!("these flags exclude each other; the usage is `{}`", row.usage_with(is_offered));
            return Err(Decision::new(Code::FlagConflict, reason).at("argv"));
        }
        (None, _) => {}
    }
    let plain = || forms().filter(|form| form.word.is_none() && form.flags.iter().all(|flag| !flag.is_required));
    plain().find(|form| has_room(form, rest)).or_else(|| plain().next()).ok_or_else(|| {
        let code = if first.is_some() { Code::ArgumentInvalid } else { Code::ArgumentMissing };
        Decision::new(code, format!("the usage is `{}`", row.usage_with(is_offered))).at_element(1)
    })
}

/// Returns `true` if a form has a positional for each element that is no flag, and no element stands where another word
/// has to.
fn has_room(form: &Form, rest: &[String]) -> bool {
    let is_repeated = form.positionals.last().is_some_and(|positional| positional.presence == Occurrence::Repeated);
    let is_known = |index: usize| match (form.positionals.get(index), find_positional(form, rest, index)) {
        (Some(positional), Some((_, text))) => {
            !matches!(positional.kind, ValueKind::Word(words) if !words.contains(&text))
        }
        (_, None) => true,
        (None, Some(_)) => is_repeated,
    };
    (0..=form.positionals.len()).all(is_known)
}

/// Selects one of several forms with the same word by its action, such as `fill` in `find label Email fill x`.
fn select_by_action(
    row: &'static SubcommandSpec,
    first: &'static Form,
    rest: &[String],
    is_offered: &dyn Fn(&Form) -> bool,
) -> Result<&'static Form, Decision> {
    let (mut actions, mut unknown): (Vec<&str>, _) = (Vec::new(), None);
    for form in row.forms.iter().filter(|form| form.word == first.word) {
        let mut kinds = form.positionals.iter().map(|positional| positional.kind).enumerate();
        let action =
            kinds.find_map(|(index, kind)| if let ValueKind::Word(words) = kind { Some((index, words)) } else { None });
        let Some((index, words)) = action else { return Ok(form) };
        match find_positional(form, rest, index) {
            Some((_, text)) if words.contains(&text) => return Ok(form),
            given => unknown = unknown.or(given.map(|(position, _)| position)),
        }
        actions.extend(words);
    }
    Err(if let Some(position) = unknown {
        let reason = format!("must be one of {}", actions.join(", "));
        Decision::new(Code::ArgumentInvalid, reason).at_element(position)
    } else {
        let reason = format!("the action is missing; the usage is `{}`", row.usage_of(first, is_offered));
        Decision::new(Code::ArgumentMissing, reason).at("argv")
    })
}

/// Returns the positional with this index after the word, with its position in `argv`.
fn find_positional<'a>(form: &Form, rest: &'a [String], index: usize) -> Option<(usize, &'a str)> {
    let mut elements = rest.iter().enumerate().skip(usize::from(form.word.is_some()));
    let mut seen = 0;
    while let Some((position, element)) = elements.next() {
        match form.flag(element) {
            Some(flag) if flag.value.is_some() => drop(elements.next()),
            Some(_) => {}
            None if seen == index => return Some((position + 1, element)),
            None => seen += 1,
        }
    }
    None
}

/// Parser of the elements after the subcommand.
#[derive(Clone, Copy)]
struct ArgumentParser<'a> {
    profile: Profile,
    row: &'static SubcommandSpec,
    form: &'static Form,
    /// Returns `true` for the forms that usage lines show.
    is_offered: &'a dyn Fn(&Form) -> bool,
}

impl ArgumentParser<'_> {
    /// Assigns the elements to positionals and flags, in this order.
    fn parse(self, rest: &[String]) -> Result<Vec<Argument>, Decision> {
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

/// Element that asks for JSON.
const JSON: &str = "--json";

/// Removes the flag from `argv`, and returns `true` if it was there. Only the compat profile has it.
pub fn take_json_flag(profile: Profile, argv: &mut Vec<String>) -> bool {
    if profile != Profile::Compat {
        return false;
    }
    if argv.first().is_some_and(|first| first == JSON) {
        argv.remove(0);
        return true;
    }
    let is_last = argv.len() > 1 && argv.last().is_some_and(|last| last == JSON);
    if is_last && argv.first().is_some_and(|name| !has_text(profile, name)) {
        argv.pop();
        return true;
    }
    false
}

/// Returns `true` if a value of the subcommand may be any text.
fn has_text(profile: Profile, name: &str) -> bool {
    let Some(row) = profile.row(name) else { return false };
    let positionals = row.forms.iter().flat_map(|form| form.positionals).map(|positional| positional.kind);
    let flags = row.forms.iter().flat_map(|form| form.flags).filter_map(|flag| Some(flag.value?.1));
    positionals.chain(flags).any(|kind| matches!(kind, ValueKind::MultilineText | ValueKind::Text))
}

#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod tests;
