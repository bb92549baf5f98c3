//! Secrets of all pages of a session.

use std::collections::BTreeSet;

use browser_shell_core::grammar::Command;
use browser_shell_core::output::mask::Literals;
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
    /// Values that the agent did not type.
    pub values: BTreeSet<String>,
    /// Values that it typed, which are secret as values of fields only.
    pub typed: BTreeSet<String>,
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
                    () = self.wait_for_dialog_of(page) => Ok(None),
                    () = page.wait_until_pending() => Ok(None),
                    fields = read(&hub, page) => fields.map(Some),
                }
            });
            let read = try_join_all(reads).await?;
            is_incomplete = pages.iter().any(|page| page.is_loading() || page.has_loading_frame());
            let is_complete = !is_incomplete && read.iter().all(Option::is_some);
            let fields: Vec<_> = read.into_iter().flatten().flatten().collect();
            is_visible = fields.iter().any(|value| value.is_visible);
            self.lock_secrets().add_read(&fields, is_complete)?;
        }
        Ok(Secrets { is_visible, is_incomplete, ..self.known_secrets() })
    }

    /// Remembers the text that a command of the agent types.
    pub(crate) fn remember_typed(&self, command: &Command) {
        self.lock_secrets().add_typed(command);
    }

    /// Returns the values that were seen before.
    pub(crate) fn known_secrets(&self) -> Secrets {
        let known = self.lock_secrets();
        Secrets { values: known.to_set(), typed: known.typed(), ..Secrets::default() }
    }

    /// Returns true if the session knows a secret that the agent did not type.
    pub(crate) fn knows_secrets(&self) -> bool {
        !self.lock_secrets().is_empty()
    }

    /// Returns what masks the secrets that the agent did not type.
    pub(crate) fn secret_literals(&self) -> Literals {
        let values = self.lock_secrets().to_set();
        Literals::new(values)
    }
}

/// Reads the secret fields of all frames of a tab.
async fn read(hub: &Hub, page: &Page) -> Result<Vec<FieldValue>, SecretsError> {
    // Sessions that share a tab would end each other's search.
    let _reading = page.reading.lock().await;
    let reads = page.running_sessions().into_iter().map(|session| Frame { hub, page, session }.read_stable());
    Ok(try_join_all(reads).await?.concat())
}
