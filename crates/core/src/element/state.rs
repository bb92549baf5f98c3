//! State of an element, as the gate reads it.

use serde::Deserialize;

use crate::output::word;

/// Words of `autocomplete` for fields that hold secrets. Scripts for pages get them from here.
pub const SECRET_WORDS: &[&str] = &["current-password", "new-password", "one-time-code", "cc-csc"];

/// Returns `true` if a field with this attribute `autocomplete` holds a secret.
#[must_use]
pub fn asks_for_secret(autocomplete: &str) -> bool {
    let mut words = autocomplete.split_ascii_whitespace();
    words.any(|word| SECRET_WORDS.iter().any(|secret| word.eq_ignore_ascii_case(secret)))
}

/// Option of a select box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OptionState {
    /// Value.
    pub value: String,
    /// Text that the page shows.
    pub label: String,
    /// `true` if it is chosen.
    pub is_selected: bool,
    /// `true` if nobody can choose it.
    pub is_disabled: bool,
}

/// State of an element.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own that the gate reads")]
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ElementState {
    /// Name of the element, in lower case.
    pub tag: String,
    /// Type of an `input`, in lower case.
    pub kind: String,
    /// `true` if it takes no input now.
    pub is_disabled: bool,
    /// `true` if its text cannot be changed.
    pub is_read_only: bool,
    /// `true` if it is a field for text or a value.
    pub is_editable: bool,
    /// `true` if it is edited as a part of the page, without being a form's field.
    pub is_content_editable: bool,
    /// `true` if it has a box that is shown.
    pub is_visible: bool,
    /// `true` if a label of it is shown, as with checkboxes that a page paints itself.
    pub has_visible_label: bool,
    /// `true` if its content must not be shown.
    pub is_secret: bool,
    /// `true` if it, or an element in it, has the focus.
    pub has_focus: bool,
    /// Value of a field, or text of an element that is edited.
    pub value: Option<String>,
    /// State of a checkbox, radio button or switch.
    pub is_checked: Option<bool>,
    /// Options of a select box.
    pub options: Vec<OptionState>,
    /// Maximum number of characters.
    pub max_length: Option<usize>,
    /// Limits and step of a range: `min`, `max`, `step`.
    pub limits: [String; 3],
    /// Point for the pointer in the viewport of its frame: x, y, in CSS pixels.
    pub point: [f64; 2],
    /// `true` if an animation may move it.
    pub is_moving: bool,
    /// `true` if all of it is in the viewport of its frame.
    pub is_in_view: bool,
    /// `true` if another element is in front of that point.
    pub is_covered: bool,
}

impl ElementState {
    /// Returns how messages name the element, such as `input type=date`.
    #[must_use]
    pub fn description(&self) -> String {
        let tag = word(&self.tag);
        if self.kind.is_empty() { tag.into_owned() } else { format!("{tag} type={}", word(&self.kind)) }
    }

    /// Returns `true` if the element is the label of a field.
    #[must_use]
    pub fn is_label(&self) -> bool {
        self.tag == "label"
    }

    /// Returns the values of the options that are chosen.
    #[must_use]
    pub fn selected(&self) -> Vec<&str> {
        self.options.iter().filter(|option| option.is_selected).map(|option| option.value.as_str()).collect()
    }

    /// Returns the option that a text names, by value or else by label.
    #[must_use]
    pub fn option(&self, text: &str) -> Option<&OptionState> {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let by_label = || self.options.iter().find(|option| words(&option.label) == words(text));
        self.options.iter().find(|option| option.value == text).or_else(by_label)
    }
}
