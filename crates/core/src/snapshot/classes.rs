//! Words of classes that say what state an element is in.

/// Words in the class of one of several elements that a page shows as the one that is chosen.
const CHOSEN: &[&str] = &["active", "selected", "current"];

/// State of the elements of a class, as its words tell it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassWords {
    /// True if it is the chosen one of several.
    pub(super) is_chosen: bool,
    pub(super) is_disabled: bool,
}

impl ClassWords {
    /// Reads a class.
    pub(super) fn of(class: &str) -> Self {
        let is_chosen = |word: &str| {
            CHOSEN
                .iter()
                .any(|chosen| word.strip_suffix(chosen).is_some_and(|rest| rest.is_empty() || rest.ends_with('-')))
        };
        let mut words = class.split_ascii_whitespace();
        Self { is_chosen: words.clone().any(is_chosen), is_disabled: words.any(|word| word == "disabled") }
    }
}
