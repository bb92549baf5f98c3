//! Drags from one element to another one, as a person's hand does them.
//!
//! Pages that sort a list while something is dragged look at each step of the way, and some look only from time to time. A pointer
//! that is at its end at once moves nothing there.

use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};

use crate::gate::element::error::ElementError;
use crate::gate::element::target::{Sight, Target};

/// Number of steps of the way.
const STEPS: u32 = 16;

/// Length of the first step, in CSS pixels: pages wait until it is clear that a press is a drag.
const FIRST_STEP: f64 = 8.0;

/// Pause between two steps: a page draws once meanwhile.
const INTERVAL: Duration = Duration::from_millis(10);

/// Pause at the end, before the button is released, for pages that look from time to time.
const REST: Duration = Duration::from_millis(120);

impl Target {
    /// Drags the element to another one.
    ///
    /// # Errors
    ///
    /// The refusal of the call.
    pub(super) async fn drag_to(&self, other: &Self) -> Result<(), Decision> {
        if !other.sight_in_view().await?.state.is_visible {
            return Err(Decision::new(Code::ElementHidden, "the element to drop on is not visible"));
        }
        let Sight { point: from, .. } = self.sight_in_view().await?;
        self.hover_at(from).await?;
        self.button_at("mousePressed", from, 1).await?;
        let mut at = from;
        let moved = self.move_to(&mut at, other).await;
        // Whatever happened, the button is not left pressed.
        self.button_at("mouseReleased", at, 1).await?;
        Ok(moved?)
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
