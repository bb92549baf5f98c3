//! Values of secret fields of a session's pages, which no answer may contain.
//!
//! The fields are read in a world of the gate's own, so that a page can neither see nor change how. Once seen, a value stays
//! secret for as long as the session lives: a page may show it later as text.

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

/// Name of the world in which the script runs.
pub(super) const WORLD: &str = "browser-shell";

/// Script that returns the value of each secret field, and whether it is shown as plain text. A field that once was secret
/// stays so: a page may show its text.
const SCRIPT: &str = r"(() => {
    const known = globalThis.secretFields ??= new WeakSet();
    const names = /(^|\s)(one-time-code|current-password|new-password|cc-csc)(\s|$)/i;
    const found = [];
    const visit = root => {
        for (const element of root.querySelectorAll('*')) {
            if (element.shadowRoot) visit(element.shadowRoot);
            if (element.localName !== 'input' && element.localName !== 'textarea') continue;
            if (element.type === 'password' || names.test(element.getAttribute('autocomplete') ?? '')) known.add(element);
            if (!known.has(element) || !element.value) continue;
            const isHidden = getComputedStyle(element).webkitTextSecurity !== 'none' || !element.checkVisibility();
            found.push([element.value, !isHidden]);
        }
    };
    visit(document);
    return found;
})()";

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
    let (worlds, without) = page.worlds();
    let in_worlds = worlds
        .into_iter()
        .map(|world| async move { evaluate(hub, &world.session, json!({ "uniqueContextId": world.id })).await });
    let others = without.into_iter().map(|document| async move {
        let params = json!({ "frameId": document.frame, "worldName": WORLD });
        let created = command(hub, &document.session, "Page.createIsolatedWorld", &params).await?;
        evaluate(hub, &document.session, json!({ "contextId": created.get("executionContextId") })).await
    });
    let (in_worlds, others) = tokio::join!(join_all(in_worlds), join_all(others));
    let mut fields = Vec::new();
    for result in in_worlds.into_iter().chain(others) {
        match result {
            Ok(found) => fields.extend(found.as_array().into_iter().flatten().filter_map(read_field)),
            // The document has gone in the meantime, and its fields with it.
            Err(CommandError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(fields)
}

/// Runs the script in a world and returns its result.
async fn evaluate(hub: &Hub, session: &str, mut params: Value) -> Result<Value, CommandError> {
    if let Some(members) = params.as_object_mut() {
        members.insert("expression".to_owned(), SCRIPT.into());
        members.insert("returnByValue".to_owned(), true.into());
    }
    let result = command(hub, session, "Runtime.evaluate", &params).await?;
    Ok(result.pointer("/result/value").cloned().unwrap_or_default())
}

async fn command(hub: &Hub, session: &str, method: &str, params: &Value) -> Result<Value, CommandError> {
    hub.connection.command_within(TIMEOUT, Some(session), method, params).await
}

fn read_field(field: &Value) -> Option<(String, bool)> {
    Some((field.get(0)?.as_str()?.to_owned(), field.get(1)?.as_bool()?))
}
