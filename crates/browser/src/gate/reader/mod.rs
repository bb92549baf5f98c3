//! Snapshots of a session's pages, read over the gate's own debugging sessions.
//!
//! Invariants: all parts of a snapshot are of the documents whose URL it names; a frame on a refused host is in none.

mod animated;
mod capture;
pub(super) mod search;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::output::mask::Literals;
use browser_shell_core::pdf::Pdf;
use browser_shell_core::snapshot::{NodeKey, View, Wanted};
use futures::future::join_all;
use serde_json::Value;

use self::animated::note_still;
use self::capture::{CapturedPage, PartSource, RawPage, SentPage, address};
use crate::gate::browser::Browser;
use crate::gate::element::find::evaluate_promise;
use crate::gate::element::kept::call_with_kept;
use crate::gate::element::located::in_world;
use crate::gate::element::script::FADED_IN;
use crate::gate::page::{Page, World};
use crate::gate::pdf::read_pdf;
use crate::gate::secrets::Secrets;
use crate::gate::session::{GateSession, NodeAddress};
use browser_shell_cdp::protocol::{BackendNodeId, DebugSessionId, FrameId};

pub use capture::{ReadError, SnapshotRequest};

/// Number of times that a page is read while it changes.
const ATTEMPTS: usize = 8;

/// Pause before a page that has changed is read again.
const RETRY_INTERVAL: Duration = Duration::from_millis(60);

/// Time for the rest of a page that has begun to come.
const PARSE_TIME: Duration = Duration::from_secs(1);

/// Interval between two reads of a page that shows nothing yet.
const LOAD_INTERVAL: Duration = Duration::from_millis(100);

/// Time for what appears little by little, such as a dialog that fades in.
const FADE_TIME: Duration = Duration::from_millis(500);

/// Page that was read.
pub struct ReadPage {
    /// Data of the answer.
    pub data: Value,
    /// True if the page shows nothing of what was asked for.
    is_empty: bool,
    /// Secrets of the session, read behind the page. `None` if they have to be read again.
    pub secrets: Option<Secrets>,
}

impl GateSession {
    /// Reads the tab that agent-browser acts on. A page that shows nothing yet, because its server goes on sending it, is read again until
    /// this time.
    ///
    /// # Errors
    ///
    /// Returns an error if the page cannot be read or has no element for the selector.
    pub async fn read_page(&self, request: &SnapshotRequest, until: Instant) -> Result<ReadPage, ReadError> {
        let browser = self.browser().ok_or(ReadError::NoPage)?;
        let (mut failures, mut time) = (0, PARSE_TIME);
        loop {
            let page = self.active_page().ok_or(ReadError::NoPage)?;
            let left = until.saturating_duration_since(Instant::now());
            let _ = tokio::time::timeout(time.min(left), page.wait_until_parsed()).await;
            if failures == 0 {
                wait_until_faded_in(&browser, &page).await;
            }
            let was_parsing = page.is_parsing();
            match self.read_once(&browser, &page, request).await {
                Err(error) if error.is_temporary() && failures + 1 < ATTEMPTS => {
                    failures += 1;
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                Ok(read) if was_parsing && read.is_empty && Instant::now() < until => time = LOAD_INTERVAL,
                result => return result,
            }
        }
    }

    async fn read_once(
        &self,
        browser: &Arc<Browser>,
        page: &Page,
        request: &SnapshotRequest,
    ) -> Result<ReadPage, ReadError> {
        let sent = SentPage::send(browser, page).await;
        // Behind the capture, so that they include what it shows, and before anything in it is looked for or cut.
        let (secrets, raw) = tokio::join!(biased; self.secrets(), sent.finish(browser, page));
        if request.wanted.is_some() && secrets.is_err() {
            return Err(ReadError::Unreadable);
        }
        let captured = self.parse(page, raw?).await?;
        // They were read before these fields were known.
        let secrets = secrets.ok().filter(|_| !captured.has_new_secrets);
        let (mut data, is_empty) = self.build(browser, page, captured, request).await?;
        if let Some(members) = data.as_object_mut().filter(|_| page.is_parsing()) {
            members.insert("loading".to_owned(), true.into());
        }
        Ok(ReadPage { data, is_empty, secrets })
    }

    /// Builds the data of the answer from a capture, and says if it shows nothing.
    async fn build(
        &self,
        browser: &Arc<Browser>,
        page: &Page,
        mut captured: CapturedPage,
        request: &SnapshotRequest,
    ) -> Result<(Value, bool), ReadError> {
        let mut options = request.options;
        if let Some(selector) = &request.selector {
            let root;
            (captured, root) = self.find_root(browser, page, captured, selector).await?;
            options.root = Some(root);
        }
        let CapturedPage { mut parts, sources, origin, .. } = captured;
        let secrets = self.secret_literals();
        let pdfs = parts.iter_mut().flat_map(|part| &mut part.pdf_frames);
        let read = pdfs.map(async |(frame, pdf)| {
            *pdf = read_pdf(browser, page, &FrameId::from(frame.as_str())).await.masked(&secrets);
        });
        join_all(read).await;
        let wanted = request.wanted.as_ref().map(|text| Wanted::new(text, Literals::clone(&secrets)));
        let view = tokio::task::spawn_blocking(move || View::with(&parts, &options, wanted.as_ref())).await;
        let view = view.map_err(|_| ReadError::Unreadable)?.ok_or_else(|| ReadError::no_match(request))?;
        let numbers = self.number(browser, page, &view, &sources);
        Ok((view.to_data(&origin, |key| numbers.get(&key).copied()), view.is_empty()))
    }

    /// Returns the texts that a picture of a tab may show, of each of its documents.
    ///
    /// # Errors
    ///
    /// Returns an error if the page cannot be read.
    pub(in crate::gate) async fn pictured_texts(
        &self,
        browser: &Browser,
        page: &Page,
    ) -> Result<Vec<String>, ReadError> {
        let (_, captured) = RawPage::read(browser, page).await?.parse(Arc::default()).await?;
        if page.has_hung_frame() {
            return Err(ReadError::Unreadable);
        }
        let texts = captured
            .parts
            .iter()
            .flat_map(|part| part.documents.iter().map(|document| document.pictured_text(&part.secret_fields)));
        Ok(texts.collect())
    }

    /// Captures a tab, without what must not be shown.
    async fn capture(&self, browser: &Browser, page: &Page) -> Result<CapturedPage, ReadError> {
        self.parse(page, RawPage::read(browser, page).await?).await
    }

    /// Parses a capture, without what must not be shown. Fields in it that show dots in place of letters hold secrets, and are read too.
    async fn parse(&self, page: &Page, raw: RawPage) -> Result<CapturedPage, ReadError> {
        let (raw, mut captured) = raw.parse(self.secret_literals()).await?;
        if add_dotted_fields(page, &captured)? {
            self.secrets().await.map_err(|_| ReadError::Unreadable)?;
            (_, captured) = raw.parse(self.secret_literals()).await?;
            captured.has_new_secrets = true;
        }
        self.leave_out_refused(page, &mut captured);
        if let Some(browser) = self.browser() {
            note_still(&browser, page, &mut captured).await;
        }
        Ok(captured)
    }

    /// Marks the frames whose documents the policy refuses, and those with PDFs.
    fn leave_out_refused(&self, page: &Page, captured: &mut CapturedPage) {
        let Some(documents) = self.documents() else { return };
        let policy = documents.shown_to(self.session_id());
        for (position, part) in captured.parts.iter_mut().enumerate() {
            for (number, document) in part.documents.iter().enumerate() {
                // The landing is checked for the page itself.
                let is_page = position == 0 && number == 0;
                if !is_page && policy.refusal(&document.url).is_some() {
                    part.refused_frames.insert(document.frame.clone());
                } else if page.is_pdf(&FrameId::from(document.frame.as_str())) {
                    part.pdf_frames.insert(document.frame.clone(), Pdf::default());
                }
            }
        }
    }

    /// Numbers the nodes of a view, and forgets those of documents that the tab no longer shows.
    fn number(&self, browser: &Browser, page: &Page, view: &View, sources: &[PartSource]) -> HashMap<NodeKey, u32> {
        let mut references = self.lock_references();
        let is_shown = |address: &NodeAddress| {
            sources.iter().any(|source| {
                source
                    .documents
                    .iter()
                    .any(|(frame, document)| *frame == address.frame && *document == address.document)
            })
        };
        references.retain(|address| {
            if address.page == page.target { is_shown(address) } else { browser.page(&address.page).is_some() }
        });
        view.nodes().filter_map(|key| Some((key, references.number(&address(page, sources, key)?)))).collect()
    }
}

/// Adds the fields of a captured page that show dots in place of letters to those that hold secrets. Returns true if there are new ones.
fn add_dotted_fields(page: &Page, captured: &CapturedPage) -> Result<bool, ReadError> {
    let mut known: HashMap<&DebugSessionId, HashSet<BackendNodeId>> = HashMap::new();
    let mut has_new = false;
    for (session, field) in captured.dotted_fields() {
        let known = known.entry(session).or_insert_with(|| page.secret_fields(session).into_iter().collect());
        if known.insert(field) {
            // A page with too many of them is not read, as one with too many fields for passwords.
            if !page.add_secret_field(session, field) {
                return Err(ReadError::Unreadable);
            }
            has_new = true;
        }
    }
    Ok(has_new)
}

/// Waits until a person sees what is about to appear in the document of a tab.
async fn wait_until_faded_in(browser: &Browser, page: &Page) {
    let script = &call_with_kept(FADED_IN, "");
    let fades = |world: World| async move { evaluate_promise(browser, &page.session, &world, script).await };
    let _ = tokio::time::timeout(FADE_TIME, in_world(browser, page, fades)).await;
}
