//! Input that the gate itself gives a page, as a person's pointer and keyboard do.

use browser_shell_core::element::KeyStroke;
use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::element::error::ElementError;
use crate::gate::element::target::Target;

impl Target {
    /// Sends input to the tab, which gives it to the frame that it is for.
    async fn input(&self, method: &str, params: &Value) -> Result<(), ElementError> {
        let session = Some(self.element.page.session.as_str());
        let sent = self.element.hub.connection.command_within(Self::INPUT_TIMEOUT, session, method, params).await;
        match sent {
            // Input that ends its page has no answer.
            Err(CommandError::Refused { .. }) if method == "Input.dispatchMouseEvent" => Ok(()),
            sent => Ok(sent.map(|_| ())?),
        }
    }

    /// Moves the pointer to a point of the tab.
    pub(super) async fn hover_at(&self, (x, y): (f64, f64)) -> Result<(), ElementError> {
        self.input("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": x, "y": y })).await
    }

    /// Moves the pointer with the left button pressed.
    pub(super) async fn press_at(&self, (x, y): (f64, f64)) -> Result<(), ElementError> {
        let event = json!({ "type": "mouseMoved", "x": x, "y": y, "button": "left", "buttons": 1 });
        self.input("Input.dispatchMouseEvent", &event).await
    }

    /// Presses or releases the left button of the pointer for the click with this number.
    pub(super) async fn button_at(&self, kind: &str, (x, y): (f64, f64), count: u32) -> Result<(), ElementError> {
        let buttons = u8::from(kind == "mousePressed");
        let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": count });
        self.input("Input.dispatchMouseEvent", &event).await
    }

    /// Clicks at a point of the tab, once or twice.
    pub(super) async fn click_at(&self, point: (f64, f64), times: u32) -> Result<(), ElementError> {
        self.hover_at(point).await?;
        for count in 1..=times {
            self.button_at("mousePressed", point, count).await?;
            self.button_at("mouseReleased", point, count).await?;
        }
        Ok(())
    }

    /// Types a text key by key into what has the focus.
    pub(super) async fn type_keys(&self, text: &str) -> Result<(), ElementError> {
        self.emulate_focus().await?;
        for character in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            let Some(KeyStroke { key, code, key_code, text }) = KeyStroke::of(character) else {
                self.input("Input.insertText", &json!({ "text": character })).await?;
                continue;
            };
            let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
            for kind in [down, "keyUp"] {
                let text = if kind == "keyUp" { "" } else { text.as_str() };
                let event = json!({
                    "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": key_code, "text": text,
                });
                self.input("Input.dispatchKeyEvent", &event).await?;
            }
        }
        Ok(())
    }

    /// Replaces what is selected by a text.
    pub(super) async fn replace_selection(&self, text: &str) -> Result<(), ElementError> {
        self.emulate_focus().await?;
        if !text.is_empty() {
            return self.input("Input.insertText", &json!({ "text": text })).await;
        }
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": "Delete", "code": "Delete", "windowsVirtualKeyCode": 46 });
            self.input("Input.dispatchKeyEvent", &event).await?;
        }
        Ok(())
    }

    /// Lets the page have the focus, whatever window is in front.
    async fn emulate_focus(&self) -> Result<(), ElementError> {
        self.input("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true })).await
    }
}
