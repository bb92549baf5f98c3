//! Presses of the pointer that reach their element or nothing.
//!
//! An element was uncovered when the gate looked at it. Until the pointer is pressed, the page may move it, or put something in front of it.
//! Its document then keeps the press from what it would reach, and says so.

use browser_shell_core::decision::Decision;
use browser_shell_core::element::{Act, Neighbor, covered};
use futures::future::{join_all, try_join_all};

use crate::gate::element::located::Located;
use crate::gate::element::script::{MISSED_PRESS, WATCH_PRESS};
use crate::gate::element::target::{Sight, Target};

impl Target {
    /// Returns what the last press would have reached instead of the element. `None` if it reached the element, or if that is not known:
    /// the document is gone, or its page has taken the press before anybody could look at it.
    async fn missed_press(&self) -> Option<Neighbor> {
        let covers = join_all(self.pressed().map(|element| element.call_for_element(MISSED_PRESS, &[]))).await;
        let cover = covers.into_iter().find_map(|cover| cover.ok().flatten())?;
        Some(self.gate.name(&self.element.hub, &cover).await)
    }

    /// Clicks at a point of the tab, once or twice, in the manner of an act.
    ///
    /// # Errors
    ///
    /// The refusal of a press that would have reached something else.
    pub(super) async fn press(&self, act: &Act, sight: &Sight, point: (f64, f64), times: u32) -> Result<(), Decision> {
        // Chromium may carry out input before a script that was sent first.
        let watches = self.pressed().map(|element| element.call::<()>(WATCH_PRESS, &[]));
        try_join_all(watches).await?;
        self.click_at(point, &act.press, times).await?;
        match self.missed_press().await {
            Some(cover) => Err(covered(&sight.state, &cover)),
            None => Ok(()),
        }
    }

    /// Returns the element and the frames around it, each of which may be covered in its document.
    fn pressed(&self) -> impl Iterator<Item = &Located> {
        self.frames.iter().chain([&*self.element])
    }
}
