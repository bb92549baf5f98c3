//! Dialogs of a session's pages that wait for the agent, and the notices of its pages.
//!
//! The tabs know which dialogs are open. Nothing is remembered beside them, so a dialog ends with its tab and with Chromium.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use crate::gate::browser::{Browser, PageOwner, is_safe_to_accept};
use crate::gate::notices::{Dialog, Notice, SeenNotice};
use crate::gate::page::Page;
use crate::gate::session::GateSession;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::page::HandleJavaScriptDialog;
use browser_shell_cdp::protocol::runtime::Evaluate;

/// End of a dialog that nobody has answered.
const ENDED: &str = "closed by the page";

/// Number of dialogs in a row of a page that is left. One that shows more of them is closed.
const MAX_IN_A_ROW: usize = 4;

/// Time in which a page that responds shows the next dialog.
const NEXT_TIME: Duration = Duration::from_millis(300);

/// Maximum time for a page to respond or to show the next dialog.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Dialog that waits for the agent.
struct Waiting {
    browser: Arc<Browser>,
    page: Arc<Page>,
    /// The gate's own session that reported it.
    session: DebugSessionId,
    dialog: Dialog,
    number: u64,
}

impl Waiting {
    /// Answers the dialog. Returns `None` if it has ended.
    ///
    /// # Errors
    ///
    /// Chromium's error. One that it answers means that the dialog has ended.
    async fn answer(&self, accept: bool, text: Option<&str>) -> Result<Option<Dialog>, CommandError> {
        let _answering = self.page.answering.lock().await;
        // Chromium's command names no dialog, so it is sent only while this one is open.
        if self.page.dialog().is_none_or(|open| open.waiting_number() != Some(self.number)) {
            return Ok(None);
        }
        let text = text.or_else(|| accept.then_some(self.dialog.default.as_str()).filter(|text| !text.is_empty()));
        let answer = HandleJavaScriptDialog { accept, prompt_text: text };
        let sent = self.browser.connection.send(Some(&self.session), &answer).await;
        if matches!(sent, Ok(_) | Err(CommandError::Refused { .. })) {
            self.page.remove_dialog(self.number);
        }
        sent?;
        let answer = Some(if accept { "accepted" } else { "dismissed" });
        Ok(Some(Dialog { answer, number: None, ..self.dialog.clone() }))
    }
}

impl GateSession {
    /// Returns the dialogs that wait for the agent, the oldest first.
    fn waiting_dialogs(&self) -> Vec<Waiting> {
        let Some((browser, pages)) = self.all_pages() else { return Vec::new() };
        let mut waiting: Vec<_> = pages
            .into_iter()
            .filter_map(|page| {
                let open = page.dialog()?;
                let number = open.waiting_number()?;
                Some(Waiting { browser: browser.clone(), page, session: open.session, dialog: open.dialog, number })
            })
            .collect();
        waiting.sort_by_key(|waiting| waiting.number);
        waiting
    }

    /// Returns the dialog that waits for the agent, the oldest of several.
    pub fn open_dialog(&self) -> Option<Dialog> {
        self.waiting_dialogs().into_iter().next().map(|waiting| waiting.dialog)
    }

    /// Waits until a dialog waits for the agent.
    pub async fn wait_for_dialog(&self) {
        self.wait_for_dialogs(|| self.open_dialog().is_some()).await;
    }

    /// Waits until the tab that the session acts on shows a dialog that waits for the agent.
    pub async fn wait_for_own_dialog(&self) {
        let waits = |page: Arc<Page>| page.dialog().is_some_and(|open| open.waiting_number().is_some());
        self.wait_for_dialogs(|| self.active_page().is_some_and(waits)).await;
    }

    /// Waits until a tab shows a dialog that waits for the agent.
    pub(in crate::gate) async fn wait_for_dialog_of(&self, page: &Page) {
        self.wait_for_dialogs(|| page.dialog().is_some()).await;
    }

    /// Waits until one of the dialogs that wait for the agent is the wanted one.
    async fn wait_for_dialogs(&self, is_open: impl Fn() -> bool) {
        loop {
            let notified = self.dialog.notified();
            if is_open() {
                return;
            }
            notified.await;
        }
    }

    /// Answers the dialog that [`Self::open_dialog`] returns. Returns it, or `None` if none is open.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not take the answer.
    pub async fn answer_dialog(&self, accept: bool, text: Option<&str>) -> Result<Option<Dialog>, CommandError> {
        let Some(waiting) = self.waiting_dialogs().into_iter().next() else { return Ok(None) };
        let answered = waiting.answer(accept, text).await?;
        if answered.is_some() {
            self.forget_dialog(&waiting);
        }
        Ok(answered)
    }

    /// Forgets the notice of a dialog that has been answered.
    fn forget_dialog(&self, waiting: &Waiting) {
        self.lock_notices().remove_dialog(waiting.number);
        waiting.browser.remove_notice_of_dialog(waiting.number);
    }

    /// Gives the safe answer to dialogs that wait for an agent whom the policy no longer lets answer.
    pub async fn answer_abandoned_dialogs(&self) {
        if !self.can_answer_dialogs() {
            self.answer_safely().await;
        }
    }

    /// Gives the safe answer to the dialogs that wait for the agent, so that a page can be left or opened. A tab that goes on to show
    /// dialogs is closed, as one that hangs.
    pub async fn leave_dialogs(&self) {
        for _ in 0..MAX_IN_A_ROW {
            let answered = self.answer_safely().await;
            let quiet = async {
                let script = Evaluate { expression: "1", ..Evaluate::default() };
                join_all(answered.iter().map(|Waiting { browser, session, .. }| {
                    browser.connection.send_within(RESPONSE_TIMEOUT, Some(session), &script)
                }))
                .await;
                tokio::time::sleep(NEXT_TIME).await;
            };
            tokio::select! {
                biased;
                () = self.wait_for_dialog() => {}
                () = quiet => return,
            }
        }
        let Some(browser) = self.browser() else { return };
        // Two sessions with the same tabs must not both replace them.
        let _recovery = browser.recovery.lock().await;
        let pages: Vec<_> = self.waiting_dialogs().into_iter().map(|waiting| waiting.page).collect();
        let count = self.replace_tabs(&browser, &pages).await;
        tracing::warn!(count, "tabs that show one dialog after the other were closed");
    }

    /// Gives the safe answer to the dialogs that wait for the agent, and notes it. Returns them.
    async fn answer_safely(&self) -> Vec<Waiting> {
        let all = self.waiting_dialogs();
        for waiting in &all {
            match waiting.answer(is_safe_to_accept(&waiting.dialog.kind), None).await {
                Ok(Some(dialog)) => {
                    self.forget_dialog(waiting);
                    self.add_notice(Notice::Dialog(dialog));
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a dialog did not take the safe answer and stays open"),
            }
        }
        all
    }

    /// Returns and forgets what pages did since the last answer, each with whether it happened during the call that runs. A
    /// dialog that is open is returned each time.
    pub fn take_notices(&self) -> Vec<(Notice, bool)> {
        let mut taken = match self.browser().filter(|_| !self.has_own_context()) {
            Some(browser) => browser.take_notices(),
            None => Vec::new(),
        };
        taken.extend(self.lock_notices().take());
        let open = self.waiting_dialogs().into_iter().map(|waiting| waiting.dialog).collect();
        merge(taken, open)
    }
}

/// Merges notices with the dialogs that are open now.
fn merge(taken: Vec<SeenNotice>, mut open: Vec<Dialog>) -> Vec<(Notice, bool)> {
    let mut merged = Vec::new();
    for SeenNotice { mut notice, is_new } in taken {
        if let Notice::Dialog(dialog) = &mut notice
            && dialog.number.is_some()
        {
            let count = open.len();
            open.retain(|known| known.number != dialog.number);
            if open.len() == count {
                dialog.answer = Some(ENDED);
            }
        }
        merged.push((notice, is_new));
    }
    merged.extend(open.into_iter().map(|dialog| (Notice::Dialog(dialog), false)));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::notices::Notices;

    fn dialog(number: u64) -> Dialog {
        Dialog { number: Some(number), ..Dialog::new("confirm", "message", "http://public.test/", None) }
    }

    #[test]
    fn notice_of_dialog_says_whether_it_is_open() {
        let mut notices = Notices::default();
        for number in 0..2 {
            notices.add(Notice::Dialog(dialog(number)), true);
        }
        let merged = merge(notices.take(), vec![dialog(1), dialog(2)]);
        let ended = Dialog { answer: Some(ENDED), ..dialog(0) };
        let expected = [(ended, true), (dialog(1), true), (dialog(2), false)];
        assert_eq!(merged, expected.map(|(dialog, is_new)| (Notice::Dialog(dialog), is_new)));
    }
}
