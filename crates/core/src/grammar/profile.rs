//! Grammar profiles: subcommands and file names that a front end offers, and the grammar table of the runtime's compat profile.
//!
//! The table has further subcommands and forms that agents of an orchestrator use. Each is one that the parsers and daemons of both kinds
//! of agent-browser treat the same way, or refuse:
//!
//! - `scrollintoview` takes no reference; `scroll SELECTOR` does.
//! - A tab is a number or a name: the native kind requires `t2` where the kind in Node requires `1`, and refuses the number, while the
//!   latter reads `tab close t2` as `tab close`. The transports convert both.
//! - `get value` reports passwords; [`Literals`](crate::output::mask::Literals) of the secret fields remove them.
//! - `--version`, `--help` and `session` are answered without agent-browser.
//! - `cookies set` has no flags, because `--curl` reads files.
//! - `find`, which locates an element and acts on it, requires `--name` for a role: without it, the CLI of the kind in Node sends a `null`
//!   that its daemon refuses. There is no `fill` by role, because that CLI would append `--name ...` to the text. For the same reason
//!   `fill` has no `--exact`.
//! - Each locator of `find` has only the actions that the daemon in Node implements for it. No version implements `type` and `focus`.
//!
//! Invariants: a profile never offers a [forbidden](super::FORBIDDEN_SUBCOMMANDS) subcommand, except the ones that
//! [`COMPAT`] lists. The invariants of [`table`](super::table) hold, except for the cookies, which the policy file has to enable.

use super::forbidden::SUBCOMMAND_ALIASES;
use super::spec::{
    Availability, Carrier, Flag, Form, Positional, SubcommandSpec, ValueKind, element_property, local, off, on,
    optional, plain, required, required_flag, switch, valued, word,
};
use super::table::GRAMMAR;
use crate::decision::Code;

/// Action that agent-browser runs to connect to the browser, before the first action of a session.
const CONNECT_ACTION: &str = "launch";

/// Subcommands and file names that a front end offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Profile of the MCP tool: the subcommands of [`GRAMMAR`], the optional ones only if the policy enables them. A
    /// file name is a plain name in the session's folder.
    #[default]
    Tool,
    /// Strict profile of the runtime: the same subcommands. A file name may be a path below the workspace,
    /// `dir/name.png` or `/workspace/dir/name.png`, and is passed on relative to the workspace.
    Strict,
    /// Compat profile of the runtime: as strict, with the optional subcommands enabled, with those of [`COMPAT`], and with
    /// agent-browser's other names of subcommands.
    Compat,
}

impl Profile {
    /// Returns all subcommands, with those that only this profile has first.
    pub fn rows(self) -> impl Iterator<Item = &'static SubcommandSpec> {
        let extra = self.extra_rows();
        extra.iter().chain(GRAMMAR.iter().filter(|row| !extra.iter().any(|other| other.name == row.name)))
    }

    /// Returns the subcommand with a name or, in the compat profile, with one of its other names.
    #[must_use]
    pub fn row(self, name: &str) -> Option<&'static SubcommandSpec> {
        let name = self.aliases().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name);
        self.rows().find(|row| row.name == name)
    }

    /// Returns the other names of subcommands, each with the name that [`Self::rows`] has.
    pub fn aliases(self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let lists: [&[_]; 2] = match self {
            Self::Tool | Self::Strict => [&[], &[]],
            Self::Compat => [SUBCOMMAND_ALIASES, COMPAT_ALIASES],
        };
        lists.into_iter().flatten()
    }

    /// Returns `true` if a subcommand is available only if the policy enables it.
    #[must_use]
    pub fn needs_enabling(self, row: &SubcommandSpec) -> bool {
        row.availability == Availability::Optional && (self != Self::Compat || self.is_extra(row))
    }

    /// Returns `true` if a form is offered. One with a name of its own has to be enabled, and only front ends whose
    /// subcommands the policy enables have it.
    #[must_use]
    pub fn offers(self, form: &Form, is_enabled: impl Fn(&str) -> bool) -> bool {
        form.needs.is_none_or(|name| self != Self::Compat && is_enabled(name))
    }

    /// Returns the names of the forms that the policy enables one by one.
    pub fn optional_forms(self) -> impl Iterator<Item = &'static str> {
        let forms = self.rows().filter(move |_| self != Self::Compat).flat_map(|row| row.forms);
        forms.filter_map(|form| form.needs)
    }

    /// Returns the entries that agent-browser's own action policy has to allow, sorted.
    ///
    /// The kind in Node matches actions by category, the native one by the name of the action, including the one that connects. If an action has
    /// the name of a category (`click`, `fill`, `navigate`, `scroll`, `snapshot`, `wait`), a subcommand is in that
    /// category anyway, so the name allows nothing else.
    #[must_use]
    pub fn action_policy(self) -> Vec<&'static str> {
        let mut allow: Vec<_> = self.rows().filter_map(|row| row.category).collect();
        for form in self.rows().flat_map(|row| row.forms) {
            if let Carrier::Both(actions) = form.carrier {
                allow.extend(actions);
            }
        }
        allow.push(CONNECT_ACTION);
        allow.sort_unstable();
        allow.dedup();
        allow
    }

    /// Returns the code for a subcommand that is not enabled, and the path in the policy file that enables it.
    pub(super) fn not_enabled(self, row: &SubcommandSpec) -> (Code, &'static str) {
        if self.is_extra(row) {
            (Code::RuntimeNotEnabled, "runtime.enable")
        } else {
            (Code::SubcommandNotEnabled, "subcommands.enable")
        }
    }

    /// Returns `true` if a file name may be a path below the workspace.
    pub(super) const fn has_workspace_paths(self) -> bool {
        matches!(self, Self::Strict | Self::Compat)
    }

    /// Returns the subcommands that only this profile has.
    const fn extra_rows(self) -> &'static [SubcommandSpec] {
        match self {
            Self::Tool | Self::Strict => &[],
            Self::Compat => COMPAT,
        }
    }

    fn is_extra(self, row: &SubcommandSpec) -> bool {
        self.extra_rows().iter().any(|extra| extra.name == row.name)
    }
}

/// Name of the subcommand that reports agent-browser's version.
pub(super) const VERSION: &str = "--version";

/// Name of the subcommand that lists the commands.
pub(super) const HELP: &str = "--help";

/// Name of the subcommand that reports the session.
pub(super) const SESSION: &str = "session";

/// Other names of subcommands that only the compat profile has.
pub(super) const COMPAT_ALIASES: &[(&str, &str)] = &[("-V", VERSION), ("-h", HELP)];

/// Positional of the forms that are about one tab.
const TAB: Positional = optional("INDEX", ValueKind::Tab);

/// Subcommands that only the compat profile has. They take precedence over those of the same name in
/// [`GRAMMAR`].
pub const COMPAT: &[SubcommandSpec] = &[
    FIND,
    on(
        "snapshot",
        Some("snapshot"),
        &[Form {
            word: None,
            positionals: &[],
            flags: &[
                switch("-i", "--interactive"),
                switch("-C", "--cursor"),
                switch("-c", "--compact"),
                valued("-d", "--depth", "N", ValueKind::Number(0, 100)),
                valued("-s", "--selector", "SELECTOR", ValueKind::Selector),
            ],
            carrier: Carrier::Both(&["snapshot"]),
            needs: None,
        }],
        &[],
        "Read the page as a tree with references (@e1): -i interactive elements only, -C also elements with a pointer cursor, -c compact, -d depth, -s below a selector",
    ),
    on(
        "tab",
        None,
        &[
            plain(&[TAB], &["tab_switch", "tab_list"]),
            word("list", &[], &["tab_list"]),
            word("new", &[optional("URL", ValueKind::Url)], &["tab_new"]),
            word("close", &[TAB], &["tab_close"]),
        ],
        &["--label"],
        "List the tabs, switch to one, open or close one",
    ),
    on(
        "get",
        Some("get"),
        &[
            element_property("text", &["gettext"]),
            element_property("html", &["innerhtml"]),
            element_property("value", &["inputvalue"]),
            word(
                "attr",
                &[required("SELECTOR", ValueKind::Selector), required("NAME", ValueKind::AttributeName)],
                &["getattribute"],
            ),
            word("url", &[], &["url"]),
            word("title", &[], &["title"]),
            element_property("count", &["count"]),
            element_property("box", &["boundingbox"]),
            element_property("styles", &["styles"]),
        ],
        &[],
        "Read one thing of the page; the value of a password field is masked",
    ),
    on(
        "drag",
        Some("interact"),
        &[plain(&[required("SOURCE", ValueKind::Selector), required("TARGET", ValueKind::Selector)], &["drag"])],
        &[],
        "Drag an element to another one",
    ),
    on(
        "scrollintoview",
        Some("scroll"),
        &[plain(&[required("SELECTOR", ValueKind::CssSelector)], &["scrollintoview"])],
        &[],
        "Scroll until an element is in view",
    ),
    on(
        "screenshot",
        Some("snapshot"),
        &[Form {
            word: None,
            positionals: &[
                optional("SELECTOR", ValueKind::Selector),
                optional("NAME.png", ValueKind::FileName(".png")),
            ],
            flags: &[switch("--full", "-f")],
            carrier: Carrier::Both(&["screenshot"]),
            needs: None,
        }],
        &[],
        "Take a picture of the page, of all of it with --full, or of one element",
    ),
    on(SESSION, None, &[local(None, &[]), local(Some("list"), &[])], &[], "Show the name of your session"),
    on(VERSION, None, &[local(None, &[])], &[], "Show the version of agent-browser"),
    on(HELP, None, &[local(None, &[])], &[], "List the commands"),
    SubcommandSpec {
        reserved: &["--url", "--domain", "--path", "--httpOnly", "--secure", "--sameSite", "--expires", "--curl"],
        ..off(
            "cookies",
            // In the kind with a daemon in Node, only `cookies set` has this category, and the other actions have none.
            Some("state"),
            &[
                plain(&[], &["cookies_get"]),
                word("get", &[], &["cookies_get"]),
                word(
                    "set",
                    &[required("NAME", ValueKind::Label), required("VALUE", ValueKind::Label)],
                    &["cookies_set"],
                ),
                word("clear", &[], &["cookies_clear"]),
            ],
            "List the browser's cookies, set one for the page's host, or remove all",
        )
    },
];

/// Subcommand `find`.
const FIND: SubcommandSpec = SubcommandSpec {
    reserved: &["--name", "--exact"],
    ..on(
        "find",
        Some("get"),
        &[
            Form {
                word: Some("role"),
                positionals: &[
                    required("ROLE", ValueKind::Role),
                    required("click|check|hover", ValueKind::Word(&["click", "check", "hover"])),
                ],
                flags: &[required_flag("--name", "--name", "NAME", ValueKind::Label), EXACT],
                carrier: Carrier::Both(&["getbyrole"]),
                needs: None,
            },
            exact_locator("text", &[required("TEXT", ValueKind::Label), CLICK_HOVER], &["getbytext"]),
            exact_locator(
                "label",
                &[required("LABEL", ValueKind::Label), required("click|check", ValueKind::Word(&["click", "check"]))],
                &["getbylabel"],
            ),
            word("label", &[required("LABEL", ValueKind::Label), FILL, VALUE], &["getbylabel"]),
            exact_locator(
                "placeholder",
                &[required("TEXT", ValueKind::Label), required("click", ValueKind::Word(&["click"]))],
                &["getbyplaceholder"],
            ),
            word("placeholder", &[required("TEXT", ValueKind::Label), FILL, VALUE], &["getbyplaceholder"]),
            exact_locator("alt", &[required("TEXT", ValueKind::Label), CLICK_HOVER], &["getbyalttext"]),
            exact_locator("title", &[required("TEXT", ValueKind::Label), CLICK_HOVER], &["getbytitle"]),
            word(
                "testid",
                &[
                    required("ID", ValueKind::Label),
                    required("click|check|hover", ValueKind::Word(&["click", "check", "hover"])),
                ],
                &["getbytestid"],
            ),
            word("testid", &[required("ID", ValueKind::Label), FILL, VALUE], &["getbytestid"]),
            word("first", &[ELEMENT, ANY_ACTION], &["nth"]),
            word("first", &[ELEMENT, FILL, VALUE], &["nth"]),
            word("last", &[ELEMENT, ANY_ACTION], &["nth"]),
            word("last", &[ELEMENT, FILL, VALUE], &["nth"]),
            word("nth", &[N, ELEMENT, ANY_ACTION], &["nth"]),
            word("nth", &[N, ELEMENT, FILL, VALUE], &["nth"]),
        ],
        &[],
        "Find an element by its role, text, label, placeholder, alternative text, title, test id or position, and act on it",
    )
};

/// Creates a form whose locator can be limited to an exact match.
const fn exact_locator(
    locator: &'static str,
    positionals: &'static [Positional],
    actions: &'static [&'static str],
) -> Form {
    Form { word: Some(locator), positionals, flags: &[EXACT], carrier: Carrier::Both(actions), needs: None }
}

const EXACT: Flag = switch("--exact", "--exact");

const CLICK_HOVER: Positional = required("click|hover", ValueKind::Word(&["click", "hover"]));

const ANY_ACTION: Positional =
    required("click|check|hover|text", ValueKind::Word(&["click", "check", "hover", "text"]));

const FILL: Positional = required("fill", ValueKind::Word(&["fill"]));
const VALUE: Positional = required("VALUE", ValueKind::MultilineText);

const ELEMENT: Positional = required("SELECTOR", ValueKind::Selector);
const N: Positional = required("N", ValueKind::Number(0, 999));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::forbidden::{FORBIDDEN_SUBCOMMANDS, find_global_flag};
    use crate::grammar::spec::Availability;
    use crate::grammar::table::GRAMMAR;

    #[test]
    fn compat_table_matches_snapshot() {
        let lines: Vec<_> = COMPAT
            .iter()
            .flat_map(|row| row.forms.iter().map(move |form| (row, form)))
            .map(|(row, form)| format!("{:?} {} {}", row.availability, row.name, form.usage()).trim_end().to_owned())
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn compat_reallows_only_the_listed_forbidden_subcommands() {
        let back: Vec<_> = FORBIDDEN_SUBCOMMANDS.iter().filter(|name| Profile::Compat.row(name).is_some()).collect();
        assert_eq!(back, [&"cookies", &"find", &"scrollintoview", &"session"]);
        for profile in [Profile::Tool, Profile::Strict] {
            assert!(
                FORBIDDEN_SUBCOMMANDS.iter().all(|name| profile.row(name).is_none()),
                "control: {profile:?} has none of them"
            );
            assert!(profile.rows().eq(GRAMMAR), "{profile:?}");
        }
    }

    #[test]
    fn compat_rows_are_unique_and_override_tool_rows() {
        let mut names: Vec<_> = Profile::Compat.rows().map(|row| row.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in GRAMMAR {
            assert!(Profile::Compat.row(row.name).is_some(), "{}", row.name);
        }
        assert_eq!(Profile::Compat.row("tab"), COMPAT.iter().find(|row| row.name == "tab"));
    }

    #[test]
    fn compat_requires_enabling_only_for_cookies() {
        let wanted: Vec<_> =
            Profile::Compat.rows().filter(|row| Profile::Compat.needs_enabling(row)).map(|row| row.name).collect();
        assert_eq!(wanted, ["cookies"]);
    }

    /// A global flag could consume a following argument, so only `screenshot` has one, and it has no value.
    #[test]
    fn screenshot_has_the_only_global_flag_and_it_takes_no_value() {
        let mut found = Vec::new();
        for (row, flag) in COMPAT
            .iter()
            .flat_map(|row| row.forms.iter().flat_map(move |form| form.flags.iter().map(move |flag| (row, flag))))
        {
            if find_global_flag(flag.name).is_some() || find_global_flag(flag.alias).is_some() {
                assert_eq!(
                    (row.forms.len(), flag.value, row.availability),
                    (1, None, Availability::On),
                    "{}",
                    row.name
                );
                found.push((row.name, flag.name, flag.alias));
            }
        }
        assert_eq!(found, [("screenshot", "--full", "-f")]);
    }
}
