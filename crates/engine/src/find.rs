//! Search for the element of an act, and the wait until it can take the act.

use std::sync::Arc;
use std::time::Instant;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, Reading, Reference, Verb, ambiguous, check_before, covered, stale};
use browser_shell_core::selector::SelectorChain;
use serde_json::{Value, json};

use crate::job::{APPEAR_TIME, INTERVAL, Job, READY_TIME};
use crate::observed;
use browser_shell_browser::gate::{ElementError, ElementHandle, ElementView, GateSession, Match, Matches};

/// Element that an act is for, ready for it.
pub(super) struct Found {
    /// The element.
    pub(super) handle: ElementHandle,
    /// The element to which it is dragged.
    pub(super) other: Option<ElementHandle>,
    /// The element before the act.
    pub(super) view: ElementView,
}

/// Result of the search for what an act is about.
pub(super) enum SearchResult {
    /// The element.
    Found(Box<Found>),
    /// The data of the answer: there is no element, and that is one.
    Answered(Value),
}

/// Finds the element of an act, and waits until it is ready.
pub(super) async fn find(
    job: &Job<'_>,
    act: &Act,
    selector: &str,
    other: Option<&str>,
) -> Result<SearchResult, Decision> {
    let until = job.until(APPEAR_TIME);
    let (handle, view) = loop {
        let Some(found) = element(job, act, selector).await? else {
            return Ok(SearchResult::Answered(json!({ "visible": false })));
        };
        match prepare(act, found, job.deadline).await {
            Ok(prepared) => break prepared,
            Err(decision) if decision.code != Code::StaleReference => return Err(decision),
            // It has gone since it was found, and another may take its place.
            Err(decision) => match Reference::parse(selector) {
                Some(reference) => return Err(refusal(reference, ElementError::Gone)),
                None if Instant::now() >= until => return Err(decision),
                None => tokio::time::sleep(INTERVAL).await,
            },
        }
    };
    let other = match other {
        Some(selector) => element(job, act, selector).await?.map(|found| found.handle),
        None => None,
    };
    Ok(SearchResult::Found(Box::new(Found { handle, other, view })))
}

/// Waits until the field that an act is for, or else the element itself, can take the act.
async fn prepare(
    act: &Act,
    Match { mut handle, seen }: Match,
    deadline: Instant,
) -> Result<(ElementHandle, ElementView), Decision> {
    let is_for_field = matches!(
        act.verb,
        Verb::Fill
            | Verb::Type
            | Verb::Check
            | Verb::Uncheck
            | Verb::Select
            | Verb::Read(Reading::IsChecked | Reading::IsEnabled)
    );
    let mut view = handle.look(act.verb, seen).await?;
    if is_for_field && view.state.is_no_field() {
        handle = handle.into_control().await?;
        view = handle.look(act.verb, None).await?;
    }
    let view = ready(act, &handle, view, deadline).await?;
    Ok((handle, view))
}

/// Returns the element of a reference or selector. `None` if there is none, and the act asks for just that.
async fn element(job: &Job<'_>, act: &Act, selector: &str) -> Result<Option<Match>, Decision> {
    match Reference::parse(selector) {
        Some(reference) => match job.gate.element(reference).await {
            Ok(handle) => Ok(Some(handle.into())),
            Err(error) => Err(refusal(reference, error)),
        },
        None => matched(job.gate, act, selector, job.until(APPEAR_TIME)).await,
    }
}

/// Returns the refusal of a reference.
pub(super) fn refusal(reference: Reference, error: ElementError) -> Decision {
    match (reference, &error) {
        (Reference::Number(number), ElementError::Gone) => stale(number, false),
        (Reference::Number(number), ElementError::OtherTab) => stale(number, true),
        (Reference::Unknown, ElementError::Gone) => {
            Decision::new(Code::StaleReference, "a reference has the form `@e1`")
        }
        _ => error.into(),
    }
}

/// Returns the only element that a selector matches, as soon as there is one.
async fn matched(
    gate: &Arc<GateSession>,
    act: &Act,
    selector: &str,
    until: Instant,
) -> Result<Option<Match>, Decision> {
    loop {
        let matches = observed::look(gate, Some(selector), gate.matches(selector, act.verb)).await?;
        match matches.unwrap_or(Err(ElementError::Gone)) {
            Ok(Matches::Unknown) => return Err(unknown()),
            Ok(Matches::None) if act.verb == Verb::Read(Reading::IsVisible) => return Ok(None),
            Ok(Matches::One(found)) => return Ok(Some(*found)),
            Ok(Matches::Several(count, named)) => return Err(ambiguous(count, &named)),
            // The document may be changing.
            Ok(Matches::None) | Err(ElementError::Gone) if Instant::now() < until => {}
            Ok(Matches::None) | Err(ElementError::Gone) => return Err(not_found(gate, selector)),
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns the refusal of a selector that the engine does not know.
pub(super) fn unknown() -> Decision {
    let reason = "the selector is none of these: a reference such as `@e1`, CSS, `text=`, `role=`, `xpath=`";
    Decision::new(Code::ElementNotFound, reason)
}

/// Returns the refusal of a selector that no element matches. A chain is shown as it was read, unless a mask in it would confirm a guess.
fn not_found(gate: &GateSession, selector: &str) -> Decision {
    let reason = match SelectorChain::parse(selector).filter(|_| !gate.knows_secrets()) {
        Some(chain) => format!("no element matches `{chain}`"),
        None => "no element matches the selector".to_owned(),
    };
    Decision::new(Code::ElementNotFound, reason)
}

/// Waits until an element that was seen can take an act.
pub(super) async fn ready(
    act: &Act,
    handle: &ElementHandle,
    mut view: ElementView,
    deadline: Instant,
) -> Result<ElementView, Decision> {
    let until = deadline.min(Instant::now() + READY_TIME);
    let uses_point = act.verb.uses_pointer();
    let secrets = handle.secrets();
    let mut last = None;
    loop {
        let cover = view.cover.as_ref().filter(|_| uses_point && view.state.is_visible);
        let checked = check_before(act, &view.state, &secrets)
            .and_then(|()| cover.map_or(Ok(()), |cover| Err(covered(&view.state, cover))));
        let is_late = Instant::now() >= until;
        match checked {
            Ok(()) if !uses_point || !view.state.is_moving || is_late || last == Some(view.point) => {
                return Ok(view);
            }
            Ok(()) => last = Some(view.point),
            Err(decision) if is_late || !matches!(decision.code, Code::ElementCovered | Code::ElementHidden) => {
                return Err(handle.with_shown(decision).await);
            }
            Err(_) => {}
        }
        tokio::time::sleep(INTERVAL).await;
        view = handle.view_for(act.verb).await?;
    }
}
