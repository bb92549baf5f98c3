//! Our own engine, `cdp`: carries out actions over the gate's debugging sessions.
//!
//! An action is one function: find, check, act, wait for what the act began, read. Nothing here knows calls, policies or processes.
//!
//! Invariants: an act is made again only if the page got no input of it; no key and no button stays pressed, however the action ends.

mod act;
mod find;
mod job;
mod observed;
mod page;
mod tabs;
mod wait;

use std::time::Duration;

use serde_json::json;

use crate::job::COMMIT_TIME;
use browser_shell_browser::gate::{GateSession, SnapshotRequest};
use browser_shell_core::action::{Action, Condition, PictureExtent};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, Verb};

pub use job::{Carried, Job, Outcome};

/// Time for an action to end by itself after its tab has crashed.
const CRASH_TIME: Duration = Duration::from_millis(200);

/// Carries out an action. It ends early with a dialog, the end of its tab, the end of its time, and if the client cancels it.
pub async fn carry_out(job: &Job<'_>) -> Carried {
    job.gate.begin_input();
    let outcome = tokio::select! {
        biased;
        carried = perform(job) => return carried,
        () = wait_for_dialog(job) => interrupted(job, Code::DialogOpen).await,
        () = wait_until_slow(job) => interrupted(job, Code::PageLoading).await,
        () = wait_for_crash(job.gate) => Outcome::Unknown,
        () = job.cancel.cancelled() => Outcome::Cancelled,
        () = tokio::time::sleep_until(job.deadline.into()) => Outcome::TimedOut,
    };
    outcome.into()
}

async fn perform(job: &Job<'_>) -> Carried {
    let gate = job.gate;
    if job.action.sends_input() && gate.pdf_url().is_some() {
        let reason = "the page is a PDF: `snapshot` and `get text` read it, and it takes no input";
        return Outcome::Failed(Decision::new(Code::NoEffect, reason)).into();
    }
    match job.action {
        Action::Open(url) => page::open(job, url).await.into(),
        Action::Back => page::step(gate, true).await.into(),
        Action::Forward => page::step(gate, false).await.into(),
        Action::Reload => page::reload(job).await.into(),
        Action::Snapshot { options, selector, wanted } => {
            let (options, selector, wanted) = (*options, selector.clone(), wanted.clone());
            page::snapshot(job, &SnapshotRequest { options, selector, wanted }).await
        }
        Action::Element { act, selector, other } => act::on_element(job, act, selector, other.as_deref()).await,
        Action::Press(chord, count) => gate.press(chord, *count).await.map(|()| json!({ "pressed": true })).into(),
        Action::Scroll(right, down) => gate.scroll(*right, *down).await.into(),
        Action::ScrollTo(edge) => gate.scroll_to(*edge).await.into(),
        Action::Wait(condition) => wait::wait(job, condition).await.into(),
        Action::Count(selector) => page::count(job, selector).await.into(),
        Action::Url => page::url(job).await.into(),
        Action::Title => page::title(gate).await.into(),
        Action::Picture(PictureExtent::View) => page::picture_of_view(job).await,
        Action::Picture(PictureExtent::Page) => page::picture_of_page(job).await.into(),
        Action::Print => page::print(job).await.into(),
        Action::Tabs => tabs::list(gate).await.into(),
        Action::TurnTo(position) => tabs::turn_to(gate, *position).await.into(),
        Action::CloseTab(position) => tabs::close(gate, *position).await.into(),
        Action::Close => Outcome::Done(json!({ "closed": true })).into(),
    }
}

/// Waits until a dialog ends the action. Tabs are listed, turned to and closed whatever they show, and a page is opened or left whatever other
/// tabs show.
async fn wait_for_dialog(job: &Job<'_>) {
    match job.action {
        Action::Tabs | Action::TurnTo(_) | Action::CloseTab(_) => std::future::pending().await,
        Action::Open(_) | Action::Back | Action::Forward | Action::Reload => job.gate.wait_for_own_dialog().await,
        _ => job.gate.wait_for_dialog().await,
    }
}

/// Waits until the server of the page that an act has begun to load takes long to answer. Other actions wait for their page themselves.
async fn wait_until_slow(job: &Job<'_>) {
    if !matches!(job.action, Action::Element { .. } | Action::Press(..) | Action::Scroll(..) | Action::ScrollTo(_)) {
        return std::future::pending().await;
    }
    loop {
        job.gate.wait_until_loading().await;
        tokio::time::sleep(COMMIT_TIME).await;
        if job.gate.is_loading() {
            return;
        }
    }
}

/// Waits until the tab has crashed and the action does not end by itself.
async fn wait_for_crash(gate: &GateSession) {
    gate.wait_for_crash().await;
    tokio::time::sleep(CRASH_TIME).await;
}

/// Returns the outcome of an action whose page opened a dialog, or began to load another page, before it ended. What was begun is done, but
/// no further input follows.
async fn interrupted(job: &Job<'_>, code: Code) -> Outcome {
    let sent = job.gate.sent();
    // The last part is sent, and its answer may wait for the dialog.
    let parts = match job.action {
        Action::Element { act, .. } => parts_of(act),
        Action::Press(_, count) => *count as usize,
        _ => 0,
    };
    let is_look = match job.action {
        Action::Element { act, .. } => matches!(act.verb, Verb::Read(_) | Verb::Picture),
        // What was not seen yet is not known.
        Action::Wait(condition) => !matches!(condition, Condition::Time(_)),
        Action::Snapshot { .. } | Action::Count(_) | Action::Picture(_) | Action::Print => true,
        _ => false,
    };
    if is_look || sent < parts {
        let what = if code == Code::DialogOpen { "opened a dialog" } else { "began to load another one" };
        let when = if parts > 1 && sent > 0 {
            format!("after {sent} of {parts} keys, so that only the others are to be sent again")
        } else {
            "before the act was complete".to_owned()
        };
        return Outcome::Failed(Decision::new(code, format!("the page {what} {when}")));
    }
    Outcome::Done(match job.action {
        // A dialog while the page was loading.
        Action::Open(_) | Action::Reload => {
            json!({ "title": job.gate.title().await.unwrap_or_default(), "url": job.gate.active_url() })
        }
        Action::Element { act, .. } if act.verb == Verb::Select => json!({ "selected": act.options }),
        Action::Element { act, .. } => json!({ act.verb.confirmation(): true }),
        Action::Press(..) => json!({ "pressed": true }),
        Action::Scroll(..) | Action::ScrollTo(_) => json!({ "scrolled": true }),
        Action::Wait(_) => json!({ "waited": true }),
        _ => json!({}),
    })
}

/// Returns how many parts the input of an act on an element has, as far as each is to be sent.
fn parts_of(act: &Act) -> usize {
    match act.verb {
        Verb::Type => act.typed_text().chars().count(),
        Verb::Fill | Verb::Select | Verb::Click | Verb::DoubleClick | Verb::Check | Verb::Uncheck | Verb::Drag => 1,
        _ => 0,
    }
}
