//! Drags from one element to another one, as a person's hand does them.
//!
//! Pages that sort a list while something is dragged look at each step of the way, and some look only from time to time. A pointer
//! that is at its end at once moves nothing there. A watch tells if a drag did something: by the events that the document of the dragged
//! element gets, and by what the page shows before and after.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, DragEnd, DragEvents, covered};
use browser_shell_core::gate::read_chromium;
use futures::future::try_join_all;
use serde_json::Value;

use crate::gate::element::handle::{ElementHandle, ElementView};
use crate::gate::element::kept::with_kept;
use crate::gate::element::located::{ElementError, Located, TIMEOUT, answered};
use crate::gate::element::script::{AREA_IN_VIEW, COVER_AT};
use browser_shell_cdp::protocol::dom::CaptureSnapshot;
use browser_shell_cdp::protocol::input::{DispatchDragEvent, DragData, DragEventType, MouseEventType};

/// Number of times that the pointer follows an element that moves away from it.
const ATTEMPTS: u32 = 3;

/// Number of times that the first step is made until the browser has begun a drag of its own.
const BEGINNINGS: u32 = 40;

/// Number of steps of the way.
const STEPS: u32 = 16;

/// Length of the first step, in CSS pixels: pages wait until it is clear that a press is a drag.
const FIRST_STEP: f64 = 8.0;

/// Maximum distance behind the middle of an element at which a drag ends, in CSS pixels: pages that sort a list look at which half of an
/// entry the pointer is in.
const PAST_MIDDLE: f64 = 5.0;

/// Part of an element that the distance is at most: in the middle third, trees take what is dropped into an entry.
const MAX_PAST_MIDDLE: f64 = 1.0 / 8.0;

/// Pause between two steps: a page draws once meanwhile.
const INTERVAL: Duration = Duration::from_millis(16);

/// Number of pauses at the end, before the button is released, each with a step.
const RESTS: u32 = 5;

/// Length of such a pause, for pages that look from time to time, or show for a moment how a list is sorted.
const REST: Duration = Duration::from_millis(50);

/// Number of times that the page is read before a drag counts as one that did nothing.
const READS: usize = 4;

/// Pause before each read: a page may show the effect of a drag a moment later.
const PAUSE: Duration = Duration::from_millis(250);

/// Button that a drag holds. If the call ends meanwhile, the pointer goes back and the button is released there: what is dragged must not
/// be dropped where it happens to be.
struct PressedButton<'a> {
    handle: &'a ElementHandle,
    /// Point at which it was pressed.
    from: (f64, f64),
    is_down: bool,
}

impl Drop for PressedButton<'_> {
    fn drop(&mut self) {
        if self.is_down {
            self.handle.release_without_waiting(self.from);
        }
    }
}

impl ElementHandle {
    /// Drags the element to another one. Returns the doubt about a drag by which the page shows no change.
    ///
    /// # Errors
    ///
    /// The refusal of the call, or the failure of a drag that did nothing.
    pub(super) async fn drag_to(&self, act: &Act, other: &Self) -> Result<Option<&'static str>, Decision> {
        if !other.view_in_viewport().await?.state.is_visible {
            return Err(Decision::new(Code::ElementHidden, "the element to drop on is not visible"));
        }
        if let Some(offset) = act.destination {
            // A point that cannot be reached is refused before anything is pressed.
            other.point_at(offset).await?;
        }
        let mut view = self.sight_to_press(act).await?;
        let watch = DragWatch::begin(self.element.clone()).await.ok();
        for attempt in 1.. {
            self.hover_at(view.point, 0).await?;
            let point = view.state.point.map(Value::from);
            if act.offset.is_some() || self.element.call_for_element(&with_kept(COVER_AT), &point).await?.is_none() {
                break;
            }
            view = self.sight_to_press(act).await?;
            if attempt == ATTEMPTS {
                return Err(view.cover.map_or_else(
                    || Decision::new(Code::NoEffect, "the element moves away from the pointer, and was not pressed"),
                    |cover| covered(&view.state, &cover),
                ));
            }
        }
        let from = view.point;
        let mut button = PressedButton { handle: self, from, is_down: true };
        self.button_at(MouseEventType::MousePressed, from, 1).await?;
        let at = self.move_to(from, act, other, watch.as_ref()).await?;
        button.is_down = false;
        self.gate.note_sent();
        self.button_at(MouseEventType::MouseReleased, at, 1).await?;
        let Some(watch) = watch else { return Ok(None) };
        if watch.events().await.is_some_and(DragEvents::is_unfinished) {
            self.end_drag(from).await?;
            return Ok(None);
        }
        match watch.end().await {
            Some(DragEnd::Failed(failure)) => Err(failure),
            Some(DragEnd::Unclear(doubt)) => Ok(Some(doubt)),
            None => Ok(None),
        }
    }

    /// Ends a drag of the browser in the process that it began in. Chromium tells only the process of the destination, and the other
    /// one gives its page no input of the pointer until then.
    async fn end_drag(&self, from: (f64, f64)) -> Result<(), ElementError> {
        let (x, y) = self.view_in_viewport().await.map_or(from, |view| view.point);
        let kind = DragEventType::DragCancel;
        self.input(&DispatchDragEvent { kind, x, y, data: DragData::default() }).await
    }

    /// Returns the element as it is in view, with the point at which the act presses it.
    async fn sight_to_press(&self, act: &Act) -> Result<ElementView, Decision> {
        let mut view = self.view_in_viewport().await?;
        view.point = self.point_of(act, &view).await?;
        Ok(view)
    }

    /// Returns the point at which a drag from another point ends: the one that is asked for, or a bit behind the middle of the element, so that
    /// a list that is sorted sees on which side of it.
    async fn end_of_drag(&self, from: (f64, f64), act: &Act) -> Result<(f64, f64), Decision> {
        let (x, y) = self.view_in_viewport().await?.point;
        if let Some(offset) = act.destination {
            return self.point_at(offset).await;
        }
        let (left, top, right, bottom): (f64, f64, f64, f64) = self.element.call(&with_kept(AREA_IN_VIEW), &[]).await?;
        Ok(behind_middle(from, (x, y), (right - left, bottom - top)))
    }

    /// Moves the pressed pointer to another element, and returns the point at which it is then.
    async fn move_to(
        &self,
        from: (f64, f64),
        act: &Act,
        other: &Self,
        watch: Option<&DragWatch>,
    ) -> Result<(f64, f64), Decision> {
        let to = other.end_of_drag(from, act).await?;
        let (right, down) = part_of_way(from, to, FIRST_STEP);
        for _ in 0..BEGINNINGS {
            for part in [0.75, 1.0] {
                self.press_at((from.0 + right * part, from.1 + down * part)).await?;
            }
            // A drag of the browser begins a moment later. What the pointer does until then, the page does not get.
            let Some(watch) = watch else { break };
            if !watch.events().await.is_some_and(DragEvents::is_expected) {
                break;
            }
            tokio::time::sleep(INTERVAL).await;
        }
        // What the page showed when the element was pressed may have moved the other one.
        let to = other.end_of_drag(from, act).await.unwrap_or(to);
        for step in 1..=STEPS {
            let part = f64::from(step) / f64::from(STEPS);
            self.press_at((from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)).await?;
            tokio::time::sleep(INTERVAL).await;
        }
        // What the pointer is over is often decided by its last step, and pages that move what it passes take nothing meanwhile.
        for _ in 0..RESTS {
            self.press_at((to.0 + 1.0, to.1 + 1.0)).await?;
            self.press_at(to).await?;
            tokio::time::sleep(REST).await;
        }
        Ok(to)
    }
}

/// Returns the part of a way that has a length: right and down. A way without a length goes down.
fn part_of_way(from: (f64, f64), to: (f64, f64), length: f64) -> (f64, f64) {
    let (right, down) = (to.0 - from.0, to.1 - from.1);
    let whole = right.hypot(down);
    if whole == 0.0 { (0.0, length) } else { (right * length / whole, down * length / whole) }
}

/// Returns the point a bit behind the middle of an element of a size, for a drag from another point. It is behind it in each direction in
/// which the drag goes: a row is often dragged by a handle at its side, so that most of the way leads along the rows. A way without a length
/// goes down.
fn behind_middle(from: (f64, f64), (x, y): (f64, f64), (width, height): (f64, f64)) -> (f64, f64) {
    let past = |size: f64| PAST_MIDDLE.min(size * MAX_PAST_MIDDLE).max(0.0);
    let behind = |way: f64, size: f64| way.signum() * way.abs().min(past(size));
    let (right, down) = (x - from.0, y - from.1);
    if right == 0.0 && down == 0.0 {
        (x, y + past(height))
    } else {
        (x + behind(right, width), y + behind(down, height))
    }
}

/// Watches the events of a drag of an element, for [`DRAG_EVENTS`]. Requests are counted because an effect may follow them.
const WATCH_DRAG: &str = "function () {
    const end = new AbortController();
    const on = (kind, see) => addEventListener(kind, event => event.isTrusted && see(event), { capture: true, signal: end.signal });
    const seen = {};
    let press = null, start = null, requests = 0;
    // Also in components, whose trees are searched once only.
    const isPainted = trees().some(root => root.querySelector('canvas'));
    const text = String(getSelection());
    const observer = new PerformanceObserver(list => { requests += list.getEntries().length; });
    observer.observe({ type: 'resource' });
    on('mousedown', event => { press = event; });
    for (const kind of ['pointerdown', 'mousedown', 'mouseup']) on(kind, () => { seen.is_reached = true; });
    // Without a known element, it may be in a frame.
    seen.is_reached = this === document.documentElement;
    on('dragstart', event => { start = event; });
    on('mouseup', () => { seen.is_released = true; });
    on('dragend', event => {
        seen.is_ended = true;
        seen.is_rejected = event.dataTransfer?.dropEffect === 'none';
    });
    on('drop', () => { seen.is_dropped = true; });
    const isUnclear = () => {
        requests += observer.takeRecords().length;
        return requests > 0 || String(getSelection()) !== text || isPainted || !!document.querySelector('canvas');
    };
    globalThis[Symbol.for('drag')]?.end.abort();
    globalThis[Symbol.for('drag')] = { end, events: () => ({
        ...seen,
        is_draggable: !!this.closest('[draggable=\"true\" i]'),
        is_pressed: !!press && !press.defaultPrevented,
        is_begun: !!start,
        is_prevented: !!start?.defaultPrevented,
        is_unclear: isUnclear(),
    }) };
}";

/// Returns the events of the drag that is watched, with the members of `DragEvents`.
const DRAG_EVENTS: &str = "function () { return globalThis[Symbol.for('drag')].events(); }";

/// Ends the watch of a drag.
const END_DRAG: &str = "function () { globalThis[Symbol.for('drag')]?.end.abort(); }";

/// Watch of one drag, which ends when this is dropped.
struct DragWatch {
    element: Arc<Located>,
    before: Vec<Value>,
}

impl DragWatch {
    /// Watches a drag of an element.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    async fn begin(element: Arc<Located>) -> Result<Self, ElementError> {
        let watch = Self { before: shown(&element).await?, element };
        watch.element.call::<()>(&with_kept(WATCH_DRAG), &[]).await?;
        Ok(watch)
    }

    /// Returns the end of a drag by which the page shows no change, or `None` if it may show an effect: the page has changed, or does not
    /// answer.
    async fn end(&self) -> Option<DragEnd> {
        let mut end = self.events().await?.end()?;
        for _ in 0..READS {
            tokio::time::sleep(PAUSE).await;
            if shown(&self.element).await.ok()? != self.before {
                return None;
            }
            end = self.events().await?.end()?;
        }
        Some(end)
    }

    /// Returns the events until now, if the page answers.
    async fn events(&self) -> Option<DragEvents> {
        self.element.call(DRAG_EVENTS, &[]).await.ok()
    }
}

impl Drop for DragWatch {
    fn drop(&mut self) {
        self.element.notify(END_DRAG, &[]);
    }
}

/// Returns what all documents of the tab of an element show: nodes, boxes and values of fields. How far they are scrolled is left
/// out, because a drag scrolls to its ends.
async fn shown(element: &Located) -> Result<Vec<Value>, ElementError> {
    let sessions = element.page.running_sessions();
    let reads = sessions.iter().map(async |session| {
        let sent = element.browser.connection.begin(
            TIMEOUT,
            Some(session),
            &CaptureSnapshot { computed_styles: &[], include_paint_order: false },
        )?;
        let text = answered(sent.text().await)?;
        read_chromium::<Value>(text.get()).map_err(|_| ElementError::Unreadable)
    });
    let mut parts = try_join_all(reads).await?;
    for part in &mut parts {
        for document in part.get_mut("documents").and_then(Value::as_array_mut).into_iter().flatten() {
            for offset in ["scrollOffsetX", "scrollOffsetY"] {
                document.as_object_mut().map(|members| members.remove(offset));
            }
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drag_ends_behind_the_middle_in_its_direction() {
        let (middle, row) = ((400.0, 300.0), (800.0, 40.0));
        for (from, end) in [
            ((400.0, 100.0), (400.0, 305.0)),
            ((400.0, 500.0), (400.0, 295.0)),
            ((400.0, 303.0), (400.0, 297.0)),
            // By a handle at the left and at the right side of a row.
            ((10.0, 260.0), (405.0, 305.0)),
            ((10.0, 340.0), (405.0, 295.0)),
            ((790.0, 340.0), (395.0, 295.0)),
            ((400.0, 300.0), (400.0, 305.0)),
        ] {
            assert_eq!(behind_middle(from, middle, row), end, "from {from:?}");
        }
        assert_eq!(behind_middle((0.0, 0.0), middle, (8.0, 8.0)), (401.0, 301.0), "a small one");
        assert_eq!(behind_middle((0.0, 300.0), middle, (-1.0, 40.0)), (400.0, 300.0), "one that is out of view");
    }
}
