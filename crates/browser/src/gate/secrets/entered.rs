//! Fields that pieces of secrets have entered: by paste, by drop, or because the page wrote them there.
//!
//! Such a field is one of the page's secrets from then on. What it held when the gate saw it first is the page's own, unless that is a whole
//! secret: pages show a password by another field. What was typed by keys is no piece of a secret.

use browser_shell_core::output::mask::{Literals, Pieces};
use serde_json::json;

use crate::gate::element::script::{KEPT, call_with_kept};
use crate::gate::secret_values::{MAX_LENGTH, SecretLimit, SecretValues};
use crate::gate::secrets::error::SecretsError;
use crate::gate::secrets::frame::{GROUP, SELECTOR, SearchedFrame, TIMEOUT};
use crate::gate::world;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::dom::DescribeNode;
use browser_shell_cdp::protocol::page::GetFrameTree;
use browser_shell_cdp::protocol::runtime::{Evaluate, Evaluated, ReleaseObjectGroup};
use browser_shell_cdp::protocol::{ExecutionContextId, FrameId};

/// Length of a text that is searched where something was pasted or dropped, in UTF-16 code units: as much of it as answers show.
const MAX_PUT: u32 = 1 << 20;

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
pub(super) struct SearchedSecrets<'a> {
    known: &'a SecretValues,
    pieces: Pieces,
    words: Literals,
}

impl<'a> From<&'a SecretValues> for SearchedSecrets<'a> {
    fn from(known: &'a SecretValues) -> Self {
        Self { known, pieces: known.pieces(), words: known.words() }
    }
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
    pub(super) async fn add_entered(self, wanted: &SearchedSecrets<'_>) -> Result<bool, SecretsError> {
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
        let world = world::isolated(self.browser, &self.session, frame, TIMEOUT).await?;
        // A world that has them keeps them.
        let library = Evaluate { expression: &KEPT, context_id: Some(world), ..Evaluate::default() };
        self.browser.connection.notify(Some(&self.session), &library);
        let entered = call_with_kept(ENTERED, &format!("{}, {MAX_LENGTH}, {MAX_PUT}", json!(*SELECTOR)));
        let texts: Vec<(String, bool)> =
            self.evaluate(&entered, world, true).await?.value().ok_or(SecretsError::Field)?;
        let fields = self.page.secret_fields(&self.session);
        let mut has_new = false;
        for (position, _) in texts.iter().enumerate().filter(|(_, (text, was_first))| wanted.is_in(text, *was_first)) {
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
