//! Input that the gate itself gives a page, as a person's pointer and keyboard do.

use browser_shell_core::keyboard::{Chord, Key};
use futures::future::try_join_all;

use crate::browser::cdp::CommandError;
use crate::browser::cdp::protocol::Command;
use crate::browser::cdp::protocol::input::{
    DispatchKeyEvent, DispatchMouseEvent, InsertText, KeyEventType, MouseButton, MouseEventType,
};
use crate::gate::element::error::ElementError;
use crate::gate::element::target::Target;
use crate::gate::hub::Hub;
use crate::gate::page::Page;
use crate::gate::scope::ClientScope as _;
use crate::gate::session::GateSession;

/// Keyboard and pointer of a tab.
struct Input<'a> {
    hub: &'a Hub,
    page: &'a Page,
}

impl GateSession {
    /// Presses a key a number of times in what has the focus in the active tab.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub(crate) async fn press(&self, chord: &Chord, count: u32) -> Result<(), ElementError> {
        let (hub, page) = self.active()?;
        if chord.may_paste() {
            // What another session has put into the clipboard is not for this one's page.
            self.prepare_paste(&hub).await.map_err(|error| {
                tracing::warn!(%error, "the clipboard was not emptied");
                ElementError::Unsupported("another session is using the clipboard; try again")
            })?;
        }
        for _ in 0..count {
            Input { hub: &hub, page: &page }.press(chord).await?;
        }
        Ok(())
    }

    /// Turns the wheel of the pointer over a point of the active tab.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer.
    pub(in crate::gate) async fn turn_wheel(
        &self,
        point: (f64, f64),
        (right, down): (i32, i32),
    ) -> Result<(), ElementError> {
        let (hub, page) = self.active()?;
        let turn = DispatchMouseEvent {
            delta_x: right.into(),
            delta_y: down.into(),
            ..DispatchMouseEvent::at(MouseEventType::MouseWheel, point)
        };
        Input { hub: &hub, page: &page }.mouse(&turn).await
    }
}

impl Target {
    fn tab(&self) -> Input<'_> {
        Input { hub: &self.element.hub, page: &self.element.page }
    }

    /// Sends input to the tab, which gives it to the frame that it is for.
    pub(super) async fn input(&self, input: &impl Command) -> Result<(), ElementError> {
        Ok(self.tab().send(input).await?)
    }

    /// Moves the pointer to a point of the tab.
    pub(super) async fn hover_at(&self, point: (f64, f64)) -> Result<(), ElementError> {
        self.tab().mouse(&DispatchMouseEvent::at(MouseEventType::MouseMoved, point)).await
    }

    /// Moves the pointer with the left button pressed.
    pub(super) async fn press_at(&self, point: (f64, f64)) -> Result<(), ElementError> {
        self.button_at(MouseEventType::MouseMoved, point, 0).await
    }

    /// Presses or releases the left button of the pointer for the click with this number, or moves it while it is pressed.
    pub(super) async fn button_at(
        &self,
        kind: MouseEventType,
        point: (f64, f64),
        count: u32,
    ) -> Result<(), ElementError> {
        self.tab().mouse(&left_button(kind, point, count)).await
    }

    /// Releases the left button at a point to which the pointer goes back, without waiting for it.
    pub(super) fn release_without_waiting(&self, point: (f64, f64)) {
        let Input { hub, page } = self.tab();
        for kind in [MouseEventType::MouseMoved, MouseEventType::MouseReleased] {
            hub.connection.notify(Some(&page.session), &left_button(kind, point, 1));
        }
    }

    /// Clicks at a point of the tab, once or twice.
    pub(super) async fn click_at(&self, point: (f64, f64), times: u32) -> Result<(), ElementError> {
        self.hover_at(point).await?;
        for count in 1..=times {
            // Chromium handles one after the other. A dialog that the first opens must not keep the second from being sent.
            let (pressed, released) = tokio::join!(biased;
                self.button_at(MouseEventType::MousePressed, point, count),
                self.button_at(MouseEventType::MouseReleased, point, count),
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
            return self.input(&InsertText { text }).await;
        }
        match Chord::parse("Delete") {
            Ok(delete) => self.tab().press(&delete).await,
            Err(_) => Ok(()),
        }
    }
}

impl Input<'_> {
    async fn send(&self, input: &impl Command) -> Result<(), CommandError> {
        self.hub.connection.send_within(Target::INPUT_TIMEOUT, Some(&self.page.session), input).await.map(drop)
    }

    async fn mouse(&self, event: &DispatchMouseEvent) -> Result<(), ElementError> {
        match self.send(event).await {
            // Input that ends its page has no answer.
            Err(CommandError::Refused { .. }) => Ok(()),
            sent => Ok(sent?),
        }
    }

    /// Types a text key by key into what has the focus. What no keyboard has is entered as an input method does.
    async fn type_keys(&self, text: &str) -> Result<(), ElementError> {
        for character in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            match Key::typing(character) {
                Some(key) => self.press(&Chord { modifiers: Vec::new(), key }).await?,
                None => self.send(&InsertText { text: character.encode_utf8(&mut [0; 4]) }).await?,
            }
        }
        Ok(())
    }

    /// Presses a key, with its modifiers, and releases all of them.
    async fn press(&self, Chord { modifiers, key }: &Chord) -> Result<(), ElementError> {
        let mut events = Vec::new();
        let mut bits = 0;
        let modifiers: Vec<_> = modifiers.iter().map(|modifier| (modifier.bit(), modifier.key())).collect();
        for (bit, modifier) in &modifiers {
            bits |= bit;
            events.push(event(true, modifier, bits));
        }
        // A modifier holds while it is pressed itself.
        events.push(event(true, key, bits | key.modifier_bit()));
        events.push(event(false, key, bits));
        for (bit, modifier) in modifiers.iter().rev() {
            bits &= !bit;
            events.push(event(false, modifier, bits));
        }
        // All are sent at once, and Chromium handles one after the other: a call that ends meanwhile leaves no key pressed. The next key
        // waits for them: the page may have gone by then.
        try_join_all(events.iter().map(|event| self.send(event))).await?;
        Ok(())
    }
}

/// Returns an event of the left button.
fn left_button(kind: MouseEventType, point: (f64, f64), click_count: u32) -> DispatchMouseEvent {
    let buttons = u8::from(kind != MouseEventType::MouseReleased);
    DispatchMouseEvent { button: MouseButton::Left, buttons, click_count, ..DispatchMouseEvent::at(kind, point) }
}

/// Returns the event of a key that is pressed, or released.
fn event(is_down: bool, key: &Key, modifiers: u32) -> DispatchKeyEvent<'_> {
    let kind = match (is_down, key.text.is_empty()) {
        (true, true) => KeyEventType::RawKeyDown,
        (true, false) => KeyEventType::KeyDown,
        (false, _) => KeyEventType::KeyUp,
    };
    let text = if is_down { key.text.as_str() } else { "" };
    DispatchKeyEvent {
        kind,
        modifiers,
        key: &key.key,
        code: key.code,
        windows_virtual_key_code: key.key_code,
        text,
        unmodified_text: text,
        location: if key.location == 3 { 0 } else { key.location },
        is_keypad: key.location == 3,
    }
}
