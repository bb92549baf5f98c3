//! Pictures of what is in view of a tab, and of elements that only the gate reaches.

use std::future::ready;
use std::pin::pin;
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use futures::future::{Either, select};
use serde_json::Value;

use crate::gate::browser::Browser;
use crate::gate::element::handle::ElementHandle;
use crate::gate::element::kept::with_kept;
use crate::gate::element::located::{ElementError, answered, command};
use crate::gate::element::script::{AREA_IN_VIEW, frame_area};
use crate::gate::session::GateSession;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::page::{
    CaptureScreenshot, Data, GetLayoutMetrics, PictureFormat, PrintToPdf, TransferMode, Viewport,
};

/// Timeout for Chromium to draw and compress a picture.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Largest width and height of a picture of a whole page, in CSS pixels: that of Chromium's pictures.
const MAX_SIZE: f64 = 16_384.0;

/// Largest area of a picture of a whole page, in CSS pixels: 2,048 of them in width leave the largest height.
const MAX_PIXELS: f64 = 33_554_432.0;

/// Maximum time for the frames around an element to scroll.
const SCROLL_TIME: Duration = Duration::from_secs(1);

/// Interval between two looks whether they still scroll: two frames of the screen.
const SCROLL_INTERVAL: Duration = Duration::from_millis(34);

/// Takes a picture of a place in the document of a tab, or of what is in view: a PNG in base64.
async fn capture(
    browser: &Browser,
    session: &DebugSessionId,
    capture_beyond_viewport: bool,
    clip: Option<Viewport>,
) -> Result<Value, ElementError> {
    let picture =
        CaptureScreenshot { format: PictureFormat::Png, optimize_for_speed: true, capture_beyond_viewport, clip };
    taken(browser.connection.send_within(TIMEOUT, Some(session), &picture).await)
}

/// Returns the width and the height of the picture of a page with this size. The lower end of a page that is too large is left out.
fn picture_size(width: f64, height: f64) -> (f64, f64) {
    let width = width.min(MAX_SIZE);
    (width, height.min(MAX_SIZE).min((MAX_PIXELS / width.max(1.0)).floor()))
}

/// Returns the data in Chromium's answer.
fn taken(answer: Result<Data, CommandError>) -> Result<Value, ElementError> {
    Ok(answered(answer)?.data.into())
}

impl GateSession {
    /// Takes a picture of what is in view of the tab that the session acts on: a PNG in base64, or `null` if the tab is gone.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    async fn picture(&self) -> Result<Value, ElementError> {
        let (Some(browser), Some(page)) = (self.browser(), self.active_page()) else { return Ok(Value::Null) };
        match capture(&browser, &page.session, false, None).await {
            Err(ElementError::Gone) => Ok(Value::Null),
            taken => taken,
        }
    }

    /// Takes a picture of the whole page of the tab that the session acts on: a PNG in base64.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn picture_of_page(&self) -> Result<Value, ElementError> {
        let (browser, page) = self.active()?;
        let size = command(&browser, &page.session, &GetLayoutMetrics {}).await?.css_content_size;
        let (width, height) = picture_size(size.width, size.height);
        let clip = Viewport { x: 0.0, y: 0.0, width, height, scale: 1.0 };
        capture(&browser, &page.session, true, Some(clip)).await
    }

    /// Prints the page of the tab that the session acts on: a PDF in base64.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn print(&self) -> Result<Value, ElementError> {
        let (browser, page) = self.active()?;
        let print = PrintToPdf { print_background: true, transfer_mode: TransferMode::ReturnAsBase64 };
        taken(browser.connection.send_within(TIMEOUT, Some(&page.session), &print).await)
    }

    /// Returns the same as soon as the tab is shown on the screen. One that was shown all the time is not pictured again.
    ///
    /// # Errors
    ///
    /// The refusal of the call.
    pub async fn picture_when_shown(&self) -> Result<Value, Decision> {
        let early = pin!(self.picture());
        let (is_changed, early) = match select(pin!(self.wait_until_shown()), early).await {
            Either::Left((is_changed, early)) => (is_changed, Either::Left(early)),
            Either::Right((taken, shown)) => (shown.await, Either::Right(ready(taken))),
        };
        let taken = if is_changed? { self.picture().await } else { early.await };
        Ok(taken?)
    }
}

impl ElementHandle {
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
        let (browser, session) = (&self.element.browser, &self.element.page.session);
        let view = command(browser, session, &GetLayoutMetrics {}).await?.css_visual_viewport;
        // Chromium wants a place in the document of the tab.
        let clip = Viewport { x: left + view.page_x, y: top + view.page_y, width, height, scale: 1.0 };
        Ok(capture(browser, session, false, Some(clip)).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_of_a_page_has_a_largest_side_and_area() {
        let size = |width, height| {
            let (width, height) = picture_size(width, height);
            (width.to_bits(), height.to_bits())
        };
        let exactly = |width: f64, height: f64| (width.to_bits(), height.to_bits());
        assert_eq!(size(1280.0, 900.5), exactly(1280.0, 900.5), "control");
        assert_eq!(size(2048.0, 20_000.0), exactly(2048.0, 16_384.0));
        assert_eq!(size(16_384.0, 16_384.0), exactly(16_384.0, 2048.0));
        assert_eq!(size(30_000.0, 30_000.0), exactly(16_384.0, 2048.0));
        assert_eq!(size(0.0, 20_000.0), exactly(0.0, 16_384.0), "no division by nothing");
    }
}
