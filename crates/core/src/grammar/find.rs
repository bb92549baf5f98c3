//! Forms of the subcommand `find`, which locates an element and acts on it.
//!
//! Each form is one that the parsers and daemons of agent-browser 0.19 and 0.41 treat the same way, or refuse:
//!
//! - A role requires `--name`: without it, the CLI of 0.19 sends a `null` that its daemon refuses. There is no `fill` by role,
//!   because the CLI of 0.19 would append `--name ...` to the text. For the same reason `fill` has no `--exact`.
//! - Each locator has only the actions that the daemon of 0.19 implements for it. No version implements `type` and `focus`.

use super::action::{ActionField, ActionMapping};
use super::constructors::{SELECTOR, on, required, required_flag, switch, text, word};
use super::spec::{Flag, Form, Positional, SubcommandSpec, ValueKind};

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
                mapping: Some(ActionMapping::once(
                    "getbyrole",
                    &[text("ROLE", "role"), text("click|check|hover", "subaction"), text("NAME", "name"), EXACT_FIELD],
                )),
                needs: None,
            },
            exact_locator(
                "text",
                &[required("TEXT", ValueKind::Label), CLICK_HOVER],
                ActionMapping::once("getbytext", &[text("TEXT", "text"), CLICK_HOVER_FIELD, EXACT_FIELD]),
            ),
            exact_locator(
                "label",
                &[required("LABEL", ValueKind::Label), required("click|check", ValueKind::Word(&["click", "check"]))],
                ActionMapping::once(
                    "getbylabel",
                    &[text("LABEL", "label"), text("click|check", "subaction"), EXACT_FIELD],
                ),
            ),
            word(
                "label",
                &[required("LABEL", ValueKind::Label), FILL, VALUE],
                ActionMapping::once("getbylabel", &[text("LABEL", "label"), FILL_FIELD, VALUE_FIELD, NOT_EXACT_FIELD]),
            ),
            exact_locator(
                "placeholder",
                &[required("TEXT", ValueKind::Label), required("click", ValueKind::Word(&["click"]))],
                ActionMapping::once(
                    "getbyplaceholder",
                    &[text("TEXT", "placeholder"), text("click", "subaction"), EXACT_FIELD],
                ),
            ),
            word(
                "placeholder",
                &[required("TEXT", ValueKind::Label), FILL, VALUE],
                ActionMapping::once(
                    "getbyplaceholder",
                    &[text("TEXT", "placeholder"), FILL_FIELD, VALUE_FIELD, NOT_EXACT_FIELD],
                ),
            ),
            exact_locator(
                "alt",
                &[required("TEXT", ValueKind::Label), CLICK_HOVER],
                ActionMapping::once("getbyalttext", &[text("TEXT", "text"), CLICK_HOVER_FIELD, EXACT_FIELD]),
            ),
            exact_locator(
                "title",
                &[required("TEXT", ValueKind::Label), CLICK_HOVER],
                ActionMapping::once("getbytitle", &[text("TEXT", "text"), CLICK_HOVER_FIELD, EXACT_FIELD]),
            ),
            word(
                "testid",
                &[
                    required("ID", ValueKind::Label),
                    required("click|check|hover", ValueKind::Word(&["click", "check", "hover"])),
                ],
                ActionMapping::once("getbytestid", &[text("ID", "testId"), text("click|check|hover", "subaction")]),
            ),
            word(
                "testid",
                &[required("ID", ValueKind::Label), FILL, VALUE],
                ActionMapping::once("getbytestid", &[text("ID", "testId"), FILL_FIELD, VALUE_FIELD]),
            ),
            word(
                "first",
                &[ELEMENT, ANY_ACTION],
                ActionMapping::once("nth", &[FIRST_INDEX, SELECTOR, ANY_ACTION_FIELD]),
            ),
            word(
                "first",
                &[ELEMENT, FILL, VALUE],
                ActionMapping::once("nth", &[FIRST_INDEX, SELECTOR, FILL_FIELD, VALUE_FIELD]),
            ),
            word("last", &[ELEMENT, ANY_ACTION], ActionMapping::once("nth", &[LAST_INDEX, SELECTOR, ANY_ACTION_FIELD])),
            word(
                "last",
                &[ELEMENT, FILL, VALUE],
                ActionMapping::once("nth", &[LAST_INDEX, SELECTOR, FILL_FIELD, VALUE_FIELD]),
            ),
            word(
                "nth",
                &[N, ELEMENT, ANY_ACTION],
                ActionMapping::once("nth", &[NTH_INDEX, SELECTOR, ANY_ACTION_FIELD]),
            ),
            word(
                "nth",
                &[N, ELEMENT, FILL, VALUE],
                ActionMapping::once("nth", &[NTH_INDEX, SELECTOR, FILL_FIELD, VALUE_FIELD]),
            ),
        ],
        &[],
        "Find an element by its role, text, label, placeholder, alternative text, title, test id or position, and act on it",
    )
};

/// Creates a form whose locator can be limited to an exact match.
const fn exact_locator(locator: &'static str, positionals: &'static [Positional], mapping: ActionMapping) -> Form {
    Form { word: Some(locator), positionals, flags: &[EXACT], mapping: Some(mapping), needs: None }
}

const EXACT: Flag = switch("--exact", "--exact");
const EXACT_FIELD: ActionField = ActionField::Bool { flag: "--exact", key: "exact" };
const NOT_EXACT_FIELD: ActionField = ActionField::False { key: "exact" };

const CLICK_HOVER: Positional = required("click|hover", ValueKind::Word(&["click", "hover"]));
const CLICK_HOVER_FIELD: ActionField = text("click|hover", "subaction");

const ANY_ACTION: Positional =
    required("click|check|hover|text", ValueKind::Word(&["click", "check", "hover", "text"]));
const ANY_ACTION_FIELD: ActionField = text("click|check|hover|text", "subaction");

const FILL: Positional = required("fill", ValueKind::Word(&["fill"]));
const FILL_FIELD: ActionField = text("fill", "subaction");
const VALUE: Positional = required("VALUE", ValueKind::MultilineText);
const VALUE_FIELD: ActionField = text("VALUE", "value");

const ELEMENT: Positional = required("SELECTOR", ValueKind::Selector);
const N: Positional = required("N", ValueKind::Number(0, 999));
const FIRST_INDEX: ActionField = ActionField::Constant { key: "index", value: 0 };
const LAST_INDEX: ActionField = ActionField::Constant { key: "index", value: -1 };
const NTH_INDEX: ActionField = ActionField::Number { value: "N", key: "index" };
