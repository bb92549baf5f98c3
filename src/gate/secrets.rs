//! Values of secret fields of a session's pages, which no answer may contain.
//!
//! The fields are found in all frames and shadow trees, closed ones too. Once seen, a value stays secret for as long as the
//! session lives: a page may show it later as text.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::hub::Hub;
use crate::gate::page::Page;
use crate::gate::session::GateSession;

/// Timeout for a page to report its fields.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of values that a session keeps.
const MAX_VALUES: usize = 1024;

/// Maximum number of fields of a frame that are read.
const MAX_FIELDS: usize = 256;

/// Selector of fields that hold secrets, by their type and by what they ask the browser to fill in.
const SELECTOR: &str = r#"input[type="password" i], [autocomplete~="current-password" i], [autocomplete~="new-password" i], [autocomplete~="one-time-code" i], [autocomplete~="cc-csc" i]"#;

/// Group of the objects that a read creates.
const GROUP: &str = "secret-fields";

/// Function that returns the value of a field, and whether it is shown as plain text; `null` for what is no field.
const READ: &str = "function () {
    if (typeof this.value !== 'string') return null;
    const isHidden = getComputedStyle(this).webkitTextSecurity !== 'none' || !this.checkVisibility();
    return [this.value, !isHidden];
}";

/// Secret values of a session.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Values.
    pub values: BTreeSet<String>,
    /// True if a page shows one as plain text now.
    pub is_visible: bool,
}

impl GateSession {
    /// Reads the secret fields of all pages of the session, and returns their values and those that were seen before.
    ///
    /// # Errors
    ///
    /// Returns an error if a page does not report its fields.
    pub(crate) async fn secrets(&self) -> Result<Secrets, CommandError> {
        let mut is_visible = false;
        if let Some((hub, pages)) = self.current() {
            // A page with a dialog runs no script. What it held before is known.
            let readable = pages.iter().filter(|page| page.dialog().is_none());
            let fields = try_join_all(readable.map(|page| read(&hub, page))).await?;
            let mut known = self.lock_secrets();
            for (value, shown) in fields.into_iter().flatten() {
                is_visible |= shown;
                if known.len() < MAX_VALUES {
                    known.insert(value);
                }
            }
        }
        Ok(Secrets { values: self.lock_secrets().clone(), is_visible })
    }
}

/// Reads the secret fields of all frames of a tab.
async fn read(hub: &Hub, page: &Page) -> Result<Vec<(String, bool)>, CommandError> {
    let reads = page.sessions().into_iter().map(|session| async move {
        let frame = Frame { hub, page, session };
        match frame.read().await {
            // The frame has gone in the meantime, and its fields with it.
            Err(CommandError::Refused { .. }) => Ok(Vec::new()),
            result => result,
        }
    });
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

    /// Reads the fields of all documents in this process. Unlike a script, the search also finds them in closed shadow trees.
    async fn read(&self) -> Result<Vec<(String, bool)>, CommandError> {
        let search = json!({ "query": SELECTOR, "includeUserAgentShadowDOM": false });
        let document = self.command("DOM.getDocument", json!({ "depth": 0 }));
        let (document, found) = tokio::join!(document, self.command("DOM.performSearch", search));
        document?;
        let found = found?;
        self.add_fields(&found).await?;
        let fields = self.page.secret_fields(&self.session);
        let values = join_all(fields.iter().map(|field| self.read_field(*field))).await;
        if !fields.is_empty() {
            let group = json!({ "objectGroup": GROUP });
            self.hub.connection.notify(Some(&self.session), "Runtime.releaseObjectGroup", &group);
        }
        let mut read = Vec::new();
        for value in values {
            read.extend(value?);
        }
        Ok(read)
    }

    /// Adds the results of a search to the known fields: a field stays one when a page changes its type to show its text.
    async fn add_fields(&self, found: &Value) -> Result<(), CommandError> {
        let search = found.get("searchId").cloned().unwrap_or_default();
        let count = found.get("resultCount").and_then(Value::as_u64).unwrap_or_default().min(MAX_FIELDS as u64);
        let mut nodes = Vec::new();
        if count > 0 {
            let range = json!({ "searchId": search, "fromIndex": 0, "toIndex": count });
            let results = self.command("DOM.getSearchResults", range).await?;
            nodes = results.get("nodeIds").and_then(Value::as_array).cloned().unwrap_or_default();
        }
        let discard = json!({ "searchId": search });
        self.hub.connection.notify(Some(&self.session), "DOM.discardSearchResults", &discard);
        let descriptions = nodes.into_iter().map(|node| self.command("DOM.describeNode", json!({ "nodeId": node })));
        for description in try_join_all(descriptions).await? {
            if let Some(field) = description.pointer("/node/backendNodeId").and_then(Value::as_u64) {
                self.page.add_secret_field(&self.session, field);
            }
        }
        Ok(())
    }

    /// Reads a field. Returns `None` if it has no value or is gone.
    async fn read_field(&self, field: u64) -> Result<Option<(String, bool)>, CommandError> {
        let resolved = self.command("DOM.resolveNode", json!({ "backendNodeId": field, "objectGroup": GROUP })).await;
        let resolved = match resolved {
            Err(CommandError::Refused { .. }) => {
                self.page.remove_secret_field(&self.session, field);
                return Ok(None);
            }
            resolved => resolved?,
        };
        let call = json!({
            "objectId": resolved.pointer("/object/objectId"),
            "functionDeclaration": READ,
            "returnByValue": true,
        });
        match self.command("Runtime.callFunctionOn", call).await {
            Ok(result) => Ok(result.pointer("/result/value").and_then(read_value)),
            Err(CommandError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn read_value(field: &Value) -> Option<(String, bool)> {
    let value = field.get(0)?.as_str().filter(|value| !value.is_empty())?;
    Some((value.to_owned(), field.get(1)?.as_bool()?))
}
