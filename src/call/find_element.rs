//! Search for the element that a command acts on, and the wait until it can take the act.

use std::sync::Arc;
use std::time::Instant;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, Neighbor, Reading, Reference, Verb, ambiguous, check_before, covered, stale};
use browser_shell_core::selector::SelectorChain;
use serde_json::{Value, json};

use crate::call::phases::ValidatedCall;
use crate::call::question;
use crate::call::time::{APPEAR_TIME, INTERVAL, READY_TIME};
use crate::gate::{ElementError, GateSession, MarkName, MarkResult, Match, Matches, Secrets, Sight, Target};

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
    /// Mark on the element, if it was tried while the element was looked at.
    pub(super) mark: Option<MarkResult>,
    /// Result of the look behind the act.
    pub(super) seen_behind: SeenBehind,
}

/// Result of the look behind an act, as soon as it may have been done.
#[derive(Default)]
pub(super) enum SeenBehind {
    /// The act is done. The secrets of the pages are missing if something kept them from being read.
    Done(Option<Secrets>),
    /// The press was kept from what was in front of the element.
    Missed(Neighbor),
    /// The act is not known to be done, or more follows.
    #[default]
    Unclear,
}

/// Result of the search for what a command is about.
pub(super) enum Search {
    /// The command is about no element, or agent-browser finds it itself.
    Unknown,
    /// The element of an act.
    Found(Box<Found>),
    /// The data of the answer, without an act, and the secrets of the pages if they were read after all that it shows.
    Answered(Value, Option<Secrets>),
}

/// Result of the search for one element.
enum Element {
    Unknown,
    Found(Box<Match>),
    /// There is none, which is an answer.
    Absent,
}

/// Finds the element that a command acts on, and waits until it is ready. Its mark, if it gets one, has this name.
pub(super) async fn find(
    gate: &Arc<GateSession>,
    call: &ValidatedCall,
    name: &MarkName,
    deadline: Instant,
) -> Result<Search, Decision> {
    if let Some(answer) = question::answer(gate, &call.command, deadline).await? {
        return Ok(Search::Answered(answer, None));
    }
    let mut selectors = call.command.selectors();
    let (Some(selector), act) = (selectors.next(), Act::from_command(&call.command)) else {
        return Ok(Search::Unknown);
    };
    let Some(act) = act else {
        let has_reference = call.command.selectors().any(|selector| Reference::parse(selector).is_some());
        let reason = "this command takes no references; use CSS selectors";
        return if has_reference { Err(Decision::new(Code::StaleReference, reason)) } else { Ok(Search::Unknown) };
    };
    let until = deadline.min(Instant::now() + APPEAR_TIME);
    let (target, sight, mark) = loop {
        let found = match element(gate, &act, selector, name, deadline).await? {
            Element::Found(found) => *found,
            Element::Unknown => return Ok(Search::Unknown),
            Element::Absent => return Ok(Search::Answered(json!({ "visible": false }), None)),
        };
        match prepare(&act, found, name, deadline).await {
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
    let other = match selectors.next() {
        Some(selector) => match element(gate, &act, selector, name, deadline).await? {
            Element::Found(found) => Some(found.target),
            Element::Unknown | Element::Absent => return Err(not_both()),
        },
        None => None,
    };
    Ok(Search::Found(Box::new(Found { act, target, other, sight, mark, seen_behind: SeenBehind::Unclear })))
}

/// Waits until the field that an act is for, or else the element itself, can take the act.
async fn prepare(
    act: &Act,
    Match { mut target, seen }: Match,
    name: &MarkName,
    deadline: Instant,
) -> Result<(Target, Sight, Option<MarkResult>), Decision> {
    let is_for_field = matches!(
        act.verb,
        Verb::Fill
            | Verb::Type
            | Verb::Check
            | Verb::Uncheck
            | Verb::Select
            | Verb::Read(Reading::IsChecked | Reading::IsEnabled)
    );
    let mut seen = target.look(act.verb, seen, name).await?;
    if is_for_field && seen.0.state.is_label() {
        drop(seen);
        target = target.into_control().await?;
        seen = target.look(act.verb, None, name).await?;
    }
    let (sight, mark) = ready(act, &target, seen, deadline).await?;
    Ok((target, sight, mark))
}

/// Returns the element of a reference or selector.
async fn element(
    gate: &Arc<GateSession>,
    act: &Act,
    selector: &str,
    name: &MarkName,
    deadline: Instant,
) -> Result<Element, Decision> {
    match Reference::parse(selector) {
        Some(reference) => match gate.element(reference).await {
            Ok(target) => Ok(Element::Found(Box::new(target.into()))),
            Err(error) => Err(refusal(reference, error)),
        },
        None => matched(gate, act, selector, name, deadline).await,
    }
}

/// Returns the refusal of two elements of which agent-browser alone would find the second.
fn not_both() -> Decision {
    Decision::new(Code::ElementNotFound, "both ends must be references, CSS, `text=` or `role=`")
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
    name: &MarkName,
    deadline: Instant,
) -> Result<Element, Decision> {
    let until = deadline.min(Instant::now() + APPEAR_TIME);
    loop {
        match gate.matches(selector, act.verb, name).await {
            Ok(Matches::Unknown) => return Ok(Element::Unknown),
            Ok(Matches::None) if act.verb == Verb::Read(Reading::IsVisible) => return Ok(Element::Absent),
            Ok(Matches::One(found)) => return Ok(Element::Found(found)),
            Ok(Matches::Several(count, named)) => return Err(ambiguous(count, &named)),
            // The document may be changing.
            Ok(Matches::None) | Err(ElementError::Gone) if Instant::now() < until => {}
            Ok(Matches::None) | Err(ElementError::Gone) => return Err(not_found(selector)),
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns the refusal of a selector that no element matches. A chain is shown as it was read.
pub(super) fn not_found(selector: &str) -> Decision {
    let reason = match SelectorChain::parse(selector) {
        Some(chain) => format!("no element matches `{chain}`"),
        None => "no element matches the selector".to_owned(),
    };
    Decision::new(Code::ElementNotFound, reason)
}

/// Waits until an element that was seen can take an act. Its mark is kept if it can at once.
pub(super) async fn ready(
    act: &Act,
    target: &Target,
    (mut sight, mut mark): (Sight, Option<MarkResult>),
    deadline: Instant,
) -> Result<(Sight, Option<MarkResult>), Decision> {
    let until = deadline.min(Instant::now() + READY_TIME);
    let uses_point = act.verb.uses_pointer();
    let mut last = None;
    loop {
        let cover = sight.cover.as_ref().filter(|_| uses_point && sight.state.is_visible);
        let checked = check_before(act, &sight.state)
            .and_then(|()| cover.map_or(Ok(()), |cover| Err(covered(&sight.state, cover))));
        let is_late = Instant::now() >= until;
        match checked {
            Ok(()) if !uses_point || !sight.state.is_moving || is_late || last == Some(sight.point) => {
                return Ok((sight, mark));
            }
            Ok(()) => last = Some(sight.point),
            Err(decision) if is_late || !matches!(decision.code, Code::ElementCovered | Code::ElementHidden) => {
                return Err(decision);
            }
            Err(_) => {}
        }
        mark = None;
        tokio::time::sleep(INTERVAL).await;
        sight = target.sight_for(act.verb).await?;
    }
}
