//! Domain `Input`.

use browser_shell_core::keyboard::Key;
use schemars::JsonSchema;
use serde::Serialize;

use super::command::{Nothing, commands};

commands! {
    "Input.dispatchMouseEvent" => DispatchMouseEvent, Nothing;
    "Input.dispatchKeyEvent" => DispatchKeyEvent<'_>, Nothing;
    "Input.insertText" => InsertText<'_>, Nothing;
    "Input.dispatchDragEvent" => DispatchDragEvent, Nothing;
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DispatchMouseEvent {
    #[serde(rename = "type")]
    pub(crate) kind: MouseEventType,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) modifiers: u32,
    pub(crate) button: MouseButton,
    pub(crate) buttons: u8,
    pub(crate) click_count: u32,
    pub(crate) delta_x: f64,
    pub(crate) delta_y: f64,
}

impl DispatchMouseEvent {
    /// Returns an event at a point, without a button.
    pub(crate) fn at(kind: MouseEventType, (x, y): (f64, f64)) -> Self {
        let button = MouseButton::None;
        Self { kind, x, y, modifiers: 0, button, buttons: 0, click_count: 0, delta_x: 0.0, delta_y: 0.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum MouseEventType {
    MousePressed,
    MouseReleased,
    MouseMoved,
    MouseWheel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum MouseButton {
    None,
    Left,
    Middle,
    Right,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DispatchKeyEvent<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: KeyEventType,
    pub(crate) modifiers: u32,
    pub(crate) key: &'a str,
    pub(crate) code: &'a str,
    pub(crate) windows_virtual_key_code: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) text: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) unmodified_text: &'a str,
    pub(crate) location: u32,
    pub(crate) is_keypad: bool,
}

impl<'a> DispatchKeyEvent<'a> {
    /// Returns the event of a key that is pressed, or released.
    pub(crate) fn of(is_down: bool, key: &'a Key, modifiers: u32) -> Self {
        let kind = match (is_down, key.text.is_empty()) {
            (true, true) => KeyEventType::RawKeyDown,
            (true, false) => KeyEventType::KeyDown,
            (false, _) => KeyEventType::KeyUp,
        };
        let text = if is_down { key.text.as_str() } else { "" };
        Self {
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum KeyEventType {
    KeyDown,
    KeyUp,
    RawKeyDown,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InsertText<'a> {
    pub(crate) text: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DispatchDragEvent {
    #[serde(rename = "type")]
    pub(crate) kind: DragEventType,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) data: DragData,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DragEventType {
    DragCancel,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DragData {
    pub(crate) items: Vec<DragDataItem>,
    pub(crate) drag_operations_mask: i32,
}

/// Item of a drag, of which none is sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) enum DragDataItem {}
