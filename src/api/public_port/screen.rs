//! Screen of a server, as its viewers reach it.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;
use url::form_urlencoded;

use crate::api::public_port::bridge;
use crate::api::public_port::cast::{self, Cast, Visitor};
use crate::api::public_port::responses::{self, line, no_screen};
use browser_shell_browser::display::RunningDisplay;
use browser_shell_browser::gate::ControlGate;
use browser_shell_core::auth::Right;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::rfb::Access;
use browser_shell_core::session_id::SessionId;
use browser_shell_core::shares::{Exceeded, Party, Share};

/// Maximum size of a viewer's message, in bytes. One with a text for the clipboard is the longest.
const MAX_MESSAGE: usize = 1024 * 1024;

/// Timeout for the display to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Parameter of the query with the session whose page a viewer sees.
const SESSION: &str = "session";

/// Source of what viewers see.
#[derive(Debug)]
enum ScreenSource {
    /// Display, with everything that is on it.
    Display(watch::Receiver<Option<RunningDisplay>>),
    /// Pages of sessions, on a screen of this size before there is one.
    Pages(Arc<ControlGate>, (u16, u16)),
}

/// Screen as one viewer sees it.
enum ViewerStream {
    Display(UnixStream, Access),
    Pages(Cast),
}

/// Screen of a server.
#[derive(Debug)]
pub(crate) struct Screen {
    source: ScreenSource,
    viewers: ViewerTable,
    stop: CancellationToken,
}

impl Screen {
    /// Creates the screen of a display. Viewers are disconnected when `stop` is canceled.
    #[must_use]
    pub(crate) fn new(display: watch::Receiver<Option<RunningDisplay>>, stop: CancellationToken) -> Self {
        Self { source: ScreenSource::Display(display), viewers: ViewerTable::default(), stop }
    }

    /// Creates a screen without a display: viewers see the pages of sessions. Before there is one, it has this size.
    #[must_use]
    pub(crate) fn of_pages(gate: Arc<ControlGate>, size: (u16, u16), stop: CancellationToken) -> Self {
        Self { source: ScreenSource::Pages(gate, size), viewers: ViewerTable::default(), stop }
    }

    /// Returns true if the display runs, or none is needed.
    pub(crate) fn is_running(&self) -> bool {
        match &self.source {
            ScreenSource::Display(display) => display.borrow().is_some(),
            ScreenSource::Pages(..) => true,
        }
    }

    /// Connects a viewer to the screen, or returns the reason why not as a response. The connection ends when `lost` does.
    pub(super) async fn connect(
        &self,
        mut request: Request,
        visitor: Visitor,
        lost: impl Future<Output = ()> + Send + 'static,
    ) -> Response {
        let accepted = match responses::accept(request.headers()) {
            Ok(accepted) => accepted,
            Err(refused) => return *refused,
        };
        let slot = match self.viewers.admit(visitor.principal.party()) {
            Ok(slot) => slot,
            Err(exceeded) => return too_many_viewers(exceeded, &visitor),
        };
        let view = match self.view(request.uri().query(), visitor).await {
            Ok(view) => view,
            Err(refused) => return *refused,
        };
        let upgrade = hyper::upgrade::on(&mut request);
        let stop = self.stop.clone();
        tokio::spawn(async move {
            // The client may leave before the WebSocket is open.
            let Ok(upgraded) = upgrade.await else { return };
            let config =
                WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
            let viewer = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
            match view {
                ViewerStream::Display(display, access) => bridge::run(viewer, display, access, lost, &stop).await,
                ViewerStream::Pages(cast) => cast::run(viewer, cast, lost, &stop).await,
            }
            drop(slot);
        });
        accepted
    }

    /// Returns the screen as a viewer sees it, or the reason why not as a response.
    async fn view(&self, query: Option<&str>, visitor: Visitor) -> Result<ViewerStream, Box<Response>> {
        let name = session_name(query)?;
        match &self.source {
            ScreenSource::Display(_) if name.is_some() => {
                let text = "the screen shows all sessions; serve with --screen cast to see the page of one";
                Err(line(StatusCode::BAD_REQUEST, text).into())
            }
            ScreenSource::Display(display) => {
                let socket = display.borrow().as_ref().map(|display| display.socket.clone());
                let socket = socket.ok_or_else(no_screen)?;
                let connected = tokio::time::timeout(CONNECT_TIMEOUT, connect(&socket)).await;
                let display = connected.ok().and_then(Result::ok).ok_or_else(no_screen)?;
                Ok(ViewerStream::Display(display, visitor.access))
            }
            ScreenSource::Pages(gate, size) => {
                visitor.selection(name.as_ref()).map_err(|decision| {
                    visitor.authenticator.withdraw(&visitor.principal, Right::WatchScreen, &decision);
                    line(StatusCode::FORBIDDEN, &decision.reason)
                })?;
                Ok(ViewerStream::Pages(Cast { gate: gate.clone(), visitor, name, size: *size }))
            }
        }
    }
}

/// Viewers of a screen, by party. Clones have the same ones.
#[derive(Clone, Debug, Default)]
struct ViewerTable(Arc<Mutex<Vec<Party>>>);

impl ViewerTable {
    /// Admits one more viewer of a party.
    ///
    /// # Errors
    ///
    /// The limit that is reached.
    fn admit(&self, party: Party) -> Result<ViewerSlot, Exceeded> {
        let mut parties = self.lock();
        Share::VIEWERS.admit_party(&party, parties.iter())?;
        parties.push(party.clone());
        drop(parties);
        Ok(ViewerSlot { table: self.clone(), party })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Party>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Slot of a viewer, which is free again when this is dropped.
#[derive(Debug)]
struct ViewerSlot {
    table: ViewerTable,
    party: Party,
}

impl Drop for ViewerSlot {
    fn drop(&mut self) {
        let mut parties = self.table.lock();
        if let Some(position) = parties.iter().position(|party| *party == self.party) {
            parties.swap_remove(position);
        }
    }
}

/// Returns the response to one viewer too many, after its audit line was written.
fn too_many_viewers(exceeded: Exceeded, visitor: &Visitor) -> Response {
    let (status, reason) = match exceeded {
        Exceeded::Each(limit) => (StatusCode::TOO_MANY_REQUESTS, format!("{limit} viewers with this subject are open")),
        Exceeded::All(limit) => (StatusCode::SERVICE_UNAVAILABLE, format!("{limit} viewers are open")),
    };
    let decision = Decision::new(Code::Busy, reason);
    visitor.authenticator.withdraw(&visitor.principal, Right::WatchScreen, &decision);
    line(status, &format!("{}; close one of them", decision.reason))
}

/// Returns the session that a query names.
fn session_name(query: Option<&str>) -> Result<Option<SessionId>, Box<Response>> {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let mut names = pairs.filter(|(name, _)| name == SESSION).map(|(_, value)| SessionId::new(&value));
    match (names.next(), names.next()) {
        (None, _) => Ok(None),
        (Some(Some(name)), None) => Ok(Some(name)),
        _ => Err(line(StatusCode::BAD_REQUEST, "`session` is not a valid session id").into()),
    }
}

/// Connects to the display, and waits while its queue is full, which is short.
async fn connect(socket: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(RETRY_INTERVAL).await,
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::session_id::Subject;

    #[test]
    fn viewers_are_shared_by_subject() {
        let table = ViewerTable::default();
        let [ada, bob] = ["ada", "bob"].map(|name| Party::Subject(Subject::new(name)));
        let admit = |party: &Party| table.admit(party.clone());
        let mut of_ada: Vec<_> = (0..32).map(|_| admit(&ada).expect("a share")).collect();
        assert_eq!(admit(&ada).err(), Some(Exceeded::Each(32)));
        let of_bob: Vec<_> = (0..31).map(|_| admit(&bob).expect("a share")).collect();
        let last = admit(&Party::Anyone).expect("a server without credentials has one party");
        assert_eq!(admit(&Party::Anyone).err(), Some(Exceeded::All(64)));
        drop(of_ada.pop());
        assert_eq!(admit(&bob).map(|_| ()), Ok(()));
        assert_eq!(admit(&ada).map(|_| ()), Ok(()), "slots are free again");
        drop((of_ada, of_bob, last));
        assert!(table.lock().is_empty());
    }

    #[test]
    fn query_names_at_most_one_valid_session() {
        let name = |query| session_name(query).map_err(|response| response.status().as_u16());
        assert_eq!(name(None), Ok(None));
        assert_eq!(name(Some("ticket=x")), Ok(None));
        assert_eq!(name(Some("ticket=x&session=s%31")), Ok(SessionId::new("s1")));
        for query in ["session=", "session=a/b", "session=a%00", "session=a&session=a"] {
            assert_eq!(name(Some(query)), Err(400), "{query}");
        }
    }
}
