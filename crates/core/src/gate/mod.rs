//! Rules of the control gate: which messages of Chromium's debugging protocol a session's agent-browser may send, which it gets, and
//! which documents a page may navigate to.
//!
//! Chromium takes root methods on the sessions of pages too, so the rules hold at every level. A method that no rule names is
//! refused, and an event that no rule names is withheld, until someone has read what it does.
//!
//! Invariants: what is forwarded is built from parsed values, never from the text that was received; a root method is answered
//! or rewritten by the gate and never forwarded as sent.

mod events;
mod message;
mod methods;
mod params;
mod reports;

use url::Url;

pub use events::{EventHandling, EventRule, classify_event, event_rules, filter_network};
pub use message::{ClientMessage, MAX_MESSAGE, MessageError, parse_params, read_chromium};
pub use methods::{Handling, Level, MethodRule, classify, is_act, is_setup, rules};
pub use params::{
    AutoAttach, Detachment, Discovery, DragEvent, HistoryEntryParams, KeyEvent, MouseEvent, NamedTarget, Navigation,
    NewTarget, PictureParams, StreamUse, TextInput, read_params, write_params,
};
pub use reports::{KEPT_SECRET, PageReport, Permission, report_script, scheme_of_program, scheme_of_redirect};

/// Kind of a document's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentUrl {
    /// An http or https URL, which the policy decides.
    Web,
    /// `about:blank`, or the empty document of a frame.
    Blank,
    /// A document that a page made itself, with `data:` or `blob:`. A command never opens one.
    PageMade,
    /// Chromium's page for a document that did not load.
    ErrorPage,
    /// Anything else, such as a file or a page of Chromium itself.
    Internal,
}

impl DocumentUrl {
    /// Returns `true` if a step in the history may lead to such a document.
    #[must_use]
    pub const fn may_be_returned_to(self) -> bool {
        matches!(self, Self::Web | Self::Blank | Self::PageMade)
    }
}

/// Page of Chromium's viewer of PDFs.
const PDF_VIEWER: &str = "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html";

/// Returns true if the URL is that of Chromium's viewer of PDFs. It may be shown in a frame of a PDF only.
///
/// ```
/// use browser_shell_core::gate::is_pdf_viewer;
/// assert!(is_pdf_viewer("chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html"));
/// assert!(!is_pdf_viewer("https://example.com/file.pdf"));
/// ```
#[must_use]
pub fn is_pdf_viewer(url: &str) -> bool {
    url == PDF_VIEWER
}

/// Returns the kind of a URL.
///
/// ```
/// use browser_shell_core::gate::{DocumentUrl, classify_url};
/// assert_eq!(classify_url("https://example.com/"), DocumentUrl::Web);
/// assert_eq!(classify_url("file:///etc/passwd"), DocumentUrl::Internal);
/// ```
#[must_use]
pub fn classify_url(url: &str) -> DocumentUrl {
    // Chromium reports a new tab that has loaded nothing yet with an empty URL.
    if url.is_empty() {
        return DocumentUrl::Blank;
    }
    let Ok(parsed) = Url::parse(url) else { return DocumentUrl::Internal };
    match parsed.scheme() {
        "http" | "https" if parsed.has_host() => DocumentUrl::Web,
        "about" if matches!(parsed.path(), "blank" | "srcdoc") => DocumentUrl::Blank,
        "data" | "blob" => DocumentUrl::PageMade,
        "chrome-error" => DocumentUrl::ErrorPage,
        _ => DocumentUrl::Internal,
    }
}

#[cfg(test)]
mod tests;
