//! Presses of the pointer that reach their element or nothing.
//!
//! An element was uncovered when the gate looked at it. Until the pointer is pressed, the page may move it, or put something in front of it.
//! Its document then keeps the press from what it would reach, and says so.

use std::time::{Duration, Instant};

use browser_shell_core::decision::Decision;
use browser_shell_core::element::{Act, NamedElement, covered, not_sent};
use futures::future::{join_all, try_join_all};

use crate::gate::element::error::ElementError;
use crate::gate::element::find::evaluate;
use crate::gate::element::handle::{ElementHandle, ElementView};
use crate::gate::element::located::{Located, in_world};
use crate::gate::element::script::{
    AFTER_PRESS, MISSED_PRESS, REFUSED_FIELDS, WATCH_FORMS, WATCH_PRESS, refused_field,
};
use crate::gate::page::World;
use crate::gate::session::GateSession;

/// Time for an element to come back under a pointer that it has moved away from.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Least number of looks at it in that time, since a busy machine draws few pictures of it.
const SETTLE_LOOKS: u32 = 20;

/// Interval between two looks at it.
const INTERVAL: Duration = Duration::from_millis(50);

/// Doubt about a press of which the page got the begin only.
const LOST_CLICK: &str = "the page got the press but no click, because the element changed under the pointer";

impl ElementHandle {
    /// Returns what the last press would have reached instead of the element. `None` if it reached the element, or if that is not known:
    /// the document is gone, or its page has taken the press before anybody could look at it.
    async fn missed_press(&self) -> Option<NamedElement> {
        let covers = join_all(self.pressed().map(|element| element.call_for_element(MISSED_PRESS, &[]))).await;
        let cover = covers.into_iter().find_map(|cover| cover.ok().flatten())?;
        Some(self.gate.name(&self.element.browser, &cover).await)
    }

    /// Clicks at a point of the tab, once or twice, in the manner of an act. Returns what is not clear about it.
    ///
    /// # Errors
    ///
    /// The refusal of a press that would have reached something else, and of a form that the browser did not send.
    pub(super) async fn press(
        &self,
        act: &Act,
        view: &ElementView,
        point: (f64, f64),
        times: u32,
    ) -> Result<Option<&'static str>, Decision> {
        let (keys, modifiers) = self.hold_modifiers(&act.press).await?;
        let point = self.settle(view, point, modifiers).await?;
        // Chromium may carry out input before a script that was sent first.
        let hold = [(act.press.hold.as_secs_f64() * 1000.0).into()];
        let watches = self.pressed().map(|element| element.call::<()>(WATCH_PRESS, &hold));
        try_join_all(watches).await?;
        self.click_at(point, &act.press, modifiers, times).await?;
        keys.end().await?;
        if let Some(cover) = self.missed_press().await {
            return Err(covered(&view.state, &cover));
        }
        // The page may have gone.
        let after = self.element.call::<(bool, Vec<String>)>(AFTER_PRESS, &[]).await;
        let Ok((has_lost_click, messages)) = after else { return Ok(None) };
        if !messages.is_empty() {
            let element = &self.element;
            let mut named = Vec::new();
            for index in 0..messages.len() {
                named.push(match element.call_for_element(&function(index), &[]).await {
                    Ok(Some(address)) => self.gate.name(&element.browser, &address).await,
                    _ => NamedElement::default(),
                });
            }
            return Err(not_sent(&named, &messages, &self.secrets()));
        }
        // A page may show something under a pointer that is held.
        Ok((has_lost_click && act.press.hold.is_zero()).then_some(LOST_CLICK))
    }

    /// Moves the pointer to a point of the element, and follows the element while it moves away from it. Returns where it is then. A page
    /// whose element changes under the pointer settles before it is pressed.
    async fn settle(&self, view: &ElementView, point: (f64, f64), modifiers: u32) -> Result<(f64, f64), ElementError> {
        self.hover_at(point, modifiers).await?;
        let (within, mut at) = (point != view.point, (point, view.state.point));
        // At a place that was asked for, the press is made or kept from what is there.
        if within {
            return Ok(point);
        }
        let until = Instant::now() + SETTLE_TIME;
        let mut is_steady = true;
        for looks in 1.. {
            let Ok(is_there) = self.is_at(at.1).await else { break };
            if (is_there && is_steady) || (looks >= SETTLE_LOOKS && Instant::now() >= until) {
                break;
            }
            // What changed once under the pointer may change back.
            is_steady = is_there;
            tokio::time::sleep(INTERVAL).await;
            if is_there {
                continue;
            }
            let Ok(seen) = self.view_in_viewport().await else { break };
            // A pointer that moves where it is would make the element change again.
            let is_elsewhere = (seen.point.0 - at.0.0).hypot(seen.point.1 - at.0.1) > 1.0;
            if seen.state.is_visible && seen.cover.is_none() && is_elsewhere {
                at = (seen.point, seen.state.point);
                self.hover_at(at.0, modifiers).await?;
            }
        }
        Ok(at.0)
    }

    /// Returns the element and the frames around it, each of which may be covered in its document.
    fn pressed(&self) -> impl Iterator<Item = &Located> {
        self.frames.iter().chain([&*self.element])
    }
}

/// Returns the function that returns one of the fields for which the browser did not send a form.
fn function(index: usize) -> String {
    format!("function () {{ return {}; }}", refused_field(index))
}

impl GateSession {
    /// Begins to watch the forms of the active tab for a key that may send one. Returns the world in which they are watched.
    pub(super) async fn watch_forms(&self) -> Result<World, ElementError> {
        let (browser, page) = &self.active()?;
        let watch = |world: World| async move { evaluate(browser, &page.session, &world, WATCH_FORMS, true).await };
        Ok(in_world(browser, page, watch).await?.1)
    }

    /// Returns the refusal of a key with which the browser did not send a form. A page that has gone has sent it.
    pub(super) async fn refused_form(&self, world: &World) -> Option<Decision> {
        let (browser, page) = self.active().ok()?;
        let messages = evaluate(&browser, &page.session, world, REFUSED_FIELDS, true).await.ok()?;
        let messages: Vec<String> = messages.into_value()?;
        let mut named = Vec::new();
        for index in 0..messages.len() {
            let found = evaluate(&browser, &page.session, world, &refused_field(index), false).await.ok()?;
            let element = Located::take(world, browser.clone(), page.clone(), found).ok()?;
            named.push(self.name(&browser, &element.address().await.ok()?).await);
        }
        (!messages.is_empty()).then(|| not_sent(&named, &messages, &self.secret_literals()))
    }
}
