//! Permissions that pages ask for, and the script that reports when they do.
//!
//! Chromium has no event for it. So a script wraps the functions that ask, before any script of the page runs. It reports by a
//! function that it removes from the page, and then calls the function of Chromium.
//!
//! Invariant: a page without that function can cause a report only by asking.

use serde_json::json;

/// Minimum time between two reports of one function, in milliseconds: a page can ask in a loop.
const INTERVAL: u32 = 20;

/// Maximum length of the URL in a report, in UTF-16 code units.
const MAX_URL: u32 = 1000;

/// Permission that a page asks its user for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The device's position.
    Geolocation,
    /// Notifications on the screen.
    Notifications,
    /// The camera, the microphone or both.
    CameraOrMicrophone,
    /// A picture of the screen.
    ScreenCapture,
    /// The content of the clipboard.
    ClipboardRead,
    /// MIDI devices.
    Midi,
    /// Storage that Chromium does not clear by itself.
    PersistentStorage,
    /// A Bluetooth device.
    Bluetooth,
    /// A USB device.
    Usb,
    /// A serial port.
    Serial,
    /// An input device.
    Hid,
    /// Events about the presence of a person.
    IdleDetection,
}

impl Permission {
    /// Returns the name in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Geolocation => "geolocation",
            Self::Notifications => "notifications",
            Self::CameraOrMicrophone => "camera-or-microphone",
            Self::ScreenCapture => "screen-capture",
            Self::ClipboardRead => "clipboard-read",
            Self::Midi => "midi",
            Self::PersistentStorage => "persistent-storage",
            Self::Bluetooth => "bluetooth",
            Self::Usb => "usb",
            Self::Serial => "serial",
            Self::Hid => "hid",
            Self::IdleDetection => "idle-detection",
        }
    }
}

/// Functions by which pages ask: object, name, permission.
const FUNCTIONS: &[(&str, &str, Permission)] = &[
    ("Geolocation.prototype", "getCurrentPosition", Permission::Geolocation),
    ("Geolocation.prototype", "watchPosition", Permission::Geolocation),
    ("Notification", "requestPermission", Permission::Notifications),
    ("PushManager.prototype", "subscribe", Permission::Notifications),
    ("MediaDevices.prototype", "getUserMedia", Permission::CameraOrMicrophone),
    ("Navigator.prototype", "getUserMedia", Permission::CameraOrMicrophone),
    ("Navigator.prototype", "webkitGetUserMedia", Permission::CameraOrMicrophone),
    ("MediaDevices.prototype", "getDisplayMedia", Permission::ScreenCapture),
    ("Clipboard.prototype", "read", Permission::ClipboardRead),
    ("Clipboard.prototype", "readText", Permission::ClipboardRead),
    ("Navigator.prototype", "requestMIDIAccess", Permission::Midi),
    ("StorageManager.prototype", "persist", Permission::PersistentStorage),
    ("Bluetooth.prototype", "requestDevice", Permission::Bluetooth),
    ("USB.prototype", "requestDevice", Permission::Usb),
    ("Serial.prototype", "requestPort", Permission::Serial),
    ("HID.prototype", "requestDevice", Permission::Hid),
    ("IdleDetector", "requestPermission", Permission::IdleDetection),
];

/// Report that a document asked for a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionReport<'a> {
    /// The permission.
    pub permission: Permission,
    /// URL of the document, or its begin.
    pub url: &'a str,
}

impl<'a> PermissionReport<'a> {
    /// Parses what the script of [`permission_script`] passes to its function.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, url) = text.split_once(' ')?;
        let (.., permission) = FUNCTIONS.iter().find(|(.., permission)| permission.as_str() == name)?;
        Some(Self { permission: *permission, url })
    }
}

/// Returns the script that reports by the global function of this name. It runs first in each document.
///
/// The page can change every object that a script uses later. So the script keeps the functions that it needs, and uses them on
/// values of its own only. A stack trace gives no strict function to a page.
#[must_use]
pub fn permission_script(function: &str) -> String {
    let functions: Vec<_> = FUNCTIONS
        .iter()
        .map(|(object, name, permission)| json!([object.split('.').collect::<Vec<_>>(), name, permission.as_str()]))
        .collect();
    format!(
        r#"(() => {{
  "use strict";
  const report = globalThis[{function}];
  delete globalThis[{function}];
  if (typeof report !== "function") return;
  const {{ apply, defineProperty, getOwnPropertyDescriptor }} = Reflect;
  const {{ slice }} = String.prototype;
  const clock = performance;
  const {{ now }} = clock;
  const address = location;
  for (const [path, name, permission] of {functions}) {{
    const owner = path.reduce((object, part) => object?.[part], globalThis);
    const property = owner && getOwnPropertyDescriptor(owner, name);
    if (typeof property?.value !== "function") continue;
    let last = -Infinity;
    property.value = new Proxy(property.value, {{
      __proto__: null,
      apply(ask, self, values) {{
        try {{
          const time = apply(now, clock, []);
          if (time - last >= {INTERVAL}) {{
            last = time;
            apply(report, undefined, [permission + " " + apply(slice, address.href, [0, {MAX_URL}])]);
          }}
        }} catch {{}}
        return apply(ask, self, values);
      }},
    }});
    defineProperty(owner, name, property);
  }}
}})()"#,
        function = json!(function),
        functions = json!(functions),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_names_permission_and_document() {
        let report = |text| PermissionReport::parse(text).map(|report| (report.permission, report.url));
        assert_eq!(report("usb https://a.example/ b"), Some((Permission::Usb, "https://a.example/ b")));
        assert_eq!(report("usb "), Some((Permission::Usb, "")));
        for text in ["", "usb", "USB https://a.example/", "else https://a.example/", " usb https://a.example/"] {
            assert_eq!(report(text), None, "{text}");
        }
    }

    #[test]
    fn script_names_each_function_and_quotes_its_own() {
        let script = permission_script("a\"b");
        assert_eq!(script.matches(r#"globalThis["a\"b"]"#).count(), 2);
        for (_, name, permission) in FUNCTIONS {
            assert!(script.contains(&format!(r#""{name}","{}""#, permission.as_str())), "{name}");
        }
    }
}
