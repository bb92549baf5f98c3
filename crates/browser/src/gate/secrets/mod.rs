//! Values of secret fields of a session's pages, which no answer may contain.
//!
//! The fields are found in all frames and shadow trees, closed ones too. Once seen, a value stays secret for as long as the
//! session lives: a page may show it later as text. Values are read in a world of the gate's own, whose objects no page can change.
//!
//! A field that a piece of a secret has entered, by paste, by drop, or because the page wrote it there, is one of the page's secrets from
//! then on. What it held when the gate saw it first is the page's own, unless that is a whole secret: pages show a password by another field.
//! Text that was typed by keys is no piece of a secret.
//!
//! Invariant: a field that exists and is not read is an error.

mod frame;

use std::collections::BTreeSet;
use std::sync::Arc;

use browser_shell_core::grammar::Command;
use browser_shell_core::output::mask::{Literals, Pieces};
use futures::future::{join_all, try_join_all};
use serde_json::json;

use self::frame::{GROUP, SELECTOR, SearchedFrame, TIMEOUT};
use crate::gate::browser::{Browser, frame_timeout};
use crate::gate::element::kept::{KEPT, call_with_kept};
use crate::gate::page::Page;
use crate::gate::secret_masks::{SecretMasks, search_in};
use crate::gate::secret_values::{FieldValue, MAX_LENGTH, SecretLimit, SecretValues};
use crate::gate::session::GateSession;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::dom::DescribeNode;
use browser_shell_cdp::protocol::page::GetFrameTree;
use browser_shell_cdp::protocol::runtime::{Evaluate, Evaluated, ReleaseObjectGroup};
use browser_shell_cdp::protocol::{ExecutionContextId, FrameId};

pub(in crate::gate) use frame::KEPT_KINDS;
pub use frame::SecretsError;

/// Length of a text that is searched where something was pasted or dropped, in UTF-16 code units: as much of it as answers show.
const MAX_PUT: u32 = 1 << 20;

/// Secret values of a session.
#[derive(Debug, Default)]
pub struct Secrets {
    /// Values that the agent did not type, with long rests that it has left of them in their fields.
    pub values: BTreeSet<String>,
    /// Values that it typed, which are secret as values of fields only.
    pub typed: BTreeSet<String>,
    /// Parts that the agent has left of values that it did not type. The short ones are secret as values of fields only.
    pub remainders: BTreeSet<String>,
    /// True if a page shows one as plain text now.
    pub is_visible: bool,
    /// True if there may be others.
    pub is_incomplete: bool,
    /// Masks of `values`.
    pub masks: Arc<SecretMasks>,
}

impl Secrets {
    /// Returns what masks them in an answer.
    #[must_use]
    pub fn literals(&self) -> Literals {
        Literals::clone(&self.masks.literals()).with_field_values(self.typed.iter().cloned())
    }
}

impl GateSession {
    /// Reads the secret fields of all pages of the session, and returns their values and those that were seen before.
    ///
    /// # Errors
    ///
    /// Returns an error if a page does not report all of its fields, or if there are too many to keep.
    pub async fn secrets(&self) -> Result<Secrets, SecretsError> {
        let (mut is_visible, mut is_incomplete) = (false, false);
        if let Some((browser, pages)) = self.current() {
            let mut read = self.read_fields(&browser, &pages).await?;
            is_incomplete = pages.iter().any(|page| page.is_loading() || page.has_loading_frame());
            self.add_fields(&read, is_incomplete)?;
            // What they are in now may be new.
            if self.add_entered(&browser, &pages).await? {
                read = self.read_fields(&browser, &pages).await?;
                self.add_fields(&read, is_incomplete)?;
            }
            is_visible = read.iter().flatten().flatten().any(|value| value.is_visible);
            // The call may have read in a frame whose fields are not known. The next call leaves it out from its begin.
            if pages.iter().any(|page| page.has_hung_since(self.last_call())) {
                return Err(SecretsError::Hung);
            }
            is_incomplete |= pages.iter().any(|page| page.has_loading_frame());
        }
        Ok(Secrets { is_visible, is_incomplete, ..self.known_secrets() })
    }

    /// Reads the secret fields of tabs. A page with a dialog runs no script, and one that waits for its server answers nothing: what it held
    /// before is known.
    async fn read_fields(
        &self,
        browser: &Browser,
        pages: &[Arc<Page>],
    ) -> Result<Vec<Option<Vec<FieldValue>>>, SecretsError> {
        let reads = pages.iter().map(async |page| {
            let read = async { of_all(frames(browser, page).map(SearchedFrame::read_stable)).await };
            Ok(self.while_answering(page, read).await?.map(|fields| fields.concat()))
        });
        try_join_all(reads).await
    }

    /// Adds the values of fields to those that the session knows.
    fn add_fields(&self, read: &[Option<Vec<FieldValue>>], is_incomplete: bool) -> Result<(), SecretsError> {
        let is_complete = !is_incomplete && read.iter().all(Option::is_some);
        let fields: Vec<_> = read.iter().flatten().flatten().cloned().collect();
        Ok(self.lock_secrets().add_read(&fields, is_complete)?)
    }

    /// Adds the fields of tabs that pieces of secrets have entered. Returns true if there are new ones.
    async fn add_entered(&self, browser: &Browser, pages: &[Arc<Page>]) -> Result<bool, SecretsError> {
        let known = {
            let mut known = self.lock_secrets();
            known.has_values().then(|| (known.masks(), known.secret_pieces(), known.clone()))
        };
        let Some((masks, pieces, known)) = &known else { return Ok(false) };
        let wanted = &SearchedSecrets { known, pieces: pieces.get(), words: masks.words() };
        let adds = pages.iter().map(async |page| {
            let added = async { of_all(frames(browser, page).map(|frame| frame.add_entered(wanted))).await };
            Ok::<_, SecretsError>(self.while_answering(page, added).await?.is_some_and(|added| added.contains(&true)))
        });
        Ok(try_join_all(adds).await?.contains(&true))
    }

    /// Waits for what a page answers. `None` if it opens a dialog or waits for its server meanwhile.
    async fn while_answering<T>(
        &self,
        page: &Page,
        answer: impl Future<Output = Result<T, SecretsError>>,
    ) -> Result<Option<T>, SecretsError> {
        // Sessions that share a tab would end each other's search.
        let locked = async {
            let _reading = page.reading.lock().await;
            answer.await
        };
        tokio::select! {
            biased;
            () = self.wait_for_dialog_of(page) => Ok(None),
            () = page.wait_until_pending() => Ok(None),
            answer = locked => answer.map(Some),
        }
    }

    /// Remembers the text that a command of the agent types.
    pub fn remember_typed(&self, command: &Command) {
        self.lock_secrets().add_typed(command);
    }

    /// Returns the values that were seen before.
    pub fn known_secrets(&self) -> Secrets {
        let mut known = self.lock_secrets();
        let (values, typed, remainders) = (known.to_set(), known.typed(), known.remainders());
        Secrets { values, typed, remainders, masks: known.masks(), ..Secrets::default() }
    }

    /// Returns true if the session knows a secret that the agent did not type.
    pub fn knows_secrets(&self) -> bool {
        !self.lock_secrets().is_empty()
    }

    /// Returns what finds the secrets of fields in a text that people read.
    pub(super) fn secret_words(&self) -> Arc<Literals> {
        // Not while the values are locked: making them takes long.
        let masks = self.lock_secrets().masks();
        masks.pictured_words()
    }

    /// Returns what masks the secrets that the agent did not type.
    pub fn secret_literals(&self) -> Arc<Literals> {
        let masks = self.lock_secrets().masks();
        masks.literals()
    }
}

/// Returns the frames of a tab that run in a process.
fn frames<'a>(browser: &'a Browser, page: &'a Page) -> impl Iterator<Item = SearchedFrame<'a>> {
    page.running_sessions().into_iter().map(move |session| {
        let timeout = if session == page.session { TIMEOUT } else { frame_timeout().min(TIMEOUT) };
        SearchedFrame { browser, page, session, timeout }
    })
}

/// Waits for what all frames report, also if one of them fails: each that does not answer is known then.
async fn of_all<T>(
    reads: impl Iterator<Item = impl Future<Output = Result<T, SecretsError>>>,
) -> Result<Vec<T>, SecretsError> {
    join_all(reads).await.into_iter().collect()
}

/// Function that returns the texts in fields of a document, which are none of the secret ones, but for those that were typed; each with
/// whether the field held it when it was seen first. Of texts in which nothing was pasted or dropped, it returns the begins. The fields are kept
/// in the same order.
const ENTERED: &str = "(secret, maxLength, maxPut) => {
    const kept = globalThis[Symbol.for('entered')] ??= (() => {
        const textOf = field => field.value ?? field.innerText;
        const [first, typed, put] = [new WeakMap(), new WeakMap(), new WeakSet()];
        addEventListener('input', event => {
            const field = event.composedPath()[0];
            if (!event.isTrusted) return;
            // What the browser fills in, corrects or takes from a list is no text of the agent.
            if (/^(insert(Text|CompositionText|LineBreak|Paragraph)$|delete|history|format)/.test(event.inputType ?? '')) typed.set(field, textOf(field));
            else put.add(field);
        }, true);
        return { textOf, first, typed, put, fields: [] };
    })();
    const texts = [];
    kept.fields = [];
    // What is edited as a whole, as by old editors in a frame, is one field.
    const edited = document.designMode === 'on' && document.body ? [document.body] : [];
    const fields = trees().flatMap(root => [...root.querySelectorAll('input, textarea, [contenteditable]')]);
    for (const field of [...fields, ...edited]) {
        const text = kept.textOf(field);
        if (typeof text !== 'string' || field.matches(secret)) continue;
        if (!kept.first.has(field)) kept.first.set(field, text);
        const isPut = kept.put.has(field);
        if (text === kept.typed.get(field) && !isPut) continue;
        kept.fields.push(field);
        const begin = text.slice(0, isPut ? maxPut : maxLength);
        texts.push([begin.toWellFormed ? begin.toWellFormed() : begin, text === kept.first.get(field) && !isPut]);
    }
    return texts;
}";

/// Secrets that are looked for in fields.
struct SearchedSecrets<'a> {
    known: &'a SecretValues,
    pieces: Arc<Pieces>,
    words: Arc<Literals>,
}

impl SearchedSecrets<'_> {
    /// Returns true if the text of a field makes it a secret one: by a piece of a secret or, if the field held it when it was seen first, by a
    /// whole one.
    fn is_in(&self, text: &str, was_first: bool) -> bool {
        if was_first {
            !self.known.is_typed(text) && self.words.mask_text(text) != text
        } else {
            self.known.is_entered_secret(text, &self.pieces)
        }
    }
}

impl SearchedFrame<'_> {
    /// Adds the fields with pieces of known secrets to those that hold secrets, unless the agent typed the text. Returns true if there are new
    /// ones.
    async fn add_entered(self, wanted: &SearchedSecrets<'_>) -> Result<bool, SecretsError> {
        self.stable(|| self.add_entered_once(wanted)).await
    }

    async fn add_entered_once(&self, wanted: &SearchedSecrets<'_>) -> Result<bool, SecretsError> {
        let tree = self.command(GetFrameTree {}).await?.frame_tree;
        let mut has_new = false;
        for frame in tree.frames() {
            match self.add_entered_of(&frame.id, wanted).await {
                // The frame is gone by now, or has a process of its own.
                Err(SecretsError::Command(CommandError::Refused { .. })) => {}
                added => has_new |= added?,
            }
        }
        Ok(has_new)
    }

    async fn add_entered_of(&self, frame: &FrameId, wanted: &SearchedSecrets<'_>) -> Result<bool, SecretsError> {
        let world = self.browser.isolated_world(&self.session, frame, self.timeout).await?;
        // A world that has them keeps them.
        let library = Evaluate { expression: &KEPT, context_id: Some(world), ..Evaluate::default() };
        self.browser.connection.notify(Some(&self.session), &library);
        let entered = call_with_kept(ENTERED, &format!("{}, {MAX_LENGTH}, {MAX_PUT}", json!(*SELECTOR)));
        let texts: Vec<(String, bool)> =
            self.evaluate(&entered, world, true).await?.value().ok_or(SecretsError::Field)?;
        let fields = self.page.secret_fields(&self.session);
        let mut has_new = false;
        let length = texts.iter().map(|(text, _)| text.len()).sum();
        let positions: Vec<_> = search_in(length, || {
            let found = texts.iter().enumerate().filter(|(_, (text, was_first))| wanted.is_in(text, *was_first));
            found.map(|(position, _)| position).collect()
        });
        for position in positions {
            let field = format!("globalThis[Symbol.for('entered')].fields[{position}]");
            let found = self.evaluate(&field, world, false).await?.into_result().and_then(|found| found.object_id);
            let found = found.ok_or(SecretsError::Field)?;
            let node = self.command(DescribeNode { object_id: Some(&found), ..DescribeNode::default() }).await?.node;
            if fields.contains(&node.backend_node_id) {
                continue;
            }
            if !self.page.add_secret_field(&self.session, node.backend_node_id) {
                return Err(SecretLimit::Fields.into());
            }
            has_new = true;
        }
        self.browser.connection.notify(Some(&self.session), &ReleaseObjectGroup { object_group: GROUP });
        Ok(has_new)
    }

    async fn evaluate(
        &self,
        expression: &str,
        world: ExecutionContextId,
        return_by_value: bool,
    ) -> Result<Evaluated, CommandError> {
        let script = Evaluate {
            expression,
            context_id: Some(world),
            object_group: Some(GROUP),
            return_by_value,
            ..Evaluate::default()
        };
        self.command(script).await
    }
}
