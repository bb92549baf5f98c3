//! Looks at a page that a call waits for: whether an element, or a text, can be seen in it.

use std::sync::Arc;

use browser_shell_core::output::collapse_blanks;
use browser_shell_core::output::mask::Literals;
use browser_shell_core::pdf::Pdf;
use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::gate::browser::Browser;
use crate::gate::element::find::evaluate;
use crate::gate::element::kept::call_with_kept;
use crate::gate::element::located::{ElementError, in_world, world};
use crate::gate::element::script::{COMPARED, PRESENCE, SHOWN_TEXT, SHOWS_TEXT};
use crate::gate::page::World;
use crate::gate::pdf::read_pdf;
use crate::gate::secret_masks::search_in;
use crate::gate::session::GateSession;
use browser_shell_cdp::protocol::DebugSessionId;

/// Minimum length of a secret that is searched as a part of a text, in characters.
const MIN_PART: usize = 4;

/// Presence of the elements that a selector matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The selector is not plain CSS.
    Unknown,
    /// No element matches.
    None,
    /// Elements match, but none can be seen.
    Hidden,
    /// An element that can be seen matches.
    Visible,
}

impl GateSession {
    /// Looks in the active tab for the elements that a selector matches.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub async fn presence(self: &Arc<Self>, selector: &str) -> Result<Presence, ElementError> {
        let (browser, page) = &self.active()?;
        let ask = |world| async move { ask(browser, &page.session, &world, PRESENCE, selector).await };
        let (seen, _): (Option<String>, _) = in_world(browser, page, ask).await?;
        Ok(match seen.as_deref() {
            Some("none") => Presence::None,
            Some("hidden") => Presence::Hidden,
            Some("visible") => Presence::Visible,
            _ => Presence::Unknown,
        })
    }

    /// Returns true if a document of the active tab shows a text to the agent, whatever white space is in it. Frames on refused hosts are
    /// left out.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub async fn shows_text(self: &Arc<Self>, text: &str) -> Result<bool, ElementError> {
        let (text, secrets) = (collapse_blanks(text), self.secret_literals());
        // A blank may be a gap between texts, which are joined here.
        let glued = |text: &str| text.split_whitespace().collect::<String>();
        let wanted = glued(&text);
        let is_in = |shown: &Value| glued(&secrets.mask_text(shown.as_str().unwrap_or_default())).contains(&wanted);
        Ok(self.any_document(SHOWS_TEXT, &text, |shown| *shown == Value::Bool(true)).await?
            && (secrets.is_empty() || self.any_document(SHOWN_TEXT, "", is_in).await?))
    }

    /// Returns true if a PDF of the active tab shows a text to the agent.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no tab.
    pub async fn shows_text_in_pdf(self: &Arc<Self>, text: &str) -> Result<bool, ElementError> {
        let (text, secrets) = (collapse_blanks(text), self.secret_literals());
        let Some(documents) = self.documents() else { return Ok(false) };
        let policy = documents.shown_to(self.session_id());
        let pdfs = self.pdfs(|url| policy.refusal(url).is_none()).await?;
        Ok(pdfs.iter().any(|pdf| pdf.readable().is_ok_and(|shown| contains(shown, &text, &secrets))))
    }

    /// Returns true if a document of the active tab shows a secret of a field as text.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub async fn shows_secret(self: &Arc<Self>) -> Result<bool, ElementError> {
        let secrets = self.secret_words();
        if secrets.is_empty() {
            return Ok(false);
        }
        let has_secret = |text: &str| secrets.mask_text(text) != text;
        for pdf in self.pdfs(|_| true).await? {
            let text = pdf.searched().map_err(|_| ElementError::Unsupported("a PDF does not tell its text"))?;
            if search_in(text.len(), || has_secret(text)) {
                return Ok(true);
            }
        }
        if self.any_document(SHOWN_TEXT, "", |shown| has_secret(shown.as_str().unwrap_or_default())).await? {
            return Ok(true);
        }
        // What no script reads: fields, generated text, closed shadow trees.
        let (browser, page) = self.active()?;
        let texts = self.pictured_texts(&browser, &page).await?;
        let length = texts.iter().map(String::len).sum();
        Ok(search_in(length, || texts.iter().any(|text| has_secret(text))))
    }

    /// Reads the PDFs of the active tab whose URLs are wanted.
    async fn pdfs(self: &Arc<Self>, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Pdf>, ElementError> {
        let (browser, page) = self.active()?;
        let documents = page.documents();
        let wanted = documents.iter().filter(|document| page.is_pdf(&document.frame) && is_wanted(&document.url));
        Ok(join_all(wanted.map(|document| read_pdf(&browser, &page, &document.frame))).await)
    }

    /// Returns true if a selector could compare a secret that the agent did not send: one that stands in an attribute or, for `XPath`,
    /// in a text.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub async fn compares_secret(self: &Arc<Self>, selector: &str) -> Result<bool, ElementError> {
        let values = self.known_secrets().values;
        let secrets = self.secret_literals();
        let has_secret = |compared: &Value| {
            let text = compared.as_str().unwrap_or_default();
            let has_part = |value: &String| value.chars().count() >= MIN_PART && text.contains(value.as_str());
            values.iter().any(has_part) || secrets.mask_text(text) != text
        };
        self.any_document(COMPARED, selector, has_secret).await
    }

    /// Returns true if the result of a function of a text is one that is looked for, in a document of the active tab that may be shown.
    async fn any_document(
        self: &Arc<Self>,
        function: &str,
        text: &str,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<bool, ElementError> {
        let (browser, page) = &self.active()?;
        let ask_page = |world| async move { ask::<Value>(browser, &page.session, &world, function, text).await };
        let is_wanted = |result: &Value| search_in(result.as_str().map_or(0, str::len), || is_wanted(result));
        if in_world(browser, page, ask_page).await?.0.is_some_and(|result| is_wanted(&result)) {
            return Ok(true);
        }
        let Some(documents) = self.documents() else { return Ok(false) };
        let policy = documents.shown_to(self.session_id());
        for document in page.documents() {
            if document.frame == page.frame || policy.refusal(&document.url).is_some() {
                continue;
            }
            // A frame may go meanwhile.
            let Ok(inner) = world(browser, &document.session, &document.frame).await else { continue };
            let asked = ask::<Value>(browser, &document.session, &inner, function, text).await;
            if asked.is_ok_and(|result| result.is_some_and(|result| is_wanted(&result))) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns true if a text that is shown has another one in what the agent may read of it, whatever white space is in it.
fn contains(shown: &str, text: &str, secrets: &Literals) -> bool {
    collapse_blanks(&secrets.mask_text(shown)).contains(text)
}

/// Runs a function of a text in the gate's world of a document, and returns its result.
async fn ask<T: DeserializeOwned>(
    browser: &Browser,
    session: &DebugSessionId,
    world: &World,
    function: &str,
    text: &str,
) -> Result<Option<T>, ElementError> {
    let expression = call_with_kept(function, &Value::from(text).to_string());
    Ok(evaluate(browser, session, world, &expression, true).await?.into_value())
}
