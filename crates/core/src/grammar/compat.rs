//! Grammar table of the runtime's compat profile.
//!
//! Further subcommands and forms that agents of an orchestrator use. As in [`find`](super::find), each is one that
//! both kinds of agent-browser treat the same way, or refuse:
//!
//! - `scrollintoview` takes no reference; `scroll SELECTOR` does.
//! - A tab is a number or a name: the native kind requires `t2` where the kind in Node requires `1`, and refuses the number, while the
//!   latter reads `tab close t2` as `tab close`. The transports convert both.
//! - `get value` reports passwords; [`Literals`](crate::output::mask::Literals) of the secret fields remove them.
//! - `--version`, `--help` and `session` are answered without agent-browser.
//! - `cookies set` has no flags, because `--curl` reads files.
//!
//! Invariants: those of [`table`](super::table), except for the cookies, which the policy file has to enable.

use super::constructors::{element_property, local, off, on, optional, plain, required, switch, valued, word};
use super::find::FIND;
use super::spec::{Carrier, Form, Positional, SubcommandSpec, ValueKind};

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
/// [`GRAMMAR`](super::GRAMMAR).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::forbidden::FORBIDDEN_SUBCOMMANDS;
    use crate::grammar::global_flags::find_global_flag;
    use crate::grammar::profile::Profile;
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
