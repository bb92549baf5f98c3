//! From the elements that an agent sends to a command that agent-browser cannot read differently (spec [1.3], [1.4]).
//!
//! Decides whether the elements are a form of the grammar table. What it returns is built from the table: flags in their
//! canonical spelling, values checked by kind. Must never pass on an element that the table does not account for, nor, to its
//! command line, one that any known version of agent-browser would take for a flag of its own.

mod compat;
mod dialect;
pub mod globals;
pub mod request;
pub mod table;
mod value;
pub mod words;

pub use self::compat::COMPAT;
pub use self::dialect::Dialect;
use self::table::{Flag, Form, Kind, Positional, Presence, Row};
pub use self::value::WORKSPACE;
use crate::decision::{Code, Decision};

/// The most elements of `argv`, the subcommand included.
pub const MAX_ELEMENTS: usize = 129;

/// The most characters of one element.
pub const MAX_CHARACTERS: usize = 8192;

/// The most bytes of all elements together. Linux refuses to start a program with much more, and without a usable message.
pub const MAX_TOTAL_BYTES: usize = 1024 * 1024;

/// A command that follows the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The subcommand.
    pub row: &'static Row,
    /// The form that was used.
    pub form: &'static Form,
    arguments: Vec<Argument>,
    /// Why the CLI must never get it, if so.
    daemon_only: Option<Decision>,
}

/// One argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Argument {
    flag: Option<&'static str>,
    /// The name of the positional or of the flag's value; `None` for a flag without one.
    value: Option<(&'static str, Kind, String)>,
}

impl Command {
    /// Whether it is there to leave the page for another one.
    #[must_use]
    pub fn navigates(&self) -> bool {
        self.row.category == Some("navigate")
    }

    /// Whether the answer is something to read, which readers of text expect as text: see
    /// [`Body::render_text`](crate::output::Body::render_text).
    #[must_use]
    pub fn is_answered_in_text(&self) -> bool {
        matches!(self.row.name, "snapshot" | "get" | "is" | "find")
    }

    /// The elements to hand to agent-browser: the subcommand, its word, its positionals, its flags.
    #[must_use]
    pub fn to_argv(&self) -> Vec<String> {
        let mut argv = vec![self.row.name.to_owned()];
        argv.extend(self.form.word.map(str::to_owned));
        for argument in &self.arguments {
            argv.extend(argument.flag.map(str::to_owned));
            argv.extend(argument.value.iter().map(|(_, _, value)| value.clone()));
        }
        argv
    }

    /// Why agent-browser's CLI must never get this command: a text in it is a word that the CLI would take for its own. `None`
    /// for whatever [`parse`] gives.
    #[must_use]
    pub const fn refusal_by_cli(&self) -> Option<&Decision> {
        self.daemon_only.as_ref()
    }

    /// The value of the first argument of a kind.
    #[must_use]
    pub fn value(&self, wanted: impl Fn(Kind) -> bool) -> Option<&str> {
        self.values().find(|(kind, _)| wanted(*kind)).map(|(_, value)| value)
    }

    /// All values with their kinds.
    pub fn values(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.arguments
            .iter()
            .filter_map(|argument| argument.value.as_ref())
            .map(|(_, kind, value)| (*kind, value.as_str()))
    }

    /// The values of the positional, or of the flag, with this name.
    fn named(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.arguments.iter().filter_map(|argument| argument.value.as_ref());
        values.filter(move |(other, _, _)| *other == name).map(|(_, _, value)| value.as_str())
    }

    /// Whether a flag stands.
    fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument.flag == Some(flag))
    }

    /// Puts a value in place of the one of the same kind, or behind the last argument.
    ///
    /// This is for values of our own (a checked URL, a path in the session's folder); it does not validate.
    pub fn put(&mut self, name: &'static str, kind: Kind, value: String) {
        let slot = self
            .arguments
            .iter_mut()
            .filter_map(|argument| argument.value.as_mut())
            .find(|(_, other, _)| *other == kind);
        match slot {
            Some((_, _, old)) => *old = value,
            None => self.arguments.push(Argument { flag: None, value: Some((name, kind, value)) }),
        }
    }

    /// The command that opens a URL that the policy has decided about (or `about:blank`).
    #[must_use]
    pub fn open(url: &str) -> Option<Self> {
        parse(Dialect::Tool, &["open".to_owned(), url.to_owned()], |_| false).ok()
    }

    /// A command without arguments, for tests that add what they want.
    #[cfg(test)]
    const fn bare(row: &'static Row, form: &'static Form) -> Self {
        Self { row, form, arguments: Vec::new(), daemon_only: None }
    }

    /// Adds any value under a name.
    #[cfg(test)]
    fn add(&mut self, name: &'static str, kind: Kind, value: &str) {
        self.arguments.push(Argument { flag: None, value: Some((name, kind, value.to_owned())) });
    }

    /// The command that ends a session.
    #[must_use]
    pub fn close() -> Option<Self> {
        parse(Dialect::Tool, &["close".to_owned()], |_| false).ok()
    }
}

/// Reads `argv` in a dialect. `enabled` says whether the policy switches a row on; it is asked for those alone that need it.
///
/// # Errors
///
/// The first refusal, with the position of the element.
pub fn parse(dialect: Dialect, argv: &[String], enabled: impl Fn(&str) -> bool) -> Result<Command, Decision> {
    check_elements(argv)?;
    if let Some((position, flag)) = global_flags(dialect, argv).next() {
        let reason = format!("`{flag}` is a global flag of agent-browser, which takes it out of any text");
        return Err(Decision::new(Code::FlagGlobal, reason).at(at(position)));
    }
    read(dialect, argv, enabled)
}

/// Reads `argv` for a call that may go past agent-browser's CLI, straight to its daemon. Everything is as in [`parse`], but that
/// a text which the page gets (of `fill`, `type`, `select` and `wait --text`) may be one of the CLI's own words. Such a command
/// says that the CLI must not get it: [`Command::refusal_by_cli`].
///
/// # Errors
///
/// As [`parse`].
pub fn parse_for_daemon(
    dialect: Dialect,
    argv: &[String],
    enabled: impl Fn(&str) -> bool,
) -> Result<Command, Decision> {
    let refusal = match parse(dialect, argv, &enabled) {
        Err(refusal) if refusal.code == Code::FlagGlobal => refusal,
        result => return result,
    };
    let Ok(mut command) = check_elements(argv).and_then(|()| read(dialect, argv, enabled)) else { return Err(refusal) };
    let is_text = |kind| matches!(kind, Kind::MultilineText | Kind::Text);
    let texts = command.values().filter(|(kind, text)| is_text(*kind) && globals::global_flag(text).is_some()).count();
    // Each of them must have become a text, and nothing else.
    if texts != global_flags(dialect, argv).count() {
        return Err(refusal);
    }
    command.daemon_only = Some(refusal);
    Ok(command)
}

/// The elements that are words of the CLI's own, with their places.
fn global_flags(dialect: Dialect, argv: &[String]) -> impl Iterator<Item = (usize, &'static str)> {
    let row = argv.first().and_then(|name| dialect.row(name));
    argv.iter()
        .enumerate()
        .filter(move |(_, element)| !row.is_some_and(|row| row.takes_over(element)))
        .filter_map(|(position, element)| Some((position, globals::global_flag(element)?)))
}

fn read(dialect: Dialect, argv: &[String], enabled: impl Fn(&str) -> bool) -> Result<Command, Decision> {
    let Some((name, rest)) = argv.split_first() else {
        return Err(Decision::new(Code::ArgumentMissing, "the subcommand is missing").at("argv"));
    };
    let row = subcommand(dialect, name, enabled)?;
    let form = choose_form(row, rest)?;
    let arguments = Reader { dialect, row, form }.arguments(rest)?;
    Ok(Command { row, form, arguments, daemon_only: None })
}

fn at(position: usize) -> String {
    format!("argv[{position}]")
}

/// What holds for every element, wherever it stands and however it gets to agent-browser.
fn check_elements(argv: &[String]) -> Result<(), Decision> {
    if argv.len() > MAX_ELEMENTS {
        return Err(Decision::new(Code::ArgumentUnexpected, format!("more than {MAX_ELEMENTS} elements")).at("argv"));
    }
    if argv.iter().map(String::len).sum::<usize>() > MAX_TOTAL_BYTES {
        let reason = format!("more than {MAX_TOTAL_BYTES} bytes in all; split the text over several calls");
        return Err(Decision::new(Code::ArgumentInvalid, reason).at("argv"));
    }
    for (position, element) in argv.iter().enumerate() {
        if element.len() > MAX_CHARACTERS && element.chars().count() > MAX_CHARACTERS {
            let reason = format!("longer than {MAX_CHARACTERS} characters; split the text over several calls");
            return Err(Decision::new(Code::ArgumentInvalid, reason).at(at(position)));
        }
        if element.contains('\0') {
            return Err(Decision::new(Code::CharacterNotAllowed, "NUL is not allowed").at(at(position)));
        }
    }
    Ok(())
}

fn subcommand(dialect: Dialect, name: &str, enabled: impl Fn(&str) -> bool) -> Result<&'static Row, Decision> {
    if let Some(row) = dialect.row(name) {
        return if dialect.needs_enabling(row) && !enabled(row.name) {
            let (code, place) = dialect.way_to_enable(row);
            Err(Decision::new(code, format!("`{}` is not enabled", row.name)).at(place))
        } else {
            Ok(row)
        };
    }
    if let Some(forbidden) = globals::FORBIDDEN.iter().find(|forbidden| **forbidden == name) {
        return Err(Decision::new(Code::SubcommandForbidden, format!("`{forbidden}` is never available")).at(at(0)));
    }
    let hint = globals::ALIASES.iter().find(|(alias, _)| *alias == name);
    let reason = hint.map_or_else(
        || "no such subcommand".to_owned(),
        |(alias, target)| format!("`{alias}` is called `{target}` here"),
    );
    Err(Decision::new(Code::SubcommandUnknown, reason).at(at(0)))
}

/// Finds the form: by its word, by the flag that selects it, else the one that has neither.
fn choose_form(row: &'static Row, rest: &[String]) -> Result<&'static Form, Decision> {
    let first = rest.first().map(String::as_str);
    let mut worded = row.forms.iter().filter(|form| form.word.is_some() && form.word == first);
    match (worded.next(), worded.next()) {
        (Some(form), None) => return Ok(form),
        (Some(form), Some(_)) => return choose_by_action(row, form, rest),
        (None, _) => {}
    }
    let mut selected = row.forms.iter().filter(|form| {
        form.flags
            .iter()
            .any(|flag| flag.selects && rest.iter().any(|element| element == flag.name || element == flag.alias))
    });
    match (selected.next(), selected.next()) {
        (Some(form), None) => return Ok(form),
        (Some(_), Some(_)) => {
            return Err(Decision::new(Code::FlagConflict, format!("`{}`: flags that exclude each other", row.usage()))
                .at("argv"));
        }
        (None, _) => {}
    }
    let plain = row.forms.iter().find(|form| form.word.is_none() && form.flags.iter().all(|flag| !flag.selects));
    plain.ok_or_else(|| {
        let code = if first.is_some() { Code::ArgumentInvalid } else { Code::ArgumentMissing };
        Decision::new(code, format!("the forms are `{}`", row.usage())).at(at(1))
    })
}

/// Of the forms with the same word the one whose action stands in its place: `find label Email fill x`.
fn choose_by_action(row: &'static Row, alike: &'static Form, rest: &[String]) -> Result<&'static Form, Decision> {
    let (mut actions, mut place): (Vec<&str>, _) = (Vec::new(), None);
    for form in row.forms.iter().filter(|form| form.word == alike.word) {
        let mut kinds = form.positionals.iter().map(|positional| positional.kind).enumerate();
        let action =
            kinds.find_map(|(index, kind)| if let Kind::Word(words) = kind { Some((index, words)) } else { None });
        let Some((index, words)) = action else { return Ok(form) };
        match form.positional(rest, index) {
            Some((_, given)) if words.contains(&given) => return Ok(form),
            given => place = place.or(given.map(|(position, _)| position)),
        }
        actions.extend(words);
    }
    Err(if let Some(position) = place {
        let reason = format!("must be one of {}", actions.join(", "));
        Decision::new(Code::ArgumentInvalid, reason).at(at(position))
    } else {
        let reason = format!("what to do is missing; the usage is `{}`", row.usage_of(alike));
        Decision::new(Code::ArgumentMissing, reason).at("argv")
    })
}

impl Form {
    /// The flag that an element is.
    fn flag(&self, element: &str) -> Option<&'static Flag> {
        self.flags.iter().find(|flag| flag.name == element || flag.alias == element)
    }

    /// One of the positionals behind the word, with its place.
    fn positional<'a>(&self, rest: &'a [String], index: usize) -> Option<(usize, &'a str)> {
        let mut elements = rest.iter().enumerate().skip(usize::from(self.word.is_some()));
        let mut seen = 0;
        while let Some((place, element)) = elements.next() {
            match self.flag(element) {
                Some(flag) if flag.value.is_some() => drop(elements.next()),
                Some(_) => {}
                None if seen == index => return Some((place + 1, element)),
                None => seen += 1,
            }
        }
        None
    }
}

/// Reads the elements behind the subcommand as a form.
#[derive(Clone, Copy)]
struct Reader {
    dialect: Dialect,
    row: &'static Row,
    form: &'static Form,
}

impl Reader {
    /// Assigns the elements to flags and positionals.
    fn arguments(self, rest: &[String]) -> Result<Vec<Argument>, Decision> {
        let form = self.form;
        let skip = usize::from(form.word.is_some());
        let mut elements = rest.iter().enumerate().skip(skip).map(|(index, element)| (index + 1, element.as_str()));
        let mut flags: Vec<Argument> = Vec::new();
        let mut positionals: Vec<(usize, &str)> = Vec::new();
        while let Some((position, element)) = elements.next() {
            let Some(flag) = form.flag(element) else {
                positionals.push((position, element));
                continue;
            };
            if flags.iter().any(|argument| argument.flag == Some(flag.name)) {
                return Err(Decision::new(Code::FlagConflict, format!("`{}` stands twice", flag.name)).at(at(position)));
            }
            let value = match flag.value {
                None => None,
                Some((name, kind)) => {
                    let Some((position, text)) = elements.next() else {
                        let reason = format!("`{}` needs a value, {name}", flag.name);
                        return Err(Decision::new(Code::ArgumentMissing, reason).at(at(position)));
                    };
                    Some((name, kind, self.value(kind, text, position)?.to_owned()))
                }
            };
            flags.push(Argument { flag: Some(flag.name), value });
        }
        let mut arguments = self.positionals(&positionals)?;
        let given = |flag: &Flag| flags.iter().any(|argument| argument.flag == Some(flag.name));
        if let Some(missing) = form.flags.iter().find(|flag| flag.selects && !given(flag)) {
            let reason = format!("`{}` is missing; the usage is `{}`", missing.name, self.usage());
            return Err(Decision::new(Code::ArgumentMissing, reason).at("argv"));
        }
        arguments.append(&mut flags);
        Ok(arguments)
    }

    fn positionals(self, given: &[(usize, &str)]) -> Result<Vec<Argument>, Decision> {
        let mut arguments = Vec::new();
        let mut given = given.iter().copied().peekable();
        for (index, wanted) in self.form.positionals.iter().enumerate() {
            match given.peek() {
                Some((_, text)) if wanted.presence == Presence::Optional && self.belongs_later(index, text) => continue,
                Some(_) => {}
                None if wanted.presence == Presence::Optional => continue,
                None => {
                    let reason = format!("{} is missing; the usage is `{}`", wanted.name, self.usage());
                    return Err(Decision::new(Code::ArgumentMissing, reason).at("argv"));
                }
            }
            for (position, text) in given.by_ref() {
                let value = self.value(wanted.kind, text, position)?.to_owned();
                arguments.push(Argument { flag: None, value: Some((wanted.name, wanted.kind, value)) });
                if wanted.presence != Presence::Repeated {
                    break;
                }
            }
        }
        match given.next() {
            None => Ok(arguments),
            Some((position, text)) if text.starts_with('-') && text != "-" => Err(self.flag_unknown(position)),
            Some((position, _)) => {
                let reason = format!("one argument too many; the usage is `{}`", self.usage());
                Err(Decision::new(Code::ArgumentUnexpected, reason).at(at(position)))
            }
        }
    }

    /// `screenshot a.png`: an optional positional is left out when the element is a file name and a later positional wants one.
    fn belongs_later(self, index: usize, text: &str) -> bool {
        let later: &[Positional] = self.form.positionals.get(index + 1..).unwrap_or_default();
        later.iter().any(|positional| match positional.kind {
            // `.hero.png` is a class selector, `../a.png` is not a selector.
            Kind::FileName(ending) => {
                let is_name = text.ends_with(ending) && (text.contains('/') || !text.starts_with(['@', '#', '.']));
                // `/workspace/a.jpg` is meant as a file too, and is refused as one; `//div` is XPath.
                is_name || self.dialect.has_workspace_paths() && text.starts_with('/') && !text.starts_with("//")
            }
            _ => false,
        })
    }

    /// Checks a value and gives what is passed on of it.
    fn value(self, kind: Kind, text: &str, position: usize) -> Result<&str, Decision> {
        if self.row.reserved.contains(&text) {
            let reason = format!("agent-browser would take this for a flag of `{}`", self.row.name);
            return Err(Decision::new(Code::FlagUnknown, reason).at(at(position)));
        }
        if text.starts_with('-') && !value::may_begin_with_dash(kind, text) {
            return Err(self.flag_unknown(position));
        }
        if let Some(line_break) = text.chars().find(|c| value::is_line_break(*c))
            && kind != Kind::MultilineText
        {
            let reason = format!("a line break (U+{:04X}) is not allowed here", u32::from(line_break));
            return Err(Decision::new(Code::CharacterNotAllowed, reason).at(at(position)));
        }
        value::check(self.dialect, kind, text)
            .map_err(|reason| Decision::new(Code::ArgumentInvalid, reason).at(at(position)))
    }

    fn flag_unknown(self, position: usize) -> Decision {
        let reason = format!("`{}` has no such flag; the usage is `{}`", self.row.name, self.usage());
        Decision::new(Code::FlagUnknown, reason).at(at(position))
    }

    fn usage(self) -> String {
        self.row.usage_of(self.form)
    }
}

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod tests;
