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

/// Name of a mark.
#[derive(Clone)]
pub(crate) struct MarkName(String);

impl MarkName {
    /// Returns a new name.
    ///
    /// # Errors
    ///
    /// Returns an error if the operating system has no random numbers.
    pub(crate) fn new() -> Result<Self, ElementError> {
        let mut name = MARK_PREFIX.to_owned();
        for byte in random::bytes::<16>()? {
            let _ = write!(name, "{byte:02x}");
        }
        Ok(Self(name))
    }

    /// Returns the name of the attribute.
    pub(in crate::gate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the selector of the element for agent-browser.
    pub(crate) fn selector(&self) -> String {
        format!("[{}]", self.0)
    }
}

/// Mark on an element of the tab's own document, until this is dropped.
pub(crate) struct Mark {
    name: MarkName,
    element: Arc<Located>,
}

impl Mark {
    /// Marks an element, and watches its press if `is_press` is true.
    ///
    /// # Errors
    ///
    /// `Mark` if the page moves or copies the mark at once.
    pub(super) async fn set(element: &Arc<Located>, name: &MarkName, is_press: bool) -> Result<Self, ElementError> {
        let (marked, mark) = Self::set_by::<()>(element, name, MARK, &[is_press.into()]).await;
        marked?;
        mark
    }

    /// Has a script mark an element, which gets the name and these values, and returns the result of the script too.
    pub(super) async fn set_by<T: DeserializeOwned>(
        element: &Arc<Located>,
        name: &MarkName,
        script: &str,
        values: &[Value],
    ) -> (Result<T, ElementError>, Result<Self, ElementError>) {
        let values = [&[name.as_str().into()], values].concat();
        // Chromium carries them out in this order, and observers of the page run in between.
        let (result, has_mark) = tokio::join!(biased; element.call(script, &values), element.call(HAS_MARK, &values));
        let mark = Self::of(element, name, has_mark);
        (result, mark)
    }

    /// Returns the mark that a script has set.
    ///
    /// # Errors
    ///
    /// `Mark` if the page has moved or copied it.
    pub(super) fn of(
        element: &Arc<Located>,
        name: &MarkName,
        has_mark: Result<bool, ElementError>,
    ) -> Result<Self, ElementError> {
        let mark = Self { name: name.clone(), element: element.clone() };
        if has_mark? { Ok(mark) } else { Err(ElementError::Mark) }
    }

    /// Returns the name.
    pub(crate) const fn name(&self) -> &MarkName {
        &self.name
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.element.notify(REMOVE_MARK, &[self.name.as_str().into()]);
    }
}
