//! Form of the answers.

/// Section `output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputRules {
    /// The style of the answers of the tool.
    pub style: AnswerStyle,
}

/// The styles of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerStyle {
    /// A dictionary whose `stdout` is JSON.
    #[default]
    Data,
    /// Plain text for a language model.
    Text,
    /// The same, and the exit code and the code as structured content.
    TextWithCode,
}

impl AnswerStyle {
    /// All styles.
    pub(super) const ALL: &[Self] = &[Self::Data, Self::Text, Self::TextWithCode];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Text => "text",
            Self::TextWithCode => "text-with-code",
        }
    }
}
