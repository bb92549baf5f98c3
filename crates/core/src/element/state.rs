//! State of an element, as the gate reads it.

use serde::Deserialize;

use crate::output::{collapse_blanks, word};

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
    /// Text of its content, where the page draws it by itself.
    pub text: String,
    /// `true` if it is chosen.
    pub is_selected: bool,
    /// `true` if nobody can choose it.
    pub is_disabled: bool,
}

/// Reaction of a page to a text that was entered, by the events that it got and what it changed.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own that the gate reads")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taken {
    /// `true` if it kept a key or the text from the field.
    pub is_kept: bool,
    /// `true` if it was told of a text.
    pub is_told: bool,
    /// `true` if its content outside of the field has changed.
    pub has_changed_page: bool,
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
    /// `true` if its page has put it, or a part around it, out of use, as what is behind a dialog.
    pub is_inert: bool,
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
    /// `true` if it is drawn, cannot be seen, and a label or what its page draws for it takes the pointer.
    pub has_stand_in: bool,
    /// `true` if a part of its widget may take a press for it, by listeners that a script does not see.
    pub may_have_taker: bool,
    /// `true` if it is a select box that nobody can see.
    pub is_unseen: bool,
    /// `true` if its page has defined its tag, so that its role and state may be known to the browser only.
    pub has_own_tag: bool,
    /// `true` if it is a field of an editor that the editor hides.
    pub is_helper: bool,
    /// Reaction of its page to the text that was entered last.
    pub taken: Taken,
    /// Markup of a checkbox, radio button or switch that the page draws by itself.
    pub look: String,
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
        let find = |is_it: &dyn Fn(&OptionState) -> bool| self.options.iter().find(|option| is_it(option));
        find(&|option| option.value == text)
            .or_else(|| find(&|option| collapse_blanks(&option.label) == collapse_blanks(text)))
            .or_else(|| {
                find(&|option| !option.text.is_empty() && collapse_blanks(&option.text) == collapse_blanks(text))
            })
            .or_else(|| self.only_option(|option| plain(&option.label) == plain(text)))
    }

    /// Returns the option for which this is true, if it is the only one.
    fn only_option(&self, is_it: impl Fn(&OptionState) -> bool) -> Option<&OptionState> {
        let mut found = self.options.iter().filter(|option| is_it(option));
        found.next().filter(|_| found.next().is_none())
    }
}

/// Returns the words of a text without the pictures around them.
fn plain(text: &str) -> String {
    let is_picture = |c: char| !c.is_ascii() && !c.is_alphanumeric();
    let words = text.split_whitespace().map(|word| word.trim_matches(is_picture));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
