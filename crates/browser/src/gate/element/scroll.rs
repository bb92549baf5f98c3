//! Scrolling of a page, and the wheel of the pointer.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::Edge;
use serde_json::{Value, json};

use crate::gate::element::error::ElementError;
use crate::gate::element::find::{evaluate, evaluate_promise};
use crate::gate::element::handle::{ElementHandle, ElementView};
use crate::gate::element::located::in_world;
use crate::gate::element::script::{
    WHEEL_TAKEN, call_with_kept, scroll, scroll_page, scroll_page_to_edge, scroll_to_edge, with_kept,
};
use crate::gate::session::GateSession;

/// Place of what has scrolled to an edge: how far it has scrolled, and how far it is from its top or its left then, in CSS pixels.
type Scrolled = (u64, u64);

impl GateSession {
    /// Scrolls the nearest box in the middle of the active tab that scrolls, and returns the data of the answer. If none does, the wheel is turned
    /// there, which maps and other pages take.
    ///
    /// # Errors
    ///
    /// The refusal of a page on which nothing scrolls in this direction.
    pub async fn scroll(&self, right: i32, down: i32) -> Result<Value, Decision> {
        let (browser, page) = &self.active()?;
        let scroll = &call_with_kept(&scroll_page(), &format!("{right}, {down}"));
        let scrolled = |world| async move { evaluate(browser, &page.session, &world, scroll, true).await };
        let (answer, world) = in_world(browser, page, scrolled).await?;
        let middle: Option<(f64, f64)> = answer.into_value().ok_or(ElementError::Unreadable)?;
        if let Some(middle) = middle {
            self.turn_wheel(middle, (right, down)).await?;
            let taken = call_with_kept(WHEEL_TAKEN, "");
            let taken = evaluate_promise(browser, &page.session, &world, &taken).await?;
            if taken.into_value() != Some(true) {
                return Err(nothing_scrolls((right, down)));
            }
        }
        Ok(json!({ "scrolled": true }))
    }

    /// Scrolls the active tab to an edge, and returns the data of the answer.
    ///
    /// # Errors
    ///
    /// The refusal of a page that does not scroll in this direction.
    pub async fn scroll_to(&self, edge: Edge) -> Result<Value, Decision> {
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
    /// Scrolls the nearest box from the element on, around it, that scrolls in a direction. If there is none, the wheel is turned on the element.
    ///
    /// # Errors
    ///
    /// The refusal of an element on which nothing scrolls in this direction.
    pub(super) async fn scroll(&self, (right, down): (i32, i32)) -> Result<(), Decision> {
        let moved: Option<bool> = self.element.call(&with_kept(&scroll()), &[right.into(), down.into()]).await?;
        let moved = if let Some(moved) = moved {
            moved
        } else {
            let view = self.view_in_viewport().await?;
            self.gate.turn_wheel(view.point, (right, down)).await?;
            self.element.call_promise(&with_kept(WHEEL_TAKEN)).await?
        };
        if moved { Ok(()) } else { Err(nothing_scrolls((right, down))) }
    }

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

/// Returns the refusal of a scroll in a direction in which nothing moves.
fn nothing_scrolls((right, down): (i32, i32)) -> Decision {
    let direction = match (right, down) {
        (0, ..0) => "up",
        (0, _) => "down",
        (..0, _) => "left",
        _ => "right",
    };
    Decision::new(Code::NoEffect, format!("nothing scrolls {direction} here; it may be at its end"))
}

fn answer_at(edge: Edge, (moved, position): Scrolled) -> Value {
    json!({ "scrolled": true, "edge": edge.as_str(), "moved": moved, "position": position })
}
