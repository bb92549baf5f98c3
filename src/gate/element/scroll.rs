//! Scrolling of a page, and the wheel of the pointer.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::Edge;
use serde_json::{Value, json};

use crate::browser::cdp::protocol::runtime::Evaluate;
use crate::gate::element::error::ElementError;
use crate::gate::element::find::evaluate;
use crate::gate::element::handle::{ElementHandle, ElementView};
use crate::gate::element::located::{command, in_world};
use crate::gate::element::script::{
    SCROLL_PAGE, WHEEL_TAKEN, call_with_kept, scroll_page_to_edge, scroll_to_edge, with_kept,
};
use crate::gate::session::GateSession;

/// Place of what has scrolled to an edge: how far it has scrolled, and how far it is from its top or its left then, in CSS pixels.
type Scrolled = (u64, u64);

impl GateSession {
    /// Scrolls the nearest box in the middle of the active tab that scrolls. If none does, the wheel is turned there, which maps and other
    /// pages take. Returns false if nothing took it.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub(crate) async fn scroll(&self, right: i32, down: i32) -> Result<bool, ElementError> {
        let (browser, page) = &self.active()?;
        let scroll = &call_with_kept(SCROLL_PAGE, &format!("{right}, {down}"));
        let scrolled = |world| async move { evaluate(browser, &page.session, &world, scroll, true).await };
        let (answer, world) = in_world(browser, page, scrolled).await?;
        let middle: Option<(f64, f64)> = answer.into_value().ok_or(ElementError::Unreadable)?;
        let Some(middle) = middle else { return Ok(true) };
        self.turn_wheel(middle, (right, down)).await?;
        let taken = Evaluate {
            expression: &call_with_kept(WHEEL_TAKEN, ""),
            context_id: Some(world.id),
            await_promise: true,
            return_by_value: true,
            ..Evaluate::default()
        };
        Ok(command(browser, &page.session, &taken).await?.value() == Some(true))
    }

    /// Scrolls the active tab to an edge, and returns the data of the answer.
    ///
    /// # Errors
    ///
    /// The refusal of a page that does not scroll in this direction.
    pub(crate) async fn scroll_to(&self, edge: Edge) -> Result<Value, Decision> {
        let (browser, page) = &self.active()?;
        let scroll = &call_with_kept(&scroll_page_to_edge(), &json!(edge.as_str()).to_string());
        let scrolled = |world| async move { evaluate(browser, &page.session, &world, scroll, true).await };
        let (answer, _) = in_world(browser, page, scrolled).await?;
        let scrolled: Option<Scrolled> = answer.into_value().ok_or(ElementError::Unreadable)?;
        let way = match edge {
            Edge::Top | Edge::Bottom => "up or down",
            Edge::Left | Edge::Right => "left or right",
        };
        let refused = || {
            Decision::new(
                Code::NoEffect,
                format!("nothing scrolls {way} here; `scroll` without `--to` turns the wheel"),
            )
        };
        Ok(answer_at(edge, scrolled.ok_or_else(refused)?))
    }
}

impl ElementHandle {
    /// Scrolls the element to an edge, and returns the data of the answer.
    ///
    /// # Errors
    ///
    /// The refusal of an element that does not scroll in this direction.
    pub(super) async fn scroll_to(&self, edge: Edge, view: &ElementView) -> Result<Value, Decision> {
        let scrolled: Option<Scrolled> =
            self.element.call(&with_kept(&scroll_to_edge()), &[edge.as_str().into()]).await?;
        let what = view.state.description();
        let refused =
            || Decision::new(Code::NoEffect, format!("the `{what}` does not scroll; name the element that does"));
        Ok(answer_at(edge, scrolled.ok_or_else(refused)?))
    }
}

fn answer_at(edge: Edge, (moved, position): Scrolled) -> Value {
    json!({ "scrolled": true, "edge": edge.as_str(), "moved": moved, "position": position })
}
