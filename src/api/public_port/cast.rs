//! Server of RFB that shows a viewer the page of a session, and the visitors of a screen: their access, and the sessions whose pages
//! they may see.
//!
//! Invariants: the page gets input only from a viewer with [`Control`](browser_shell_core::rfb::Access::Control); a picture is sent
//! only when the viewer has asked for one, and by a policy that is read before; the connection ends with the server.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::SplitSink;
use futures::{SinkExt, StreamExt};
use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::api::auth::Authenticator;
use crate::api::public_port::bridge::{End, PING_INTERVAL, close};
use browser_shell_browser::gate::{ControlGate, GateError, Owners, PageCast, SessionSelection, ViewerInput};
use browser_shell_core::auth::{Principal, Scope};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::SessionAccess;
use browser_shell_core::rfb::{
    Access, SECURITY_RESULT, SECURITY_TYPES, VERSION, ViewerEncodings, ViewerMessage, ViewerReader, jpeg_update,
    name_update, server_init, size_update, text_update,
};
use browser_shell_core::session_id::SessionId;

/// Interval between checks if the viewer sees the right page.
const SELECTION_INTERVAL: Duration = Duration::from_millis(200);

/// Minimum interval between two restarts of a screencast for a viewer.
const RESTART_INTERVAL: Duration = Duration::from_millis(200);

/// Time after which the picture of a restart counts as lost.
const RESTART_TIMEOUT: Duration = Duration::from_secs(2);

/// Screen without a display: the pages of sessions.
pub(super) struct Cast {
    pub(super) gate: Arc<ControlGate>,
    pub(super) visitor: Visitor,
    /// Name of the sessions that the viewer asks for, if it has named one.
    pub(super) name: Option<SessionId>,
    /// Width and height of the screen before there is a page.
    pub(super) size: (u16, u16),
}

/// Serves a viewer until it leaves, `lost` ends, which waits for the end of its credential, or the server stops.
pub(super) async fn run<S>(
    viewer: WebSocketStream<S>,
    cast: Cast,
    lost: impl Future<Output = ()>,
    stop: &CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (mut to_viewer, mut from_viewer) = viewer.split();
    let mut viewer = Viewer::new(cast);
    let serve = async {
        if !send(&mut to_viewer, VERSION.to_vec()).await {
            return End::Viewer;
        }
        let mut pings = interval(PING_INTERVAL);
        let mut checks = interval(SELECTION_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let answers = tokio::select! {
                message = from_viewer.next() => match message {
                    Some(Ok(Message::Binary(bytes))) => match viewer.read(&bytes).await {
                        Ok(answers) => answers,
                        Err(end) => return end,
                    },
                    Some(Ok(Message::Text(_))) => return End::Text,
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Viewer,
                },
                () = viewer.wait_for_picture() => Vec::new(),
                () = viewer.wait_for_restart() => {
                    viewer.restart().await;
                    Vec::new()
                }
                _ = checks.tick() => {
                    viewer.select_page().await;
                    Vec::new()
                }
                _ = pings.tick() => {
                    if to_viewer.send(Message::Ping(Bytes::new())).await.is_err() {
                        return End::Viewer;
                    }
                    continue;
                }
            };
            for answer in answers.into_iter().chain(viewer.next_update()) {
                if !send(&mut to_viewer, answer).await {
                    return End::Viewer;
                }
            }
        }
    };
    let end = tokio::select! {
        biased; // without a credential, nothing more is passed on
        () = lost => End::CredentialLost,
        () = stop.cancelled() => End::Server,
        end = serve => end,
    };
    // Before the viewer knows: Chromium makes no more pictures for it.
    drop(viewer);
    close(&mut to_viewer, &mut from_viewer, end).await;
}

/// Sends bytes. Returns false if the viewer is gone.
async fn send<S>(to_viewer: &mut SplitSink<WebSocketStream<S>, Message>, bytes: Vec<u8>) -> bool
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    to_viewer.send(Message::Binary(bytes.into())).await.is_ok()
}

/// Restarts of a screencast, by which Chromium sends a picture also of a page that does not change. A viewer can ask for any number of
/// them.
#[derive(Debug, Default)]
struct Restarts {
    /// Time of the last one.
    last: Option<Instant>,
    /// True until there is a picture of the last one.
    is_awaited: bool,
    /// Time of the next one, if one is needed.
    due: Option<Instant>,
}

impl Restarts {
    /// Records at a time that a viewer needs the picture of a restart, which may be on its way.
    fn request(&mut self, now: Instant) {
        let is_on_its_way = self.is_awaited && self.last.is_some_and(|last| now < last + RESTART_TIMEOUT);
        if !is_on_its_way && self.due.is_none() {
            self.due = Some(self.last.map_or(now, |last| now.max(last + RESTART_INTERVAL)));
        }
    }

    /// Records a restart.
    fn begin(&mut self, now: Instant) {
        *self = Self { last: Some(now), is_awaited: true, due: None };
    }

    /// Records that no restart is needed or on its way any more.
    fn end(&mut self) {
        (self.is_awaited, self.due) = (false, None);
    }
}

/// State of one viewer.
struct Viewer {
    cast: Cast,
    reader: ViewerReader,
    encodings: ViewerEncodings,
    /// Screencast of the page that the viewer sees.
    page: Option<PageCast>,
    /// Restarts of this screencast.
    restarts: Restarts,
    /// True while the viewer waits for an update.
    is_waiting: bool,
    /// True if the handshake is over.
    is_ready: bool,
    /// Size that the viewer knows.
    size: (u16, u16),
    /// Width and height of the page, in its own pixels, by which points are converted.
    page_size: (f64, f64),
    /// Name that the viewer knows.
    name: String,
    /// Picture that waits until the viewer knows its size.
    picture: Option<Vec<u8>>,
    /// True if the viewer is to see that there is no page.
    is_black: bool,
}

impl Viewer {
    fn new(cast: Cast) -> Self {
        let reader = ViewerReader::new(cast.visitor.access);
        let (width, height) = cast.size;
        Self {
            size: cast.size,
            page_size: (width.into(), height.into()),
            cast,
            reader,
            encodings: ViewerEncodings::default(),
            page: None,
            restarts: Restarts::default(),
            is_waiting: false,
            is_ready: false,
            name: String::new(),
            picture: None,
            is_black: true,
        }
    }

    /// Reads bytes of the viewer, and returns the answers of the handshake.
    async fn read(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, End> {
        let mut messages = Vec::new();
        let result = self.reader.read(bytes, &mut messages);
        let mut answers = Vec::new();
        // Several requests for an update are one, for everything if one of them is.
        let mut asked: Option<bool> = None;
        for message in messages {
            match message {
                ViewerMessage::Version => answers.push(SECURITY_TYPES.to_vec()),
                ViewerMessage::SecurityType => answers.push(SECURITY_RESULT.to_vec()),
                ViewerMessage::Init => {
                    self.is_ready = true;
                    self.select_page().await;
                    self.name = self.current_name();
                    answers.push(server_init(self.size, &self.name));
                }
                ViewerMessage::Encodings(encodings) => self.encodings = encodings,
                ViewerMessage::UpdateRequest { is_incremental } => {
                    asked = Some(is_incremental && asked.unwrap_or(true));
                }
                ViewerMessage::Key { is_down, symbol } => self.input(ViewerInput::Key { is_down, symbol }),
                ViewerMessage::Pointer { buttons, x, y } => {
                    let point = self.point_of_page(x, y);
                    self.input(ViewerInput::Pointer { buttons, point });
                }
                ViewerMessage::Other => {}
            }
        }
        result.map_err(End::Refused)?;
        if let Some(is_incremental) = asked {
            self.ask(is_incremental).await?;
        }
        Ok(answers)
    }

    /// Takes a request for an update.
    async fn ask(&mut self, is_incremental: bool) -> Result<(), End> {
        if !self.encodings.has_jpeg || !self.encodings.has_size {
            return Err(End::Unsupported);
        }
        let was_waiting = std::mem::replace(&mut self.is_waiting, true);
        let Some(page) = &self.page else {
            self.is_black |= !is_incremental;
            return Ok(());
        };
        if !is_incremental && self.picture.is_none() {
            self.restarts.request(Instant::now());
        } else if !(is_incremental && was_waiting)
            && let Err(error) = page.ask().await
        {
            self.lose_page(&error);
        }
        Ok(())
    }

    /// Waits until a restart of the screencast is due.
    async fn wait_for_restart(&self) {
        match self.restarts.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Starts the screencast again.
    async fn restart(&mut self) {
        self.restarts.begin(Instant::now());
        let Some(page) = &self.page else { return };
        if let Err(error) = page.restart().await {
            self.lose_page(&error);
        }
    }

    /// Leaves a page that does not answer.
    fn lose_page(&mut self, error: &GateError) {
        tracing::debug!(%error, "the page of a viewer does not answer");
        self.leave_page();
    }

    /// Shows the page that the viewer is to see now.
    async fn select_page(&mut self) {
        if !self.is_ready {
            return;
        }
        let Some(selection) = self.selection() else { return self.leave_page() };
        if self.cast.gate.is_current(self.page.as_ref(), &selection) {
            return;
        }
        self.leave_page();
        match self.cast.gate.cast(&selection, self.cast.visitor.access).await {
            Ok(page) => self.page = page,
            Err(error) => tracing::debug!(%error, "the page of a viewer does not answer"),
        }
    }

    /// Returns the sessions whose pages the viewer may see now, by a policy that can change at any time; `None` if it may see none.
    fn selection(&self) -> Option<SessionSelection> {
        self.cast.visitor.selection(self.cast.name.as_ref()).ok()
    }

    /// Leaves the page if the viewer may see it no more.
    fn leave_refused_page(&mut self) {
        let Some(page) = &self.page else { return };
        if !self.selection().is_some_and(|selection| selection.contains(page.session_id())) {
            self.leave_page();
        }
    }

    fn leave_page(&mut self) {
        if self.page.take().is_some() {
            self.picture = None;
            self.is_black = true;
            self.restarts.end();
        }
    }

    /// Waits until there is something to send.
    async fn wait_for_picture(&self) {
        match &self.page {
            // The picture of a restart shows what the viewer has asked for.
            Some(page) if self.is_waiting && self.restarts.due.is_none() => page.wait_for_picture().await,
            _ => std::future::pending().await,
        }
    }

    /// Returns the update that the viewer waits for, if there is one.
    fn next_update(&mut self) -> Option<Vec<u8>> {
        if !self.is_waiting {
            return None;
        }
        let update = self.update()?;
        self.is_waiting = false;
        Some(update)
    }

    fn update(&mut self) -> Option<Vec<u8>> {
        self.leave_refused_page();
        let name = self.current_name();
        if self.encodings.has_name && self.name != name {
            self.name.clone_from(&name);
            // The text on the screen may be another one, too.
            self.is_black = true;
            return Some(name_update(&name));
        }
        let Some(page) = &self.page else {
            return std::mem::take(&mut self.is_black).then(|| text_update(self.size, self.absence()));
        };
        if self.restarts.due.is_none()
            && let Some(picture) = page.take_picture()
        {
            self.restarts.end();
            self.picture = jpeg_update(picture.size, &picture.jpeg);
            self.page_size = picture.page_size;
            if self.size != picture.size {
                // An update of its own: the viewer then asks for its content.
                self.size = picture.size;
                return Some(size_update(picture.size));
            }
        }
        self.is_black = false;
        self.picture.take()
    }

    /// Returns the reason why the viewer sees no page.
    fn absence(&self) -> &'static str {
        match self.selection().map(|selection| selection.owners) {
            Some(Owners::All) => "no page yet",
            Some(Owners::Only(_)) => "your sessions have no page yet",
            None => "you may see no page",
        }
    }

    fn current_name(&self) -> String {
        let Some(page) = &self.page else { return format!("browser-shell: {} (page only)", self.absence()) };
        let session = page.session_id();
        let owner = session.owner().map(|owner| format!(" of {owner}")).unwrap_or_default();
        format!("browser-shell: page of session {session}{owner} (page only)")
    }

    /// Returns the point of the page at a point of the screen.
    fn point_of_page(&self, x: u16, y: u16) -> (f64, f64) {
        let scale = |at: u16, side: u16, page: f64| f64::from(at) * page / f64::from(side.max(1));
        (scale(x, self.size.0, self.page_size.0), scale(y, self.size.1, self.page_size.1))
    }

    fn input(&mut self, input: ViewerInput) {
        self.leave_refused_page();
        if let Some(page) = &self.page {
            page.send_input(input);
        }
    }
}

/// Visitor of a screen.
pub(super) struct Visitor {
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) principal: Principal,
    pub(super) access: Access,
}

impl Visitor {
    /// Returns the sessions whose pages the visitor may see now: all, or those with a name.
    ///
    /// # Errors
    ///
    /// `policy-invalid` or `subject-missing`: it may see none.
    pub(super) fn selection(&self, name: Option<&SessionId>) -> Result<SessionSelection, Box<Decision>> {
        let owners = owners(&self.principal, self.authenticator.sessions()?)?;
        Ok(SessionSelection { owners, name: name.cloned() })
    }
}

/// Returns the owners whose sessions a principal may see.
fn owners(principal: &Principal, sessions: SessionAccess) -> Result<Owners, Box<Decision>> {
    if sessions == SessionAccess::Any || principal.scope.is_some_and(|scope| scope.contains(Scope::Admin)) {
        return Ok(Owners::All);
    }
    let reason = "sessions belong to subjects (`access.sessions`), and the credential names none";
    let missing = || Box::new(Decision::new(Code::SubjectMissing, reason));
    principal.subject.clone().map(Owners::Only).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::auth::Subject;

    #[test]
    fn restarts_follow_requests_and_are_not_more_often() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut restarts = Restarts::default();
        restarts.request(start);
        assert_eq!(restarts.due, Some(start), "control: the first one is due at once");
        restarts.begin(start);
        restarts.request(at(1));
        restarts.request(at(1900));
        assert_eq!(restarts.due, None, "its picture is on its way");
        restarts.request(at(2000));
        assert_eq!(restarts.due, Some(at(2000)), "its picture is lost");
        restarts.begin(at(2000));
        restarts.end();
        assert_eq!(restarts.due, None);
        restarts.request(at(2050));
        restarts.request(at(2060));
        assert_eq!(restarts.due, Some(at(2200)));
        restarts.begin(at(2200));
        restarts.end();
        restarts.request(at(9000));
        assert_eq!(restarts.due, Some(at(9000)), "control: the last one is long ago");
    }

    #[test]
    fn viewers_see_no_sessions_but_their_own() {
        let ada = || Subject::new("ada").expect("valid");
        let seen = |sessions, subject, scope| {
            let principal = Principal { subject, scope, ..Principal::anonymous() };
            owners(&principal, sessions).map_err(|decision| decision.code)
        };
        for scope in [None, Some(Scope::Watch), Some(Scope::Drive)] {
            assert_eq!(seen(SessionAccess::Any, Some(ada()), scope), Ok(Owners::All), "control");
            assert_eq!(seen(SessionAccess::Own, Some(ada()), scope), Ok(Owners::Only(ada())));
            assert_eq!(seen(SessionAccess::Own, None, scope), Err(Code::SubjectMissing));
        }
        assert_eq!(seen(SessionAccess::Own, Some(ada()), Some(Scope::Admin)), Ok(Owners::All));
    }
}
