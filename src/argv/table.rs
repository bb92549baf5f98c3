//! The grammar: every subcommand that exists here, in one table (spec [1.3], [1.4]).
//!
//! Decides which positionals and flags each subcommand takes and what a value may be. Whatever is not in the table is
//! refused. Must never hold an entry that writes or reads files outside the session's folder, runs code, or changes the
//! connection.

use super::globals;
use super::request::{Field, Mapping};

/// Whether a subcommand is there without the policy file naming it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Always on.
    On,
    /// Off unless `subcommands.enable` names it.
    Optional,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An http or https URL or `about:blank`; the policy decides about it.
    Url,
    /// A reference from a snapshot (`@e1`), a CSS selector or a Playwright selector.
    Selector,
    /// A selector or a whole number of milliseconds: agent-browser takes whatever reads as a number for the latter.
    SelectorOrMilliseconds,
    /// Text that the page gets; line breaks are allowed, and so is a leading dash.
    MultilineText,
    /// Text in one line; a leading dash is allowed.
    Text,
    /// A key or a combination of keys, such as `Enter` or `Control+a`.
    Key,
    /// A pattern for a URL, such as `**/done`. Not a URL: nothing is opened.
    UrlPattern,
    /// A whole number within a range.
    Number(u32, u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of an attribute.
    AttributeName,
    /// A role of ARIA, such as `button`.
    Role,
    /// A text by which something is known, in one line: a label, a test id, the name of a cookie.
    Label,
    /// A CSS or Playwright selector where a reference does not work.
    CssSelector,
    /// A file name with this ending: a plain name in the session's own folder, or a path below the workspace where the
    /// dialect has them.
    FileName(&'static str),
}

/// How often a positional stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Exactly once.
    Required,
    /// At most once.
    Optional,
    /// Once or more; only the last positional can be this.
    Repeated,
}

/// A positional argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positional {
    /// The name in usage lines and errors.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// How often it stands.
    pub presence: Presence,
}

/// A flag of one form of a subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The spelling that is passed on.
    pub name: &'static str,
    /// Another spelling that means the same.
    pub alias: &'static str,
    /// Name and kind of its value, if it takes one.
    pub value: Option<(&'static str, Kind)>,
    /// Whether this flag is what makes the form, or must stand in it.
    pub selects: bool,
}

/// One way to use a subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The word that must follow the subcommand, if this form has one (`get text`). Where several forms have the same one, the
    /// first positional that is a [`Kind::Word`] tells them apart (`find label Email fill x`).
    pub word: Option<&'static str>,
    /// Positionals, in order, after the word.
    pub positionals: &'static [Positional],
    /// Flags.
    pub flags: &'static [Flag],
    /// What it asks of agent-browser's daemon; a form without this always goes through the CLI.
    pub mapping: Option<Mapping>,
}

/// One subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What it does, for help and documentation.
    pub summary: &'static str,
    /// Whether it is there without being enabled.
    pub availability: Availability,
    /// Its forms; with several, a word or a flag tells them apart.
    pub forms: &'static [Form],
    /// Words that some version of agent-browser takes for a flag of this subcommand and that are not offered here: no value
    /// may equal one of them.
    pub reserved: &'static [&'static str],
    /// The category of agent-browser's own action policy that the subcommand falls under; `None` for its internal actions.
    pub category: Option<&'static str>,
}

pub(super) const fn required(name: &'static str, kind: Kind) -> Positional {
    Positional { name, kind, presence: Presence::Required }
}

pub(super) const fn optional(name: &'static str, kind: Kind) -> Positional {
    Positional { name, kind, presence: Presence::Optional }
}

const fn repeated(name: &'static str, kind: Kind) -> Positional {
    Positional { name, kind, presence: Presence::Repeated }
}

pub(super) const fn switch(name: &'static str, alias: &'static str) -> Flag {
    Flag { name, alias, value: None, selects: false }
}

pub(super) const fn valued(name: &'static str, alias: &'static str, value: &'static str, kind: Kind) -> Flag {
    Flag { name, alias, value: Some((value, kind)), selects: false }
}

pub(super) const fn selecting(name: &'static str, alias: &'static str, value: &'static str, kind: Kind) -> Flag {
    Flag { name, alias, value: Some((value, kind)), selects: true }
}

pub(super) const fn plain(positionals: &'static [Positional], mapping: Mapping) -> Form {
    Form { word: None, positionals, flags: &[], mapping: Some(mapping) }
}

pub(super) const fn word(word: &'static str, positionals: &'static [Positional], mapping: Mapping) -> Form {
    Form { word: Some(word), positionals, flags: &[], mapping: Some(mapping) }
}

const fn flagged(flags: &'static [Flag], mapping: Mapping) -> Form {
    Form { word: None, positionals: &[], flags, mapping: Some(mapping) }
}

/// One element.
const ELEMENT: &[Positional] = &[required("SELECTOR", Kind::Selector)];

/// A selector and nothing else, under the daemon's name for the action: what most actions take.
const fn element(action: &'static str) -> Form {
    plain(ELEMENT, Mapping::acts(action, &[SELECTOR]))
}

/// What a word reads of one element.
const fn of_element(name: &'static str, action: &'static str) -> Form {
    word(name, ELEMENT, Mapping::reads(action, &[SELECTOR]))
}

pub(super) const fn text(value: &'static str, key: &'static str) -> Field {
    Field::Text { value, key }
}

/// The field that most requests have.
pub(super) const SELECTOR: Field = text("SELECTOR", "selector");

pub(super) const fn on(
    name: &'static str,
    category: Option<&'static str>,
    forms: &'static [Form],
    reserved: &'static [&'static str],
    summary: &'static str,
) -> Row {
    Row { name, summary, availability: Availability::On, forms, reserved, category }
}

pub(super) const fn off(
    name: &'static str,
    category: Option<&'static str>,
    forms: &'static [Form],
    summary: &'static str,
) -> Row {
    Row { name, summary, availability: Availability::Optional, forms, reserved: &[], category }
}

/// The longest `wait` in milliseconds. agent-browser 0.19 sends a command again when an answer takes 30 seconds, and its
/// actions end at 25, so a longer wait would run several times.
pub const MAX_WAIT_MS: u32 = 24_999;

/// Usage lines of subcommands with so many forms show only those that could be meant.
const MANY_FORMS: usize = 10;

/// All subcommands.
pub const GRAMMAR: &[Row] = &[
    on(
        "open",
        Some("navigate"),
        &[plain(&[required("URL", Kind::Url)], Mapping::acts("navigate", &[text("URL", "url")]))],
        &[],
        "Open a page and wait for it to load",
    ),
    on(
        "snapshot",
        Some("snapshot"),
        &[Form {
            word: None,
            positionals: &[],
            flags: &[
                switch("-i", "--interactive"),
                switch("-c", "--compact"),
                valued("-d", "--depth", "N", Kind::Number(0, 100)),
                valued("-s", "--selector", "SELECTOR", Kind::Selector),
            ],
            mapping: Some(Mapping::reads(
                "snapshot",
                &[
                    Field::Switch { flag: "-i", key: "interactive" },
                    Field::Switch { flag: "-c", key: "compact" },
                    Field::Number { value: "N", key: "maxDepth" },
                    SELECTOR,
                ],
            )),
        }],
        &[],
        "Read the page as a tree with references (@e1): -i interactive elements only, -c compact, -d depth, -s below a selector",
    ),
    on("click", Some("click"), &[element("click")], &[], "Click an element"),
    on(
        "fill",
        Some("fill"),
        &[plain(
            &[required("SELECTOR", Kind::Selector), required("TEXT", Kind::MultilineText)],
            Mapping::acts("fill", &[SELECTOR, text("TEXT", "value")]),
        )],
        &[],
        "Replace the text of a field",
    ),
    on(
        "type",
        Some("fill"),
        &[plain(
            &[required("SELECTOR", Kind::Selector), required("TEXT", Kind::MultilineText)],
            Mapping::acts("type", &[SELECTOR, text("TEXT", "text")]),
        )],
        &["--clear", "--delay"],
        "Type text into a field, key by key, after what is there",
    ),
    on(
        "press",
        Some("interact"),
        &[plain(&[required("KEY", Kind::Key)], Mapping::acts("press", &[text("KEY", "key")]))],
        &[],
        "Press a key, such as Enter or Control+a",
    ),
    on(
        "wait",
        Some("wait"),
        &[
            plain(
                &[required("SELECTOR|MS", Kind::SelectorOrMilliseconds)],
                Mapping::reads(
                    "wait",
                    &[Field::NumberOrText { value: "SELECTOR|MS", number: "timeout", text: "selector" }],
                ),
            ),
            flagged(&[selecting("--text", "-t", "TEXT", Kind::Text)], Mapping::reads("wait", &[text("TEXT", "text")])),
            flagged(
                &[selecting("--url", "-u", "PATTERN", Kind::UrlPattern)],
                Mapping::reads("waitforurl", &[text("PATTERN", "url")]),
            ),
            flagged(
                &[selecting("--load", "-l", "STATE", Kind::Word(&["load", "domcontentloaded", "networkidle"]))],
                Mapping::reads("waitforloadstate", &[text("STATE", "state")]),
            ),
        ],
        &["--text", "-t", "--url", "-u", "--load", "-l", "--fn", "-f", "--download", "-d", "--timeout", "--state"],
        "Wait for an element, a time, a text, a URL or a load state",
    ),
    on(
        "screenshot",
        Some("snapshot"),
        &[plain(
            &[optional("SELECTOR", Kind::Selector), optional("NAME.png", Kind::FileName(".png"))],
            Mapping::reads(
                "screenshot",
                &[
                    text("NAME.png", "path"),
                    Field::TextOrNull { value: "SELECTOR", key: "selector" },
                    Field::False { key: "fullPage" },
                    Field::False { key: "annotate" },
                ],
            ),
        )],
        &[],
        "Take a picture of the page or of one element",
    ),
    on(
        "close",
        None,
        &[plain(&[], Mapping::reads("close", &[]))],
        &[],
        "End the session; the browser and its page stay",
    ),
    on("dblclick", Some("click"), &[element("dblclick")], &[], "Double-click an element"),
    on("hover", Some("interact"), &[element("hover")], &[], "Move the pointer over an element"),
    on("focus", Some("interact"), &[element("focus")], &[], "Put the focus on an element"),
    on("check", Some("fill"), &[element("check")], &[], "Tick a checkbox"),
    on("uncheck", Some("fill"), &[element("uncheck")], &[], "Clear a checkbox"),
    on(
        "select",
        Some("fill"),
        &[plain(
            &[required("SELECTOR", Kind::Selector), repeated("VALUE", Kind::Text)],
            Mapping::acts("select", &[SELECTOR, Field::Texts { value: "VALUE", key: "values" }]),
        )],
        &[],
        "Choose options of a select box, by value or label",
    ),
    off("back", Some("navigate"), &[plain(&[], Mapping::acts("back", &[]))], "Go back in the history"),
    off("forward", Some("navigate"), &[plain(&[], Mapping::acts("forward", &[]))], "Go forward in the history"),
    off("reload", Some("navigate"), &[plain(&[], Mapping::acts("reload", &[]))], "Load the page again"),
    off(
        "get",
        Some("get"),
        &[
            of_element("text", "gettext"),
            of_element("html", "innerhtml"),
            word(
                "attr",
                &[required("SELECTOR", Kind::Selector), required("NAME", Kind::AttributeName)],
                Mapping::reads("getattribute", &[SELECTOR, text("NAME", "attribute")]),
            ),
            word("url", &[], Mapping::reads("url", &[])),
            word("title", &[], Mapping::reads("title", &[])),
            of_element("count", "count"),
            of_element("box", "boundingbox"),
        ],
        "Read one thing of the page",
    ),
    off(
        "is",
        Some("get"),
        &[of_element("visible", "isvisible"), of_element("enabled", "isenabled"), of_element("checked", "ischecked")],
        "Ask for the state of an element",
    ),
    off(
        "scroll",
        Some("scroll"),
        &[Form {
            word: None,
            positionals: &[
                optional("DIRECTION", Kind::Word(&["up", "down", "left", "right"])),
                optional("PIXELS", Kind::Number(1, 100_000)),
            ],
            flags: &[valued("-s", "--selector", "SELECTOR", Kind::Selector)],
            mapping: Some(Mapping::acts(
                "scroll",
                &[
                    Field::TextOr { value: "DIRECTION", key: "direction", default: "down" },
                    Field::NumberOr { value: "PIXELS", key: "amount", default: 300 },
                    SELECTOR,
                ],
            )),
        }],
        "Scroll the page or an element",
    ),
    off(
        "tab",
        None,
        &[
            plain(
                &[optional("INDEX", Kind::Number(0, 999))],
                Mapping {
                    without: Some(("INDEX", &Mapping::reads("tab_list", &[]))),
                    ..Mapping::acts("tab_switch", &[Field::Number { value: "INDEX", key: "index" }])
                },
            ),
            word("list", &[], Mapping::reads("tab_list", &[])),
        ],
        "List the tabs or switch to one",
    ),
    off(
        "pdf",
        Some("snapshot"),
        &[plain(&[optional("NAME.pdf", Kind::FileName(".pdf"))], Mapping::reads("pdf", &[text("NAME.pdf", "path")]))],
        "Print the page to a file",
    ),
];

impl Form {
    /// The form as a usage line without the subcommand's name.
    #[must_use]
    pub fn usage(&self) -> String {
        let mut parts: Vec<String> = self.word.iter().map(|word| (*word).to_owned()).collect();
        for flag in self.flags {
            let text = flag.value.map_or_else(|| flag.name.to_owned(), |(value, _)| format!("{} {value}", flag.name));
            parts.push(if flag.selects { text } else { format!("[{text}]") });
        }
        for positional in self.positionals {
            parts.push(match positional.presence {
                Presence::Required => positional.name.to_owned(),
                Presence::Optional => format!("[{}]", positional.name),
                Presence::Repeated => format!("{}...", positional.name),
            });
        }
        parts.join(" ")
    }
}

impl Row {
    /// All forms as one usage line.
    #[must_use]
    pub fn usage(&self) -> String {
        let forms: Vec<_> = self.forms.iter().map(Form::usage).collect();
        format!("{} {}", self.name, forms.join(" | ")).trim_end().to_owned()
    }

    /// The forms that could be meant where this one is: all, or those with its word where there are many.
    pub(super) fn usage_of(&self, form: &Form) -> String {
        if self.forms.len() < MANY_FORMS {
            return self.usage();
        }
        let alike = self.forms.iter().filter(|other| other.word == form.word);
        alike.map(|form| format!("{} {}", self.name, form.usage())).collect::<Vec<_>>().join(" | ")
    }

    /// Whether an element is a global flag of agent-browser that this row has as a flag of its own. Such a flag is passed on
    /// last, or right before a path of ours, so that agent-browser cannot take what stands behind it for its value.
    pub(super) fn takes_over(&self, element: &str) -> bool {
        globals::global_flag(element).is_some()
            && self.forms.iter().flat_map(|form| form.flags).any(|flag| flag.name == element || flag.alias == element)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Dialect;
    use super::*;

    #[test]
    fn spec_1_3_the_table_is_a_contract() {
        let lines: Vec<_> = GRAMMAR.iter().map(|row| format!("{:?} {}", row.availability, row.usage())).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn spec_1_3_forbidden_names_are_not_in_the_table() {
        for name in globals::FORBIDDEN {
            assert_eq!(Dialect::Tool.row(name), None, "{name}");
        }
        for (alias, name) in globals::ALIASES {
            assert_eq!(Dialect::Tool.row(alias), None, "{alias}");
            assert!(Dialect::Tool.row(name).is_some(), "{name}");
        }
        assert!(globals::FORBIDDEN.is_sorted());
    }

    #[test]
    fn spec_1_4_no_flag_of_the_table_is_a_global_flag() {
        for flag in GRAMMAR.iter().flat_map(|row| row.forms).flat_map(|form| form.flags) {
            assert_eq!(globals::global_flag(flag.name), None, "{}", flag.name);
            assert_eq!(globals::global_flag(flag.alias), None, "{}", flag.alias);
        }
    }

    #[test]
    fn only_the_last_positional_repeats_and_nothing_required_follows_an_optional_one() {
        for row in GRAMMAR {
            for form in row.forms {
                let presence: Vec<_> = form.positionals.iter().map(|positional| positional.presence).collect();
                if let Some((_, init)) = presence.split_last() {
                    assert!(!init.contains(&Presence::Repeated), "{}", row.name);
                }
                assert!(
                    !presence.windows(2).any(|pair| pair == [Presence::Optional, Presence::Required]),
                    "{}",
                    row.name
                );
            }
        }
    }
}
