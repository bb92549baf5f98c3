//! URLs of documents that a page may navigate to.

use url::Url;

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
