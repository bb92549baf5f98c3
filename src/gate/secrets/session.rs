//! Secrets of all pages of a session.

use std::collections::BTreeSet;

use futures::future::try_join_all;

use crate::gate::hub::Hub;
use crate::gate::page::Page;
use crate::gate::secret_values::FieldValue;
use crate::gate::secrets::error::SecretsError;
use crate::gate::secrets::frame::Frame;
use crate::gate::session::GateSession;

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

impl GateSession {
    /// Reads the secret fields of all pages of the session, and returns their values and those that were seen before.
    ///
    /// # Errors
    ///
    /// Returns an error if a page does not report all of its fields, or if there are too many to keep.
    pub(crate) async fn secrets(&self) -> Result<Secrets, SecretsError> {
        let (mut is_visible, mut is_incomplete) = (false, false);
        if let Some((hub, pages)) = self.current() {
            // A page with a dialog runs no script, and one that waits for its server answers nothing. What it held before is known.
            let reads = pages.iter().map(async |page| {
                tokio::select! {
                    biased;
                    () = self.wait_for_dialog_of(page) => Ok(Vec::new()),
                    () = page.wait_until_pending() => Ok(Vec::new()),
                    fields = read(&hub, page) => fields,
                }
            });
            let fields = try_join_all(reads).await?;
            is_incomplete = pages.iter().any(|page| page.pending_navigation().is_some() || page.has_loading_frame());
            let mut known = self.lock_secrets();
            let mut added = Ok(());
            for value in fields.iter().flatten() {
                is_visible |= value.is_visible;
                added = added.and(known.add(value));
            }
            added?;
        }
        Ok(Secrets { is_visible, is_incomplete, ..self.known_secrets() })
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
    let reads = page.running_sessions().into_iter().map(|session| Frame { hub, page, session }.read_stable());
    Ok(try_join_all(reads).await?.concat())
}
