//! Waits: for an element, a text, a time, a URL, a load state.
//!
//! A wait lasts as long as its action may take. What does not come is a failure of the page, after which the session goes on as it was.

use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::action::Condition;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::Reference;
use browser_shell_core::selector::SelectorChain;
use browser_shell_core::url_pattern;
use serde_json::{Value, json};

use crate::find::{refusal, unknown};
use crate::job::{INTERVAL, Job, Outcome};
use crate::observed;
use browser_shell_browser::gate::{ElementError, GateSession, Presence};

/// Least interval between two looks at what is read as a whole each time: PDFs, and the names that a snapshot shows.
const WHOLE_INTERVAL: Duration = Duration::from_secs(1);

/// Result of a look at the page.
#[derive(Clone, Copy)]
enum WaitResult {
    Found,
    Missing,
    Hidden,
}

impl WaitResult {
    const fn found(is_found: bool) -> Self {
        if is_found { Self::Found } else { Self::Missing }
    }
}

/// Waits for a condition.
pub(super) async fn wait(job: &Job<'_>, condition: &Condition) -> Outcome {
    if let Condition::Time(time) = condition {
        tokio::time::sleep(*time).await;
        return Outcome::Done(json!({ "waited": true }));
    }
    let until = job.answer_time();
    let (mut last, mut next_whole) = (None, Instant::now());
    loop {
        match tokio::time::timeout_at(until.into(), look_safely(job.gate, condition)).await {
            Ok(Ok(WaitResult::Found)) => return Outcome::Done(answer(job.gate, condition)),
            Ok(Ok(look)) => {
                last = Some(look);
                if let Condition::Text(text) = condition
                    && Instant::now() >= next_whole
                {
                    let start = Instant::now();
                    let is_in_whole = tokio::time::timeout_at(until.into(), is_in_whole(job.gate, text)).await;
                    if matches!(is_in_whole, Ok(true)) {
                        return Outcome::Done(answer(job.gate, condition));
                    }
                    // A large page takes long to read.
                    next_whole = Instant::now() + WHOLE_INTERVAL.max(start.elapsed() * 4);
                }
            }
            Ok(Err(decision)) => return Outcome::Failed(decision),
            Err(_) => {}
        }
        // A page that has not answered at all may be hung, which is found at the end of the action.
        match last {
            Some(look) if Instant::now() >= until => return Outcome::Failed(failure(job, condition, look)),
            _ => tokio::time::sleep(INTERVAL).await,
        }
    }
}

/// Returns true if a PDF shows a text, or a snapshot does: the label of a button, what styles add, a word with a place to break.
async fn is_in_whole(gate: &Arc<GateSession>, text: &str) -> bool {
    if matches!(gate.shows_text_in_pdf(text).await, Ok(true)) {
        return true;
    }
    let named = Condition::Element(format!("text={text}"));
    !text.contains(">>") && matches!(look_safely(gate, &named).await, Ok(WaitResult::Found))
}

fn answer(gate: &GateSession, condition: &Condition) -> Value {
    match condition {
        Condition::Url(_) => json!({ "url": gate.active_url() }),
        Condition::Load(state) => json!({ "state": state.as_str() }),
        Condition::Element(_) | Condition::Gone(_) | Condition::Text(_) | Condition::Time(_) => {
            json!({ "waited": true })
        }
    }
}

/// Looks at the page once.
async fn look_safely(gate: &Arc<GateSession>, condition: &Condition) -> Result<WaitResult, Decision> {
    let selector = match condition {
        Condition::Text(_) | Condition::Url(_) => None,
        Condition::Element(selector) | Condition::Gone(selector) => Some(selector.as_str()),
        Condition::Load(_) | Condition::Time(_) => return look(gate, condition).await,
    };
    observed::look(gate, selector, look(gate, condition)).await?.unwrap_or(Ok(WaitResult::Missing))
}

/// Looks at the page once, where nothing is known about secrets.
async fn look(gate: &Arc<GateSession>, condition: &Condition) -> Result<WaitResult, Decision> {
    let seen = match condition {
        Condition::Text(text) => gate.shows_text(text).await.map(WaitResult::found),
        Condition::Element(selector) => match Reference::parse(selector) {
            Some(reference) => return look_at(gate, reference).await,
            None => look_for(gate, selector).await?,
        },
        // A document that is being replaced may have the element again.
        Condition::Gone(selector) => match Reference::parse(selector) {
            Some(reference) => return Ok(WaitResult::found(is_gone(gate, reference).await?)),
            None => look_for(gate, selector).await?.map(|look| WaitResult::found(!matches!(look, WaitResult::Found))),
        },
        Condition::Url(pattern) => Ok(WaitResult::found(
            !gate.is_loading()
                && gate.active_url().is_some_and(|url| url_pattern::matches(pattern, &masked(gate, &url))),
        )),
        Condition::Load(state) => gate.has_reached(*state).await.map(WaitResult::found),
        Condition::Time(_) => Ok(WaitResult::Found),
    };
    match seen {
        // The document is being replaced.
        Err(ElementError::Gone) => Ok(WaitResult::Missing),
        seen => Ok(seen?),
    }
}

/// Returns a URL as the agent may read it.
fn masked(gate: &GateSession, url: &str) -> String {
    gate.secret_literals().mask_text(url).into_owned()
}

/// Looks for the elements of a selector.
async fn look_for(gate: &Arc<GateSession>, selector: &str) -> Result<Result<WaitResult, ElementError>, Decision> {
    Ok(match SelectorChain::parse(selector) {
        Some(chain) => match gate.is_shown(&chain).await {
            Ok(shown) => Ok(WaitResult::found(shown.ok_or_else(unknown)?)),
            Err(error) => Err(error),
        },
        None => match gate.presence(selector).await {
            Ok(Presence::Unknown) => return Err(unknown()),
            Ok(Presence::None) => Ok(WaitResult::Missing),
            Ok(Presence::Hidden) => Ok(WaitResult::Hidden),
            Ok(Presence::Visible) => Ok(WaitResult::Found),
            Err(error) => Err(error),
        },
    })
}

/// Returns true if a person sees the element of a reference.
async fn is_seen(gate: &Arc<GateSession>, reference: Reference) -> Result<bool, ElementError> {
    gate.element(reference).await?.is_seen().await
}

/// Returns true if nothing can be seen of the element of a reference.
async fn is_gone(gate: &Arc<GateSession>, reference: Reference) -> Result<bool, Decision> {
    match is_seen(gate, reference).await {
        Ok(is_seen) => Ok(!is_seen),
        Err(ElementError::Gone) if reference != Reference::Unknown => Ok(true),
        Err(error) => Err(refusal(reference, error)),
    }
}

/// Looks at the element of a reference. One that is gone never comes back.
async fn look_at(gate: &Arc<GateSession>, reference: Reference) -> Result<WaitResult, Decision> {
    match is_seen(gate, reference).await {
        Ok(is_seen) => Ok(if is_seen { WaitResult::Found } else { WaitResult::Hidden }),
        Err(error) => Err(refusal(reference, error)),
    }
}

/// Returns the refusal of a wait in which nothing came.
fn failure(job: &Job<'_>, condition: &Condition, look: WaitResult) -> Decision {
    let seconds = job.time.as_secs_f64().round();
    let (code, what) = match (condition, look) {
        (Condition::Text(_), _) => (Code::ElementNotFound, "the page did not show the text"),
        (Condition::Element(_), WaitResult::Hidden) => {
            (Code::ElementHidden, "the element is there, but was not visible")
        }
        (Condition::Gone(_), _) => (Code::TimedOut, "the element did not go away"),
        (Condition::Url(_), _) => (Code::TimedOut, "the page did not get a URL that matches"),
        (Condition::Load(_), _) => (Code::TimedOut, "the page did not reach the state"),
        _ => (Code::ElementNotFound, "no element matched the selector"),
    };
    Decision::new(code, format!("{what} within {seconds} s"))
}
