//! Secrets of all pages of a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use browser_shell_core::grammar::Command;
use browser_shell_core::output::mask::Literals;
use futures::future::try_join_all;

use crate::gate::browser::Browser;
use crate::gate::page::Page;
use crate::gate::secret_values::FieldValue;
use crate::gate::secrets::entered::SearchedSecrets;
use crate::gate::secrets::error::SecretsError;
use crate::gate::secrets::frame::SearchedFrame;
use crate::gate::session::GateSession;

/// Secret values of a session.
#[derive(Debug, Default)]
pub struct Secrets {
    /// Values that the agent did not type.
    pub values: BTreeSet<String>,
    /// Values that it typed, which are secret as values of fields only.
    pub typed: BTreeSet<String>,
    /// True if a page shows one as plain text now.
    pub is_visible: bool,
    /// True if there may be others.
    pub is_incomplete: bool,
}

impl Secrets {
    /// Returns what masks them in an answer.
    #[must_use]
    pub fn literals(&self) -> Literals {
        Literals::new(self.values.iter().cloned()).with_field_values(self.typed.iter().cloned())
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
            let read = async { try_join_all(frames(browser, page).map(SearchedFrame::read_stable)).await };
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
            let known = self.lock_secrets();
            known.has_values().then(|| known.clone())
        };
        let Some(known) = &known else { return Ok(false) };
        let wanted = &SearchedSecrets::from(known);
        let adds = pages.iter().map(async |page| {
            let added = async { try_join_all(frames(browser, page).map(|frame| frame.add_entered(wanted))).await };
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
        let known = self.lock_secrets();
        Secrets { values: known.to_set(), typed: known.typed(), ..Secrets::default() }
    }

    /// Returns true if the session knows a secret that the agent did not type.
    pub fn knows_secrets(&self) -> bool {
        !self.lock_secrets().is_empty()
    }

    /// Returns what finds the secrets of fields in a text that people read.
    pub(in crate::gate) fn secret_words(&self) -> Literals {
        self.lock_secrets().words()
    }

    /// Returns what masks the secrets that the agent did not type.
    pub fn secret_literals(&self) -> Literals {
        let values = self.lock_secrets().to_set();
        Literals::new(values)
    }
}

/// Returns the frames of a tab that run in a process.
fn frames<'a>(browser: &'a Browser, page: &'a Page) -> impl Iterator<Item = SearchedFrame<'a>> {
    page.running_sessions().into_iter().map(move |session| SearchedFrame { browser, page, session })
}
