//! Acts that agent-browser is told of while the gate still looks for their element, so that both happen at the same time.
//!
//! agent-browser gets its command with the name of a mark that no element has yet. It may look for the mark as soon as an element gets it, and
//! what it then does waits until the element is checked. An act that is not allowed is answered with an error.

use std::sync::Arc;

use browser_shell_core::element::{Place, Verb};
use tokio::sync::watch;

use crate::gate::act_permission::ActPermission;
use crate::gate::element::error::ElementError;
use crate::gate::element::mark::MarkName;
use crate::gate::element::target::may_be_marked;
use crate::gate::session::GateSession;

/// Act that agent-browser is told of. Unless it is allowed, its commands are refused, also after this is dropped.
pub(crate) struct AnnouncedAct {
    mark: MarkName,
    permission: Arc<ActPermission>,
}

impl AnnouncedAct {
    /// Returns the name of the mark that agent-browser looks for.
    pub(crate) const fn mark(&self) -> &MarkName {
        &self.mark
    }

    /// Takes that the element is not any more where and what it was when it got the mark.
    pub(crate) fn set_changed(&self) {
        self.permission.set_changed();
    }

    /// Returns true if agent-browser has seen something that may no longer be true, so that the act cannot be allowed.
    pub(crate) fn is_outdated(&self) -> bool {
        self.permission.is_outdated()
    }

    /// Returns the number of commands with which the act may have been done, which grows.
    pub(crate) fn watch_done(&self) -> watch::Receiver<u64> {
        self.permission.watch_done()
    }

    /// Returns true if agent-browser has done more than look for the element.
    pub(crate) fn has_acted(&self) -> bool {
        self.permission.has_acted()
    }

    /// Lets agent-browser go on. Returns false if it cannot.
    pub(crate) fn allow(&self) -> bool {
        self.permission.allow()
    }

    /// Has agent-browser give up.
    pub(crate) fn cancel(&self) {
        self.permission.cancel();
    }

    /// Takes that agent-browser has given up, so that its next commands are about something else.
    pub(crate) fn end(self) {
        self.permission.end();
    }
}

impl Drop for AnnouncedAct {
    fn drop(&mut self) {
        self.permission.cancel();
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
        let permission = self.announce_act(mark.as_str(), verb);
        Ok(Some(AnnouncedAct { mark, permission }))
    }

    /// Takes that the commands were sent by which an element gets a mark.
    pub(super) fn set_marked(&self, name: &MarkName) {
        if let Some(act) = self.announced_act(name.as_str()) {
            act.set_marked();
        }
    }

    /// Takes that the element with a mark is not any more where and what it was when it got it.
    pub(super) fn set_changed(&self, name: &MarkName) {
        if let Some(act) = self.announced_act(name.as_str()) {
            act.set_changed();
        }
    }
}
