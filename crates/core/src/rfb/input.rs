//! Keys and pointer of a viewer as the debugging protocol describes them.

use std::time::Duration;

use crate::keyboard::Key;

/// First symbol that is a Unicode character.
const UNICODE: u32 = 0x0100_0000;

/// Keys that type nothing, by symbol and place.
const NAMED: &[(u32, &str)] = &[
    (0xff08, "Backspace"),
    (0xff09, "Tab"),
    (0xfe20, "Tab"),
    (0xff1b, "Escape"),
    (0xff50, "Home"),
    (0xff51, "ArrowLeft"),
    (0xff52, "ArrowUp"),
    (0xff53, "ArrowRight"),
    (0xff54, "ArrowDown"),
    (0xff55, "PageUp"),
    (0xff56, "PageDown"),
    (0xff57, "End"),
    (0xff63, "Insert"),
    (0xffff, "Delete"),
    (0xffe1, "ShiftLeft"),
    (0xffe2, "ShiftRight"),
    (0xffe3, "ControlLeft"),
    (0xffe4, "ControlRight"),
    (0xffe9, "AltLeft"),
    (0xffea, "AltRight"),
    (0xffe7, "MetaLeft"),
    (0xffe8, "MetaRight"),
    (0xffeb, "MetaLeft"),
    (0xffec, "MetaRight"),
    (0xfe03, "AltGraph"),
];

/// First and last symbol of the function keys F1 to F12.
const FUNCTION_KEYS: std::ops::RangeInclusive<u32> = 0xffbe..=0xffc9;

/// Returns the key of a symbol of X11, or `None` if pages have no such key.
#[must_use]
pub fn key_of_symbol(symbol: u32) -> Option<Key> {
    if let Some((_, place)) = NAMED.iter().find(|(known, _)| *known == symbol) {
        return Key::at(place);
    }
    if FUNCTION_KEYS.contains(&symbol) {
        return Key::at(&format!("F{}", symbol - FUNCTION_KEYS.start() + 1));
    }
    let character = match symbol {
        0xff0d | 0xff8d => Some('\n'),
        0x20..=0x7e | 0xa0..=0xff => char::from_u32(symbol),
        // Digits and signs of the keypad.
        0xffaa..=0xffb9 => char::from_u32(symbol - 0xff80),
        _ => symbol.checked_sub(UNICODE).and_then(char::from_u32).filter(|character| !character.is_control()),
    }?;
    Some(Key::typing(character).unwrap_or_else(|| Key::of_other_layout(character)))
}

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

    #[test]
    fn symbols_have_the_keys_of_pages() {
        let key = |symbol| key_of_symbol(symbol).map(|stroke| (stroke.key, stroke.text));
        for (symbol, name, text) in [
            (0x61, "a", "a"),
            (0x41, "A", "A"),
            (0xe9, "é", "é"),
            (UNICODE + 0x4e2d, "中", "中"),
            (0xff0d, "Enter", "\r"),
            (0xff8d, "Enter", "\r"),
            (0xffb7, "7", "7"),
            (0xffab, "+", "+"),
            (0xff08, "Backspace", ""),
            (0xffc9, "F12", ""),
            (0xffe3, "Control", ""),
        ] {
            assert_eq!(key(symbol), Some((name.to_owned(), text.to_owned())), "{symbol:x}");
        }
        for symbol in [0, 0x1f, 0x7f, 0xff7f, UNICODE, UNICODE + 7, UNICODE + 0xd800, u32::MAX] {
            assert_eq!(key(symbol), None, "{symbol:x}");
        }
    }

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
