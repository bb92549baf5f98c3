//! Session as its clients see it.

use std::sync::Arc;

use browser_shell_core::gate::Level;
use browser_shell_core::policy::Isolation;
use futures::future::BoxFuture;

use crate::gate::browser::Browser;
use crate::gate::error::GateError;
use crate::gate::owner::PageOwner;
use crate::gate::page::Page;
use crate::gate::scope::{ClientScope, Denied, SessionContext};
use crate::gate::session::state::{Context, GateSession};

impl ClientScope for GateSession {
    fn prepare_paste<'a>(&'a self, browser: &'a Arc<Browser>) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(async move {
            match self.gate.upgrade() {
                Some(gate) if self.isolation == Isolation::Session => gate.prepare_paste(&self.id, browser).await,
                Some(_) => Ok(()),
                None => Err(GateError::NotRunning),
            }
        })
    }

    fn runs_call(&self) -> bool {
        self.is_active()
    }

    fn ignores_acts(&self) -> bool {
        self.is_ignoring_acts()
    }

    fn take_use(&self, page: &Page) {
        self.lock_used().take_use(&page.target);
    }

    fn allows_cookies(&self) -> bool {
        self.documents().is_some_and(|documents| documents.lets_agents_use_cookies())
    }

    fn has_saved_state(&self) -> bool {
        self.isolation == Isolation::Session && self.saved_state.is_some()
    }

    fn context_id(&self, browser: &Arc<Browser>) -> SessionContext {
        match self.context().filter(|context| context.browser.generation == browser.generation) {
            Some(Context { id: Some(id), .. }) => SessionContext::Own(id),
            Some(Context { id: None, .. }) => SessionContext::Shared,
            None => SessionContext::None,
        }
    }

    fn pages(&self, browser: &Arc<Browser>) -> Vec<Arc<Page>> {
        let context = self.context().filter(|context| context.browser.generation == browser.generation);
        context.map(|context| Self::usable_pages(&context)).unwrap_or_default()
    }

    fn create_page<'a>(
        &'a self,
        browser: &'a Arc<Browser>,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Page>, GateError>> {
        Box::pin(async move {
            let context = self.context().ok_or(GateError::NotRunning)?;
            browser.create_page(context.id.as_ref(), url, false).await
        })
    }

    fn close_page<'a>(&'a self, browser: &'a Arc<Browser>, page: &'a Page) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(async move {
            let context = self.context().ok_or(GateError::NotRunning)?;
            browser.replace_or_close_page(context.id.as_ref(), page).await
        })
    }

    fn count_refusal(&self, level: Level, denied: Denied<'_>) {
        if let Some(gate) = self.gate.upgrade() {
            gate.count_refusal(&self.id, level, denied);
        }
    }
}
