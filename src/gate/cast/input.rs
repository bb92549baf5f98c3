//! Input of a viewer: pointer and keys that reach the page as those of a person.

use std::sync::Arc;
use std::time::Instant;

use browser_shell_core::gate::{KeyEvent, MouseEvent};
use browser_shell_core::rfb::{Pointer, PointerEvent, key_of_symbol};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::gate::hub::Hub;
use crate::gate::json::with;
use crate::gate::scope::ClientScope;
use crate::gate::session::GateSession;

/// Maximum number of inputs that wait for the page.
pub(super) const MAX_INPUT: usize = 256;

/// Modifiers with which a key types no text: Alt, Control and Meta.
const NO_TEXT: u32 = 1 | 2 | 4;

/// Input of a viewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ViewerInput {
    /// Pointer at a point of the page, with the buttons that are pressed.
    Pointer {
        /// Bits of the buttons, as RFB has them.
        buttons: u8,
        /// Point, in pixels of the page.
        point: (f64, f64),
    },
    /// Key that was pressed or released.
    Key {
        /// True if it was pressed.
        is_down: bool,
        /// Symbol of the key, as X11 numbers them.
        symbol: u32,
    },
}

/// Page that takes the input.
pub(super) struct InputTarget {
    pub(super) hub: Arc<Hub>,
    pub(super) session: Arc<GateSession>,
    /// Debugging session of the viewer on the page.
    pub(super) debugging_session: String,
}

/// Gives a page the input of a viewer, one after the other, until the viewer sees another page.
pub(super) async fn run(target: InputTarget, mut inputs: mpsc::Receiver<ViewerInput>) {
    let start = Instant::now();
    let mut pointer = Pointer::default();
    let mut modifiers = 0;
    while let Some(input) = inputs.recv().await {
        match input {
            ViewerInput::Pointer { buttons, point } => {
                for event in pointer.events(start.elapsed(), buttons, point) {
                    let params = mouse_event(&event, point, modifiers);
                    let is_paste = is_paste_by_mouse(&params);
                    target.send("Input.dispatchMouseEvent", &params, is_paste).await;
                }
            }
            ViewerInput::Key { is_down, symbol } => {
                if let Some(params) = key_event(is_down, symbol, &mut modifiers) {
                    target.send("Input.dispatchKeyEvent", &params, is_paste_by_key(&params)).await;
                }
            }
        }
    }
}

/// Returns the parameters of a pointer's event.
fn mouse_event(event: &PointerEvent, point: (f64, f64), modifiers: u32) -> Value {
    let (right, down) = event.scroll;
    json!({
        "type": event.kind, "x": point.0, "y": point.1, "button": event.button, "buttons": event.buttons,
        "clickCount": event.clicks, "deltaX": right, "deltaY": down, "modifiers": modifiers,
    })
}

/// Returns true if a pointer's event pastes, or cannot be read.
fn is_paste_by_mouse(params: &Value) -> bool {
    MouseEvent::deserialize(params).map_or(true, |event| event.is_paste())
}

/// Returns the parameters of a key's event, with the modifiers that are pressed then.
fn key_event(is_down: bool, symbol: u32, modifiers: &mut u32) -> Option<Value> {
    let key = key_of_symbol(symbol)?;
    let bit = key.modifier_bit();
    *modifiers = if is_down { *modifiers | bit } else { *modifiers & !bit };
    let text = Some(key.text).filter(|text| is_down && !text.is_empty() && *modifiers & NO_TEXT == 0);
    let kind = match (is_down, &text) {
        (false, _) => "keyUp",
        (true, Some(_)) => "keyDown",
        (true, None) => "rawKeyDown",
    };
    let params = json!({
        "type": kind, "key": key.key, "code": key.code, "windowsVirtualKeyCode": key.key_code, "modifiers": *modifiers,
    });
    Some(with(params, "text", text))
}

/// Returns true if a key's event pastes, or cannot be read.
fn is_paste_by_key(params: &Value) -> bool {
    KeyEvent::deserialize(params).map_or(true, |event| event.is_paste())
}

impl InputTarget {
    async fn send(&self, method: &str, params: &Value, is_paste: bool) {
        if is_paste && self.session.prepare_paste(&self.hub).await.is_err() {
            tracing::debug!("input that pastes is left out: another session may have copied something");
            return;
        }
        // The page may copy something now.
        let _use = self.session.begin_clipboard_use();
        if let Err(error) = self.hub.connection.command(Some(&self.debugging_session), method, params).await {
            tracing::debug!(%error, "a page did not take the input of a viewer");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn keys_type_text_unless_a_modifier_is_pressed() {
        let mut modifiers = 0;
        let mut event = |is_down, symbol| {
            let params = key_event(is_down, symbol, &mut modifiers).expect("a key");
            let text = params.get("text").and_then(Value::as_str).map(str::to_owned);
            (params["type"].as_str().expect("a type").to_owned(), text, params["modifiers"].as_u64().expect("bits"))
        };
        assert_eq!(event(true, 0x61), ("keyDown".to_owned(), Some("a".to_owned()), 0));
        assert_eq!(event(false, 0x61), ("keyUp".to_owned(), None, 0));
        assert_eq!(event(true, 0xffe3), ("rawKeyDown".to_owned(), None, 2));
        assert_eq!(event(true, 0x76), ("rawKeyDown".to_owned(), None, 2));
        assert_eq!(event(false, 0xffe3), ("keyUp".to_owned(), None, 0));
        assert_eq!(key_event(true, 0, &mut 0), None);
    }

    #[test]
    fn pasting_keys_of_viewers_are_recognized() {
        let mut modifiers = 0;
        assert!(!is_paste_by_key(&key_event(true, 0x76, &mut modifiers).expect("a key")), "control");
        key_event(true, 0xffe3, &mut modifiers);
        assert!(is_paste_by_key(&key_event(true, 0x76, &mut modifiers).expect("a key")));
    }

    #[test]
    fn pasting_buttons_of_viewers_are_recognized() {
        let is_paste = |buttons| {
            let events = Pointer::default().events(Duration::ZERO, buttons, (1.0, 2.5));
            events.iter().any(|event| is_paste_by_mouse(&mouse_event(event, (1.0, 2.5), 0)))
        };
        // The left and the right button, the wheel in four directions, and the middle button.
        for control in [0, 1, 4, 8, 16, 32, 64] {
            assert!(!is_paste(control), "control: {control}");
        }
        assert!(is_paste(2));
    }
}
