//! Capture of all frames of a tab.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::output::mask::{self, Literals};
use browser_shell_core::snapshot::{Document, Listeners, NodeKey, Part, STYLES};
use futures::future::join_all;
use serde_json::{Value, json};

use super::error::ReadError;
use crate::browser::cdp::CommandError;
use crate::gate::element::located::learn_world;
use crate::gate::hub::Hub;
use crate::gate::page::{Page, text};
use crate::gate::references::NodeAddress;

/// Timeout for a process to report its part of the page.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum number of processes and frames of a page that are read.
const MAX_FRAMES: usize = 256;

/// Length of texts, in bytes, from which on a snapshot may show a part of them.
const SHORTENED: usize = 60;

/// Number of bytes of a long text that a snapshot may show a part of.
const MAX_MASKED: usize = 8192;

/// Group of the objects that a look for listeners creates.
const LISTENERS: &str = "listeners";

/// Page as it was at one time.
pub(super) struct CapturedPage {
    pub(super) parts: Vec<Part>,
    /// Origins of the parts.
    pub(super) sources: Vec<PartSource>,
    /// URL of the page.
    pub(super) origin: String,
}

/// Origin of a part of a page.
#[derive(Clone, Debug)]
pub(super) struct PartSource {
    /// The gate's own session on its process.
    pub(super) session: String,
    /// Frame and id of the loader of each document.
    pub(super) documents: Vec<(String, String)>,
}

/// Part of a page as Chromium reports it.
struct RawPart {
    session: String,
    snapshot: Value,
    accessibility: Vec<Value>,
    owner: Option<(String, u64)>,
    secret_fields: HashSet<u64>,
    listeners: Listeners,
    /// Loaders by frame.
    loaders: HashMap<String, String>,
}

impl CapturedPage {
    /// Captures a tab. Long texts are without these literals and other secrets: a part of one would not be recognized later.
    ///
    /// # Errors
    ///
    /// Returns an error if a document was replaced meanwhile.
    pub(super) async fn read(hub: &Arc<Hub>, page: &Page, literals: Literals) -> Result<Self, ReadError> {
        let sessions = page.running_sessions().into_iter().take(MAX_FRAMES);
        let reads = join_all(sessions.map(|session| RawPart::read(hub, page, session)));
        let (reads, ()) = tokio::join!(reads, learn_world(hub, page));
        let mut raw = Vec::with_capacity(reads.len());
        for (position, read) in reads.into_iter().enumerate() {
            match read {
                Ok(part) => raw.push(part),
                // A frame that has gone meanwhile is shown empty.
                Err(_) if position > 0 && hub.page(&page.target).is_some() => {}
                Err(error) => return Err(error),
            }
        }
        tokio::task::spawn_blocking(move || Self::parse(raw, &literals)).await.unwrap_or(Err(ReadError::Unreadable))
    }

    fn parse(mut raw: Vec<RawPart>, literals: &Literals) -> Result<Self, ReadError> {
        for part in &mut raw {
            part.snapshot
                .get_mut("strings")
                .into_iter()
                .chain(&mut part.accessibility)
                .for_each(|texts| mask_long(texts, literals));
        }
        let positions: HashMap<String, usize> =
            raw.iter().enumerate().map(|(position, part)| (part.session.clone(), position)).collect();
        let (mut parts, mut sources) = (Vec::new(), Vec::new());
        for raw in raw {
            let mut part = Part {
                documents: Document::parse_all(&raw.snapshot)?,
                owner: raw.owner.and_then(|(session, node)| Some((*positions.get(&session)?, node))),
                secret_fields: raw.secret_fields,
                ..Part::default()
            };
            for document in &mut part.documents {
                document.add_listeners(&raw.listeners);
            }
            for tree in &raw.accessibility {
                part.accessibility.add(tree);
            }
            let loader = |document: &Document| {
                let loader = raw.loaders.get(&document.frame).ok_or(ReadError::Changed)?;
                Ok((document.frame.clone(), loader.clone()))
            };
            let documents = part.documents.iter().map(loader).collect::<Result<Vec<_>, ReadError>>()?;
            sources.push(PartSource { session: raw.session, documents });
            parts.push(part);
        }
        let first = parts.first().and_then(|part| part.documents.first());
        let origin = first.map(|document| document.url.clone()).ok_or(ReadError::Changed)?;
        Ok(Self { parts, sources, origin })
    }
}

impl RawPart {
    /// Captures the frames of one process.
    async fn read(hub: &Hub, page: &Page, session: String) -> Result<Self, ReadError> {
        let command = |method: &'static str, params: Value| {
            let session = session.as_str();
            async move { hub.connection.command_within(TIMEOUT, Some(session), method, &params).await }
        };
        let (tree, root) = tokio::join!(command("Page.getFrameTree", json!({})), root(hub, &session));
        let tree = tree?;
        let loaders = loaders(&tree);
        let capture = command("DOMSnapshot.captureSnapshot", json!({ "computedStyles": STYLES }));
        let accessibility = join_all(
            loaders
                .keys()
                .take(MAX_FRAMES)
                .map(|frame| command("Accessibility.getFullAXTree", json!({ "frameId": frame }))),
        );
        let owner = owner(hub, page, &session, &tree);
        let listeners = listeners(hub, &session, root.as_ref());
        let after = command("Page.getFrameTree", json!({}));
        let (snapshot, accessibility, owner, listeners, after) =
            tokio::join!(capture, accessibility, owner, listeners, after);
        let (snapshot, owner) = (snapshot?, owner?);
        if self::loaders(&after?) != loaders {
            return Err(ReadError::Changed);
        }
        // A frame that has a process of its own by now is refused here, and read there.
        let accessibility = accessibility
            .into_iter()
            .filter(|tree| !matches!(tree, Err(CommandError::Refused { .. })))
            .collect::<Result<_, _>>()?;
        let secret_fields = page.secret_fields(&session).into_iter().collect();
        Ok(Self { session, snapshot, accessibility, owner, secret_fields, listeners, loaders })
    }
}

/// Masks the secrets in texts that a snapshot may shorten.
fn mask_long(value: &mut Value, literals: &Literals) {
    match value {
        Value::String(long) if long.len() > SHORTENED => {
            let mut end = long.len().min(MAX_MASKED);
            while !long.is_char_boundary(end) {
                end -= 1;
            }
            let (begin, rest) = long.split_at(end);
            let begin = literals.mask_text(begin);
            *long = format!("{}{rest}", mask::text(&begin));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask_long(item, literals)),
        Value::Object(members) => members.values_mut().for_each(|member| mask_long(member, literals)),
        _ => {}
    }
}

/// Returns the element that shows the outermost frame of a process, and the session on the process that it is in.
async fn owner(hub: &Hub, page: &Page, session: &str, tree: &Value) -> Result<Option<(String, u64)>, CommandError> {
    let frame = tree.pointer("/frameTree/frame/id").and_then(Value::as_str);
    let (Some(parent), Some(frame)) = (page.parent_session(session), frame) else { return Ok(None) };
    let frame = json!({ "frameId": frame });
    let owner = hub.connection.command_within(TIMEOUT, Some(&parent), "DOM.getFrameOwner", &frame).await?;
    Ok(owner.get("backendNodeId").and_then(Value::as_u64).map(|node| (parent, node)))
}

/// Returns the object of the outermost document of a process.
async fn root(hub: &Hub, session: &str) -> Option<Value> {
    let document = json!({ "expression": "document", "objectGroup": LISTENERS });
    let document = hub.connection.command_within(TIMEOUT, Some(session), "Runtime.evaluate", &document).await.ok()?;
    document.pointer("/result/objectId").cloned()
}

/// Returns what the nodes of a process listen to. Without an answer, that is nothing.
async fn listeners(hub: &Hub, session: &str, root: Option<&Value>) -> Listeners {
    let Some(root) = root else { return Listeners::default() };
    let query = json!({ "objectId": root, "depth": -1, "pierce": true });
    let found = hub.connection.command_within(TIMEOUT, Some(session), "DOMDebugger.getEventListeners", &query).await;
    let found = found.unwrap_or_default();
    let group = json!({ "objectGroup": LISTENERS });
    hub.connection.notify(Some(session), "Runtime.releaseObjectGroup", &group);
    let mut listeners = Listeners::default();
    for listener in found.get("listeners").and_then(Value::as_array).into_iter().flatten() {
        let node = listener.get("backendNodeId").and_then(Value::as_u64);
        if let (Some(kind), Some(node)) = (listener.get("type").and_then(Value::as_str), node) {
            listeners.add(node, kind);
        }
    }
    listeners
}

/// Returns the loaders of a tree of frames.
fn loaders(tree: &Value) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut waiting = Vec::from_iter(tree.get("frameTree"));
    while let Some(tree) = waiting.pop() {
        let frame = tree.get("frame").unwrap_or(&Value::Null);
        found.extend(text(frame, "id").zip(text(frame, "loaderId")));
        waiting.extend(tree.get("childFrames").and_then(Value::as_array).into_iter().flatten());
    }
    found
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
        node: key.node,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_of_all_frames_are_found() {
        let frame = |id: &str| json!({ "frame": { "id": id, "loaderId": format!("loader of {id}") } });
        let mut tree = frame("page");
        tree["childFrames"] = json!([frame("a"), frame("b"), {}]);
        let found = loaders(&json!({ "frameTree": tree }));
        assert_eq!(found.len(), 3);
        assert_eq!(found["b"], "loader of b");
        assert!(loaders(&Value::Null).is_empty());
    }
}
