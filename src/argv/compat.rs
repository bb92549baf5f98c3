//! Rows that only the runtime's compat profile has: what agents of an orchestrator also use, where it can be had safely.
//!
//! Decides which forms of `find`, `snapshot`, `tab`, `screenshot`, `scrollintoview` and `cookies` there are. Each must be one that the parsers and
//! the daemons of 0.19 and of 0.41 take the same way, or refuse:
//!
//! - `find` by a role needs `--name`: without it 0.19's CLI sends a `null` that its daemon refuses. It does not fill, as 0.19's CLI
//!   would put `--name ...` behind what is filled in; for the same reason `--exact` does not stand beside `fill`.
//! - Only those actions stand with a locator that 0.19's daemon has for it; neither `type` nor `focus` is one in any version.
//! - `scrollintoview` of a reference fails in 0.19.
//! - 0.41 wants `t2` where 0.19 wants `2` for a tab, and refuses the number; 0.19 reads `tab close t2` as `tab close`, so that only
//!   the number is here.
//! - `cookies set` has no flags: `--curl` reads files.
//!
//! Must never hold what [`table`](super::table) must not, but for the cookies, which the policy file has to enable.

use super::request::{Field, Mapping};
use super::table::{
    Flag, Form, Kind, Positional, Row, SELECTOR, off, on, optional, plain, required, selecting, switch, text, valued,
    word,
};

/// Subcommands of the compat profile; one that [`GRAMMAR`](super::table::GRAMMAR) has too replaces it there.
pub const COMPAT: &[Row] = &[
    Row {
        reserved: &["--name", "--exact"],
        ..on(
            "find",
            Some("get"),
            &[
                Form {
                    word: Some("role"),
                    positionals: &[
                        required("ROLE", Kind::Role),
                        required("click|check|hover", Kind::Word(&["click", "check", "hover"])),
                    ],
                    flags: &[selecting("--name", "--name", "NAME", Kind::Label), EXACT],
                    mapping: Some(Mapping::acts(
                        "getbyrole",
                        &[text("ROLE", "role"), text("click|check|hover", "subaction"), text("NAME", "name"), IS_EXACT],
                    )),
                },
                found_exactly(
                    "text",
                    &[required("TEXT", Kind::Label), CLICK_HOVER],
                    Mapping::acts("getbytext", &[text("TEXT", "text"), TO_CLICK_HOVER, IS_EXACT]),
                ),
                found_exactly(
                    "label",
                    &[required("LABEL", Kind::Label), required("click|check", Kind::Word(&["click", "check"]))],
                    Mapping::acts("getbylabel", &[text("LABEL", "label"), text("click|check", "subaction"), IS_EXACT]),
                ),
                word(
                    "label",
                    &[required("LABEL", Kind::Label), FILL, VALUE],
                    Mapping::acts("getbylabel", &[text("LABEL", "label"), TO_FILL, WITH, NOT_EXACT]),
                ),
                found_exactly(
                    "placeholder",
                    &[required("TEXT", Kind::Label), required("click", Kind::Word(&["click"]))],
                    Mapping::acts(
                        "getbyplaceholder",
                        &[text("TEXT", "placeholder"), text("click", "subaction"), IS_EXACT],
                    ),
                ),
                word(
                    "placeholder",
                    &[required("TEXT", Kind::Label), FILL, VALUE],
                    Mapping::acts("getbyplaceholder", &[text("TEXT", "placeholder"), TO_FILL, WITH, NOT_EXACT]),
                ),
                found_exactly(
                    "alt",
                    &[required("TEXT", Kind::Label), CLICK_HOVER],
                    Mapping::acts("getbyalttext", &[text("TEXT", "text"), TO_CLICK_HOVER, IS_EXACT]),
                ),
                found_exactly(
                    "title",
                    &[required("TEXT", Kind::Label), CLICK_HOVER],
                    Mapping::acts("getbytitle", &[text("TEXT", "text"), TO_CLICK_HOVER, IS_EXACT]),
                ),
                word(
                    "testid",
                    &[
                        required("ID", Kind::Label),
                        required("click|check|hover", Kind::Word(&["click", "check", "hover"])),
                    ],
                    Mapping::acts("getbytestid", &[text("ID", "testId"), text("click|check|hover", "subaction")]),
                ),
                word(
                    "testid",
                    &[required("ID", Kind::Label), FILL, VALUE],
                    Mapping::acts("getbytestid", &[text("ID", "testId"), TO_FILL, WITH]),
                ),
                word("first", &[A_SELECTOR, OF_MANY], Mapping::acts("nth", &[AT_FIRST, SELECTOR, TO_MANY])),
                word("first", &[A_SELECTOR, FILL, VALUE], Mapping::acts("nth", &[AT_FIRST, SELECTOR, TO_FILL, WITH])),
                word("last", &[A_SELECTOR, OF_MANY], Mapping::acts("nth", &[AT_LAST, SELECTOR, TO_MANY])),
                word("last", &[A_SELECTOR, FILL, VALUE], Mapping::acts("nth", &[AT_LAST, SELECTOR, TO_FILL, WITH])),
                word("nth", &[N, A_SELECTOR, OF_MANY], Mapping::acts("nth", &[AT_N, SELECTOR, TO_MANY])),
                word("nth", &[N, A_SELECTOR, FILL, VALUE], Mapping::acts("nth", &[AT_N, SELECTOR, TO_FILL, WITH])),
            ],
            &[],
            "Find an element by its role, text, label, placeholder, alternative text, title, test id or place, and use it",
        )
    },
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
                valued("-d", "--depth", "N", Kind::Number(0, 100)),
                valued("-s", "--selector", "SELECTOR", Kind::Selector),
            ],
            mapping: Some(Mapping::reads(
                "snapshot",
                &[
                    Field::Switch { flag: "-i", key: "interactive" },
                    Field::Switch { flag: "-C", key: "cursor" },
                    Field::Switch { flag: "-c", key: "compact" },
                    Field::Number { value: "N", key: "maxDepth" },
                    SELECTOR,
                ],
            )),
        }],
        &[],
        "Read the page as a tree with references (@e1): -i interactive elements only, -C also what has a pointer, -c compact, -d depth, -s below a selector",
    ),
    on(
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
            word("new", &[optional("URL", Kind::Url)], Mapping::acts("tab_new", &[text("URL", "url")])),
            word(
                "close",
                &[optional("INDEX", Kind::Number(0, 999))],
                Mapping::acts("tab_close", &[Field::Number { value: "INDEX", key: "index" }]),
            ),
        ],
        &["--label"],
        "List the tabs, switch to one, open or close one",
    ),
    on(
        "scrollintoview",
        Some("scroll"),
        &[plain(&[required("SELECTOR", Kind::CssSelector)], Mapping::acts("scrollintoview", &[SELECTOR]))],
        &[],
        "Scroll until an element is in view",
    ),
    on(
        "screenshot",
        Some("snapshot"),
        &[Form {
            word: None,
            positionals: &[optional("SELECTOR", Kind::Selector), optional("NAME.png", Kind::FileName(".png"))],
            flags: &[switch("--full", "-f")],
            mapping: Some(Mapping::reads(
                "screenshot",
                &[
                    text("NAME.png", "path"),
                    Field::TextOrNull { value: "SELECTOR", key: "selector" },
                    Field::Bool { flag: "--full", key: "fullPage" },
                    Field::False { key: "annotate" },
                ],
            )),
        }],
        &[],
        "Take a picture of the page, of all of it with --full, or of one element",
    ),
    Row {
        reserved: &["--url", "--domain", "--path", "--httpOnly", "--secure", "--sameSite", "--expires", "--curl"],
        ..off(
            "cookies",
            // Of the actions here it is 0.19's category of `cookies set` alone; the others need none.
            Some("state"),
            &[
                plain(&[], Mapping::reads("cookies_get", &[])),
                word("get", &[], Mapping::reads("cookies_get", &[])),
                word(
                    "set",
                    &[required("NAME", Kind::Label), required("VALUE", Kind::Label)],
                    Mapping::acts(
                        "cookies_set",
                        &[Field::OneOf { key: "cookies", fields: &[text("NAME", "name"), text("VALUE", "value")] }],
                    ),
                ),
                word("clear", &[], Mapping::acts("cookies_clear", &[])),
            ],
            "List the browser's cookies, set one for the page's host, or remove all",
        )
    },
];

/// A locator that can be meant to match the whole text.
const fn found_exactly(locator: &'static str, positionals: &'static [Positional], mapping: Mapping) -> Form {
    Form { word: Some(locator), positionals, flags: &[EXACT], mapping: Some(mapping) }
}

const EXACT: Flag = switch("--exact", "--exact");
const IS_EXACT: Field = Field::Bool { flag: "--exact", key: "exact" };
const NOT_EXACT: Field = Field::False { key: "exact" };

const CLICK_HOVER: Positional = required("click|hover", Kind::Word(&["click", "hover"]));
const TO_CLICK_HOVER: Field = text("click|hover", "subaction");

const OF_MANY: Positional = required("click|check|hover|text", Kind::Word(&["click", "check", "hover", "text"]));
const TO_MANY: Field = text("click|check|hover|text", "subaction");

const FILL: Positional = required("fill", Kind::Word(&["fill"]));
const TO_FILL: Field = text("fill", "subaction");
const VALUE: Positional = required("VALUE", Kind::MultilineText);
const WITH: Field = text("VALUE", "value");

const A_SELECTOR: Positional = required("SELECTOR", Kind::Selector);
const N: Positional = required("N", Kind::Number(0, 999));
const AT_FIRST: Field = Field::Constant { key: "index", value: 0 };
const AT_LAST: Field = Field::Constant { key: "index", value: -1 };
const AT_N: Field = Field::Number { value: "N", key: "index" };

#[cfg(test)]
mod tests {
    use super::super::Dialect;
    use super::super::globals::{FORBIDDEN, global_flag};
    use super::super::table::{Availability, GRAMMAR};
    use super::*;

    #[test]
    fn the_compat_table_is_a_contract() {
        let lines: Vec<_> = COMPAT
            .iter()
            .flat_map(|row| row.forms.iter().map(move |form| (row, form)))
            .map(|(row, form)| format!("{:?} {} {}", row.availability, row.name, form.usage()).trim_end().to_owned())
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn what_compat_takes_back_from_the_forbidden_is_named_here() {
        let back: Vec<_> = FORBIDDEN.iter().filter(|name| Dialect::Compat.row(name).is_some()).collect();
        assert_eq!(back, [&"cookies", &"find", &"scrollintoview"]);
        for dialect in [Dialect::Tool, Dialect::Strict] {
            assert!(FORBIDDEN.iter().all(|name| dialect.row(name).is_none()), "control: {dialect:?} has none of them");
            assert!(dialect.rows().eq(GRAMMAR), "{dialect:?}");
        }
    }

    #[test]
    fn compat_has_every_row_once_and_its_own_before_those_of_the_tool() {
        let mut names: Vec<_> = Dialect::Compat.rows().map(|row| row.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in GRAMMAR {
            assert!(Dialect::Compat.row(row.name).is_some(), "{}", row.name);
        }
        assert_eq!(Dialect::Compat.row("tab"), COMPAT.iter().find(|row| row.name == "tab"));
    }

    #[test]
    fn only_cookies_need_to_be_enabled() {
        let wanted: Vec<_> =
            Dialect::Compat.rows().filter(|row| Dialect::Compat.needs_enabling(row)).map(|row| row.name).collect();
        assert_eq!(wanted, ["cookies"]);
    }

    /// A picture is the only thing with a flag of the CLI's own: nothing else may stand where such a flag could eat it.
    #[test]
    fn the_one_global_flag_is_that_of_a_screenshot_and_takes_no_value() {
        let mut found = Vec::new();
        for (row, flag) in COMPAT
            .iter()
            .flat_map(|row| row.forms.iter().flat_map(move |form| form.flags.iter().map(move |flag| (row, flag))))
        {
            if global_flag(flag.name).is_some() || global_flag(flag.alias).is_some() {
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
