//! Subcommand `wait` for an element or a text, where the policy has the control gate read pages.
//!
//! The wait lasts as long as the call. What does not come is a failure of the page, after which the session goes on as it was.

use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Reference, stale};
use browser_shell_core::grammar::Awaited;
use browser_shell_core::output::Body;
use browser_shell_core::selector::SelectorChain;
use serde_json::{Value, json};

use crate::call::phases::{CallContext, ValidatedCall};
use crate::call::reply::CallReply;
use crate::call::time::{ANSWER_TIME, INTERVAL};
use crate::gate::{ElementError, GateSession, Presence};
use crate::os::exec::ExecError;

/// Result of a look at the page.
enum Look {
    /// agent-browser has to look.
    Unknown,
    Found,
    Missing,
    Hidden,
}

/// Waits for what the command names. Returns `None` if agent-browser has to.
///
/// # Errors
///
/// Returns an error if the call ends before, because the page does not answer or the client cancels it.
pub(super) async fn wait(
    context: &CallContext,
    call: &ValidatedCall,
    gate: &Arc<GateSession>,
    timeout: Duration,
) -> Result<Option<CallReply>, ExecError> {
    let Some(awaited) = call.command.awaited().filter(|_| context.is_read_by_gate(&call.session)) else {
        return Ok(None);
    };
    let deadline = Instant::now() + timeout;
    let until = deadline.checked_sub(ANSWER_TIME).unwrap_or(deadline);
    let looks = async {
        let mut last = None;
        loop {
            match tokio::time::timeout_at(until.into(), look(gate, awaited)).await {
                Ok(Ok(Look::Unknown)) => return None,
                Ok(Ok(Look::Found)) => return Some(Ok(json!({ "waited": true }))),
                Ok(Ok(look)) => last = Some(look),
                Ok(Err(decision)) => return Some(Err(decision)),
                Err(_) => {}
            }
            // A page that has not answered at all may be hung, which is found at the end of the call.
            match &last {
                Some(look) if Instant::now() >= until => return Some(Err(failure(awaited, look, timeout))),
                _ => tokio::time::sleep(INTERVAL).await,
            }
        }
    };
    tokio::select! {
        biased;
        answer = looks => Ok(answer.map(reply)),
        // A page with a dialog does not answer.
        () = gate.wait_for_dialog() => Ok(Some(reply(Ok(json!({}))))),
        () = context.cancel.cancelled() => Err(ExecError::Cancelled),
        () = tokio::time::sleep_until(deadline.into()) => Err(ExecError::TimedOut),
    }
}

/// Looks at the page once.
async fn look(gate: &Arc<GateSession>, awaited: Awaited<'_>) -> Result<Look, Decision> {
    let seen = match awaited {
        Awaited::Text(text) => gate.shows_text(text).await.map(|shown| if shown { Look::Found } else { Look::Missing }),
        Awaited::Element(selector) => match Reference::parse(selector) {
            Some(reference) => return look_at(gate, reference).await,
            None if let Some(chain) = SelectorChain::parse(selector) => {
                gate.is_shown(&chain).await.map(|shown| match shown {
                    None => Look::Unknown,
                    Some(true) => Look::Found,
                    Some(false) => Look::Missing,
                })
            }
            None => gate.presence(selector).await.map(|presence| match presence {
                Presence::Unknown => Look::Unknown,
                Presence::None => Look::Missing,
                Presence::Hidden => Look::Hidden,
                Presence::Visible => Look::Found,
            }),
        },
    };
    match seen {
        // The document is being replaced.
        Err(ElementError::Gone) => Ok(Look::Missing),
        seen => Ok(seen?),
    }
}

/// Looks at the element of a reference. One that is gone never comes back.
async fn look_at(gate: &Arc<GateSession>, reference: Reference) -> Result<Look, Decision> {
    let state = match gate.element(reference).await {
        Ok(target) => target.state().await,
        Err(error) => Err(error),
    };
    match (state, reference) {
        (Ok(state), _) => Ok(if state.is_visible { Look::Found } else { Look::Hidden }),
        (Err(ElementError::Gone), Reference::Number(number)) => Err(stale(number, false)),
        (Err(ElementError::OtherTab), Reference::Number(number)) => Err(stale(number, true)),
        (Err(error), _) => Err(error.into()),
    }
}

/// Returns the refusal of a call in which nothing came.
fn failure(awaited: Awaited<'_>, look: &Look, timeout: Duration) -> Decision {
    let seconds = timeout.as_secs_f64().round();
    let (code, what) = match (awaited, look) {
        (Awaited::Text(_), _) => (Code::ElementNotFound, "the page did not show the text"),
        (Awaited::Element(_), Look::Hidden) => (Code::ElementHidden, "the element is there, but was not visible"),
        (Awaited::Element(_), _) => (Code::ElementNotFound, "no element matched the selector"),
    };
    Decision::new(code, format!("{what} within {seconds} s"))
}

fn reply(answer: Result<Value, Decision>) -> CallReply {
    match answer {
        Ok(data) => CallReply::done(Body::Data(data)),
        Err(decision) => CallReply::refused(decision),
    }
}
