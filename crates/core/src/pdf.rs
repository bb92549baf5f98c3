//! Text of a PDF, as Chromium's viewer tells it.

use serde::Deserialize;

use crate::output::mask::Literals;

/// PDF, as far as the viewer tells its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Pdf {
    /// Number of pages; 0 if the viewer does not know it.
    pub pages: u32,
    /// Text of all pages, also if no answer may give it.
    pub text: String,
    /// Reason why its text is not given.
    pub unread: Option<Unread>,
}

/// Reason why the text of a PDF is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unread {
    /// It still loads.
    Loading,
    /// It opens with a password only.
    Locked,
    /// Its author lets nobody copy its text.
    CopyForbidden,
    /// It has pictures only, as a scanned document.
    NoText,
    /// It, or its text, is too large.
    TooLarge,
    /// The viewer cannot show it.
    Damaged,
    /// The viewer does not tell it, such as one of a later Chromium.
    #[serde(other)]
    Unknown,
}

impl Unread {
    /// Returns the reason as a part of a sentence about the PDF.
    ///
    /// ```
    /// assert_eq!(browser_shell_core::pdf::Unread::Locked.reason(), "it opens with a password only");
    /// ```
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Loading => "it still loads",
            Self::Locked => "it opens with a password only",
            Self::CopyForbidden => "its author lets nobody copy its text",
            Self::NoText => "it has pictures and no text, as scanned ones do: take a screenshot",
            Self::TooLarge => "it is too large",
            Self::Damaged => "it is damaged",
            Self::Unknown => "the viewer of this Chromium does not tell its text",
        }
    }
}

impl Pdf {
    /// Returns one whose text is not given.
    #[must_use]
    pub fn unread(reason: Unread) -> Self {
        Self { unread: Some(reason), ..Self::default() }
    }

    /// Masks secrets in its text.
    #[must_use]
    pub fn masked(self, secrets: &Literals) -> Self {
        Self { text: secrets.mask_text(&self.text).into_owned(), ..self }
    }

    /// Returns the text that an answer may give.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub fn readable(&self) -> Result<&str, Unread> {
        self.unread.map_or(Ok(self.text.as_str()), Err)
    }

    /// Returns the text in which secrets are looked for.
    ///
    /// # Errors
    ///
    /// The reason why it is not known, although it may be shown.
    pub fn searched(&self) -> Result<&str, Unread> {
        match self.unread {
            Some(reason @ (Unread::Loading | Unread::TooLarge | Unread::Unknown)) => Err(reason),
            _ => Ok(&self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pdf(report: Value) -> Option<Pdf> {
        serde_json::from_value(report).ok()
    }

    #[test]
    fn report_of_the_viewer_is_read() {
        let read = pdf(json!({ "pages": 2, "text": "Total 7", "unread": null })).expect("a report");
        assert_eq!((read.pages, read.readable()), (2, Ok("Total 7")));
        for (word, reason) in [
            ("copy-forbidden", Unread::CopyForbidden),
            ("locked", Unread::Locked),
            ("no-text", Unread::NoText),
            ("of a later version", Unread::Unknown),
        ] {
            let read = pdf(json!({ "pages": 1, "text": "", "unread": word })).expect("a report");
            assert_eq!(read.readable(), Err(reason), "{word}");
        }
        assert_eq!(pdf(json!({ "text": 7 })), None);
    }

    #[test]
    fn text_that_is_not_given_is_searched_for_secrets() {
        let of = |unread| Pdf { text: "falls4Q".to_owned(), unread, pages: 1 };
        for (reason, is_searched) in [
            (None, true),
            (Some(Unread::CopyForbidden), true),
            (Some(Unread::Loading), false),
            (Some(Unread::TooLarge), false),
            (Some(Unread::Unknown), false),
        ] {
            assert_eq!(of(reason).searched().is_ok(), is_searched, "{reason:?}");
        }
        let masked = of(None).masked(&Literals::new(["falls4Q".to_owned()]));
        assert!(!masked.text.contains("falls4Q"), "{masked:?}");
    }
}
