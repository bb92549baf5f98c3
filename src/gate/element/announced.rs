//! Acts that agent-browser is told of while the gate still looks for their element, so that both happen at the same time.
//!
//! agent-browser gets its command with the name of a mark that no element has yet. The gate keeps the commands by which agent-browser
//! looks for the mark until the element is found, checked and marked, and answers them with an error if it never is.

use browser_shell_core::element::{Place, Verb};
use tokio::sync::watch;

use crate::gate::element::error::ElementError;
use crate::gate::element::mark::MarkName;
use crate::gate::element::target::may_be_marked;
use crate::gate::session::GateSession;

/// Act that agent-browser is told of. Unless it is allowed, its commands are refused, also after this is dropped.
pub(crate) struct AnnouncedAct {
    mark: MarkName,
    is_allowed: watch::Sender<bool>,
}

impl AnnouncedAct {
    /// Returns the name of the mark that agent-browser looks for.
    pub(crate) const fn mark(&self) -> &MarkName {
        &self.mark
    }

    /// Lets agent-browser go on.
    pub(crate) fn allow(&self) {
        self.is_allowed.send_replace(true);
    }
}

impl GateSession {
    /// Announces an act, if agent-browser carries out such acts on most elements.
    ///
    /// # Errors
    ///
    /// Returns an error if the operating system has no random numbers.
    pub(crate) fn announce(&self, verb: Verb) -> Result<Option<AnnouncedAct>, ElementError> {
        if !may_be_marked(self, verb, Place::default()) {
            return Ok(None);
        }
        let mark = MarkName::new()?;
        let is_allowed = self.keep_commands_about(mark.as_str());
        Ok(Some(AnnouncedAct { mark, is_allowed }))
    }
}
