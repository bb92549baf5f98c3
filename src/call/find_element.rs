//! Search for the element that a command acts on, and the wait until it can take the act.

use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, Reading, Reference, Verb, ambiguous, check_before, covered, stale};

use crate::call::phases::ValidatedCall;
use crate::gate::{ElementError, GateSession, Matches, Sight, Target};

/// Time for an element to be uncovered, shown, or still.
pub(super) const READY_TIME: Duration = Duration::from_millis(2500);

/// Time for an element to appear.
const APPEAR_TIME: Duration = Duration::from_secs(2);

/// Interval between two looks at an element.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// Element that a command acts on, ready for it.
pub(super) struct Found {
    /// The act.
    pub(super) act: Act,
    /// The element.
    pub(super) target: Target,
    /// The element to which it is dragged.
    pub(super) other: Option<Target>,
    /// The element before the act.
    pub(super) sight: Sight,
}

/// Finds the element that a command acts on, and waits until it is ready. Returns `None` if agent-browser finds it itself.
pub(super) async fn find(
    gate: &Arc<GateSession>,
    call: &ValidatedCall,
    deadline: Instant,
) -> Result<Option<Found>, Decision> {
    let mut selectors = call.command.selectors();
    let (Some(selector), act) = (selectors.next(), Act::from_command(&call.command)) else { return Ok(None) };
    let Some(act) = act else {
        let has_reference = call.command.selectors().any(|selector| Reference::parse(selector).is_some());
        let reason = "this command takes no references; use CSS selectors";
        return if has_reference { Err(Decision::new(Code::StaleReference, reason)) } else { Ok(None) };
    };
    let Some(target) = element(gate, &act, selector, deadline).await? else { return Ok(None) };
    let other = match selectors.next() {
        Some(selector) => Some(element(gate, &act, selector, deadline).await?.ok_or_else(not_both)?),
        None => None,
    };
    let is_for_field = matches!(
        act.verb,
        Verb::Fill
            | Verb::Type
            | Verb::Check
            | Verb::Uncheck
            | Verb::Select
            | Verb::Read(Reading::IsChecked | Reading::IsEnabled)
    );
    let target = if is_for_field { target.into_control().await? } else { target };
    let sight = ready(&act, &target, deadline).await?;
    Ok(Some(Found { act, target, other, sight }))
}

/// Returns the element of a reference or selector, or `None` if agent-browser finds it itself.
async fn element(
    gate: &Arc<GateSession>,
    act: &Act,
    selector: &str,
    deadline: Instant,
) -> Result<Option<Target>, Decision> {
    match Reference::parse(selector) {
        Some(reference) => gate.element(reference).await.map(Some).map_err(|error| refusal(reference, error)),
        None => matched(gate, act, selector, deadline).await,
    }
}

/// Returns the refusal of two elements of which agent-browser alone would find the second.
fn not_both() -> Decision {
    Decision::new(Code::ElementNotFound, "both ends must be references or CSS selectors")
}

/// Returns the refusal of a reference.
fn refusal(reference: Reference, error: ElementError) -> Decision {
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
    deadline: Instant,
) -> Result<Option<Target>, Decision> {
    let until = deadline.min(Instant::now() + APPEAR_TIME);
    loop {
        match gate.matches(selector).await {
            Ok(Matches::Unknown) => return Ok(None),
            // That there is none is the answer.
            Ok(Matches::None) if act.verb == Verb::Read(Reading::IsVisible) => return Ok(None),
            Ok(Matches::One(target)) => return Ok(Some(target)),
            Ok(Matches::Several(count, named)) => return Err(ambiguous(count, &named)),
            // The document may be changing.
            Ok(Matches::None) | Err(ElementError::Gone) if Instant::now() < until => {}
            Ok(Matches::None) | Err(ElementError::Gone) => {
                return Err(Decision::new(Code::ElementNotFound, "no element matches the selector"));
            }
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Waits until an element can take an act.
pub(super) async fn ready(act: &Act, target: &Target, deadline: Instant) -> Result<Sight, Decision> {
    let until = deadline.min(Instant::now() + READY_TIME);
    let uses_point = act.verb.uses_pointer();
    let mut last = None;
    loop {
        if uses_point {
            target.scroll_into_view().await?;
        }
        let sight = target.sight().await?;
        let cover = sight.cover.as_ref().filter(|_| uses_point && sight.state.is_visible);
        let checked = check_before(act, &sight.state)
            .and_then(|()| cover.map_or(Ok(()), |cover| Err(covered(&sight.state, cover))));
        let is_late = Instant::now() >= until;
        match checked {
            Ok(()) if !uses_point || !sight.state.is_moving || is_late || last == Some(sight.point) => {
                return Ok(sight);
            }
            Ok(()) => last = Some(sight.point),
            Err(decision) if is_late || !matches!(decision.code, Code::ElementCovered | Code::ElementHidden) => {
                return Err(decision);
            }
            Err(_) => {}
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
