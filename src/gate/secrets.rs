//! Values of secret fields of a session's pages, which no answer may contain.
//!
//! The fields are found in all frames and shadow trees, closed ones too. Once seen, a value stays secret for as long as the
//! session lives: a page may show it later as text. Values are read in a world of the gate's own, whose objects no page can change.
//!
//! Invariant: a field that exists and is not read is an error.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use serde_json::{Value, json};
use thiserror::Error;

use crate::browser::cdp::CommandError;
use crate::gate::hub::Hub;
use crate::gate::page::Page;
use crate::gate::secret_values::{FieldValue, MAX_LENGTH, SecretLimit};
use crate::gate::session::GateSession;

/// Timeout for a page to report its fields.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of fields that one search finds.
const MAX_FIELDS: u64 = 256;

/// Number of times that a page is read while it changes: a new document makes ids of the old one invalid.
const ATTEMPTS: usize = 3;

/// Pause before a page that has changed is read again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Selector of fields that hold secrets, by their type and by what they ask the browser to fill in.
const SELECTOR: &str = r#"input[type="password" i], [autocomplete~="current-password" i], [autocomplete~="new-password" i], [autocomplete~="one-time-code" i], [autocomplete~="cc-csc" i]"#;

/// Group of the objects that a read creates.
const GROUP: &str = "secret-fields";

/// World in which fields are read. A frame makes it once, and returns it when it is asked again.
const WORLD: &str = "control-gate";

/// Function that returns the begin of the value of a field, its length, and whether it is shown as plain text; `null` for what
/// is no field.
const READ: &str = "function (maxLength) {
    if (typeof this.value !== 'string') return null;
    const isHidden = getComputedStyle(this).webkitTextSecurity !== 'none' || !this.checkVisibility();
    const text = this.value.slice(0, maxLength);
    return [text.toWellFormed ? text.toWellFormed() : text, this.value.length, !isHidden];
}";

/// Secret values of a session.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Values.
    pub values: BTreeSet<String>,
    /// True if a page shows one as plain text now.
    pub is_visible: bool,
    /// True if there may be others.
    pub is_incomplete: bool,
}

/// Reason why the secrets of a session are not known.
#[derive(Debug, Error)]
pub(crate) enum SecretsError {
    /// Chromium did not carry out a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// There are more secrets than the gate keeps.
    #[error(transparent)]
    Limit(#[from] SecretLimit),
    /// A field did not report its value.
    #[error("a secret field did not report its value")]
    Field,
}

impl GateSession {
    /// Reads the secret fields of all pages of the session, and returns their values and those that were seen before.
    ///
    /// # Errors
    ///
    /// Returns an error if a page does not report all of its fields, or if there are too many to keep.
    pub(crate) async fn secrets(&self) -> Result<Secrets, SecretsError> {
        let mut is_visible = false;
        if let Some((hub, pages)) = self.current() {
            // A page with a dialog runs no script. What it held before is known.
            let readable = pages.iter().filter(|page| page.dialog().is_none());
            let fields = try_join_all(readable.map(|page| read(&hub, page))).await?;
            let mut known = self.lock_secrets();
            let mut added = Ok(());
            for value in fields.iter().flatten() {
                is_visible |= value.is_visible;
                added = added.and(known.add(value));
            }
            added?;
        }
        Ok(Secrets { is_visible, ..self.known_secrets() })
    }

    /// Returns the values that were seen before.
    pub(crate) fn known_secrets(&self) -> Secrets {
        Secrets { values: self.lock_secrets().to_set(), ..Secrets::default() }
    }
}

/// Reads the secret fields of all frames of a tab.
async fn read(hub: &Hub, page: &Page) -> Result<Vec<FieldValue>, SecretsError> {
    // Sessions that share a tab would end each other's search.
    let _reading = page.reading.lock().await;
    let reads = page.sessions().into_iter().map(|session| Frame { hub, page, session }.read_stable());
    Ok(try_join_all(reads).await?.concat())
}

/// A tab or a frame with a process of its own.
struct Frame<'a> {
    hub: &'a Hub,
    page: &'a Page,
    session: String,
}

impl Frame<'_> {
    async fn command(&self, method: &str, params: Value) -> Result<Value, CommandError> {
        self.hub.connection.command_within(TIMEOUT, Some(&self.session), method, &params).await
    }

    /// Returns true if the tab is open and the frame in it.
    fn exists(&self) -> bool {
        self.hub.page(&self.page.target).is_some() && self.page.sessions().contains(&self.session)
    }

    /// Reads the fields, again if the document has changed meanwhile.
    async fn read_stable(self) -> Result<Vec<FieldValue>, SecretsError> {
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
        let search = json!({ "query": SELECTOR, "includeUserAgentShadowDOM": false });
        let document = self.command("DOM.getDocument", json!({ "depth": 0 }));
        let (document, found) = tokio::join!(document, self.command("DOM.performSearch", search));
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
        let discard = json!({ "searchId": search });
        self.hub.connection.notify(Some(&self.session), "DOM.discardSearchResults", &discard);
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
            let world = json!({ "frameId": frame, "worldName": WORLD });
            let world = match self.command("Page.createIsolatedWorld", world).await {
                // The frame is gone by now, or has a process of its own.
                Err(CommandError::Refused { .. }) => continue,
                world => world?,
            };
            let Some(world) = world.get("executionContextId") else { continue };
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
        read_value(&self.command("Runtime.callFunctionOn", call).await?)
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

/// Result of reading a field in a world.
#[derive(Debug, PartialEq, Eq)]
enum FieldRead {
    Value(FieldValue),
    /// The element is no field.
    NoValue,
    /// The field is in a document of another origin, or gone.
    OtherOrigin,
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

/// Returns what [`READ`] has returned.
fn read_value(answer: &Value) -> Result<FieldRead, SecretsError> {
    if answer.get("exceptionDetails").is_some() {
        return Err(SecretsError::Field);
    }
    let value = answer.pointer("/result/value").ok_or(SecretsError::Field)?;
    if value.is_null() {
        return Ok(FieldRead::NoValue);
    }
    let read = || {
        let text = value.get(0)?.as_str()?.to_owned();
        let field = FieldValue { text, length: value.get(1)?.as_u64()?, is_visible: value.get(2)?.as_bool()? };
        // An empty field shows nothing.
        Some(if field.length == 0 { FieldRead::NoValue } else { FieldRead::Value(field) })
    };
    read().ok_or(SecretsError::Field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_that_is_no_value_is_an_error() {
        let read = |answer: Value| read_value(&answer).ok();
        let value = FieldValue { text: "secret".to_owned(), length: 6, is_visible: true };
        assert_eq!(read(json!({ "result": { "value": ["secret", 6, true] } })), Some(FieldRead::Value(value)));
        assert_eq!(read(json!({ "result": { "value": ["", 0, true] } })), Some(FieldRead::NoValue));
        assert_eq!(read(json!({ "result": { "subtype": "null", "value": null } })), Some(FieldRead::NoValue));
        for answer in [
            json!({}),
            json!({ "result": { "type": "undefined" } }),
            json!({ "result": { "value": ["secret"] } }),
            json!({ "result": { "value": "secret" } }),
            json!({ "result": { "value": null }, "exceptionDetails": {} }),
        ] {
            assert_eq!(read(answer.clone()), None, "{answer}");
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
