//! Forms of the subcommand `find`, which locates an element and acts on it.
//!
//! Each form is one that the parsers and daemons of both kinds of agent-browser treat the same way, or refuse:
//!
//! - A role requires `--name`: without it, the CLI of the kind in Node sends a `null` that its daemon refuses. There is no `fill` by role,
//!   because that CLI would append `--name ...` to the text. For the same reason `fill` has no `--exact`.
//! - Each locator has only the actions that the daemon in Node implements for it. No version implements `type` and `focus`.

use super::constructors::{on, required, required_flag, switch, word};
use super::spec::{Carrier, Flag, Form, Positional, SubcommandSpec, ValueKind};

/// Subcommand `find`.
pub(super) const FIND: SubcommandSpec = SubcommandSpec {
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
