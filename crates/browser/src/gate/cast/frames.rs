//! Pictures of a page that Chromium has sent and that no viewer has.

use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use browser_shell_core::rfb::jpeg_size;
use tokio::sync::Notify;

use browser_shell_cdp::protocol::CastEvent;
use browser_shell_cdp::protocol::page::ScreencastFrame;
use browser_shell_cdp::{Answer, Event, Receiver};

/// Number of pictures without an acknowledgment from which on Chromium may have left out others.
const MAX_IN_FLIGHT: usize = 2;

/// Picture of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct CastPicture {
    /// JPEG.
    pub jpeg: Vec<u8>,
    /// Width and height of the picture, in pixels.
    pub size: (u16, u16),
    /// Width and height of what the page shows, in pixels of the page.
    pub page_size: (f64, f64),
}

/// Pictures of one screencast.
#[derive(Default)]
pub(super) struct Frames {
    state: Mutex<CastState>,
    arrived: Notify,
}

#[derive(Default)]
struct CastState {
    /// Number of the screencast, which each start of Chromium's changes.
    number: u64,
    /// Newest picture that was not taken.
    latest: Option<CastPicture>,
    /// Number of pictures that Chromium has no acknowledgment for.
    in_flight: usize,
}

/// Next step for pictures that Chromium has no acknowledgment for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledgment {
    /// Acknowledge this number of pictures of this screencast.
    Frames(u64, usize),
    /// Start again: Chromium may have left out the last change.
    Restart,
}

impl Frames {
    fn state(&self) -> MutexGuard<'_, CastState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the newest picture.
    pub(super) fn take(&self) -> Option<CastPicture> {
        self.state().latest.take()
    }

    /// Returns true if there is a picture to take.
    pub(super) fn has_picture(&self) -> bool {
        self.state().latest.is_some()
    }

    /// Waits until a picture arrives.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Returns the next step for pictures without an acknowledgment, of which there are none then.
    pub(super) fn acknowledge(&self) -> Acknowledgment {
        let mut state = self.state();
        match std::mem::take(&mut state.in_flight) {
            count @ ..MAX_IN_FLIGHT => Acknowledgment::Frames(state.number, count),
            _ => Acknowledgment::Restart,
        }
    }

    /// Forgets everything before another start.
    pub(super) fn clear(&self) {
        *self.state() = CastState::default();
    }

    fn add(&self, number: u64, picture: Option<CastPicture>) {
        let mut state = self.state();
        if state.number != number {
            state.number = number;
            state.in_flight = 0;
        }
        state.in_flight += 1;
        if picture.is_some() {
            state.latest = picture;
        }
        drop(state);
        self.arrived.notify_one();
    }
}

impl Receiver for Frames {
    fn answer(&self, _tag: u64, _answer: Answer<'_>) {}

    fn event(&self, event: Event<'_>) {
        let Some(CastEvent::ScreencastFrame(frame)) = CastEvent::read(event.method, event.params) else { return };
        let ScreencastFrame { data, metadata, number } = frame;
        let picture = BASE64_STANDARD.decode(data).ok().and_then(|jpeg| {
            let page_size = (metadata.device_width, metadata.device_height);
            Some(CastPicture { size: jpeg_size(&jpeg)?, jpeg, page_size })
        });
        self.add(number, picture);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(byte: u8) -> CastPicture {
        CastPicture { jpeg: vec![byte], size: (1, 1), page_size: (1.0, 1.0) }
    }

    #[test]
    fn only_the_newest_picture_waits_and_many_mean_a_restart() {
        let frames = Frames::default();
        frames.add(1, Some(picture(1)));
        assert_eq!(frames.acknowledge(), Acknowledgment::Frames(1, 1), "control");
        frames.add(1, Some(picture(2)));
        frames.add(1, Some(picture(3)));
        assert_eq!(frames.take(), Some(picture(3)));
        assert_eq!(frames.take(), None);
        assert_eq!(frames.acknowledge(), Acknowledgment::Restart);
        assert_eq!(frames.acknowledge(), Acknowledgment::Frames(1, 0));
        // Those of an earlier start count no more.
        frames.add(1, Some(picture(4)));
        frames.add(2, Some(picture(5)));
        assert_eq!(frames.acknowledge(), Acknowledgment::Frames(2, 1));
    }
}
