//! Drags from one element to another one, as a person's hand does them.
//!
//! Pages that sort a list while something is dragged look at each step of the way, and some look only from time to time. A pointer
//! that is at its end at once moves nothing there.

use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{DragEvents, covered};
use serde_json::Value;

use crate::browser::cdp::protocol::input::{DispatchDragEvent, DragData, DragEventType, MouseEventType};
use crate::gate::element::drag_watch::DragWatch;
use crate::gate::element::error::ElementError;
use crate::gate::element::script::{COVER_AT, with_kept};
use crate::gate::element::target::Target;

/// Number of times that the pointer follows an element that moves away from it.
const ATTEMPTS: u32 = 3;

/// Number of steps of the way.
const STEPS: u32 = 16;

/// Length of the first step, in CSS pixels: pages wait until it is clear that a press is a drag.
const FIRST_STEP: f64 = 8.0;

/// Pause between two steps: a page draws once meanwhile.
const INTERVAL: Duration = Duration::from_millis(10);

/// Pause at the end, before the button is released, for pages that look from time to time.
const REST: Duration = Duration::from_millis(120);

/// Button that a drag holds. If the call ends meanwhile, the pointer goes back and the button is released there: what is dragged must not
/// be dropped where it happens to be.
struct PressedButton<'a> {
    target: &'a Target,
    /// Point at which it was pressed.
    from: (f64, f64),
    is_down: bool,
}

impl Drop for PressedButton<'_> {
    fn drop(&mut self) {
        if self.is_down {
            self.target.release_without_waiting(self.from);
        }
    }
}

impl Target {
    /// Drags the element to another one.
    ///
    /// # Errors
    ///
    /// The refusal of the call, or the failure of a drag that did nothing.
    pub(super) async fn drag_to(&self, other: &Self) -> Result<(), Decision> {
        if !other.sight_in_view().await?.state.is_visible {
            return Err(Decision::new(Code::ElementHidden, "the element to drop on is not visible"));
        }
        let mut sight = self.sight_in_view().await?;
        let watch = DragWatch::begin(self.element.clone()).await.ok();
        for attempt in 1.. {
            self.hover_at(sight.point).await?;
            let point = sight.state.point.map(Value::from);
            if self.element.call_for_element(&with_kept(COVER_AT), &point).await?.is_none() {
                break;
            }
            sight = self.sight_in_view().await?;
            if attempt == ATTEMPTS {
                return Err(sight.cover.map_or_else(
                    || Decision::new(Code::NoEffect, "the element moves away from the pointer, and was not pressed"),
                    |cover| covered(&sight.state, &cover),
                ));
            }
        }
        let from = sight.point;
        let mut button = PressedButton { target: self, from, is_down: true };
        self.button_at(MouseEventType::MousePressed, from, 1).await?;
        let mut at = from;
        let moved = self.move_to(&mut at, other).await;
        button.is_down = false;
        self.button_at(MouseEventType::MouseReleased, at, 1).await?;
        moved?;
        let Some(watch) = watch else { return Ok(()) };
        if watch.events().await.is_some_and(DragEvents::is_unfinished) {
            return Ok(self.end_drag(from).await?);
        }
        watch.failure().await.map_or(Ok(()), Err)
    }

    /// Ends a drag of the browser in the process that it began in. Chromium tells only the process of the destination, and the other
    /// one gives its page no input of the pointer until then.
    async fn end_drag(&self, from: (f64, f64)) -> Result<(), ElementError> {
        let (x, y) = self.sight_in_view().await.map_or(from, |sight| sight.point);
        let kind = DragEventType::DragCancel;
        self.input(&DispatchDragEvent { kind, x, y, data: DragData::default() }).await
    }

    /// Moves the pressed pointer to the middle of another element.
    async fn move_to(&self, at: &mut (f64, f64), other: &Self) -> Result<(), ElementError> {
        let from = *at;
        *at = (from.0, from.1 + FIRST_STEP);
        self.press_at(*at).await?;
        let to = other.sight_in_view().await?.point;
        for step in 1..=STEPS {
            let part = f64::from(step) / f64::from(STEPS);
            *at = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            self.press_at(*at).await?;
            tokio::time::sleep(INTERVAL).await;
        }
        // What the pointer is over is often decided by its last step.
        self.press_at((to.0 + 1.0, to.1 + 1.0)).await?;
        self.press_at(to).await?;
        tokio::time::sleep(REST).await;
        Ok(())
    }
}
