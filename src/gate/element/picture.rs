//! Pictures of what is in view of a tab, and of elements that only the gate reaches.

use std::future::ready;
use std::pin::pin;
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use futures::future::{Either, select};
use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::element::error::ElementError;
use crate::gate::element::located::{answered, command};
use crate::gate::element::script::{AREA_IN_VIEW, frame_area, with_kept};
use crate::gate::element::target::Target;
use crate::gate::hub::Hub;
use crate::gate::json::with;
use crate::gate::session::GateSession;

/// Timeout for Chromium to draw and compress a picture.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Largest width and height of a picture of a whole page, in CSS pixels: that of Chromium's pictures.
const MAX_SIZE: f64 = 16_384.0;

/// Maximum time for the frames around an element to scroll.
const SCROLL_TIME: Duration = Duration::from_secs(1);

/// Interval between two looks whether they still scroll: two frames of the screen.
const SCROLL_INTERVAL: Duration = Duration::from_millis(34);

/// Takes a picture of a place in the document of a tab, or of what is in view: a PNG in base64.
async fn capture(hub: &Hub, session: &str, clip: Option<Value>) -> Result<Value, ElementError> {
    let params = with(json!({ "format": "png", "optimizeForSpeed": true }), "clip", clip);
    let method = "Page.captureScreenshot";
    taken(hub.connection.command_within(TIMEOUT, Some(session), method, &params).await)
}

/// Returns the data in Chromium's answer.
fn taken(answer: Result<Value, CommandError>) -> Result<Value, ElementError> {
    answered(answer)?.get_mut("data").map(Value::take).ok_or(ElementError::Unreadable)
}

impl GateSession {
    /// Takes a picture of what is in view of the tab that the session acts on: a PNG in base64, or `null` if the tab is gone.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    async fn picture(&self) -> Result<Value, ElementError> {
        let (Some(hub), Some(page)) = (self.hub(), self.active_page()) else { return Ok(Value::Null) };
        match capture(&hub, &page.session, None).await {
            Err(ElementError::Gone) => Ok(Value::Null),
            taken => taken,
        }
    }

    /// Takes a picture of the whole page of the tab that the session acts on: a PNG in base64.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub(crate) async fn picture_of_page(&self) -> Result<Value, ElementError> {
        let (hub, page) = self.active()?;
        let metrics = command(&hub, &page.session, "Page.getLayoutMetrics", &json!({})).await?;
        let size = |name| metrics.pointer(&format!("/cssContentSize/{name}")).and_then(Value::as_f64).unwrap_or(0.0);
        let (width, height) = (size("width").min(MAX_SIZE), size("height").min(MAX_SIZE));
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let params = json!({ "format": "png", "optimizeForSpeed": true, "captureBeyondViewport": true, "clip": clip });
        taken(hub.connection.command_within(TIMEOUT, Some(&page.session), "Page.captureScreenshot", &params).await)
    }

    /// Prints the page of the tab that the session acts on: a PDF in base64.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub(crate) async fn print(&self) -> Result<Value, ElementError> {
        let (hub, page) = self.active()?;
        let params = json!({ "printBackground": true, "transferMode": "ReturnAsBase64" });
        taken(hub.connection.command_within(TIMEOUT, Some(&page.session), "Page.printToPDF", &params).await)
    }

    /// Returns the same as soon as the tab is shown on the screen. One that was shown all the time is not pictured again.
    ///
    /// # Errors
    ///
    /// The refusal of the call.
    pub(crate) async fn picture_when_shown(&self) -> Result<Value, Decision> {
        let early = pin!(self.picture());
        let (is_changed, early) = match select(pin!(self.wait_until_shown()), early).await {
            Either::Left((is_changed, early)) => (is_changed, Either::Left(early)),
            Either::Right((taken, shown)) => (shown.await, Either::Right(ready(taken))),
        };
        let taken = if is_changed? { self.picture().await } else { early.await };
        Ok(taken?)
    }
}

impl Target {
    /// Returns the part of the element that is in view of the tab: left, top, right and bottom.
    async fn area_in_view(&self) -> Result<[f64; 4], ElementError> {
        let mut area: [f64; 4] = self.element.call(&with_kept(AREA_IN_VIEW), &[]).await?;
        let script = frame_area();
        for frame in self.frames.iter().rev() {
            area = frame.call(&script, &area.map(Value::from)).await?;
        }
        Ok(area)
    }

    /// Takes a picture of the part of the element that is in view: a PNG in base64.
    ///
    /// # Errors
    ///
    /// The refusal of the call.
    pub(super) async fn picture(&self) -> Result<Value, Decision> {
        self.scroll_into_view().await?;
        let mut area = self.area_in_view().await?;
        // The processes of frames scroll one after the other.
        let until = Instant::now() + SCROLL_TIME;
        while !self.frames.is_empty() && Instant::now() < until {
            tokio::time::sleep(SCROLL_INTERVAL).await;
            let known = std::mem::replace(&mut area, self.area_in_view().await?);
            if known.map(f64::to_bits) == area.map(f64::to_bits) {
                break;
            }
        }
        let [left, top, right, bottom] = area;
        let (width, height) = (right - left, bottom - top);
        if width < 1.0 || height < 1.0 {
            return Err(Decision::new(Code::ElementHidden, "nothing of the element can be seen"));
        }
        let (hub, session) = (&self.element.hub, &self.element.page.session);
        let metrics = command(hub, session, "Page.getLayoutMetrics", &json!({})).await?;
        // Chromium wants a place in the document of the tab.
        let scrolled = |axis| metrics.get("cssVisualViewport").and_then(|view| view.get(axis)?.as_f64()).unwrap_or(0.0);
        let (x, y) = (left + scrolled("pageX"), top + scrolled("pageY"));
        let clip = json!({ "x": x, "y": y, "width": width, "height": height, "scale": 1 });
        Ok(capture(hub, session, Some(clip)).await?)
    }
}
