//! Capture of all frames of a tab for a snapshot that is asked for.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::output::mask::{self, Literals};
use browser_shell_core::snapshot::{CaptureError, Document, NodeKey, Options, PageListeners, Part, STYLES};
use futures::future::join_all;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::gate::browser::{Browser, frame_timeout};
use crate::gate::page::Page;
use crate::gate::secrets::KEPT_KINDS;
use crate::gate::session::NodeAddress;
use browser_shell_cdp::protocol::dom::{CaptureSnapshot, GetFrameOwner, GetFullAxTree};
use browser_shell_cdp::protocol::page::{FrameTree, GetFrameTree};
use browser_shell_cdp::protocol::runtime::{Evaluate, EventListeners, GetEventListeners, ReleaseObjectGroup};
use browser_shell_cdp::protocol::{BackendNodeId, CdpCommand, DebugSessionId, FrameId, LoaderId};
use browser_shell_cdp::{CommandError, SentCommand};

/// Timeout for a process to report its part of the page.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum number of processes and frames of a page that are read.
const MAX_FRAMES: usize = 256;

/// Length of texts, in bytes, from which on a snapshot may cut them.
const SHORTENED: usize = 60;

/// Number of bytes of a long text that a snapshot may show a part of, without white space.
const MAX_MASKED: usize = 8192;

/// Snapshot that is asked for.
#[derive(Clone, Debug, Default)]
pub struct SnapshotRequest {
    /// View of the page; its root is chosen by the selector.
    pub options: Options,
    /// Selector or reference of the element to begin with.
    pub selector: Option<String>,
    /// Text or role that the parts of the page are shown of.
    pub wanted: Option<String>,
}

/// Reason why a page was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Chromium did not carry out a command.
    #[error("the page does not answer: {0}")]
    Command(#[from] CommandError),
    /// Chromium's answer cannot be used.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The session has no tab.
    #[error("the session has no page; open one")]
    NoPage,
    /// The page loads other documents all the time.
    #[error("the page was replaced while it was read; try again")]
    Changed,
    /// The page could not be turned into a snapshot.
    #[error("the page cannot be read")]
    Unreadable,
    /// The selector is neither CSS nor a chain.
    #[error("`{0}` cannot be used here; use CSS, `text=`, `role=`, or a reference such as `@e1`")]
    Selector(String),
    /// The selector matches nothing.
    #[error("no element matches `{0}`; take a snapshot without `-s`")]
    NoMatch(String),
    /// The selector matches too many elements to look at each. It is not repeated: a mask in it would confirm a guess.
    #[error("the selector matches too many elements; use one that matches fewer")]
    TooMany,
    /// The element of the reference is gone.
    #[error("`{0}` is gone")]
    Stale(String),
    /// The element of the reference is in another tab.
    #[error("`{0}` is in another tab; take a snapshot")]
    OtherTab(String),
}

impl ReadError {
    /// Returns true if the page may be readable a moment later.
    pub(super) const fn is_temporary(&self) -> bool {
        matches!(self, Self::Changed | Self::Command(CommandError::Refused { .. }))
    }

    /// Returns the error for a selector without an element.
    pub(super) fn no_match(request: &SnapshotRequest) -> Self {
        let selector = request.selector.clone().unwrap_or_default();
        if selector.starts_with('@') { Self::Stale(selector) } else { Self::NoMatch(selector) }
    }
}

/// Group of the objects that a look for listeners creates.
const LISTENERS: &str = "listeners";

/// Page as it was at one time.
pub(super) struct CapturedPage {
    pub(super) parts: Vec<Part>,
    /// Origins of the parts.
    pub(super) sources: Vec<PartSource>,
    /// URL of the page.
    pub(super) origin: String,
    /// True if it shows fields with secrets that were not known before.
    pub(super) has_new_secrets: bool,
}

/// Origin of a part of a page.
#[derive(Clone, Debug)]
pub(super) struct PartSource {
    /// The gate's own session on its process.
    pub(super) session: DebugSessionId,
    /// Frame and id of the loader of each document.
    pub(super) documents: Vec<(FrameId, LoaderId)>,
}

/// Page as Chromium reports it.
pub(super) struct RawPage(Vec<RawPart>);

/// Part of a page as Chromium reports it.
struct RawPart {
    session: DebugSessionId,
    snapshot: Box<RawValue>,
    accessibility: Vec<Box<RawValue>>,
    owner: Option<(DebugSessionId, BackendNodeId)>,
    secret_fields: HashSet<u64>,
    listeners: PageListeners,
    /// Loaders by frame.
    loaders: HashMap<FrameId, LoaderId>,
}

/// Capture of a page whose commands were sent.
pub(super) struct SentPage<'a>(Vec<Result<SentPart<'a>, ReadError>>);

/// Capture of a part of a page whose commands were sent.
struct SentPart<'a> {
    session: DebugSessionId,
    /// Loaders by frame, before the capture.
    loaders: HashMap<FrameId, LoaderId>,
    snapshot: SentCommand<'a, CaptureSnapshot>,
    trees: Vec<SentCommand<'a, GetFullAxTree<'static>>>,
    owner: Option<(DebugSessionId, SentCommand<'a, GetFrameOwner<'static>>)>,
    listeners: Option<SentCommand<'a, GetEventListeners<'static>>>,
    /// Frames behind the capture.
    after: SentCommand<'a, GetFrameTree>,
}

impl<'a> SentPage<'a> {
    /// Sends the commands that capture a tab. What is sent after this runs behind the capture.
    pub(super) async fn send(browser: &'a Browser, page: &Page) -> Self {
        let sessions = page.running_sessions().into_iter().take(MAX_FRAMES);
        Self(join_all(sessions.map(|session| SentPart::send_in_time(browser, page, session))).await)
    }

    /// Waits for the capture.
    ///
    /// # Errors
    ///
    /// Returns an error if a document was replaced meanwhile.
    pub(super) async fn finish(self, browser: &Browser, page: &Page) -> Result<RawPage, ReadError> {
        let reads = join_all(self.0.into_iter().map(async |sent| sent?.finish(page).await)).await;
        let mut raw = Vec::with_capacity(reads.len());
        for (position, read) in reads.into_iter().enumerate() {
            match read {
                Ok(part) => raw.push(part),
                // A frame that has gone meanwhile is shown empty.
                Err(_) if position > 0 && browser.page(&page.target).is_some() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(RawPage(raw))
    }
}

impl RawPage {
    /// Captures a tab.
    ///
    /// # Errors
    ///
    /// Returns an error if a document was replaced meanwhile.
    pub(super) async fn read(browser: &Browser, page: &Page) -> Result<Self, ReadError> {
        SentPage::send(browser, page).await.finish(browser, page).await
    }

    /// Parses the capture, and returns it too. Texts that may be cut are without these literals and other secrets: a part of one would not be
    /// recognized later.
    ///
    /// # Errors
    ///
    /// Returns an error if the capture cannot be used.
    pub(super) async fn parse(self, literals: Arc<Literals>) -> Result<(Self, CapturedPage), ReadError> {
        let parsed = tokio::task::spawn_blocking(move || {
            let parsed = CapturedPage::parse(&self.0, &literals)?;
            Ok((self, parsed))
        });
        parsed.await.unwrap_or(Err(ReadError::Unreadable))
    }
}

impl CapturedPage {
    /// Returns the fields that show dots in place of letters, each with the session on its process.
    pub(super) fn dotted_fields(&self) -> impl Iterator<Item = (&DebugSessionId, BackendNodeId)> {
        self.parts.iter().zip(&self.sources).flat_map(|(part, source)| {
            let fields = part.documents.iter().flat_map(Document::dotted_fields);
            fields.map(|field| (&source.session, BackendNodeId(field)))
        })
    }

    fn parse(raw: &[RawPart], literals: &Literals) -> Result<Self, ReadError> {
        let mask = |text: &mut String| mask_shortened(text, literals);
        let positions: HashMap<DebugSessionId, usize> =
            raw.iter().enumerate().map(|(position, part)| (part.session.clone(), position)).collect();
        let (mut parts, mut sources) = (Vec::new(), Vec::new());
        for raw in raw {
            let mut part = Part {
                documents: Document::parse_all(raw.snapshot.get(), &mask)?,
                owner: raw.owner.as_ref().and_then(|(session, node)| Some((*positions.get(session)?, node.0))),
                secret_fields: raw.secret_fields.clone(),
                ..Part::default()
            };
            for document in &mut part.documents {
                document.add_listeners(&raw.listeners);
            }
            for tree in &raw.accessibility {
                part.accessibility.add(tree.get(), &mask)?;
            }
            part.mask_split(literals);
            let loader = |document: &Document| {
                let found = raw.loaders.get_key_value(document.frame.as_str()).ok_or(ReadError::Changed)?;
                Ok((found.0.clone(), found.1.clone()))
            };
            let documents = part.documents.iter().map(loader).collect::<Result<Vec<_>, ReadError>>()?;
            sources.push(PartSource { session: raw.session.clone(), documents });
            parts.push(part);
        }
        Part::add_backdrops(&mut parts);
        let first = parts.first().and_then(|part| part.documents.first());
        let origin = first.map(|document| document.url.clone()).ok_or(ReadError::Changed)?;
        Ok(Self { parts, sources, origin, has_new_secrets: false })
    }
}

impl<'a> SentPart<'a> {
    /// Sends the commands that capture the frames of one process. A frame that does not answer in time is left out.
    async fn send_in_time(browser: &'a Browser, page: &Page, session: DebugSessionId) -> Result<Self, ReadError> {
        if session == page.session {
            return Self::send(browser, page, session).await;
        }
        let Ok(sent) = tokio::time::timeout(frame_timeout(), Self::send(browser, page, session.clone())).await else {
            browser.leave_out_hung(page, &session, false);
            return Err(ReadError::Changed);
        };
        sent
    }

    /// Sends the commands that capture the frames of one process.
    ///
    /// No command waits for the answer to another one, apart from those that need it. Chromium carries them out in order, so the
    /// two questions for the documents are about the time before and after the capture.
    async fn send(browser: &'a Browser, page: &Page, session: DebugSessionId) -> Result<Self, ReadError> {
        let begin_tree = |frame: &FrameId| begin(browser, &session, &GetFullAxTree { frame_id: frame });
        let before = begin(browser, &session, &GetFrameTree {})?;
        let document = Evaluate { expression: "document", object_group: Some(LISTENERS), ..Evaluate::default() };
        let root = begin(browser, &session, &document)?;
        let snapshot =
            begin(browser, &session, &CaptureSnapshot { computed_styles: STYLES, include_paint_order: true })?;
        let mut trees = HashMap::new();
        for document in page.documents().into_iter().filter(|document| document.session == session).take(MAX_FRAMES) {
            let tree = begin_tree(&document.frame)?;
            trees.insert(document.frame, tree);
        }
        let before = before.result().await?.frame_tree;
        let loaders = loaders(&before);
        trees.retain(|frame, _| loaders.contains_key(frame));
        // Frames that the gate was not told of yet.
        for frame in loaders.keys().take(MAX_FRAMES) {
            if !trees.contains_key(frame) {
                trees.insert(frame.clone(), begin_tree(frame)?);
            }
        }
        let owner = begin_owner(browser, page, &session, &before)?;
        let listeners = match root.result().await.ok().and_then(|root| root.result.object_id) {
            Some(root) => {
                Some(begin(browser, &session, &GetEventListeners { object_id: &root, depth: -1, pierce: true })?)
            }
            None => None,
        };
        let after = begin(browser, &session, &GetFrameTree {})?;
        browser.connection.notify(Some(&session), &ReleaseObjectGroup { object_group: LISTENERS });
        let trees = trees.into_values().collect();
        Ok(Self { session, loaders, snapshot, trees, owner, listeners, after })
    }

    /// Waits for the capture.
    async fn finish(self, page: &Page) -> Result<RawPart, ReadError> {
        let Self { session, loaders, snapshot, trees, owner, listeners, after } = self;
        let snapshot = snapshot.text().await?;
        let mut accessibility = Vec::with_capacity(trees.len());
        for tree in trees {
            match tree.text().await {
                // A frame that has a process of its own by now is refused here, and read there.
                Err(CommandError::Refused { .. }) => {}
                tree => accessibility.push(tree?),
            }
        }
        let secret_fields = page.secret_fields(&session).into_iter().map(|node| node.0).collect();
        // Without an answer, the nodes listen to nothing.
        let listeners = match listeners {
            Some(found) => found.result().await.map(|found| read_listeners(found, &secret_fields)).unwrap_or_default(),
            None => PageListeners::default(),
        };
        let owner = match owner {
            Some((parent, _)) if page.is_hung(&parent) => return Err(ReadError::Changed),
            Some((parent, owner)) => Some((parent, owner.result().await?.backend_node_id)),
            None => None,
        };
        if self::loaders(&after.result().await?.frame_tree) != loaders {
            return Err(ReadError::Changed);
        }
        Ok(RawPart { session, snapshot, accessibility, owner, secret_fields, listeners, loaders })
    }
}

/// Masks the secrets in a text that a snapshot may cut. A short one is cut where it is put together with others, and not in a word.
fn mask_shortened(text: &mut String, literals: &Literals) {
    if text.len() <= SHORTENED {
        let is_word = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_word && let Cow::Owned(masked) = literals.mask_text(text) {
            *text = masked;
        }
        return;
    }
    // Snapshots collapse white space.
    let end =
        text.char_indices().filter(|(_, c)| !c.is_whitespace()).nth(MAX_MASKED).map_or(text.len(), |(end, _)| end);
    let (begin, rest) = text.split_at(end);
    let begin = literals.mask_text(begin);
    *text = format!("{}{rest}", mask::text(&begin));
}

/// Asks for the element that shows the outermost frame of a process. Returns the session on the process that it is in, too.
fn begin_owner<'a>(
    browser: &'a Browser,
    page: &Page,
    session: &DebugSessionId,
    tree: &FrameTree,
) -> Result<Option<(DebugSessionId, SentCommand<'a, GetFrameOwner<'static>>)>, CommandError> {
    let Some(parent) = page.parent_session(session) else { return Ok(None) };
    let owner = begin(browser, &parent, &GetFrameOwner { frame_id: &tree.frame.id })?;
    Ok(Some((parent, owner)))
}

/// Sends a command of a capture.
fn begin<'a, C: CdpCommand>(
    browser: &'a Browser,
    session: &DebugSessionId,
    command: &C,
) -> Result<SentCommand<'a, C>, CommandError> {
    browser.connection.begin(TIMEOUT, Some(session), command)
}

/// Returns what the nodes of a process listen to, without what the gate itself listens to on secret fields.
fn read_listeners(found: EventListeners, secret_fields: &HashSet<u64>) -> PageListeners {
    let mut listeners = PageListeners::default();
    for listener in found.listeners {
        let Some(node) = listener.backend_node_id else { continue };
        let is_own = KEPT_KINDS.contains(&listener.kind.as_str()) && secret_fields.contains(&node.0);
        if !is_own {
            listeners.add(node.0, &listener.kind);
        }
    }
    listeners
}

/// Returns the loaders of a tree of frames.
fn loaders(tree: &FrameTree) -> HashMap<FrameId, LoaderId> {
    tree.frames().map(|frame| (frame.id.clone(), frame.loader_id.clone())).collect()
}

/// Returns the address of a node that was captured.
pub(super) fn address(page: &Page, sources: &[PartSource], key: NodeKey) -> Option<NodeAddress> {
    let source = sources.get(key.part)?;
    let (frame, document) = source.documents.get(key.document)?;
    Some(NodeAddress {
        page: page.target.clone(),
        session: source.session.clone(),
        frame: frame.clone(),
        document: document.clone(),
        node: BackendNodeId(key.node),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let mut text = text.to_owned();
        mask_shortened(&mut text, &Literals::new(["correct horse".to_owned(), "Hunter2xyz".to_owned()]));
        text
    }

    // Requirement 6.3.
    #[test]
    fn secrets_are_masked_before_a_snapshot_cuts_texts() {
        for around in [String::new(), "x".repeat(100), " ".repeat(MAX_MASKED), "\u{e4} ".repeat(MAX_MASKED / 2)] {
            let text = masked(&format!("{around} correct horse."));
            assert!(text.ends_with(" ***.") && text.len() > around.len(), "{} bytes", around.len());
        }
        // A word is cut nowhere, and masked in the answer.
        assert_eq!(masked("Hunter2xyz"), "Hunter2xyz", "control");
    }
}
