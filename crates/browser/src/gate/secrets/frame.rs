//! Secret fields of a tab, or of a frame with a process of its own, and the value of one, as a script in the page reports it.

use std::sync::LazyLock;
use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::SECRET_WORDS;
use browser_shell_core::gate::KEPT_SECRET;
use futures::future::{join_all, try_join_all};
use thiserror::Error;

use crate::gate::browser::Browser;
use crate::gate::page::Page;
use crate::gate::secret_values::{FieldKey, FieldValue, MAX_LENGTH, SecretLimit};
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::dom::{
    DescribeNode, DiscardSearchResults, GetDocument, GetSearchResults, PerformSearch, ResolveNode, Search,
};
use browser_shell_cdp::protocol::page::GetFrameTree;
use browser_shell_cdp::protocol::runtime::{CallArgument, CallFunctionOn, Evaluated, ReleaseObjectGroup};
use browser_shell_cdp::protocol::{BackendNodeId, CdpCommand, DebugSessionId, ExecutionContextId};

/// Timeout for a page to report its fields. Frames have less.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of fields that one search finds.
const MAX_FIELDS: u64 = 256;

/// Number of times that a page is read while it changes: a new document makes ids of the old one invalid.
const ATTEMPTS: usize = 3;

/// Pause before a page that has changed is read again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Reason why the secrets of a session are not known.
#[derive(Debug, Error)]
pub enum SecretsError {
    /// Chromium did not carry out a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// There are more secrets than the gate keeps.
    #[error(transparent)]
    Limit(#[from] SecretLimit),
    /// A field did not report its value.
    #[error("a secret field did not report its value")]
    Field,
    /// A frame that may have been read does not answer.
    #[error("a frame does not answer")]
    Hung,
}

impl From<SecretsError> for Decision {
    fn from(_: SecretsError) -> Self {
        Self::new(Code::PageUnreadable, "a page did not say which secrets it shows")
    }
}

/// Selector of fields that hold secrets, by their type and by what they ask the browser to fill in.
pub(super) static SELECTOR: LazyLock<String> = LazyLock::new(|| {
    let words = SECRET_WORDS.iter().map(|word| format!(r#", [autocomplete~="{word}" i]"#));
    format!(r#"input[type="password" i]{}"#, words.collect::<String>())
});

/// Group of the objects that a read creates.
pub(super) const GROUP: &str = "secret-fields";

/// A tab or a frame with a process of its own.
pub(super) struct SearchedFrame<'a> {
    pub(super) browser: &'a Browser,
    pub(super) page: &'a Page,
    pub(super) session: DebugSessionId,
    /// Timeout for it to answer.
    pub(super) timeout: Duration,
}

impl SearchedFrame<'_> {
    pub(super) async fn command<C: CdpCommand>(&self, command: C) -> Result<C::Response, CommandError> {
        self.browser.connection.send_within(self.timeout, Some(&self.session), &command).await
    }

    /// Returns true if the tab is open and the frame in it.
    fn exists(&self) -> bool {
        self.browser.page(&self.page.target).is_some() && self.page.running_sessions().contains(&self.session)
    }

    /// Reads the fields, again if the document has changed meanwhile.
    pub(super) async fn read_stable(self) -> Result<Vec<FieldValue>, SecretsError> {
        self.stable(|| self.read()).await
    }

    /// Does something with the documents, again if one has changed meanwhile. A frame that has gone has no fields.
    pub(super) async fn stable<T: Default, F>(&self, act: impl Fn() -> F) -> Result<T, SecretsError>
    where
        F: Future<Output = Result<T, SecretsError>>,
    {
        let mut done = act().await;
        for _ in 1..ATTEMPTS {
            match done {
                Err(SecretsError::Command(CommandError::Refused { .. }) | SecretsError::Field) if self.exists() => {}
                _ => break,
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
            done = act().await;
        }
        if matches!(done, Err(SecretsError::Command(CommandError::TimedOut(_)))) {
            self.browser.leave_out_hung(self.page, &self.session, true);
        }
        match done {
            Err(SecretsError::Command(_) | SecretsError::Field) if !self.exists() => Ok(T::default()),
            done => done,
        }
    }

    /// Reads the fields of all documents in this process. Unlike a script, the search also finds them in closed shadow trees.
    async fn read(&self) -> Result<Vec<FieldValue>, SecretsError> {
        if self.page.secret_fields(&self.session).is_empty() && self.is_without_fields().await? {
            return Ok(Vec::new());
        }
        let document = self.command(GetDocument { depth: 0 });
        let (document, found) = tokio::join!(document, self.search());
        document?;
        let added = self.add_fields(&found?).await;
        let fields = self.page.secret_fields(&self.session);
        if fields.is_empty() {
            return added.map(|()| Vec::new());
        }
        let read = self.read_fields(fields).await;
        self.browser.connection.notify(Some(&self.session), &ReleaseObjectGroup { object_group: GROUP });
        // Fields that are gone were removed, so that a later read has room for others.
        added.and(read)
    }

    async fn search(&self) -> Result<Search, CommandError> {
        self.command(PerformSearch { query: &SELECTOR, include_user_agent_shadow_dom: false }).await
    }

    fn discard(&self, search_id: &str) {
        self.browser.connection.notify(Some(&self.session), &DiscardSearchResults { search_id });
    }

    /// Returns true if a search finds no field. `DOM.getDocument` is only needed to read what a search finds. A search that is refused is
    /// not known to find none.
    async fn is_without_fields(&self) -> Result<bool, SecretsError> {
        match self.search().await {
            Ok(found) => {
                self.discard(&found.search_id);
                Ok(found.result_count == 0)
            }
            Err(CommandError::Refused { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds the results of a search to the known fields: a field stays one when a page changes its type to show its text.
    async fn add_fields(&self, Search { search_id, result_count }: &Search) -> Result<(), SecretsError> {
        let count = *result_count;
        let mut nodes = Vec::new();
        if (1..=MAX_FIELDS).contains(&count) {
            nodes = self.command(GetSearchResults { search_id, from_index: 0, to_index: count }).await?.node_ids;
        }
        self.discard(search_id);
        if count > MAX_FIELDS {
            return Err(SecretLimit::Fields.into());
        }
        let described = |node| self.command(DescribeNode { node_id: Some(node), ..DescribeNode::default() });
        for found in try_join_all(nodes.into_iter().map(described)).await? {
            if !self.page.add_secret_field(&self.session, found.node.backend_node_id) {
                return Err(SecretLimit::Fields.into());
            }
        }
        Ok(())
    }

    /// Reads fields. A world can read the fields of all frames of its own origin, so most pages need one.
    async fn read_fields(&self, mut fields: Vec<BackendNodeId>) -> Result<Vec<FieldValue>, SecretsError> {
        let tree = self.command(GetFrameTree {}).await?.frame_tree;
        let mut values = Vec::new();
        for frame in tree.frames() {
            if fields.is_empty() {
                return Ok(values);
            }
            let world = match self.browser.isolated_world(&self.session, &frame.id, self.timeout).await {
                // The frame is gone by now, or has a process of its own.
                Err(CommandError::Refused { .. }) => continue,
                world => world?,
            };
            let reads = join_all(fields.iter().map(|field| self.read_field(*field, world))).await;
            let mut others = Vec::new();
            for (field, read) in fields.into_iter().zip(reads) {
                match read? {
                    FieldRead::Value(value) => values.push(value),
                    FieldRead::NoValue => {}
                    FieldRead::OtherOrigin => others.push(field),
                }
            }
            fields = others;
        }
        for field in fields {
            self.expect_gone(field).await?;
        }
        Ok(values)
    }

    /// Reads a field in a world.
    async fn read_field(&self, field: BackendNodeId, world: ExecutionContextId) -> Result<FieldRead, SecretsError> {
        let resolve = ResolveNode { backend_node_id: field, object_group: GROUP, execution_context_id: Some(world) };
        let node = match self.command(resolve).await {
            Err(CommandError::Refused { .. }) => return Ok(FieldRead::OtherOrigin),
            node => node?,
        };
        let Some(object_id) = &node.object.object_id else { return Ok(FieldRead::OtherOrigin) };
        let report = self.browser.report_binding.as_str();
        let kinds = KEPT_KINDS.into();
        let arguments = [MAX_LENGTH.into(), report.into(), KEPT_SECRET.into(), SELECTOR.as_str().into(), kinds];
        let call = CallFunctionOn {
            object_id,
            function_declaration: READ,
            arguments: arguments.iter().map(|value| CallArgument { value }).collect(),
            return_by_value: true,
            await_promise: false,
            object_group: None,
        };
        read_value(self.command(call).await?, (self.session.clone(), field))
    }

    /// Forgets a field that no world can read.
    ///
    /// # Errors
    ///
    /// Returns an error if the field exists.
    async fn expect_gone(&self, field: BackendNodeId) -> Result<(), SecretsError> {
        let resolve = ResolveNode { backend_node_id: field, object_group: GROUP, execution_context_id: None };
        match self.command(resolve).await {
            Err(CommandError::Refused { .. }) => {
                self.page.remove_secret_field(&self.session, field);
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err(SecretsError::Field),
        }
    }
}

/// Events by which the text of a field could leave it, which [`READ`] listens to on secret fields. What pages listen to there tells nothing.
pub(in crate::gate) const KEPT_KINDS: &[&str] = &["copy", "cut", "dragstart"];

/// Function that returns the begin of the value of a field, its length, whether it is shown as plain text, and the begin of the value that its
/// document gives it, if that is another one; and the texts that what is edited is made of, with whether it is a secret field by itself, and
/// not by what has been entered; `null` for what is no field. From then on its text cannot be copied, cut or dragged, which `report` is called
/// for with `kept`.
const READ: &str = "function (maxLength, report, kept, selector, keptKinds) {
    const isEdited = this.isContentEditable || this.ownerDocument.designMode === 'on';
    const value = this.value ?? (isEdited ? this.innerText : null);
    if (typeof value !== 'string') return null;
    const keep = globalThis[Symbol.for('keep')] ??= event => {
        if (!event.isTrusted) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        globalThis[report](kept);
    };
    for (const kind of keptKinds) this.addEventListener(kind, keep, true);
    const isHidden = getComputedStyle(this).webkitTextSecurity !== 'none' || !this.checkVisibility();
    const begin = text => { const begin = text.slice(0, maxLength); return begin.toWellFormed ? begin.toWellFormed() : begin; };
    const given = typeof this.defaultValue === 'string' && this.defaultValue !== value ? begin(this.defaultValue) : '';
    const parts = [];
    const texts = document.createTreeWalker(this, NodeFilter.SHOW_TEXT);
    for (let rest = maxLength; typeof this.value !== 'string' && rest > 0 && texts.nextNode();) {
        const part = texts.currentNode.data.trim().slice(0, rest);
        if (part) parts.push(begin(part));
        rest -= part.length;
    }
    return [begin(value), value.length, !isHidden, given, parts, this.matches(selector)];
}";

/// Result of reading a field in a world.
#[derive(Debug, PartialEq, Eq)]
enum FieldRead {
    Value(FieldValue),
    /// The element is no field.
    NoValue,
    /// The field is in a document of another origin, or gone.
    OtherOrigin,
}

/// Returns what [`READ`] has returned about a field.
fn read_value(answer: Evaluated, field: FieldKey) -> Result<FieldRead, SecretsError> {
    if answer.result.value.is_none() {
        return Err(SecretsError::Field);
    }
    Ok(match answer.value::<Option<(String, u64, bool, String, Vec<String>, bool)>>().ok_or(SecretsError::Field)? {
        None => FieldRead::NoValue,
        Some((text, length, is_visible, default, parts, is_declared)) => {
            // An empty field shows nothing.
            let is_visible = is_visible && length > 0;
            let default = Some(default).filter(|text| !text.is_empty());
            FieldRead::Value(FieldValue { field, text, length, is_visible, default, parts, is_declared })
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use browser_shell_cdp::protocol::BackendNodeId;

    #[test]
    fn fields_are_searched_by_the_words_of_the_core() {
        let source = include_str!("frame.rs");
        for word in SECRET_WORDS {
            assert!(SELECTOR.contains(&format!(r#", [autocomplete~="{word}" i]"#)), "{word}");
            assert!(!source.contains(word), "{word}");
        }
    }

    #[test]
    fn answer_that_is_no_value_is_an_error() {
        let field = || ("s".into(), BackendNodeId(1));
        let read = |answer: Value| read_value(serde_json::from_value(answer).ok()?, field()).ok();
        let value = |text: &str, length, is_visible, default: Option<&str>| {
            let (text, default) = (text.to_owned(), default.map(str::to_owned));
            let (parts, is_declared) = (vec!["a".to_owned()], true);
            Some(FieldRead::Value(FieldValue { field: field(), text, length, is_visible, default, parts, is_declared }))
        };
        assert_eq!(
            read(json!({ "result": { "value": ["secret", 6, true, "", ["a"], true] } })),
            value("secret", 6, true, None)
        );
        assert_eq!(
            read(json!({ "result": { "value": ["", 0, true, "old", ["a"], true] } })),
            value("", 0, false, Some("old"))
        );
        assert_eq!(read(json!({ "result": { "subtype": "null", "value": null } })), Some(FieldRead::NoValue));
        for answer in [
            json!({}),
            json!({ "result": { "type": "undefined" } }),
            json!({ "result": { "value": ["secret"] } }),
            json!({ "result": { "value": ["secret", 6, true] } }),
            json!({ "result": { "value": "secret" } }),
            json!({ "result": { "value": null }, "exceptionDetails": {} }),
        ] {
            assert_eq!(read(answer.clone()), None, "{answer}");
        }
    }
}
