//! Marks: attributes by which agent-browser finds an element during one act.
//!
//! Pages can see a mark, so its name is new for each act. A page that moves or copies it is found before the act.

use std::fmt::Write as _;
use std::sync::Arc;

use browser_shell_core::grammar::MARK_PREFIX;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::gate::element::error::ElementError;
use crate::gate::element::located::Located;
use crate::gate::element::script::{HAS_MARK, MARK, REMOVE_MARK};
use crate::os::random;

/// Mark on an element of the tab's own document, until this is dropped.
pub(crate) struct Mark {
    name: String,
    element: Arc<Located>,
}

impl Mark {
    /// Marks an element.
    ///
    /// # Errors
    ///
    /// `Mark` if the page moves or copies the mark at once.
    pub(super) async fn set(element: &Arc<Located>) -> Result<Self, ElementError> {
        let (marked, mark) = Self::set_by::<()>(element, &new_name()?, MARK, &[]).await;
        marked?;
        mark
    }

    /// Has a script mark an element, which gets the name and these values, and returns the result of the script too.
    pub(super) async fn set_by<T: DeserializeOwned>(
        element: &Arc<Located>,
        name: &str,
        script: &str,
        values: &[Value],
    ) -> (Result<T, ElementError>, Result<Self, ElementError>) {
        let values = [&[name.into()], values].concat();
        // Chromium carries them out in this order, and observers of the page run in between.
        let (result, has_mark) = tokio::join!(biased; element.call(script, &values), element.call(HAS_MARK, &values));
        let mark = Self::of(element, name.to_owned(), has_mark);
        (result, mark)
    }

    /// Returns the mark that a script has set.
    ///
    /// # Errors
    ///
    /// `Mark` if the page has moved or copied it.
    pub(super) fn of(
        element: &Arc<Located>,
        name: String,
        has_mark: Result<bool, ElementError>,
    ) -> Result<Self, ElementError> {
        let mark = Self { name, element: element.clone() };
        if has_mark? { Ok(mark) } else { Err(ElementError::Mark) }
    }

    /// Returns the selector of the element for agent-browser.
    pub(crate) fn selector(&self) -> String {
        format!("[{}]", self.name)
    }
}

/// Returns a new name for a mark.
pub(super) fn new_name() -> Result<String, ElementError> {
    let mut name = MARK_PREFIX.to_owned();
    for byte in random::bytes::<16>()? {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.element.notify(REMOVE_MARK, &[self.name.as_str().into()]);
    }
}
