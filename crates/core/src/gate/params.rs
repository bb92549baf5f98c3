//! Parameters of commands that a decision depends on.
//!
//! They are read into types and written anew, so Chromium cannot read them differently: an integer is one without a fraction or an
//! exponent, and a member is named once.
//!
//! Invariant: what [`write_params`] returns has only values that the decision has seen.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bit of `modifiers` for the control key.
const CONTROL: u8 = 2;

/// Bit of `modifiers` for the meta key.
const META: u8 = 4;

/// Bit of `modifiers` for the shift key.
const SHIFT: u8 = 8;

/// Bit of `buttons` for the middle button.
const MIDDLE: u8 = 4;

/// Virtual key code of the V key.
const KEY_V: u8 = 0x56;

/// Virtual key code of the Insert key.
const KEY_INSERT: u8 = 0x2d;

/// Character of Ctrl+V.
const SYNCHRONOUS_IDLE: &str = "\u{16}";

/// Reads the parameters of a command.
///
/// # Errors
///
/// A member that is unknown, missing, repeated or of another type, or a text that is not JSON.
pub fn read_params<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text)
}

/// Writes the parameters of a command; members without a value are left out.
#[must_use]
pub fn write_params<T: Serialize>(params: &T) -> String {
    let mut params = serde_json::to_value(params).unwrap_or_default();
    remove_absent(&mut params);
    params.to_string()
}

fn remove_absent(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_absent);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_absent),
        _ => {}
    }
}

/// Parameters of `Input.dispatchKeyEvent`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyEvent {
    r#type: KeyKind,
    modifiers: Option<u8>,
    windows_virtual_key_code: Option<u8>,
    code: Option<String>,
    key: Option<String>,
    text: Option<String>,
    unmodified_text: Option<String>,
    /// Editing commands, such as `selectAll`.
    commands: Option<Vec<EditingCommand>>,
    auto_repeat: Option<bool>,
    is_keypad: Option<bool>,
    location: Option<u8>,
}

/// Name of an editing command that a client may give.
#[derive(Debug, Deserialize, Serialize)]
#[serde(try_from = "String")]
struct EditingCommand(String);

impl TryFrom<String> for EditingCommand {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        // As the middle button does.
        if name.to_ascii_lowercase().contains("globalselection") {
            return Err("this command pastes what another session has selected");
        }
        Ok(Self(name))
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum KeyKind {
    KeyDown,
    KeyUp,
    RawKeyDown,
    Char,
}

impl KeyEvent {
    /// Returns true if the event pastes: Ctrl+V, Shift+Insert, a key for it, or an editing command.
    #[must_use]
    pub fn is_paste(&self) -> bool {
        let has_modifier = |bits: u8| self.modifiers.unwrap_or_default() & bits != 0;
        let is_key = |key: &str, code: &str, number: u8| {
            self.key.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(key))
                || self.code.as_deref() == Some(code)
                || self.windows_virtual_key_code == Some(number)
        };
        let is_command = |command: &EditingCommand| {
            let command = command.0.to_ascii_lowercase();
            command.contains("paste") || command.contains("yank")
        };
        let texts = [&self.key, &self.text, &self.unmodified_text];
        (is_key("v", "KeyV", KEY_V) && has_modifier(CONTROL | META))
            || (is_key("Insert", "Insert", KEY_INSERT) && has_modifier(SHIFT))
            || self.key.as_deref() == Some("Paste")
            || texts.into_iter().any(|text| text.as_deref() == Some(SYNCHRONOUS_IDLE))
            || self.commands.iter().flatten().any(is_command)
    }
}

/// Parameters of `Input.dispatchMouseEvent`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MouseEvent {
    r#type: MouseKind,
    x: f64,
    y: f64,
    modifiers: Option<u8>,
    button: Option<ButtonParam>,
    buttons: Option<u8>,
    click_count: Option<u16>,
    force: Option<f64>,
    delta_x: Option<f64>,
    delta_y: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
enum MouseKind {
    #[serde(rename = "mousePressed")]
    Pressed,
    #[serde(rename = "mouseReleased")]
    Released,
    #[serde(rename = "mouseMoved")]
    Moved,
    #[serde(rename = "mouseWheel")]
    Wheel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum ButtonParam {
    None,
    Left,
    Middle,
    Right,
    Back,
    Forward,
}

impl MouseEvent {
    /// Returns true if the middle button is pressed or released. On X11 it pastes what was selected last, in whatever session.
    #[must_use]
    pub fn has_middle_button(&self) -> bool {
        self.button == Some(ButtonParam::Middle) || self.buttons.unwrap_or_default() & MIDDLE != 0
    }
}

/// Parameters of `Input.insertText`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TextInput {
    text: String,
}

/// Parameters of `Input.dispatchDragEvent`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DragEvent {
    r#type: DragKind,
    x: f64,
    y: f64,
    data: DragDataParams,
    modifiers: Option<u8>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum DragKind {
    DragEnter,
    DragOver,
    Drop,
    DragCancel,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DragDataParams {
    items: Vec<DragItem>,
    files: Option<Vec<String>>,
    /// Chromium writes -1 for all operations.
    drag_operations_mask: i64,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DragItem {
    mime_type: String,
    data: String,
    title: Option<String>,
    #[serde(rename = "baseURL")]
    base_url: Option<String>,
}

impl DragEvent {
    /// Returns true if the event drops files, which would be read with Chromium's rights.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.data.files.as_ref().is_some_and(|files| !files.is_empty())
    }
}

/// Parameters of `Page.navigate`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Navigation {
    /// URL of the document.
    pub url: String,
    frame_id: Option<String>,
    referrer: Option<String>,
    referrer_policy: Option<String>,
}

/// Parameters of `Page.navigateToHistoryEntry`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryEntryParams {
    /// Id of the entry.
    pub entry_id: i32,
}

/// Parameters of `Page.captureScreenshot`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PictureParams {
    format: Option<FormatParam>,
    quality: Option<u8>,
    clip: Option<Clip>,
    from_surface: Option<bool>,
    capture_beyond_viewport: Option<bool>,
    optimize_for_speed: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum FormatParam {
    Jpeg,
    Png,
    Webp,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Clip {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    scale: f64,
}

impl PictureParams {
    /// Has a PNG of what is visible compressed fast: it has the same pixels, is up to twice as large, and takes a fraction of the
    /// time. A picture of a whole page keeps Chromium's choice, because it could exceed a limit of size.
    #[must_use]
    pub fn compressed_fast(mut self) -> Self {
        let is_png = self.format.is_none_or(|format| format == FormatParam::Png);
        if is_png && self.capture_beyond_viewport != Some(true) {
            self.optimize_for_speed = Some(true);
        }
        self
    }
}

/// Parameters of `IO.read` and `IO.close`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StreamUse {
    /// Handle.
    pub handle: String,
    offset: Option<u32>,
    size: Option<u32>,
}

/// Parameters of `Target.setAutoAttach`, as far as a client decides on it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoAttach {
    /// True to attach.
    pub auto_attach: bool,
}

/// Parameters of `Target.setDiscoverTargets`, as far as a client decides on it.
#[derive(Debug, Deserialize)]
pub struct Discovery {
    /// True to announce targets.
    pub discover: bool,
}

/// Parameters of a command about a target, as far as a client decides on it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedTarget {
    /// Target; absent for the browser itself.
    pub target_id: Option<String>,
}

/// Parameters of `Target.detachFromTarget`, as far as a client decides on it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Detachment {
    /// Session of the target.
    pub session_id: String,
}

/// Parameters of `Target.createTarget`, as far as a client decides on it.
#[derive(Debug, Deserialize)]
pub struct NewTarget {
    /// URL of the document.
    pub url: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(params: &Value) -> KeyEvent {
        read_params(&params.to_string()).unwrap()
    }

    fn mouse(params: &Value) -> MouseEvent {
        read_params(&params.to_string()).unwrap()
    }

    #[test]
    fn pasting_input_is_recognized_and_other_input_is_not() {
        for params in [
            json!({"type": "rawKeyDown", "key": "v", "modifiers": 2}),
            json!({"type": "keyDown", "key": "V", "modifiers": 10}),
            json!({"type": "keyDown", "code": "KeyV", "modifiers": 2}),
            json!({"type": "keyDown", "windowsVirtualKeyCode": 86, "modifiers": 2}),
            json!({"type": "keyDown", "windowsVirtualKeyCode": 45, "modifiers": 8}),
            json!({"type": "keyDown", "key": "v", "modifiers": 4}),
            json!({"type": "keyDown", "key": "Insert", "modifiers": 8}),
            json!({"type": "keyDown", "key": "Paste"}),
            json!({"type": "char", "text": "\u{16}"}),
            json!({"type": "keyDown", "key": "a", "commands": ["PasteAndMatchStyle"]}),
            json!({"type": "keyDown", "key": "a", "commands": ["selectAll", "yank"]}),
        ] {
            assert!(key(&params).is_paste(), "{params}");
        }
        for params in [
            json!({"type": "keyDown", "key": "v", "text": "v"}),
            json!({"type": "keyDown", "key": "c", "modifiers": 2}),
            json!({"type": "keyDown", "key": "Insert"}),
            json!({"type": "keyDown", "key": "a", "modifiers": 2, "commands": ["selectAll"]}),
        ] {
            assert!(!key(&params).is_paste(), "control: {params}");
        }
        let at = |mut params: Value| {
            params["x"] = 1.into();
            params["y"] = 1.5.into();
            params
        };
        assert!(mouse(&at(json!({"type": "mousePressed", "button": "middle"}))).has_middle_button());
        assert!(mouse(&at(json!({"type": "mouseMoved", "buttons": 5}))).has_middle_button());
        assert!(
            !mouse(&at(json!({"type": "mousePressed", "button": "left", "buttons": 1}))).has_middle_button(),
            "control"
        );
    }

    #[test]
    fn other_spellings_of_a_paste_key_are_errors() {
        for members in [
            r#""windowsVirtualKeyCode":86.0,"modifiers":2"#,
            r#""windowsVirtualKeyCode":8.6e1,"modifiers":2"#,
            r#""windowsVirtualKeyCode":0.86E2,"modifiers":2"#,
            r#""windowsVirtualKeyCode":86.5,"modifiers":2"#,
            r#""windowsVirtualKeyCode":"86","modifiers":2"#,
            r#""windowsVirtualKeyCode":[86],"modifiers":2"#,
            r#""windowsVirtualKeyCode":{"a":86},"modifiers":2"#,
            r#""windowsVirtualKeyCode":65622,"modifiers":2"#,
            r#""windowsVirtualKeyCode":4294967382,"modifiers":2"#,
            r#""windowsVirtualKeyCode":-170,"modifiers":2"#,
            r#""windowsVirtualKeyCode":true,"modifiers":2"#,
            r#""windowsVirtualKeyCode":65,"windowsVirtualKeyCode":86,"modifiers":2"#,
            r#""windowsVirtualKeyCode":86,"\u0077indowsVirtualKeyCode":65,"modifiers":2"#,
            r#""windowsVirtualKeyCode":86,"modifiers":2.0"#,
            r#""windowsVirtualKeyCode":86,"modifiers":2e0"#,
            r#""windowsVirtualKeyCode":86,"modifiers":"2""#,
            r#""windowsVirtualKeyCode":86,"modifiers":258"#,
            r#""windowsVirtualKeyCode":86,"modifiers":0,"modifiers":2"#,
            r#""nativeVirtualKeyCode":86,"modifiers":2"#,
            r#""commands":"paste""#,
            r#""commands":[["paste"]]"#,
            r#""commands":{"0":"paste"}"#,
            r#""commands":[],"commands":["paste"]"#,
            r#""Commands":["paste"]"#,
            r#""madeUp":1"#,
        ] {
            let params = format!(r#"{{"type":"rawKeyDown",{members}}}"#);
            assert!(read_params::<KeyEvent>(&params).is_err(), "{params}");
        }
        assert!(read_params::<KeyEvent>(r#"{"type":"keydown"}"#).is_err());
        for members in [
            r#""buttons":4.0"#,
            r#""buttons":"4""#,
            r#""buttons":260"#,
            r#""button":"Middle""#,
            r#""button":1"#,
            r#""button":"left","button":"middle""#,
        ] {
            let params = format!(r#"{{"type":"mousePressed","x":1,"y":1,{members}}}"#);
            assert!(read_params::<MouseEvent>(&params).is_err(), "{params}");
        }
        let control = read_params::<KeyEvent>(r#"{"type":"rawKeyDown","windowsVirtualKeyCode":86,"modifiers":2}"#);
        assert!(control.unwrap().is_paste(), "control");
    }

    /// Writes what was read, and compares it as JSON.
    fn assert_kept<T: DeserializeOwned + Serialize>(params: &Value) {
        let read: T = read_params(&params.to_string()).unwrap_or_else(|error| panic!("{error}: {params}"));
        let written: Value = serde_json::from_str(&write_params(&read)).unwrap();
        assert_eq!(written, *params);
    }

    #[test]
    fn members_that_agent_browser_sends_are_kept() {
        // The kind in Node.
        assert_kept::<KeyEvent>(&json!({
            "type": "keyDown", "modifiers": 1, "windowsVirtualKeyCode": 65, "code": "KeyA", "commands": ["selectAll"], "key": "a",
            "text": "é\u{1f468}\u{200d}\u{1f469}", "unmodifiedText": "a", "autoRepeat": false, "location": 3, "isKeypad": true,
        }));
        assert_kept::<MouseEvent>(&json!({
            "type": "mousePressed", "button": "left", "buttons": 1, "x": 30.14, "y": 133.37, "modifiers": 8, "clickCount": 2,
            "force": 0.5,
        }));
        assert_kept::<MouseEvent>(
            &json!({"type": "mouseWheel", "x": 1.5, "y": 2.5, "modifiers": 0, "deltaX": 0.5, "deltaY": -99.5}),
        );
        assert_kept::<DragEvent>(&json!({
            "type": "drop", "x": 1.5, "y": 2.5, "modifiers": 0, "data": {
                "items": [{"mimeType": "text/uri-list", "data": "https://a.example/", "title": "a", "baseURL": "b"}],
                "files": [], "dragOperationsMask": 1,
            },
        }));
        assert_kept::<Navigation>(&json!({
            "url": "https://a.example/", "referrer": "https://b.example/", "frameId": "F", "referrerPolicy": "unsafeUrl",
        }));
        // The native kind.
        assert_kept::<KeyEvent>(&json!({
            "type": "keyDown", "key": "Tab", "code": "Tab", "text": "\t", "unmodifiedText": "\t", "windowsVirtualKeyCode": 9,
        }));
        assert_kept::<PictureParams>(&json!({
            "format": "png", "fromSurface": true, "captureBeyondViewport": true, "quality": 80,
            "clip": {"x": 725.5625, "y": 101.875, "width": 48.71875, "height": 21.5, "scale": 1.5},
        }));
        assert_kept::<TextInput>(&json!({"text": "first line\nsecond line"}));
        assert_kept::<StreamUse>(&json!({"handle": "1", "offset": 1, "size": 2}));
    }

    #[test]
    fn drag_with_files_is_recognized() {
        let drag = |files: &str| {
            let data = format!(r#"{{"items":[],"dragOperationsMask":1{files}}}"#);
            read_params::<DragEvent>(&format!(r#"{{"type":"drop","x":1,"y":1,"data":{data}}}"#))
        };
        assert!(drag(r#","files":["/etc/passwd"]"#).unwrap().has_files());
        assert!(drag(r#","files":"/etc/passwd""#).is_err());
        assert!(drag(r#","files":[],"files":["/etc/passwd"]"#).is_err());
        for control in ["", r#","files":[]"#] {
            assert!(!drag(control).unwrap().has_files(), "control: {control}");
        }
    }

    #[test]
    fn only_png_of_visible_part_is_compressed_fast() {
        let is_fast = |params: Value| {
            let picture: PictureParams = read_params(&params.to_string()).unwrap();
            let sent: Value = serde_json::from_str(&write_params(&picture.compressed_fast())).unwrap();
            sent["optimizeForSpeed"] == true
        };
        assert!(is_fast(json!({})), "PNG is the default");
        assert!(is_fast(json!({"format": "png", "captureBeyondViewport": false})));
        assert!(is_fast(json!({"format": "png", "optimizeForSpeed": false})));
        assert!(!is_fast(json!({"format": "jpeg", "quality": 50})));
        assert!(!is_fast(json!({"format": "png", "captureBeyondViewport": true})));
    }
}
