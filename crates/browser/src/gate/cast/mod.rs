//! Pages of sessions as pictures, for people who watch them where there is no display.
//!
//! Each viewer has a debugging session of its own on the page that it sees, so that a slow one holds up nobody else.
//! `docs/design/serve.md` explains why.
//!
//! Invariants: Chromium makes pictures of a page only while somebody watches it; at most one picture waits for a viewer; input
//! pastes nothing that another session has copied; nothing stays pressed whose release was lost.

mod frames;
mod input;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use browser_shell_core::auth::Subject;
use browser_shell_core::rfb::Access;
use browser_shell_core::session_id::SessionId;
use tokio::sync::mpsc;

use self::frames::{Acknowledgment, CastPicture, Frames};
use self::input::{InputTarget, MAX_INPUT};
use crate::gate::browser::{Browser, GateError};
use crate::gate::control::ControlGate;
use crate::gate::page::Page;
use crate::gate::session::GateSession;
use browser_shell_cdp::Receiver;
use browser_shell_cdp::protocol::page::{PictureFormat, ScreencastFrameAck, StartScreencast, StopScreencast};
use browser_shell_cdp::protocol::target::{AttachToTarget, DetachFromTarget};
use browser_shell_cdp::protocol::{CdpCommand, DebugSessionId};

pub use input::ViewerInput;

/// Maximum width and height of a picture, in pixels: Tight has no wider rectangles. Larger pages are made smaller.
const MAX_SIDE: u16 = 2048;

/// Quality of the pictures, from 0 to 100. Text is readable.
const QUALITY: u8 = 85;

/// Owners of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owners {
    /// Every subject, and none.
    All,
    /// This subject.
    Only(Subject),
}

/// Sessions whose pages a viewer may see. It sees the one that was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSelection {
    /// Owners whose sessions these are.
    pub owners: Owners,
    /// Name that they have. Without one, they may have any.
    pub name: Option<SessionId>,
}

impl SessionSelection {
    /// Returns true if a session is one of these.
    #[must_use]
    pub fn contains(&self, session: &SessionId) -> bool {
        let has_owner = match &self.owners {
            Owners::All => true,
            Owners::Only(subject) => session.is_owned_by(subject),
        };
        has_owner && self.name.as_ref().is_none_or(|name| name.as_str() == session.as_str())
    }
}

/// Screencast of the page of a session, for one viewer. It ends when it is dropped.
pub struct PageCast {
    browser: Arc<Browser>,
    page: Arc<Page>,
    session: Arc<GateSession>,
    /// Debugging session of this viewer on the page.
    debugging_session: DebugSessionId,
    frames: Arc<Frames>,
    input: Option<InputQueue>,
}

/// Queue of the input that a viewer gives its page.
struct InputQueue {
    sender: mpsc::Sender<ViewerInput>,
    /// True if input was lost.
    has_lost: Arc<AtomicBool>,
}

impl ControlGate {
    /// Returns the session whose page a viewer sees: the last used one that has a page.
    fn selected_session(&self, selection: &SessionSelection) -> Option<Arc<GateSession>> {
        let sessions = self.sessions().into_iter().filter(|session| selection.contains(session.session_id()));
        let used = sessions.filter_map(|session| Some((session.last_call()?, session)));
        let shown = used.filter(|(_, session)| !session.stop.is_cancelled() && session.active_page().is_some());
        shown.max_by_key(|(time, _): &(Instant, _)| *time).map(|(_, session)| session)
    }

    /// Starts a screencast of the page that a viewer sees; `None` if there is no page.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not start it.
    pub async fn cast(&self, selection: &SessionSelection, access: Access) -> Result<Option<PageCast>, GateError> {
        let Some(session) = self.selected_session(selection) else { return Ok(None) };
        let (Some(browser), Some(page)) = (session.browser(), session.active_page()) else { return Ok(None) };
        let debugging_session = browser.root(&AttachToTarget::new(&page.target)).await?.session_id;
        let frames = Arc::new(Frames::default());
        let receiver: Arc<dyn Receiver> = frames.clone();
        browser.connection.add_session(&debugging_session, &receiver);
        // From here on, dropping it ends the debugging session.
        let mut cast = PageCast { browser, page, session, debugging_session, frames, input: None };
        if access >= Access::Control {
            let (sender, receiver) = mpsc::channel(MAX_INPUT);
            let has_lost = Arc::<AtomicBool>::default();
            let target = InputTarget {
                browser: cast.browser.clone(),
                session: cast.session.clone(),
                debugging_session: cast.debugging_session.clone(),
                has_lost: has_lost.clone(),
            };
            tokio::spawn(input::run(target, receiver));
            cast.input = Some(InputQueue { sender, has_lost });
        }
        cast.start().await?;
        Ok(Some(cast))
    }

    /// Returns true if a viewer sees the page of a screencast, or without one sees none.
    pub fn is_current(&self, cast: Option<&PageCast>, selection: &SessionSelection) -> bool {
        let selected = self.selected_session(selection);
        match (cast, selected) {
            (None, None) => true,
            (Some(cast), Some(session)) => {
                Arc::ptr_eq(&cast.session, &session)
                    && !cast.page.gone.is_cancelled()
                    && session.active_page().is_some_and(|page| Arc::ptr_eq(&page, &cast.page))
            }
            _ => false,
        }
    }
}

impl PageCast {
    /// Returns the session whose page it is.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        self.session.session_id()
    }

    /// Takes the newest picture, if there is one that was not taken.
    #[must_use]
    pub fn take_picture(&self) -> Option<CastPicture> {
        self.frames.take()
    }

    /// Waits until there is a picture to take.
    pub async fn wait_for_picture(&self) {
        while !self.frames.has_picture() {
            self.frames.arrived().await;
        }
    }

    /// Records that the viewer asks for the next picture: Chromium may send more of them.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn ask(&self) -> Result<(), GateError> {
        match self.frames.acknowledge() {
            Acknowledgment::Frames(number, count) => {
                for _ in 0..count {
                    self.browser.connection.notify(Some(&self.debugging_session), &ScreencastFrameAck { number });
                }
                Ok(())
            }
            Acknowledgment::Restart => self.restart().await,
        }
    }

    /// Starts again, which makes Chromium send a picture also of a page that does not change.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn restart(&self) -> Result<(), GateError> {
        self.command(&StopScreencast {}).await?;
        self.frames.clear();
        self.start().await
    }

    /// Gives the page input of the viewer. If the page takes none, input beyond a limit is lost, and everything that is pressed is released
    /// once the page takes input again.
    pub fn send_input(&self, input: ViewerInput) {
        if let Some(InputQueue { sender, has_lost }) = &self.input
            && sender.try_send(input).is_err()
        {
            has_lost.store(true, Ordering::Relaxed);
            tracing::debug!("a page does not take the input of a viewer");
        }
    }

    async fn start(&self) -> Result<(), GateError> {
        let format = PictureFormat::Jpeg;
        let start = StartScreencast { format, quality: QUALITY, max_width: MAX_SIDE, max_height: MAX_SIDE };
        self.command(&start).await
    }

    async fn command(&self, command: &impl CdpCommand) -> Result<(), GateError> {
        self.browser.connection.send(Some(&self.debugging_session), command).await?;
        Ok(())
    }
}

impl Drop for PageCast {
    fn drop(&mut self) {
        self.browser.connection.remove_session(&self.debugging_session);
        if self.input.is_some() {
            // What the viewer holds is released first, and the task that does so ends the debugging session.
            self.browser.connection.notify(Some(&self.debugging_session), &StopScreencast {});
        } else {
            self.browser.connection.notify(None, &DetachFromTarget { session_id: &self.debugging_session });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection_contains_no_session_of_another_owner_or_name() {
        let name = |text: &str| SessionId::new(text).expect("valid");
        let ada = Subject::new("ada").expect("valid");
        let sessions =
            [name("s"), name("s").owned_by(ada.clone()), name("s").owned_by(Subject::new("bob").expect("valid"))];
        let contained = |owners: Owners, named: Option<&str>| {
            let selection = SessionSelection { owners, name: named.map(name) };
            sessions.each_ref().map(|session| selection.contains(session))
        };
        assert_eq!(contained(Owners::All, None), [true; 3], "control");
        assert_eq!(contained(Owners::All, Some("s")), [true; 3]);
        assert_eq!(contained(Owners::All, Some("t")), [false; 3]);
        assert_eq!(contained(Owners::Only(ada.clone()), None), [false, true, false]);
        assert_eq!(contained(Owners::Only(ada.clone()), Some("s")), [false, true, false]);
        assert_eq!(contained(Owners::Only(ada), Some("t")), [false; 3]);
    }
}
