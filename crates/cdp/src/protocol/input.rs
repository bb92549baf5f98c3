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
pub struct DispatchMouseEvent {
    #[serde(rename = "type")]
    pub kind: MouseEventType,
    pub x: f64,
    pub y: f64,
    pub modifiers: u32,
    pub button: MouseButton,
    pub buttons: u8,
    pub click_count: u32,
    pub delta_x: f64,
    pub delta_y: f64,
}

impl DispatchMouseEvent {
    /// Returns an event at a point, without a button.
    #[must_use]
    pub fn at(kind: MouseEventType, (x, y): (f64, f64)) -> Self {
        let button = MouseButton::None;
        Self { kind, x, y, modifiers: 0, button, buttons: 0, click_count: 0, delta_x: 0.0, delta_y: 0.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MouseEventType {
    MousePressed,
    MouseReleased,
    MouseMoved,
    MouseWheel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MouseButton {
    None,
    Left,
    Middle,
    Right,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchKeyEvent<'a> {
    #[serde(rename = "type")]
    pub kind: KeyEventType,
    pub modifiers: u32,
    pub key: &'a str,
    pub code: &'a str,
    pub windows_virtual_key_code: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub text: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unmodified_text: &'a str,
    pub location: u32,
    pub is_keypad: bool,
}

impl<'a> DispatchKeyEvent<'a> {
    /// Returns the event of a key that is pressed, or released.
    #[must_use]
    pub fn of(is_down: bool, key: &'a Key, modifiers: u32) -> Self {
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
pub enum KeyEventType {
    KeyDown,
    KeyUp,
    RawKeyDown,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InsertText<'a> {
    pub text: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DispatchDragEvent {
    #[serde(rename = "type")]
    pub kind: DragEventType,
    pub x: f64,
    pub y: f64,
    pub data: DragData,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DragEventType {
    DragCancel,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DragData {
    pub items: Vec<DragDataItem>,
    pub drag_operations_mask: i32,
}

/// Item of a drag, of which none is sent.
#[derive(Debug, Serialize, JsonSchema)]
pub enum DragDataItem {}
