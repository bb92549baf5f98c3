//! Pointer of a viewer as the debugging protocol describes it.

use std::time::Duration;

/// Distance that a step of the wheel scrolls, in pixels of the page.
const WHEEL_STEP: f64 = 60.0;

/// Maximum time between two clicks that count as one double click.
const DOUBLE_CLICK_TIME: Duration = Duration::from_millis(500);

/// Maximum distance between them in each direction, in pixels of the page.
const DOUBLE_CLICK_DISTANCE: f64 = 4.0;

/// Buttons: the viewer's bit, the button, and the bit in the protocol's events.
const BUTTONS: [(u8, PointerButton, u8); 3] =
    [(1, PointerButton::Left, 1), (2, PointerButton::Middle, 4), (4, PointerButton::Right, 2)];

/// Directions of the wheel: the viewer's bit, and the steps to the right and down.
const WHEEL: [(u8, f64, f64); 4] = [(8, 0.0, -1.0), (16, 0.0, 1.0), (32, -1.0, 0.0), (64, 1.0, 0.0)];

/// Act of the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerAct {
    /// It moves.
    Move,
    /// A button is pressed.
    Press,
    /// A button is released.
    Release,
    /// The wheel turns.
    Wheel,
}

/// Button of the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerButton {
    /// The left one.
    Left,
    /// The middle one.
    Middle,
    /// The right one.
    Right,
}

/// Event of the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointerEvent {
    /// Act.
    pub act: PointerAct,
    /// Button that is pressed or released, or held.
    pub button: Option<PointerButton>,
    /// Bits of the buttons that are pressed.
    pub buttons: u8,
    /// Number of clicks up to this one.
    pub clicks: u32,
    /// Distance that the wheel scrolls, to the right and down.
    pub scroll: (f64, f64),
}

/// Pointer of one viewer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pointer {
    pressed: u8,
    point: Option<(f64, f64)>,
    clicks: u32,
    last_click: Option<(Duration, (f64, f64))>,
}

impl Pointer {
    /// Returns the events that lead to a point and to buttons that are pressed, at a time since any beginning.
    pub fn events(&mut self, now: Duration, pressed: u8, point: (f64, f64)) -> Vec<PointerEvent> {
        let mut events = Vec::new();
        let event = |act, button, buttons, clicks| PointerEvent { act, button, buttons, clicks, scroll: (0.0, 0.0) };
        let mut buttons =
            BUTTONS.iter().filter(|(bit, ..)| self.pressed & bit != 0).fold(0, |all, (.., bit)| all | bit);
        if self.point != Some(point) {
            let held = BUTTONS.iter().find(|(bit, ..)| self.pressed & bit != 0);
            events.push(event(PointerAct::Move, held.map(|(_, button, _)| *button), buttons, 0));
        }
        for (bit, button, protocol_bit) in BUTTONS {
            match (self.pressed & bit != 0, pressed & bit != 0) {
                (false, true) => {
                    self.clicks = if self.is_double_click(now, point) { self.clicks + 1 } else { 1 };
                    self.last_click = Some((now, point));
                    buttons |= protocol_bit;
                    events.push(event(PointerAct::Press, Some(button), buttons, self.clicks));
                }
                (true, false) => {
                    buttons &= !protocol_bit;
                    events.push(event(PointerAct::Release, Some(button), buttons, self.clicks.max(1)));
                }
                _ => {}
            }
        }
        for (bit, right, down) in WHEEL {
            if pressed & bit != 0 && self.pressed & bit == 0 {
                let scroll = (right * WHEEL_STEP, down * WHEEL_STEP);
                events.push(PointerEvent { scroll, ..event(PointerAct::Wheel, None, buttons, 0) });
            }
        }
        self.pressed = pressed;
        self.point = Some(point);
        events
    }

    fn is_double_click(&self, now: Duration, (x, y): (f64, f64)) -> bool {
        self.last_click.is_some_and(|(time, (last_x, last_y))| {
            let is_close = |one: f64, other: f64| (one - other).abs() <= DOUBLE_CLICK_DISTANCE;
            now.saturating_sub(time) <= DOUBLE_CLICK_TIME && is_close(x, last_x) && is_close(y, last_y)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(events: &[PointerEvent]) -> Vec<(PointerAct, Option<PointerButton>, u8, u32)> {
        events.iter().map(|event| (event.act, event.button, event.buttons, event.clicks)).collect()
    }

    #[test]
    fn changes_of_the_buttons_are_presses_and_releases() {
        let mut pointer = Pointer::default();
        let at = Duration::from_millis;
        let moved = pointer.events(at(0), 0, (5.0, 5.0));
        assert_eq!(kinds(&moved), [(PointerAct::Move, None, 0, 0)]);
        assert_eq!(
            kinds(&pointer.events(at(1), 1, (5.0, 5.0))),
            [(PointerAct::Press, Some(PointerButton::Left), 1, 1)]
        );
        assert_eq!(kinds(&pointer.events(at(2), 1, (9.0, 5.0))), [(PointerAct::Move, Some(PointerButton::Left), 1, 0)]);
        assert_eq!(
            kinds(&pointer.events(at(3), 0, (9.0, 5.0))),
            [(PointerAct::Release, Some(PointerButton::Left), 0, 1)]
        );
        let both = pointer.events(at(4), 6, (90.0, 5.0));
        let presses = [
            (PointerAct::Press, Some(PointerButton::Middle), 4, 1),
            (PointerAct::Press, Some(PointerButton::Right), 6, 2),
        ];
        assert_eq!(kinds(&both)[1..], presses);
    }

    #[test]
    fn second_click_counts_if_it_is_soon_and_close() {
        for (time, x, clicks) in [(100, 5.0, 2), (100, 50.0, 1), (900, 5.0, 1)] {
            let mut pointer = Pointer::default();
            pointer.events(Duration::ZERO, 1, (5.0, 5.0));
            pointer.events(Duration::ZERO, 0, (5.0, 5.0));
            let events = pointer.events(Duration::from_millis(time), 1, (x, 5.0));
            assert_eq!(events.last().map(|event| event.clicks), Some(clicks), "{time} {x}");
        }
    }

    #[test]
    fn each_step_of_the_wheel_scrolls_once() {
        let mut pointer = Pointer::default();
        pointer.events(Duration::ZERO, 0, (5.0, 5.0));
        let scrolls = |events: Vec<PointerEvent>| events.iter().map(|event| event.scroll).collect::<Vec<_>>();
        assert_eq!(scrolls(pointer.events(Duration::ZERO, 16, (5.0, 5.0))), [(0.0, WHEEL_STEP)]);
        assert_eq!(scrolls(pointer.events(Duration::ZERO, 16, (5.0, 5.0))), []);
        assert_eq!(scrolls(pointer.events(Duration::ZERO, 0, (5.0, 5.0))), []);
        assert_eq!(scrolls(pointer.events(Duration::ZERO, 8, (5.0, 5.0))), [(0.0, -WHEEL_STEP)]);
    }
}
