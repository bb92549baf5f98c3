//! Input that pastes what the clipboard holds.

use serde_json::Value;

/// Bit of `modifiers` for the control key.
const CONTROL: u64 = 2;

/// Bit of `modifiers` for the meta key.
const META: u64 = 4;

/// Bit of `modifiers` for the shift key.
const SHIFT: u64 = 8;

/// Bit of `buttons` for the middle button.
const MIDDLE: u64 = 4;

/// Returns true for the parameters of a key or mouse event that pastes: Ctrl+V, Shift+Insert, an editing command, or the
/// middle button, which pastes the selection on X11.
#[must_use]
pub fn is_paste(params: &Value) -> bool {
    let text = |name| params.get(name).and_then(Value::as_str).unwrap_or_default();
    // Chromium reads a number with a fraction, too.
    let bits = |name: &str| match params.get(name) {
        Some(value) => value.as_u64().unwrap_or(u64::MAX),
        None => 0,
    };
    let modifiers = bits("modifiers");
    let is_v = text("key").eq_ignore_ascii_case("v")
        || text("code") == "KeyV"
        || ["windowsVirtualKeyCode", "nativeVirtualKeyCode"].iter().any(|name| bits(name) == u64::from(b'V'));
    let is_insert = text("key") == "Insert"
        || text("code") == "Insert"
        || ["windowsVirtualKeyCode", "nativeVirtualKeyCode"].iter().any(|name| bits(name) == 0x2d);
    let is_paste_key = matches!(text("key"), "Paste" | "\u{16}") || text("text") == "\u{16}";
    let has_command = params.get("commands").is_some_and(|commands| {
        commands.as_array().is_none_or(|commands| {
            commands.iter().any(|command| {
                command.as_str().is_none_or(|command| {
                    let command = command.to_ascii_lowercase();
                    command.contains("paste") || command.contains("yank")
                })
            })
        })
    });
    let is_middle = text("button") == "middle" || bits("buttons") & MIDDLE != 0;
    (is_v && modifiers & (CONTROL | META) != 0)
        || (is_insert && modifiers & SHIFT != 0)
        || is_paste_key
        || has_command
        || is_middle
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pasting_input_is_recognized_and_other_input_is_not() {
        for params in [
            json!({"type": "rawKeyDown", "key": "v", "modifiers": 2}),
            json!({"type": "keyDown", "key": "V", "modifiers": 10}),
            json!({"type": "keyDown", "code": "KeyV", "modifiers": 2}),
            json!({"type": "keyDown", "windowsVirtualKeyCode": 86, "modifiers": 2}),
            json!({"type": "keyDown", "key": "v", "modifiers": 2.5}),
            json!({"type": "keyDown", "key": "Insert", "modifiers": 8}),
            json!({"type": "keyDown", "key": "a", "commands": ["PasteAndMatchStyle"]}),
            json!({"type": "keyDown", "key": "a", "commands": "paste"}),
            json!({"type": "mousePressed", "button": "middle"}),
            json!({"type": "mouseMoved", "buttons": 5}),
        ] {
            assert!(is_paste(&params), "{params}");
        }
        for params in [
            json!({"type": "keyDown", "key": "v", "text": "v"}),
            json!({"type": "keyDown", "key": "c", "modifiers": 2}),
            json!({"type": "keyDown", "key": "Insert"}),
            json!({"type": "keyDown", "key": "a", "modifiers": 2, "commands": ["selectAll"]}),
            json!({"type": "mousePressed", "button": "left", "buttons": 1}),
        ] {
            assert!(!is_paste(&params), "control: {params}");
        }
    }
}
