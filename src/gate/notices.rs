//! Notices of a session: what its pages did that the next answer reports.

use serde_json::{Value, json};

use browser_shell_core::decision::Decision;

/// Maximum number of notices that a session keeps. A page can cause any number.
pub(super) const MAX_NOTICES: usize = 32;

/// Maximum length of a text of a page, in characters.
const MAX_TEXT: usize = 1000;

/// Dialog that a page opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dialog {
    /// Kind: `alert`, `confirm`, `prompt`, `beforeunload`, `auth` or `filechooser`.
    pub kind: String,
    /// Text that the page shows in it.
    pub message: String,
    /// URL of the page.
    pub url: String,
    /// Answer that the gate gave; `None` while it is open.
    pub answer: Option<&'static str>,
}

impl Dialog {
    /// Creates a dialog, with texts of limited length.
    pub(super) fn new(kind: &str, message: &str, url: &str, answer: Option<&'static str>) -> Self {
        let limited = |text: &str| text.chars().take(MAX_TEXT).collect();
        Self { kind: limited(kind), message: limited(message), url: limited(url), answer }
    }

    /// Returns the dialog as the answer of a call shows it.
    #[must_use]
    pub(crate) fn to_json(&self) -> Value {
        json!({ "type": self.kind, "message": self.message, "url": self.url })
    }
}

/// Something that a page did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Notice {
    /// It opened a dialog.
    Dialog(Dialog),
    /// It was about to show a document that the policy refuses.
    RefusedDocument {
        /// Decision of the policy.
        decision: Decision,
        /// True for a frame, false for the page itself.
        is_frame: bool,
    },
    /// It offered a download, which was denied.
    Download {
        /// Name that the page proposed.
        name: String,
    },
}

impl Notice {
    /// Returns the dialog if it waits for the agent.
    pub(super) fn open_dialog(&self) -> Option<&Dialog> {
        match self {
            Self::Dialog(dialog) => Some(dialog).filter(|dialog| dialog.answer.is_none()),
            _ => None,
        }
    }

    /// Creates the notice of a download.
    pub(super) fn download(name: &str) -> Self {
        Self::Download { name: name.chars().take(MAX_TEXT).collect() }
    }
}
