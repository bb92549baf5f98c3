//! Input of a viewer: pointer and keys that reach the page as those of a person.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use browser_shell_core::gate::{KeyEvent, MouseEvent};
use browser_shell_core::keyboard::Key;
use browser_shell_core::rfb::{Pointer, PointerAct, PointerButton, PointerEvent, key_of_symbol};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::gate::browser::Browser;
use crate::gate::scope::ClientScope;
use crate::gate::session::GateSession;
use browser_shell_cdp::protocol::input::{
    DispatchKeyEvent, DispatchMouseEvent, KeyEventType, MouseButton, MouseEventType,
};
use browser_shell_cdp::protocol::target::DetachFromTarget;
use browser_shell_cdp::protocol::{CdpCommand, DebugSessionId};

/// Maximum number of inputs that wait for the page.
pub(super) const MAX_INPUT: usize = 256;

/// Timeout for a page to take the releases of everything that a viewer has pressed.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Modifiers with which a key types no text: Alt, Control and Meta.
const NO_TEXT: u32 = 1 | 2 | 4;

/// Input of a viewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ViewerInput {
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
    pub(super) browser: Arc<Browser>,
    pub(super) session: Arc<GateSession>,
    /// Debugging session of the viewer on the page.
    pub(super) debugging_session: DebugSessionId,
    /// True if input was lost, which may be the release of a key.
    pub(super) has_lost: Arc<AtomicBool>,
}

/// Gives a page the input of a viewer, one after the other, until the viewer sees another page. Then no key and no button stays pressed, and
/// the debugging session ends.
pub(super) async fn run(target: InputTarget, mut inputs: mpsc::Receiver<ViewerInput>) {
    let start = Instant::now();
    let mut held = HeldInput::default();
    while let Some(input) = inputs.recv().await {
        // What a viewer that is gone has sent is for a page that did not take it in time.
        if inputs.is_closed() {
            break;
        }
        held.take(&target, start, input).await;
        if inputs.is_empty() && target.has_lost.swap(false, Ordering::Relaxed) && !held.release(&target, start).await {
            target.has_lost.store(true, Ordering::Relaxed);
        }
    }
    held.release(&target, start).await;
    target.browser.connection.notify(None, &DetachFromTarget { session_id: &target.debugging_session });
}

/// Keys and buttons that a viewer has pressed.
#[derive(Debug, Default)]
struct HeldInput {
    pointer: Pointer,
    /// Last point of the pointer.
    point: (f64, f64),
    /// Bits of the buttons.
    buttons: u8,
    /// Symbols of the keys, in the order in which they were pressed.
    symbols: Vec<u32>,
    /// Bits of the modifiers.
    modifiers: u32,
}

impl HeldInput {
    async fn take(&mut self, target: &InputTarget, start: Instant, input: ViewerInput) {
        match input {
            ViewerInput::Pointer { buttons, point } => {
                (self.buttons, self.point) = (buttons, point);
                for event in self.pointer.events(start.elapsed(), buttons, point) {
                    let event = mouse_event(&event, point, self.modifiers);
                    target.send(&event, is_paste_by_mouse(&event)).await;
                }
            }
            ViewerInput::Key { is_down, symbol } => {
                if let Some(key) = key_of_symbol(symbol) {
                    self.note(is_down, symbol);
                    let event = key_event(is_down, &key, &mut self.modifiers);
                    // A key pastes when it is pressed, and must not stay pressed because another session has copied something.
                    target.send(&event, is_down && is_paste_by_key(&event)).await;
                }
            }
        }
    }

    /// Releases everything that is pressed. Returns false if the page did not take all of it in time.
    async fn release(&mut self, target: &InputTarget, start: Instant) -> bool {
        let releases = async {
            for input in self.releases() {
                self.take(target, start, input).await;
            }
        };
        tokio::time::timeout(RELEASE_TIMEOUT, releases).await.is_ok()
    }

    fn note(&mut self, is_down: bool, symbol: u32) {
        self.symbols.retain(|held| *held != symbol);
        if is_down && self.symbols.len() < MAX_INPUT {
            self.symbols.push(symbol);
        }
    }

    /// Returns the input that releases it: the keys from the last one on, and the buttons.
    fn releases(&self) -> Vec<ViewerInput> {
        let keys = self.symbols.iter().rev().map(|symbol| ViewerInput::Key { is_down: false, symbol: *symbol });
        let buttons = (self.buttons != 0).then_some(ViewerInput::Pointer { buttons: 0, point: self.point });
        keys.chain(buttons).collect()
    }
}

/// Returns the command for a pointer's event.
fn mouse_event(event: &PointerEvent, point: (f64, f64), modifiers: u32) -> DispatchMouseEvent {
    let kind = match event.act {
        PointerAct::Move => MouseEventType::MouseMoved,
        PointerAct::Press => MouseEventType::MousePressed,
        PointerAct::Release => MouseEventType::MouseReleased,
        PointerAct::Wheel => MouseEventType::MouseWheel,
    };
    let button = match event.button {
        None => MouseButton::None,
        Some(PointerButton::Left) => MouseButton::Left,
        Some(PointerButton::Middle) => MouseButton::Middle,
        Some(PointerButton::Right) => MouseButton::Right,
    };
    let (delta_x, delta_y) = event.scroll;
    DispatchMouseEvent {
        modifiers,
        button,
        buttons: event.buttons,
        click_count: event.clicks,
        delta_x,
        delta_y,
        ..DispatchMouseEvent::at(kind, point)
    }
}

/// Returns true if a pointer's event pastes, or cannot be read. Chromium pastes a selection when the middle button is released.
fn is_paste_by_mouse(event: &DispatchMouseEvent) -> bool {
    as_of_client(event).is_none_or(|event: MouseEvent| event.has_middle_button())
}

/// Returns the command for a key's event, with the modifiers that are pressed then.
fn key_event<'a>(is_down: bool, key: &'a Key, modifiers: &mut u32) -> DispatchKeyEvent<'a> {
    let bit = key.modifier_bit();
    *modifiers = if is_down { *modifiers | bit } else { *modifiers & !bit };
    let text = if is_down && *modifiers & NO_TEXT == 0 { key.text.as_str() } else { "" };
    let kind = match (is_down, text.is_empty()) {
        (false, _) => KeyEventType::KeyUp,
        (true, false) => KeyEventType::KeyDown,
        (true, true) => KeyEventType::RawKeyDown,
    };
    DispatchKeyEvent {
        kind,
        modifiers: *modifiers,
        key: &key.key,
        code: key.code,
        windows_virtual_key_code: key.key_code,
        text,
        unmodified_text: "",
        location: 0,
        is_keypad: false,
    }
}

/// Returns true if a key's event pastes, or cannot be read.
fn is_paste_by_key(event: &DispatchKeyEvent<'_>) -> bool {
    as_of_client(event).is_none_or(|event: KeyEvent| event.is_paste())
}

/// Returns input as that of a client, whose rules hold for viewers too.
fn as_of_client<T: DeserializeOwned>(command: &impl CdpCommand) -> Option<T> {
    serde_json::from_value(serde_json::to_value(command).ok()?).ok()
}

impl InputTarget {
    async fn send(&self, command: &impl CdpCommand, is_paste: bool) {
        if is_paste && self.session.prepare_paste(&self.browser).await.is_err() {
            tracing::debug!("input that pastes is left out: another session may have copied something");
            return;
        }
        // The page may copy something now.
        let _use = self.session.begin_clipboard_use();
        if let Err(error) = self.browser.connection.send(Some(&self.debugging_session), command).await {
            tracing::debug!(%error, "a page did not take the input of a viewer");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_type_text_unless_a_modifier_is_pressed() {
        let mut modifiers = 0;
        let mut event = |is_down, symbol| {
            let key = key_of_symbol(symbol).expect("a key");
            let event = key_event(is_down, &key, &mut modifiers);
            (event.kind, event.text.to_owned(), event.modifiers)
        };
        assert_eq!(event(true, 0x61), (KeyEventType::KeyDown, "a".to_owned(), 0));
        assert_eq!(event(false, 0x61), (KeyEventType::KeyUp, String::new(), 0));
        assert_eq!(event(true, 0xffe3), (KeyEventType::RawKeyDown, String::new(), 2));
        assert_eq!(event(true, 0x76), (KeyEventType::RawKeyDown, String::new(), 2));
        assert_eq!(event(false, 0xffe3), (KeyEventType::KeyUp, String::new(), 0));
    }

    #[test]
    fn what_a_viewer_holds_is_released() {
        let mut held = HeldInput { buttons: 1, point: (3.0, 4.0), ..HeldInput::default() };
        for (is_down, symbol) in [(true, 0xffe3), (true, 0x61), (true, 0x62), (false, 0x61), (true, 0x62)] {
            held.note(is_down, symbol);
        }
        let up = |symbol| ViewerInput::Key { is_down: false, symbol };
        let buttons = ViewerInput::Pointer { buttons: 0, point: (3.0, 4.0) };
        assert_eq!(held.releases(), [up(0x62), up(0xffe3), buttons]);
        assert_eq!(HeldInput::default().releases(), []);
    }

    #[test]
    fn pasting_keys_of_viewers_are_recognized() {
        let mut modifiers = 0;
        let mut is_paste = |symbol| {
            let key = key_of_symbol(symbol).expect("a key");
            is_paste_by_key(&key_event(true, &key, &mut modifiers))
        };
        assert!(!is_paste(0x76), "control");
        is_paste(0xffe3);
        assert!(is_paste(0x76));
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
