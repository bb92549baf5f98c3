//! Marks: attributes by which agent-browser finds an element during one act.
//!
//! Pages can see a mark, so its name is new for each act. A page that moves or copies it is found before the act.

use std::fmt::Write as _;

use browser_shell_core::grammar::MARK_PREFIX;
use futures::future::try_join_all;

use crate::gate::element::error::ElementError;
use crate::gate::element::located::Located;
use crate::gate::element::script::{HAS_MARK, MARK, REMOVE_MARK};
use crate::os::random;

/// Step of a selector of agent-browser 0.19 into a frame. Agents may not use it.
const ENTER_FRAME: &str = " >> internal:control=enter-frame >> ";

/// Mark on an element and on the frames around it, until this is dropped.
pub(crate) struct Mark<'a> {
    name: String,
    /// The outermost frame first, and the element last.
    marked: Vec<&'a Located>,
}

impl<'a> Mark<'a> {
    /// Marks elements, each of which is in the frame before it.
    ///
    /// # Errors
    ///
    /// `Mark` if the page moves or copies a mark at once.
    pub(super) async fn set(marked: Vec<&'a Located>) -> Result<Self, ElementError> {
        let mut name = MARK_PREFIX.to_owned();
        for byte in random::bytes::<16>()? {
            let _ = write!(name, "{byte:02x}");
        }
        let mark = Self { name, marked };
        let value = [mark.name.as_str().into()];
        try_join_all(mark.marked.iter().map(|element| element.call::<()>(MARK, &value))).await?;
        // Observers of the page have run by now.
        let checks = mark.marked.iter().map(|element| element.call::<bool>(HAS_MARK, &value));
        if try_join_all(checks).await?.contains(&false) {
            return Err(ElementError::Mark);
        }
        Ok(mark)
    }

    /// Returns the selector of the element for agent-browser.
    pub(crate) fn selector(&self) -> String {
        let part = format!("[{}]", self.name);
        vec![part; self.marked.len()].join(ENTER_FRAME)
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        for element in &self.marked {
            element.notify(REMOVE_MARK, &[self.name.as_str().into()]);
        }
    }
}
