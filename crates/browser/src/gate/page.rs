//! A tab, as the gate sees it through sessions of its own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use browser_shell_core::gate::{DocumentUrl, classify_url, is_pdf_viewer};
use browser_shell_core::keyboard::Key;

use crate::gate::notices::Dialog;
use crate::gate::requests::Requests;
use browser_shell_cdp::Connection;
use browser_shell_cdp::protocol::input::{DispatchKeyEvent, DispatchMouseEvent};
use browser_shell_cdp::protocol::page::{Frame, FrameTree};
use browser_shell_cdp::protocol::target::{TargetInfo, TargetKind};
use browser_shell_cdp::protocol::{
    BackendNodeId, BrowserContextId, DebugSessionId, ExecutionContextId, FrameId, LoaderId, TargetId,
};

/// Maximum number of fields of a tab that are known to hold secrets.
const MAX_SECRET_FIELDS: usize = 1024;

/// Maximum number of frames of a tab whose documents are known.
const MAX_FRAMES: usize = 4096;

/// Interval between two looks at a frame that does not answer.
const HUNG_INTERVAL: Duration = Duration::from_millis(100);

/// Time in which Chromium begins a navigation that a document has asked for.
const START_TIME: Duration = Duration::from_millis(100);

/// Reason why a tab was replaced by an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its process has ended.
    Crash,
    /// It did not respond.
    Hang,
    /// It kept Chromium from answering, and its process was ended.
    Flood,
}

/// A tab.
pub struct Page {
    /// Id of the target.
    pub target: TargetId,
    /// Its outermost frame.
    pub(super) frame: FrameId,
    /// Id of its browser context.
    pub context: BrowserContextId,
    /// The gate's own session on it.
    pub session: DebugSessionId,
    /// Position in the order in which tabs appeared.
    pub(super) number: u64,
    state: Mutex<PageState>,
    ready: watch::Sender<bool>,
    /// Number of documents that are being decided.
    deciding: watch::Sender<usize>,
    /// Number of times that a document of the tab asked for another one.
    navigations: watch::Sender<u64>,
    /// Load of the tab's own document.
    load: watch::Sender<Load>,
    /// Requests of its documents that are not answered yet.
    requests: watch::Sender<Requests>,
    /// Held while the secret fields are read: a second search in the same session would end the first.
    pub(super) reading: tokio::sync::Mutex<()>,
    /// Held while a dialog is answered, so that each answer is for one dialog.
    pub(super) answering: tokio::sync::Mutex<()>,
    /// Canceled when the tab has gone.
    pub(super) gone: CancellationToken,
}

#[derive(Default)]
struct PageState {
    url: String,
    title: String,
    opener: Option<TargetId>,
    /// URL of the document of the tab itself that was allowed last.
    awaited: Option<String>,
    /// True if somebody has waited for the tab while its first document was on its way.
    was_awaited: bool,
    /// Frames that have a process of their own, by the gate's own sessions on them.
    frames: HashMap<DebugSessionId, OwnFrame>,
    /// Frames whose document was allowed and is not there yet. Until it is, their processes answer nothing.
    loading_frames: HashSet<FrameId>,
    /// Sessions on frames that do not answer, each with the time at which that was found, if something may have been read there before.
    hung: HashMap<DebugSessionId, Option<Instant>>,
    /// Dialog that is open.
    dialog: Option<OpenDialog>,
    /// Input that waits for its end.
    input_after_dialog: Vec<Release>,
    /// URL whose document the gate answers itself, with an empty one.
    answered_locally: Option<String>,
    /// Documents by frame.
    documents: HashMap<FrameId, FrameDocument>,
    /// Fields that hold secrets, by the gate's own session and the id of the node.
    secret_fields: HashSet<(DebugSessionId, BackendNodeId)>,
    /// The gate's own sessions whose process has ended: that of the tab, or of frames.
    crashed: HashSet<DebugSessionId>,
    /// Loss of the tab that this one replaces, until it shows a document.
    loss: Option<Loss>,
    /// World of the gate's own that was last used in the document of the tab itself.
    world: Option<World>,
}

/// Load of the document of a tab itself.
///
/// While Chromium waits for the server's answer, the tab shows the document before, whose process answers no command of the debugging
/// protocol. What it is asked is answered by the new document.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    /// Number of navigations that were allowed.
    allowed: u64,
    /// Number of the navigation that was allowed last, until the tab shows a document, or is known to get none.
    pending: Option<u64>,
    /// True while the document that the tab shows is not parsed as a whole.
    is_parsing: bool,
    /// Time at which the document asked for another one, until Chromium begins to load that.
    requested: Option<Instant>,
    /// Number of documents that the tab has shown.
    shown: u64,
}

impl Load {
    /// Returns the time in which the navigation begins that the document has asked for.
    fn start_time(&self) -> Option<Duration> {
        self.requested.map(|at| START_TIME.saturating_sub(at.elapsed())).filter(|left| !left.is_zero())
    }
}

/// Frame that has a process of its own.
struct OwnFrame {
    /// The frame, which is the target's id.
    id: FrameId,
    /// The gate's own session over which it was attached.
    parent: DebugSessionId,
    /// Frame that it is in, if Chromium said so.
    outer: Option<FrameId>,
    /// True if the frame is in a PDF, and so shows Chromium's viewer.
    is_in_pdf: bool,
    /// True once its process has answered. Nothing was read in one that has not.
    has_answered: bool,
}

impl PageState {
    fn is_pdf(&self, frame: &FrameId) -> bool {
        self.documents.get(frame).is_some_and(|document| document.is_pdf)
    }

    fn is_in_pdf(&self, frame: &FrameId) -> bool {
        self.documents.get(frame).is_some_and(|document| document.is_in_pdf)
    }
}

/// Dialog that is open.
#[derive(Clone)]
pub(super) struct OpenDialog {
    /// The dialog.
    pub(super) dialog: Dialog,
    /// The gate's own session that reported it.
    pub(super) session: DebugSessionId,
}

impl OpenDialog {
    /// Returns its number if it waits for the agent.
    pub(super) const fn waiting_number(&self) -> Option<u64> {
        self.dialog.number
    }
}

/// Document of a frame.
#[derive(Clone)]
pub(super) struct FrameDocument {
    /// Frame.
    pub(super) frame: FrameId,
    /// The gate's own session on the frame.
    pub(super) session: DebugSessionId,
    /// URL.
    pub(super) url: String,
    /// True if it is a PDF. Chromium shows its viewer in a frame of it.
    is_pdf: bool,
    /// True if the frame is in a PDF.
    is_in_pdf: bool,
}

impl FrameDocument {
    /// Returns true if it is Chromium's viewer of the PDF around it.
    fn is_pdf_viewer(&self) -> bool {
        self.is_in_pdf && is_pdf_viewer(&self.url)
    }
}

/// World of the gate's own in a document.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// Id of the world.
    pub(super) id: ExecutionContextId,
    /// Id of the loader of the document.
    pub(super) document: LoaderId,
    /// Frame that the frame is in.
    pub(super) parent: Option<FrameId>,
}

/// Input that releases a button or a key.
#[derive(Debug)]
pub(super) enum Release {
    /// Event of the pointer.
    Button(DispatchMouseEvent),
    /// Key, with the modifiers that are held after it.
    Key { key: Key, modifiers: u32 },
}

impl Release {
    /// Sends it without waiting for its result.
    pub(super) fn notify(&self, connection: &Connection, session: &DebugSessionId) {
        match self {
            Self::Button(event) => connection.notify(Some(session), event),
            Self::Key { key, modifiers } => {
                connection.notify(Some(session), &DispatchKeyEvent::of(false, key, *modifiers));
            }
        }
    }
}

impl Page {
    /// Creates a tab from what Chromium reports of it.
    pub(super) fn new(session: &DebugSessionId, info: &TargetInfo, number: u64) -> Self {
        let page = Self {
            target: info.target_id.clone(),
            frame: info.target_id.frame(),
            context: info.browser_context_id.clone().unwrap_or_default(),
            session: session.clone(),
            number,
            state: Mutex::default(),
            ready: watch::Sender::new(false),
            deciding: watch::Sender::new(0),
            navigations: watch::Sender::new(0),
            load: watch::Sender::default(),
            requests: watch::Sender::default(),
            reading: tokio::sync::Mutex::new(()),
            answering: tokio::sync::Mutex::new(()),
            gone: CancellationToken::new(),
        };
        page.update(info);
        page
    }

    fn state(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what Chromium reports of the tab now.
    pub(super) fn update(&self, info: &TargetInfo) {
        let mut state = self.state();
        state.url.clone_from(&info.url);
        state.title.clone_from(&info.title);
        if info.opener_id.is_some() {
            state.opener.clone_from(&info.opener_id);
        }
    }

    /// Returns the URL that the tab shows.
    pub(super) fn url(&self) -> String {
        self.state().url.clone()
    }

    /// Returns true if sessions may use the tab: it runs, and is no page of Chromium itself, which has rights that no site has.
    pub fn is_usable(&self) -> bool {
        classify_url(&self.state().url) != DocumentUrl::Internal && !self.has_crashed()
    }

    /// Records that the process of the tab or of a frame has ended. Returns false if that is known.
    pub(super) fn set_crashed(&self, session: &DebugSessionId) -> bool {
        self.change_requests(|requests| requests.end_session(session));
        let mut state = self.state();
        state.secret_fields.retain(|(known, _)| known != session);
        state.documents.retain(|_, document| document.session != *session);
        state.hung.remove(session);
        state.crashed.insert(session.clone())
    }

    /// Records that a frame has a process again.
    pub(super) fn set_running(&self, session: &DebugSessionId) {
        self.state().crashed.remove(session);
    }

    /// Returns true if the process of the tab has ended.
    pub fn has_crashed(&self) -> bool {
        self.state().crashed.contains(&self.session)
    }

    /// Records that the tab replaces another one, which was lost.
    pub(super) fn set_loss(&self, loss: Loss) {
        self.state().loss = Some(loss);
    }

    /// Returns the loss of the tab that this one replaces, unless it shows a document by now.
    pub(super) fn loss(&self) -> Option<Loss> {
        self.state().loss
    }

    /// Records that the document of a frame asks for another one, or will.
    pub(super) fn add_navigation(&self, frame: &FrameId) {
        self.navigations.send_modify(|count| *count += 1);
        if *frame == self.frame {
            self.load.send_modify(|load| load.requested = Some(Instant::now()));
        }
    }

    /// Records that the document has moved within itself, so that it asks for no other one.
    pub(super) fn set_moved_within(&self) {
        self.load.send_modify(|load| load.requested = None);
    }

    /// Returns how often a document of the tab has asked for another one, which grows.
    pub(super) fn watch_navigations(&self) -> watch::Receiver<u64> {
        self.navigations.subscribe()
    }

    /// Returns the target that opened the tab.
    pub(super) fn opener(&self) -> Option<TargetId> {
        self.state().opener.clone()
    }

    /// Returns true if a page opened the tab.
    pub(super) fn has_opener(&self) -> bool {
        self.state().opener.is_some()
    }

    /// Returns true if the gate has set the tab up.
    pub fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Records that the gate has set the tab up.
    pub(super) fn set_ready(&self) {
        self.ready.send_replace(true);
    }

    /// Waits until the gate has set the tab up.
    pub async fn wait_until_ready(&self) {
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// Adds a session of the gate's own on a frame.
    pub(super) fn add_frame(&self, session: &DebugSessionId, parent: &DebugSessionId, info: &TargetInfo) {
        let is_in_pdf = self.is_in_pdf(info);
        let outer = info.parent_frame_id.clone();
        let id = info.target_id.frame();
        let frame = OwnFrame { id, parent: parent.clone(), outer, is_in_pdf, has_answered: false };
        self.state().frames.insert(session.clone(), frame);
    }

    /// Returns a session of the gate's own on a frame, and those on the frames in it.
    pub(super) fn sessions_below(&self, session: &DebugSessionId) -> Vec<DebugSessionId> {
        let state = self.state();
        let mut found = vec![session.clone()];
        let mut position = 0;
        while let Some(parent) = found.get(position).cloned() {
            let inner = state.frames.iter().filter(|(_, frame)| frame.parent == parent).map(|(session, _)| session);
            found.extend(inner.cloned());
            position += 1;
        }
        found
    }

    /// Changes the requests that are not answered yet.
    pub(super) fn change_requests(&self, change: impl FnOnce(&mut Requests)) {
        self.requests.send_modify(change);
    }

    /// Returns the requests that are not answered yet.
    pub(super) fn watch_requests(&self) -> watch::Receiver<Requests> {
        self.requests.subscribe()
    }

    /// Removes a session of the gate's own on a frame.
    pub(super) fn remove_frame(&self, session: &DebugSessionId) {
        self.change_requests(|requests| requests.end_session(session));
        let mut state = self.state();
        state.frames.remove(session);
        state.crashed.remove(session);
        state.hung.remove(session);
        state.secret_fields.retain(|(known, _)| known != session);
        state.documents.retain(|_, document| document.session != *session);
    }

    /// Returns the gate's own sessions on the tab and on its frames.
    pub(super) fn sessions(&self) -> Vec<DebugSessionId> {
        std::iter::once(self.session.clone()).chain(self.state().frames.keys().cloned()).collect()
    }

    /// Returns the gate's own sessions on the tab and on its frames whose process runs, does not hang, and waits for no document: the others
    /// answer nothing. Those on the viewers of PDFs are left out.
    pub(super) fn running_sessions(&self) -> Vec<DebugSessionId> {
        let state = self.state();
        let is_read = |frame: &OwnFrame| !state.loading_frames.contains(&frame.id) && !frame.is_in_pdf;
        let frames = state.frames.iter().filter(|(_, frame)| is_read(frame)).map(|(session, _)| session);
        let all = std::iter::once(&self.session).chain(frames);
        let is_running =
            |session: &&DebugSessionId| !state.crashed.contains(*session) && !state.hung.contains_key(*session);
        all.filter(is_running).cloned().collect()
    }

    /// Returns true if a frame with a process of its own waits for its document, or does not answer.
    pub(super) fn has_loading_frame(&self) -> bool {
        let state = self.state();
        !state.hung.is_empty() || state.frames.values().any(|frame| state.loading_frames.contains(&frame.id))
    }

    /// Records that a frame does not answer, and if something may have been read in it before. Returns false if that is known, for the tab
    /// itself, and while a dialog keeps all frames from answering.
    pub(super) fn set_hung(&self, session: &DebugSessionId, may_be_read: bool) -> bool {
        let mut state = self.state();
        let Some(frame) = state.frames.get(session) else { return false };
        if state.dialog.is_some() || state.crashed.contains(session) || state.hung.contains_key(session) {
            return false;
        }
        let found = (may_be_read && frame.has_answered).then(Instant::now);
        state.hung.insert(session.clone(), found);
        true
    }

    /// Records that a frame answers.
    pub(super) fn set_answering(&self, session: &DebugSessionId) {
        let mut state = self.state();
        state.hung.remove(session);
        if let Some(frame) = state.frames.get_mut(session) {
            frame.has_answered = true;
        }
    }

    /// Returns true if a frame has answered.
    #[cfg(test)]
    pub(super) fn has_answered(&self, session: &DebugSessionId) -> bool {
        self.state().frames.get(session).is_some_and(|frame| frame.has_answered)
    }

    /// Returns true if a frame does not answer.
    pub(super) fn is_hung(&self, session: &DebugSessionId) -> bool {
        self.state().hung.contains_key(session)
    }

    /// Waits until a frame answers, or is gone.
    pub(super) async fn wait_until_answering(&self, session: &DebugSessionId) {
        while self.is_hung(session) && !self.gone.is_cancelled() {
            tokio::time::sleep(HUNG_INTERVAL).await;
        }
    }

    /// Returns true if one of the frames does not answer.
    pub(super) fn has_hung_frame(&self) -> bool {
        !self.state().hung.is_empty()
    }

    /// Returns true if a frame in which something may have been read does not answer, as was found since a call began.
    pub(super) fn has_hung_since(&self, begin: Option<Instant>) -> bool {
        self.state().hung.values().flatten().any(|found| begin.is_some_and(|begin| *found >= begin))
    }

    /// Returns the gate's own session on the process that shows a frame with a process of its own.
    pub(super) fn parent_session(&self, session: &DebugSessionId) -> Option<DebugSessionId> {
        self.state().frames.get(session).map(|frame| frame.parent.clone())
    }

    /// Records the dialog that is open. A tab shows one at a time.
    pub(super) fn set_dialog(&self, dialog: OpenDialog) {
        self.state().dialog = Some(dialog);
    }

    /// Records that the dialog has ended, and returns the input that waited for it.
    pub(super) fn end_dialog(&self) -> Vec<Release> {
        let mut state = self.state();
        state.dialog = None;
        std::mem::take(&mut state.input_after_dialog)
    }

    /// Records that the dialog has ended with the tab or frame that showed it, and returns the input that waited for it.
    pub(super) fn end_dialog_of(&self, session: &DebugSessionId) -> Vec<Release> {
        let mut state = self.state();
        let ended = state.dialog.take_if(|open| open.session == *session);
        if ended.is_some() { std::mem::take(&mut state.input_after_dialog) } else { Vec::new() }
    }

    /// Keeps input until the dialog that is open has ended. Returns it if none is open.
    pub(super) fn keep_during_dialog(&self, input: Release) -> Option<Release> {
        let mut state = self.state();
        if state.dialog.is_none() {
            return Some(input);
        }
        state.input_after_dialog.push(input);
        None
    }

    /// Returns the dialog that is open.
    pub(super) fn dialog(&self) -> Option<OpenDialog> {
        self.state().dialog.clone()
    }

    /// Records that the dialog with this number has ended.
    pub(super) fn remove_dialog(&self, number: u64) {
        self.state().dialog.take_if(|open| open.waiting_number() == Some(number));
    }

    /// Counts a document that is being decided until the guard is dropped.
    pub(super) fn begin_decision(self: &Arc<Self>) -> PendingDecision {
        self.deciding.send_modify(|count| *count += 1);
        PendingDecision(self.clone())
    }

    /// Waits until no document is being decided.
    pub(super) async fn wait_until_decided(&self) {
        let _ = self.deciding.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Records that a frame may request a document. Returns the number of such navigations.
    pub(super) fn expect_document(&self, frame: &FrameId) -> u64 {
        if *frame != self.frame {
            let mut state = self.state();
            if state.loading_frames.len() < MAX_FRAMES {
                state.loading_frames.insert(frame.clone());
            }
        }
        let mut number = 0;
        self.load.send_modify(|load| {
            load.allowed += 1;
            number = load.allowed;
            if *frame == self.frame {
                (load.pending, load.requested) = (Some(number), None);
            }
        });
        number
    }

    /// Returns true if a document of the tab itself was allowed, and is not there yet.
    pub(super) fn is_loading(&self) -> bool {
        self.load.borrow().pending.is_some()
    }

    /// Records that a navigation has ended.
    pub(super) fn end_navigation(&self, frame: &FrameId, number: u64) {
        self.state().loading_frames.remove(frame);
        self.load.send_if_modified(|load| load.pending.take_if(|pending| *pending == number).is_some());
    }

    /// Records that the document of the tab is parsed as a whole.
    pub(super) fn set_parsed(&self) {
        self.load.send_modify(|load| load.is_parsing = false);
    }

    /// Returns true while the document of the tab is not parsed as a whole.
    pub(super) fn is_parsing(&self) -> bool {
        self.load.borrow().is_parsing
    }

    /// Returns the number of documents that the tab has shown.
    pub(super) fn documents_shown(&self) -> u64 {
        self.load.borrow().shown
    }

    /// Waits until the document of the tab is parsed as a whole.
    pub(super) async fn wait_until_parsed(&self) {
        let _ = self.load.subscribe().wait_for(|load| !load.is_parsing).await;
    }

    /// Returns true if the tab has a navigation pending, or its document has just asked for one.
    pub(super) fn is_navigating(&self) -> bool {
        let load = *self.load.borrow();
        load.pending.is_some() || load.start_time().is_some()
    }

    /// Waits until the tab has no navigation pending, nor one that its document has just asked for.
    pub(super) async fn wait_until_committed(&self) {
        let mut load = self.load.subscribe();
        loop {
            let now = *load.borrow_and_update();
            match now.start_time() {
                _ if now.pending.is_some() => {
                    let _ = load.changed().await;
                }
                None => return,
                // A navigation that was asked for may not begin: of a script, or to another program.
                Some(left) => {
                    let _ = tokio::time::timeout(left, load.changed()).await;
                }
            }
        }
    }

    /// Waits until a navigation is pending.
    pub(super) async fn wait_until_pending(&self) {
        let _ = self.load.subscribe().wait_for(|load| load.pending.is_some()).await;
    }

    /// Returns true if a document of the tab itself was allowed that it does not show yet, or one is being decided.
    pub(super) fn is_document_coming(&self) -> bool {
        self.load.borrow().pending.is_some() || *self.deciding.borrow() > 0
    }

    /// Returns true if the tab shows nothing yet, as one does whose first document is on its way.
    pub(super) fn is_about_to_show(&self) -> bool {
        self.state().url.is_empty()
    }

    /// Records the URL of a document of the tab itself that was allowed.
    pub(super) fn set_awaited(&self, url: &str) {
        self.state().awaited = Some(url.to_owned());
    }

    /// Returns the URL of the first document of the tab, while that is on its way.
    pub(super) fn awaited(&self) -> Option<String> {
        if !self.is_loading() {
            return None;
        }
        let state = self.state();
        state.awaited.clone().filter(|_| state.url.is_empty())
    }

    /// Returns true if the first document of the tab is on its way, and this was asked before.
    pub(super) fn is_awaited_longer(&self) -> bool {
        self.awaited().is_some() && std::mem::replace(&mut self.state().was_awaited, true)
    }

    /// Takes the document that a frame begins to show.
    pub(super) fn set_new_document(&self, session: &DebugSessionId, frame: &Frame, is_restored: bool) {
        let is_of_tab = frame.id == self.frame;
        self.set_document(session, frame);
        self.change_requests(|requests| {
            requests.set_document(session, &frame.id, &frame.loader_id, is_of_tab);
        });
        if is_of_tab {
            self.load.send_modify(|load| {
                (load.pending, load.requested) = (None, None);
                load.shown += 1;
                // One that Chromium has kept is there as a whole.
                load.is_parsing = !is_restored;
            });
        }
    }

    /// Takes the documents of a session's frames that no event has told: what an event told is newer, and may be handled before.
    pub(super) fn add_documents(&self, session: &DebugSessionId, tree: &FrameTree) {
        for frame in tree.frames() {
            let is_told = |known: &FrameDocument| known.session == *session;
            if !self.state().documents.get(&frame.id).is_some_and(is_told) {
                self.set_document(session, frame);
            }
        }
    }

    /// Takes the document that a frame shows.
    fn set_document(&self, session: &DebugSessionId, frame: &Frame) {
        let Frame { id, parent_id, url, mime_type, .. } = frame;
        let mut state = self.state();
        state.loading_frames.remove(id);
        if state.frames.get(session).is_some_and(|frame| frame.id == *id) {
            state.hung.remove(session);
        }
        if *id == self.frame {
            state.loss = None;
            state.world = None;
        }
        if state.documents.len() < MAX_FRAMES || state.documents.contains_key(id) {
            let is_pdf = mime_type == "application/pdf";
            // The PDF may have been left by now.
            let is_in_pdf = parent_id.as_ref().is_some_and(|parent| state.is_pdf(parent))
                || state.frames.get(session).is_some_and(|frame| frame.is_in_pdf);
            let document =
                FrameDocument { frame: id.clone(), session: session.clone(), url: url.clone(), is_pdf, is_in_pdf };
            state.documents.insert(id.clone(), document);
        }
    }

    /// Removes a frame.
    pub(super) fn remove_document(&self, session: &DebugSessionId, frame: &FrameId) {
        let mut state = self.state();
        state.loading_frames.remove(frame);
        // A frame that gets a process of its own leaves this session only.
        if state.documents.get(frame).is_some_and(|document| document.session == *session) {
            state.documents.remove(frame);
        }
    }

    /// Returns the documents of all frames, without the viewers of PDFs.
    pub(super) fn documents(&self) -> Vec<FrameDocument> {
        let state = self.state();
        state.documents.values().filter(|document| !document.is_pdf_viewer()).cloned().collect()
    }

    /// Returns true if the document of a frame is a PDF.
    pub(super) fn is_pdf(&self, frame: &FrameId) -> bool {
        self.state().is_pdf(frame)
    }

    /// Returns true if a frame shows a PDF.
    pub(super) fn has_pdf(&self) -> bool {
        self.state().documents.values().any(|document| document.is_pdf)
    }

    /// Returns the gate's own session on Chromium's viewer of the PDF that a frame shows.
    pub(super) fn viewer_of(&self, frame: &FrameId) -> Option<DebugSessionId> {
        let state = self.state();
        let is_viewer = |viewer: &OwnFrame| {
            viewer.outer.as_ref() == Some(frame)
                && state.documents.get(&viewer.id).is_some_and(FrameDocument::is_pdf_viewer)
        };
        state.frames.iter().find(|(_, viewer)| is_viewer(viewer)).map(|(session, _)| session.clone())
    }

    /// Returns true if the target of a frame is in a PDF: Chromium shows its viewer in it.
    pub fn is_in_pdf(&self, info: &TargetInfo) -> bool {
        let state = self.state();
        state.is_in_pdf(&info.target_id.frame())
            || info.parent_frame_id.as_ref().is_some_and(|parent| state.is_pdf(parent))
    }

    /// Returns the world that was last used in the document of the tab itself. It may be gone.
    pub(super) fn world(&self) -> Option<World> {
        self.state().world.clone()
    }

    /// Records the world that is used in the document of the tab itself.
    pub(super) fn set_world(&self, world: World) {
        self.state().world = Some(world);
    }

    /// Adds a field that holds a secret. Returns false if the tab has too many.
    #[must_use]
    pub(super) fn add_secret_field(&self, session: &DebugSessionId, node: BackendNodeId) -> bool {
        let mut state = self.state();
        let field = (session.clone(), node);
        if state.secret_fields.len() >= MAX_SECRET_FIELDS && !state.secret_fields.contains(&field) {
            return false;
        }
        state.secret_fields.insert(field);
        true
    }

    /// Removes a field that is gone.
    pub(super) fn remove_secret_field(&self, session: &DebugSessionId, node: BackendNodeId) {
        self.state().secret_fields.remove(&(session.clone(), node));
    }

    /// Returns the fields of a session that hold secrets.
    pub(super) fn secret_fields(&self, session: &DebugSessionId) -> Vec<BackendNodeId> {
        let state = self.state();
        state.secret_fields.iter().filter(|(known, _)| known == session).map(|(_, node)| *node).collect()
    }

    /// Sets the URL whose document the gate answers itself.
    pub(super) fn set_answered_locally(&self, url: Option<String>) {
        self.state().answered_locally = url;
    }

    /// Returns true if the gate answers a document itself.
    pub(super) fn is_answered_locally(&self, url: &str) -> bool {
        self.state().answered_locally.as_deref() == Some(url)
    }

    /// Returns the target as a client sees it.
    pub fn to_target_info(&self) -> TargetInfo {
        let state = self.state();
        TargetInfo {
            target_id: self.target.clone(),
            kind: TargetKind::Page,
            title: state.title.clone(),
            url: state.url.clone(),
            attached: true,
            can_access_opener: false,
            browser_context_id: Some(self.context.clone()),
            opener_id: state.opener.clone(),
            parent_frame_id: None,
        }
    }
}

/// A document that is being decided, until this is dropped.
pub(super) struct PendingDecision(Arc<Page>);

impl Drop for PendingDecision {
    fn drop(&mut self) {
        self.0.deciding.send_modify(|count| *count -= 1);
    }
}
