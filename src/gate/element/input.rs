//! Input that the gate itself gives a page, as a person's pointer and keyboard do.

use browser_shell_core::element::KeyStroke;
use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::element::error::ElementError;
use crate::gate::element::target::Target;
use crate::gate::hub::Hub;
use crate::gate::page::Page;
use crate::gate::session::GateSession;

/// Keyboard and pointer of a tab.
struct Input<'a> {
    hub: &'a Hub,
    page: &'a Page,
}

impl GateSession {
    /// Types a text key by key into what has the focus in the active tab.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub(crate) async fn type_keys(&self, text: &str) -> Result<(), ElementError> {
        let (hub, page) = self.active()?;
        Input { hub: &hub, page: &page }.type_keys(text).await
    }
}

impl Target {
    fn tab(&self) -> Input<'_> {
        Input { hub: &self.element.hub, page: &self.element.page }
    }

    /// Sends input to the tab, which gives it to the frame that it is for.
    pub(super) async fn input(&self, method: &str, params: &Value) -> Result<(), ElementError> {
        self.tab().send(method, params).await
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
            // Chromium handles one after the other. A dialog that the first opens must not keep the second from being sent.
            let (pressed, released) = tokio::join!(biased;
                self.button_at("mousePressed", point, count),
                self.button_at("mouseReleased", point, count),
            );
            pressed.and(released)?;
        }
        Ok(())
    }

    /// Types a text key by key into what has the focus.
    pub(super) async fn type_keys(&self, text: &str) -> Result<(), ElementError> {
        self.tab().type_keys(text).await
    }

    /// Replaces what is selected by a text.
    pub(super) async fn replace_selection(&self, text: &str) -> Result<(), ElementError> {
        if !text.is_empty() {
            return self.input("Input.insertText", &json!({ "text": text })).await;
        }
        let delete = KeyStroke { key: "Delete".into(), code: "Delete".into(), key_code: 46, text: String::new() };
        self.tab().stroke(&delete).await
    }
}

impl Input<'_> {
    async fn send(&self, method: &str, params: &Value) -> Result<(), ElementError> {
        let session = Some(self.page.session.as_str());
        let sent = self.hub.connection.command_within(Target::INPUT_TIMEOUT, session, method, params).await;
        match sent {
            // Input that ends its page has no answer.
            Err(CommandError::Refused { .. }) if method == "Input.dispatchMouseEvent" => Ok(()),
            sent => Ok(sent.map(|_| ())?),
        }
    }

    /// Types a text key by key into what has the focus.
    async fn type_keys(&self, text: &str) -> Result<(), ElementError> {
        for character in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            match KeyStroke::of(character) {
                Some(stroke) => self.stroke(&stroke).await?,
                None => self.send("Input.insertText", &json!({ "text": character })).await?,
            }
        }
        Ok(())
    }

    /// Presses a key and releases it.
    async fn stroke(&self, KeyStroke { key, code, key_code, text }: &KeyStroke) -> Result<(), ElementError> {
        let event = |kind: &str, text: &str| {
            json!({
                "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": key_code, "text": text,
            })
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let (pressed, released) = (event(down, text), event("keyUp", ""));
        // Chromium handles one after the other. The next key waits for both: the page may have gone by then.
        let (pressed, released) = tokio::join!(biased;
            self.send("Input.dispatchKeyEvent", &pressed),
            self.send("Input.dispatchKeyEvent", &released),
        );
        pressed.and(released)
    }
}
