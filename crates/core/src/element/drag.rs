//! Failure of a drag, by the events that a document saw.
//!
//! A page may take what is dragged in any way, also without the browser's own drag. So a drag fails only if the events prove that
//! nothing can have taken it. The caller makes sure that the page shows no change.

use serde::Deserialize;

use crate::decision::{Code, Decision};

/// Events of a drag in the document of the dragged element.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own that the gate reads")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DragEvents {
    /// `true` if the browser itself drags the element (`draggable="true"`).
    pub is_draggable: bool,
    /// `true` if the document got the press or the release of the button.
    pub is_reached: bool,
    /// `true` if the button was pressed, and the page left the press to the browser.
    pub is_pressed: bool,
    /// `true` if a drag of the browser began.
    pub is_begun: bool,
    /// `true` if the page prevented this drag, to drag by itself.
    pub is_prevented: bool,
    /// `true` if the button was released outside a drag of the browser.
    pub is_released: bool,
    /// `true` if the drag of the browser ended.
    pub is_ended: bool,
    /// `true` if it ended, and nothing had accepted what was dragged.
    pub is_rejected: bool,
    /// `true` if something was dropped.
    pub is_dropped: bool,
    /// `true` if a text was selected, a request sent, or the page paints by itself, so that an effect could not be seen.
    pub is_unclear: bool,
}

impl DragEvents {
    /// Returns `true` if the document of the dragged element was not told of the end of the drag.
    #[must_use]
    pub const fn is_unfinished(self) -> bool {
        self.is_begun && !self.is_prevented && !self.is_ended
    }

    /// Returns `true` if the browser is expected to begin a drag of the element, and has not yet.
    #[must_use]
    pub const fn is_expected(self) -> bool {
        self.is_draggable && self.is_pressed && !self.is_begun && !self.is_released
    }

    /// Returns the failure of a drag that did nothing, or `None` if it may have done something.
    #[must_use]
    pub fn failure(self) -> Option<Decision> {
        let reason = if self.is_dropped || self.is_unclear {
            return None;
        } else if self.is_begun {
            (self.is_rejected && !self.is_prevented).then_some("nothing at the destination accepts what is dragged")
        } else if !self.is_reached {
            Some("the page did not get the press of the button")
        } else {
            // Without such an event it is not known how the press ended.
            let is_idle = self.is_draggable && self.is_pressed && self.is_released;
            is_idle.then_some("the browser did not begin to drag the element")
        };
        reason.map(|reason| Decision::new(Code::NoEffect, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REJECTED: DragEvents = DragEvents {
        is_draggable: true,
        is_reached: true,
        is_pressed: true,
        is_begun: true,
        is_prevented: false,
        is_released: false,
        is_ended: true,
        is_rejected: true,
        is_dropped: false,
        is_unclear: false,
    };

    #[track_caller]
    fn reason(events: DragEvents) -> String {
        let decision = events.failure().expect("a failure");
        assert_eq!(decision.code, Code::NoEffect);
        decision.reason
    }

    #[test]
    fn drag_that_nothing_accepts_is_a_failure() {
        assert!(reason(REJECTED).contains("accepts"));
        for done in [
            DragEvents { is_dropped: true, ..REJECTED },
            DragEvents { is_unclear: true, ..REJECTED },
            DragEvents { is_prevented: true, ..REJECTED },
            DragEvents { is_rejected: false, ..REJECTED },
        ] {
            assert_eq!(done.failure(), None, "{done:?}");
        }
    }

    #[test]
    fn drag_of_the_browser_is_expected_until_it_begins() {
        let pressed = DragEvents { is_begun: false, is_ended: false, is_rejected: false, ..REJECTED };
        assert!(pressed.is_expected());
        for other in [
            DragEvents { is_draggable: false, ..pressed },
            DragEvents { is_pressed: false, ..pressed },
            DragEvents { is_begun: true, ..pressed },
            DragEvents { is_released: true, ..pressed },
        ] {
            assert!(!other.is_expected(), "{other:?}");
        }
    }

    #[test]
    fn draggable_element_that_is_not_dragged_is_a_failure() {
        let idle = DragEvents { is_begun: false, is_rejected: false, is_released: true, ..REJECTED };
        assert!(reason(idle).contains("did not begin"));
        for done in [
            DragEvents { is_pressed: false, ..idle },
            DragEvents { is_released: false, ..idle },
            // A page that drags by itself.
            DragEvents { is_draggable: false, ..idle },
            DragEvents { is_unclear: true, ..idle },
        ] {
            assert_eq!(done.failure(), None, "{done:?}");
        }
        assert!(reason(DragEvents { is_reached: false, is_pressed: false, ..idle }).contains("did not get the press"));
    }
}
