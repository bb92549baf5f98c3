//! Grammar table of the MCP tool.
//!
//! Requirements 1.3 and 1.4.
//!
//! Invariants: no entry reads or writes files outside the session's folder, runs code, or changes the connection.

use super::spec::{
    Carrier, ELEMENT, Flag, Form, Positional, SubcommandSpec, ValueKind, adding, element_action, element_property,
    flagged, local, needing, of_cdp, off, on, optional, plain, point, repeated, required, required_flag,
    required_switch, switch, valued, word,
};

/// Longest `wait`, in milliseconds. The agent-browser in Node ends an action after 25 seconds and repeats a command that took
/// 30, so a longer wait would run several times.
pub(super) const MAX_WAIT_MS: u32 = 24_999;

/// Name of the subcommand that answers a dialog of the page.
pub(super) const DIALOG: &str = "dialog";

/// Name of the subcommand that selects the text of a field.
pub(super) const SELECT_TEXT: &str = "select-text";

/// Flag with the point of the element at which the pointer acts.
pub(crate) const AT: &str = "--at";

/// Flag with the point of its element at which a drag begins.
pub(crate) const FROM: &str = "--from";

/// Flag with the point of its element at which a drag ends, or the edge to which something scrolls.
pub(crate) const TO: &str = "--to";

/// Flag with the button that is pressed. The middle one is left out: it would paste what another session has selected.
pub(crate) const BUTTON: &str = "--button";

/// Flag with the keys that are held.
pub(crate) const MODIFIERS: &str = "--modifiers";

/// Flag with the time for which the button is held.
pub(crate) const HOLD: &str = "--hold";

/// Flag with the text that a snapshot is to show the parts of the page with.
pub(crate) const FIND: &str = "--find";

/// Flag with the element of which nothing is to be seen.
pub(crate) const GONE: &str = "--gone";

/// Edges to which something scrolls.
pub(crate) const EDGES: &[&str] = &["top", "bottom", "left", "right"];

/// Flag with the element that scrolls.
const SCROLLED: Flag = valued("-s", "--selector", "SELECTOR", ValueKind::Selector);

/// Longest way to scroll, in CSS pixels: the most that agent-browser reads, and 64 times what Chromium lays out.
const MAX_SCROLL: u32 = i32::MAX.unsigned_abs();

/// Longest press, in milliseconds.
const MAX_HOLD_MS: u32 = 20_000;

/// Positional of the form of `press` that presses a key several times.
pub(super) const COUNT: &str = "COUNT";

/// Fields of the requests for a screenshot, except the one that a form of its own sets.
const PICTURE_POSITIONALS: &[Positional] =
    &[optional("SELECTOR", ValueKind::Selector), optional("NAME.png", ValueKind::FileName(".png"))];

/// Elements of a drag.
const ENDS_OF_DRAG: &[Positional] = &[required("SRC", ValueKind::Selector), required("DST", ValueKind::Selector)];

/// All subcommands of the tool.
pub const GRAMMAR: &[SubcommandSpec] = &[
    on(
        "open",
        Some("navigate"),
        &[plain(&[required("URL", ValueKind::Url)], &["navigate"])],
        &[],
        "Open a page and wait for it to load",
    ),
    on(
        "snapshot",
        Some("snapshot"),
        &[
            Form {
                word: None,
                positionals: &[],
                flags: &[
                    switch("-i", "--interactive"),
                    switch("-c", "--compact"),
                    valued("-d", "--depth", "N", ValueKind::Number(0, 100)),
                    valued("-s", "--selector", "SELECTOR", ValueKind::Selector),
                ],
                carrier: Carrier::Both(&["snapshot"]),
                needs: None,
            },
            adding("snapshot-find", &[], &[required_flag(FIND, FIND, "TEXT", ValueKind::Text)]),
        ],
        &[],
        "Read the page as a tree with references (@e1): -i interactive elements only, -c compact, -d depth, -s below a selector",
    ),
    on(
        "click",
        Some("click"),
        &[
            element_action(&["click"]),
            adding("click-at", ELEMENT, &[point(AT)]),
            adding("click-button", ELEMENT, &[required_flag(BUTTON, BUTTON, "right", ValueKind::Word(&["right"]))]),
            adding("click-modifiers", ELEMENT, &[required_flag(MODIFIERS, MODIFIERS, "KEYS", ValueKind::Modifiers)]),
            adding("click-hold", ELEMENT, &[required_flag(HOLD, HOLD, "MS", ValueKind::Number(1, MAX_HOLD_MS))]),
        ],
        &[],
        "Click an element",
    ),
    on(
        "fill",
        Some("fill"),
        &[plain(&[required("SELECTOR", ValueKind::Selector), required("TEXT", ValueKind::MultilineText)], &["fill"])],
        &[],
        "Replace the text of a field",
    ),
    on(
        "type",
        Some("fill"),
        &[plain(&[required("SELECTOR", ValueKind::Selector), required("TEXT", ValueKind::MultilineText)], &["type"])],
        &["--clear", "--delay"],
        "Type text into a field, key by key, after what is there",
    ),
    on(
        "press",
        Some("interact"),
        &[
            plain(&[required("KEY", ValueKind::Key)], &["press"]),
            needing(
                "press-count",
                of_cdp(&[required("KEY", ValueKind::Key), required(COUNT, ValueKind::Number(1, 100))]),
            ),
        ],
        &[],
        "Press a key, such as Enter or Control+a",
    ),
    on(
        "wait",
        Some("wait"),
        &[
            plain(&[required("SELECTOR|MS", ValueKind::SelectorOrMilliseconds)], &["wait"]),
            flagged(&[required_flag("--text", "-t", "TEXT", ValueKind::Text)], &["wait"]),
            flagged(&[required_flag("--url", "-u", "PATTERN", ValueKind::UrlPattern)], &["waitforurl"]),
            flagged(
                &[required_flag(
                    "--load",
                    "-l",
                    "STATE",
                    ValueKind::Word(&["load", "domcontentloaded", "networkidle"]),
                )],
                &["waitforloadstate"],
            ),
            adding("wait-gone", &[], &[required_flag(GONE, GONE, "SELECTOR", ValueKind::Selector)]),
        ],
        &["--text", "-t", "--url", "-u", "--load", "-l", "--fn", "-f", "--download", "-d", "--timeout", "--state"],
        "Wait for an element, a time, a text, a URL or a load state",
    ),
    on(
        "screenshot",
        Some("snapshot"),
        &[
            plain(PICTURE_POSITIONALS, &["screenshot"]),
            needing(
                "screenshot-full",
                Form { flags: &[required_switch("--full", "--full")], ..plain(PICTURE_POSITIONALS, &["screenshot"]) },
            ),
        ],
        &[],
        "Take a picture of the page or of one element",
    ),
    on("close", None, &[plain(&[], &["close"])], &[], "End the session; the browser and its page stay"),
    on(
        "dblclick",
        Some("click"),
        &[element_action(&["dblclick"]), adding("dblclick-at", ELEMENT, &[point(AT)])],
        &[],
        "Double-click an element",
    ),
    on(
        "hover",
        Some("interact"),
        &[element_action(&["hover"]), adding("hover-at", ELEMENT, &[point(AT)])],
        &[],
        "Move the pointer over an element",
    ),
    on("focus", Some("interact"), &[element_action(&["focus"])], &[], "Put the focus on an element"),
    on("check", Some("fill"), &[element_action(&["check"])], &[], "Tick a checkbox"),
    on("uncheck", Some("fill"), &[element_action(&["uncheck"])], &[], "Clear a checkbox"),
    on(
        "select",
        Some("fill"),
        &[plain(&[required("SELECTOR", ValueKind::Selector), repeated("VALUE", ValueKind::Text)], &["select"])],
        &[],
        "Choose options of a select box, by value or label",
    ),
    off("back", Some("navigate"), &[plain(&[], &["back"])], "Go back in the history"),
    off("forward", Some("navigate"), &[plain(&[], &["forward"])], "Go forward in the history"),
    off("reload", Some("navigate"), &[plain(&[], &["reload"])], "Load the page again"),
    off(
        "get",
        Some("get"),
        &[
            element_property("text", &["gettext"]),
            element_property("html", &["innerhtml"]),
            word(
                "attr",
                &[required("SELECTOR", ValueKind::Selector), required("NAME", ValueKind::AttributeName)],
                &["getattribute"],
            ),
            word("url", &[], &["url"]),
            word("title", &[], &["title"]),
            element_property("count", &["count"]),
            element_property("box", &["boundingbox"]),
            element_property("value", &["inputvalue"]),
        ],
        "Read one thing of the page",
    ),
    off(
        "is",
        Some("get"),
        &[
            element_property("visible", &["isvisible"]),
            element_property("enabled", &["isenabled"]),
            element_property("checked", &["ischecked"]),
        ],
        "Ask for the state of an element",
    ),
    off(
        "scroll",
        Some("scroll"),
        &[
            Form {
                word: None,
                positionals: &[
                    optional("DIRECTION", ValueKind::Word(&["up", "down", "left", "right"])),
                    optional("PIXELS", ValueKind::Number(1, MAX_SCROLL)),
                ],
                flags: &[SCROLLED],
                carrier: Carrier::Both(&["scroll"]),
                needs: None,
            },
            adding(
                "scroll-to",
                &[],
                &[required_flag(TO, TO, "top|bottom|left|right", ValueKind::Word(EDGES)), SCROLLED],
            ),
            of_cdp(&[required("SELECTOR", ValueKind::Selector)]),
        ],
        "Scroll the page or an element, or an element into view",
    ),
    off(
        "tab",
        None,
        &[
            plain(&[optional("INDEX", ValueKind::Number(0, 999))], &["tab_switch", "tab_list"]),
            word("list", &[], &["tab_list"]),
            word("close", &[optional("INDEX", ValueKind::Number(0, 999))], &["tab_close"]),
        ],
        "List the tabs, switch to one or close one",
    ),
    off(
        "pdf",
        Some("snapshot"),
        &[plain(&[optional("NAME.pdf", ValueKind::FileName(".pdf"))], &["pdf"])],
        "Print the page to a file",
    ),
    off(
        DIALOG,
        None,
        &[local(Some("accept"), &[optional("TEXT", ValueKind::Text)]), local(Some("dismiss"), &[])],
        "Answer the dialog that the page has open; TEXT is the answer to a prompt",
    ),
    off(
        "drag",
        Some("interact"),
        &[
            plain(ENDS_OF_DRAG, &["drag"]),
            adding("drag-from", ENDS_OF_DRAG, &[point(FROM)]),
            adding("drag-to", ENDS_OF_DRAG, &[point(TO)]),
        ],
        "Drag an element to another one",
    ),
    off(
        SELECT_TEXT,
        Some("interact"),
        &[
            of_cdp(ELEMENT),
            needing(
                "select-text-words",
                of_cdp(&[required("SELECTOR", ValueKind::Selector), required("WORDS", ValueKind::Phrase)]),
            ),
        ],
        "Select the text of a field, so that what you type replaces it",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::forbidden::{FORBIDDEN_SUBCOMMANDS, SUBCOMMAND_ALIASES, find_global_flag};
    use crate::grammar::profile::Profile;
    use crate::grammar::spec::Occurrence;

    // Requirement 1.3.
    #[test]
    fn grammar_table_matches_snapshot() {
        let lines: Vec<_> = GRAMMAR.iter().map(|row| format!("{:?} {}", row.availability, row.usage())).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    // Requirement 1.3.
    #[test]
    fn grammar_table_has_no_forbidden_subcommand() {
        for name in FORBIDDEN_SUBCOMMANDS {
            assert_eq!(Profile::Tool.row(name), None, "{name}");
        }
        for (alias, name) in SUBCOMMAND_ALIASES {
            assert_eq!(Profile::Tool.row(alias), None, "{alias}");
            assert!(Profile::Tool.row(name).is_some(), "{name}");
        }
        assert!(FORBIDDEN_SUBCOMMANDS.is_sorted());
    }

    // Requirement 1.4.
    #[test]
    fn grammar_table_has_no_global_flag() {
        // Only where the policy enables it, and as the last element.
        let full = Some("screenshot-full");
        for flag in
            GRAMMAR.iter().flat_map(|row| row.forms).filter(|form| form.needs != full).flat_map(|form| form.flags)
        {
            assert_eq!(find_global_flag(flag.name), None, "{}", flag.name);
            assert_eq!(find_global_flag(flag.alias), None, "{}", flag.alias);
        }
    }

    #[test]
    fn only_last_positional_repeats_and_optional_ones_come_last() {
        for row in GRAMMAR {
            for form in row.forms {
                let presence: Vec<_> = form.positionals.iter().map(|positional| positional.presence).collect();
                if let Some((_, init)) = presence.split_last() {
                    assert!(!init.contains(&Occurrence::Repeated), "{}", row.name);
                }
                assert!(
                    !presence.windows(2).any(|pair| pair == [Occurrence::Optional, Occurrence::Required]),
                    "{}",
                    row.name
                );
            }
        }
    }
}
