//! Secret fields of a tab, or of a frame with a process of its own.

use std::sync::LazyLock;
use std::time::Duration;

use browser_shell_core::element::SECRET_WORDS;
use futures::future::{join_all, try_join_all};
use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::hub::Hub;
use crate::gate::page::Page;
use crate::gate::secret_values::{FieldValue, MAX_LENGTH, SecretLimit};
use crate::gate::secrets::error::SecretsError;
use crate::gate::secrets::field::{FieldRead, READ, read_value};
use crate::gate::world;

/// Timeout for a page to report its fields.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of fields that one search finds.
const MAX_FIELDS: u64 = 256;

/// Number of times that a page is read while it changes: a new document makes ids of the old one invalid.
const ATTEMPTS: usize = 3;

/// Pause before a page that has changed is read again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Selector of fields that hold secrets, by their type and by what they ask the browser to fill in.
static SELECTOR: LazyLock<String> = LazyLock::new(|| {
    let words = SECRET_WORDS.iter().map(|word| format!(r#", [autocomplete~="{word}" i]"#));
    format!(r#"input[type="password" i]{}"#, words.collect::<String>())
});

/// Group of the objects that a read creates.
const GROUP: &str = "secret-fields";

/// A tab or a frame with a process of its own.
pub(super) struct Frame<'a> {
    pub(super) hub: &'a Hub,
    pub(super) page: &'a Page,
    pub(super) session: String,
}

impl Frame<'_> {
    async fn command(&self, method: &str, params: Value) -> Result<Value, CommandError> {
        self.hub.connection.command_within(TIMEOUT, Some(&self.session), method, &params).await
    }

    /// Returns true if the tab is open and the frame in it.
    fn exists(&self) -> bool {
        self.hub.page(&self.page.target).is_some() && self.page.running_sessions().contains(&self.session)
    }

    /// Reads the fields, again if the document has changed meanwhile.
    pub(super) async fn read_stable(self) -> Result<Vec<FieldValue>, SecretsError> {
        for _ in 1..ATTEMPTS {
            match self.read().await {
                Err(SecretsError::Command(CommandError::Refused { .. }) | SecretsError::Field) if self.exists() => {
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                result => return self.unless_gone(result),
            }
        }
        self.unless_gone(self.read().await)
    }

    /// Replaces an error by no fields if the frame has gone meanwhile, and its fields with it.
    fn unless_gone(&self, read: Result<Vec<FieldValue>, SecretsError>) -> Result<Vec<FieldValue>, SecretsError> {
        match read {
            Err(SecretsError::Command(_) | SecretsError::Field) if !self.exists() => Ok(Vec::new()),
            result => result,
        }
    }

    /// Reads the fields of all documents in this process. Unlike a script, the search also finds them in closed shadow trees.
    async fn read(&self) -> Result<Vec<FieldValue>, SecretsError> {
        if self.page.secret_fields(&self.session).is_empty() && self.is_without_fields().await? {
            return Ok(Vec::new());
        }
        let document = self.command("DOM.getDocument", json!({ "depth": 0 }));
        let (document, found) = tokio::join!(document, self.search());
        document?;
        let added = self.add_fields(&found?).await;
        let fields = self.page.secret_fields(&self.session);
        if fields.is_empty() {
            return added.map(|()| Vec::new());
        }
        let read = self.read_fields(fields).await;
        let group = json!({ "objectGroup": GROUP });
        self.hub.connection.notify(Some(&self.session), "Runtime.releaseObjectGroup", &group);
        // Fields that are gone were removed, so that a later read has room for others.
        added.and(read)
    }

    async fn search(&self) -> Result<Value, CommandError> {
        let search = json!({ "query": *SELECTOR, "includeUserAgentShadowDOM": false });
        self.command("DOM.performSearch", search).await
    }

    fn discard(&self, search: &Value) {
        let discard = json!({ "searchId": search });
        self.hub.connection.notify(Some(&self.session), "DOM.discardSearchResults", &discard);
    }

    /// Returns true if a search finds no field. `DOM.getDocument` is only needed to read what a search finds. A search that is refused is
    /// not known to find none.
    async fn is_without_fields(&self) -> Result<bool, SecretsError> {
        match self.search().await {
            Ok(found) => {
                self.discard(found.get("searchId").unwrap_or(&Value::Null));
                Ok(found.get("resultCount").and_then(Value::as_u64) == Some(0))
            }
            Err(CommandError::Refused { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds the results of a search to the known fields: a field stays one when a page changes its type to show its text.
    async fn add_fields(&self, found: &Value) -> Result<(), SecretsError> {
        let search = found.get("searchId").cloned().unwrap_or_default();
        let count = found.get("resultCount").and_then(Value::as_u64).ok_or(SecretsError::Field)?;
        let mut nodes = Vec::new();
        if (1..=MAX_FIELDS).contains(&count) {
            let range = json!({ "searchId": search, "fromIndex": 0, "toIndex": count });
            let results = self.command("DOM.getSearchResults", range).await?;
            nodes = results.get("nodeIds").and_then(Value::as_array).cloned().unwrap_or_default();
        }
        self.discard(&search);
        if count > MAX_FIELDS {
            return Err(SecretLimit::Fields.into());
        }
        let descriptions = nodes.into_iter().map(|node| self.command("DOM.describeNode", json!({ "nodeId": node })));
        for description in try_join_all(descriptions).await? {
            let field =
                description.pointer("/node/backendNodeId").and_then(Value::as_u64).ok_or(SecretsError::Field)?;
            if !self.page.add_secret_field(&self.session, field) {
                return Err(SecretLimit::Fields.into());
            }
        }
        Ok(())
    }

    /// Reads fields. A world can read the fields of all frames of its own origin, so most pages need one.
    async fn read_fields(&self, mut fields: Vec<u64>) -> Result<Vec<FieldValue>, SecretsError> {
        let tree = self.command("Page.getFrameTree", json!({})).await?;
        let mut values = Vec::new();
        for frame in frames(tree.get("frameTree").unwrap_or(&Value::Null)) {
            if fields.is_empty() {
                return Ok(values);
            }
            let world = match world::isolated(self.hub, &self.session, frame, TIMEOUT).await {
                // The frame is gone by now, or has a process of its own.
                Err(CommandError::Refused { .. }) | Ok(None) => continue,
                Ok(Some(world)) => world,
                Err(error) => return Err(error.into()),
            };
            let reads = join_all(fields.iter().map(|field| self.read_field(*field, &world))).await;
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
    async fn read_field(&self, field: u64, world: &Value) -> Result<FieldRead, SecretsError> {
        let node = json!({ "backendNodeId": field, "objectGroup": GROUP, "executionContextId": world });
        let node = match self.command("DOM.resolveNode", node).await {
            Err(CommandError::Refused { .. }) => return Ok(FieldRead::OtherOrigin),
            node => node?,
        };
        let Some(object) = node.pointer("/object/objectId") else { return Ok(FieldRead::OtherOrigin) };
        let call = json!({
            "objectId": object,
            "functionDeclaration": READ,
            "arguments": [{ "value": MAX_LENGTH }],
            "returnByValue": true,
        });
        read_value(&self.command("Runtime.callFunctionOn", call).await?, (self.session.clone(), field))
    }

    /// Forgets a field that no world can read.
    ///
    /// # Errors
    ///
    /// Returns an error if the field exists.
    async fn expect_gone(&self, field: u64) -> Result<(), SecretsError> {
        match self.command("DOM.resolveNode", json!({ "backendNodeId": field, "objectGroup": GROUP })).await {
            Err(CommandError::Refused { .. }) => {
                self.page.remove_secret_field(&self.session, field);
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err(SecretsError::Field),
        }
    }
}

/// Returns the ids of the frames of a tree, parents first.
fn frames(tree: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut waiting = vec![tree];
    while let Some(tree) = waiting.pop() {
        found.extend(tree.pointer("/frame/id").and_then(Value::as_str));
        waiting.extend(tree.get("childFrames").and_then(Value::as_array).into_iter().flatten());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_searched_by_the_words_of_the_core() {
        let source = include_str!("frame.rs");
        for word in SECRET_WORDS {
            assert!(SELECTOR.contains(&format!(r#", [autocomplete~="{word}" i]"#)), "{word}");
            assert!(!source.contains(word), "{word}");
        }
    }

    #[test]
    fn frames_of_a_tree_begin_with_the_page() {
        let child = |id| json!({ "frame": { "id": id } });
        let tree = json!({ "frame": { "id": "page" }, "childFrames": [child("a"), child("b")] });
        assert_eq!(frames(&tree)[0], "page");
        assert_eq!(frames(&tree).len(), 3);
        assert!(frames(&Value::Null).is_empty());
    }
}
