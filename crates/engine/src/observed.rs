//! Looks that compare a text of the agent with what pages hold. None tells anything about a secret, also one that came since the call
//! began.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::compares_with_page;

use crate::job::INTERVAL;
use browser_shell_browser::gate::{ElementError, GateSession};

/// Number of times that pages are asked for their secrets.
const ATTEMPTS: usize = 5;

/// Secrets that the pages held at a moment.
#[derive(PartialEq, Eq)]
struct SeenSecrets(BTreeSet<String>);

/// Looks at the pages, and compares what they hold with a selector, or with a text (`None`), which is then done with what the agent may read.
/// `None` if a secret came meanwhile, which makes the look worth nothing.
///
/// # Errors
///
/// The refusal of a selector that Chromium itself would compare with a secret.
pub(super) async fn look<T>(
    gate: &Arc<GateSession>,
    selector: Option<&str>,
    look: impl Future<Output = T>,
) -> Result<Option<T>, Decision> {
    let before = read_secrets(gate, selector).await?;
    let seen = look.await;
    let is_same = before.is_none() || before == read_secrets(gate, selector).await?;
    Ok(is_same.then_some(seen))
}

/// Reads the secrets of the pages. `None` if the selector compares nothing.
async fn read_secrets(gate: &Arc<GateSession>, selector: Option<&str>) -> Result<Option<SeenSecrets>, Decision> {
    if selector.is_some_and(|selector| !compares_with_page(selector, false)) {
        return Ok(None);
    }
    let mut attempt = 1;
    let values = loop {
        match gate.secrets().await {
            Ok(secrets) => break secrets.values,
            // The document may be changing.
            Err(_) if attempt < ATTEMPTS => tokio::time::sleep(INTERVAL).await,
            Err(error) => return Err(error.into()),
        }
        attempt += 1;
    };
    if let Some(selector) = selector.filter(|selector| gate.knows_secrets() && compares_with_page(selector, true)) {
        match gate.compares_secret(selector).await {
            // Without a document, nothing is found.
            Ok(false) | Err(ElementError::Gone) => {}
            Ok(true) | Err(_) => {
                let reason = "the selector could tell something about what the page keeps from you";
                return Err(Decision::new(Code::SecretObservable, reason));
            }
        }
    }
    Ok(Some(SeenSecrets(values)))
}
