//! Commands of agent-browser that are only steps of other commands.
//!
//! No `argv` contains them, because [`parse`](super::parse) does not read this table.
//!
//! Invariants: those of [`table`](super::table).

use super::action::{ActionField, ActionMapping};
use super::constructors::{SELECTOR, off, plain, required, word};
use super::spec::{SubcommandSpec, ValueKind};

/// Name of the command that moves the pointer and presses its button.
pub(super) const MOUSE: &str = "mouse";

/// Name of the command that scrolls an element into view.
pub(super) const SCROLL_INTO_VIEW: &str = "scrollintoview";

/// Largest coordinate of the pointer, in CSS pixels.
const MAX_COORDINATE: u32 = 1_000_000;

/// Button that is pressed and released.
const LEFT: ActionField = ActionField::ConstantText { key: "button", value: "left" };

/// The commands.
pub(super) const STEPS: &[SubcommandSpec] = &[
    off(
        MOUSE,
        Some("interact"),
        &[
            word(
                "move",
                &[
                    required("X", ValueKind::Number(0, MAX_COORDINATE)),
                    required("Y", ValueKind::Number(0, MAX_COORDINATE)),
                ],
                ActionMapping::once(
                    "mousemove",
                    &[ActionField::Number { value: "X", key: "x" }, ActionField::Number { value: "Y", key: "y" }],
                ),
            ),
            word("down", &[], ActionMapping::once("mousedown", &[LEFT])),
            word("up", &[], ActionMapping::once("mouseup", &[LEFT])),
        ],
        "Move the pointer, or press or release its button",
    ),
    off(
        SCROLL_INTO_VIEW,
        Some("scroll"),
        &[plain(&[required("SELECTOR", ValueKind::Selector)], ActionMapping::once("scrollintoview", &[SELECTOR]))],
        "Scroll until an element is in view",
    ),
];
