//! Reports about what Chromium has no event for, and the script that sends them: pages ask for permissions, and they follow links to other
//! programs, such as `tel:`.
//!
//! The script wraps the functions that ask, before any script of the page runs. It reports by a function that it removes from the page, and
//! then calls the function of Chromium, or refuses where nothing could dismiss Chromium's own question. It keeps the page from a link to
//! another program: Chromium would ask in a window of its own, which takes all input until somebody at the screen answers.
//!
//! Invariant: a page without that function can cause a report only by what is reported.

use serde_json::json;
use url::Url;

/// Minimum time between two reports of one function, in milliseconds: a page can ask in a loop.
const INTERVAL: u32 = 20;

/// Maximum length of the URL in a report, in UTF-16 code units. Of a longer one the origin is reported: a secret that is cut is not recognized.
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
    /// A document of a wallet, such as a driver's license.
    DigitalCredential,
    /// A payment.
    Payment,
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
            Self::DigitalCredential => "digital-credential",
            Self::Payment => "payment",
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
    ("CredentialsContainer.prototype", "get", Permission::DigitalCredential),
    ("CredentialsContainer.prototype", "create", Permission::DigitalCredential),
    ("PaymentRequest.prototype", "show", Permission::Payment),
];

/// Permissions that the script refuses itself: Chromium would ask in a window that takes all input, and that nothing closes.
const REFUSED: &[Permission] = &[Permission::ScreenCapture, Permission::DigitalCredential, Permission::Payment];

/// Schemes of what Chromium itself opens, or refuses.
const OWN_SCHEMES: &[&str] = &[
    "about",
    "blob",
    "chrome",
    "chrome-error",
    "chrome-extension",
    "chrome-untrusted",
    "data",
    "devtools",
    "file",
    "filesystem",
    "http",
    "https",
    "javascript",
    "view-source",
];

/// Name of a report about a link to another program.
const LINK: &str = "link";

/// Returns the scheme of another program to which a redirect leads, if it does.
///
/// ```
/// use browser_shell_core::gate::scheme_of_redirect;
/// assert_eq!(scheme_of_redirect("https://example.com/a", "tel:1").as_deref(), Some("tel"));
/// assert_eq!(scheme_of_redirect("https://example.com/a", "/tel:1"), None);
/// ```
#[must_use]
pub fn scheme_of_redirect(from: &str, location: &str) -> Option<String> {
    match Url::parse(from).ok()?.join(location.trim()) {
        Ok(target) => scheme_of_program(target.as_str()),
        // Chromium follows more than the standard of URLs has, such as `steam://[`.
        Err(_) => scheme_of_program(location),
    }
}

/// Returns the scheme that a URL begins with, cut to its maximum length, if it is that of another program.
///
/// ```
/// use browser_shell_core::gate::scheme_of_program;
/// assert_eq!(scheme_of_program("mailto:a@b.example").as_deref(), Some("mailto"));
/// assert_eq!(scheme_of_program("chrome://version/"), None);
/// ```
#[must_use]
pub fn scheme_of_program(url: &str) -> Option<String> {
    let mut scheme = written_scheme(url).filter(|scheme| !OWN_SCHEMES.contains(&scheme.as_str()))?;
    scheme.truncate(MAX_SCHEME);
    Some(scheme)
}

/// Returns the scheme that a URL begins with, in lower case, as the standard of URLs reads it.
fn written_scheme(url: &str) -> Option<String> {
    let text: String = url.chars().filter(|character| !matches!(character, '\t' | '\n' | '\r')).collect();
    let (scheme, _) = text.trim_start_matches(|character| character <= ' ').split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// Report that the text of a secret field was kept from being copied, cut or dragged. A script in a world of the gate's own sends it.
pub const KEPT_SECRET: &str = "secret kept";

/// Maximum length of the scheme in a report, in bytes.
const MAX_SCHEME: usize = 40;

/// Report about a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageReport<'a> {
    /// It asked for a permission.
    Permission {
        /// The permission.
        permission: Permission,
        /// URL of the document, or its origin.
        url: &'a str,
    },
    /// It was kept from a link to another program.
    OtherProgram {
        /// Scheme of the link.
        scheme: &'a str,
    },
    /// The text of a secret field was kept from being copied, cut or dragged.
    KeptSecret,
}

impl<'a> PageReport<'a> {
    /// Parses what the script of [`report_script`] passes to its function.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, value) = text.split_once(' ')?;
        if text == KEPT_SECRET {
            return Some(Self::KeptSecret);
        }
        if name == LINK {
            let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            let is_valid = (1..=MAX_SCHEME).contains(&value.len()) && value.bytes().all(is_scheme);
            return is_valid.then_some(Self::OtherProgram { scheme: value });
        }
        let (.., permission) = FUNCTIONS.iter().find(|(.., permission)| permission.as_str() == name)?;
        Some(Self::Permission { permission: *permission, url: value })
    }
}

/// Returns the script that reports by the global function of this name. It runs first in each document.
///
/// The page can change every object that a script uses later. So the script keeps the functions that it needs, and uses them on
/// values of its own only. A stack trace gives no strict function to a page.
#[must_use]
pub fn report_script(function: &str) -> String {
    let functions: Vec<_> = FUNCTIONS
        .iter()
        .map(|(object, name, permission)| {
            let owner: Vec<_> = object.split('.').collect();
            json!([owner, name, permission.as_str(), REFUSED.contains(permission)])
        })
        .collect();
    format!(
        r#"(() => {{
  "use strict";
  const report = globalThis[{function}];
  delete globalThis[{function}];
  if (typeof report !== "function") return;
  const {{ apply, construct, defineProperty, getOwnPropertyDescriptor }} = Reflect;
  const [promise, exception] = [Promise, DOMException];
  const {{ reject }} = promise;
  const {{ slice }} = String.prototype;
  const clock = performance;
  const {{ now }} = clock;
  const address = location;
  const {{ addEventListener }} = EventTarget.prototype;
  const getter = (type, name) => getOwnPropertyDescriptor(type.prototype, name).get;
  if (globalThis.navigation) {{
    const {{ preventDefault }} = Event.prototype;
    const {{ indexOf }} = String.prototype;
    const cancelable = getter(Event, "cancelable");
    const destination = getter(NavigateEvent, "destination");
    const url = getter(NavigationDestination, "url");
    const own = {{ __proto__: null, {own} }};
    const leave = (event) => {{
      if (!event.isTrusted || !apply(cancelable, event, [])) return;
      const target = apply(url, apply(destination, event, []), []);
      const scheme = apply(slice, target, [0, apply(indexOf, target, [":"])]);
      if (own[scheme]) return;
      apply(preventDefault, event, []);
      apply(report, undefined, ["{LINK} " + scheme]);
    }};
    apply(addEventListener, navigation, ["navigate", leave, true]);
  }}
  for (const [path, name, permission, isRefused] of {functions}) {{
    const owner = path.reduce((object, part) => object?.[part], globalThis);
    const property = owner && getOwnPropertyDescriptor(owner, name);
    if (typeof property?.value !== "function") continue;
    let last = -Infinity;
    property.value = new Proxy(property.value, {{
      __proto__: null,
      apply(ask, self, values) {{
        let isOther = false;
        try {{
          // Passwords and keys of this site are asked for by the same function.
          isOther = permission === "{digital}" && !(typeof values[0] === "object" && values[0] !== null && "digital" in values[0]);
        }} catch {{}}
        if (isOther) return apply(ask, self, values);
        try {{
          const time = apply(now, clock, []);
          if (time - last >= {INTERVAL}) {{
            last = time;
            const {{ href }} = address;
            apply(report, undefined, [permission + " " + (href.length > {MAX_URL} ? address.origin : href)]);
          }}
        }} catch {{}}
        if (isRefused) return apply(reject, promise, [construct(exception, ["Permission denied", "NotAllowedError"])]);
        return apply(ask, self, values);
      }},
    }});
    defineProperty(owner, name, property);
  }}
}})()"#,
        function = json!(function),
        functions = json!(functions),
        digital = Permission::DigitalCredential.as_str(),
        own = OWN_SCHEMES.iter().map(|scheme| format!("\"{scheme}\": true")).collect::<Vec<_>>().join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_names_permission_and_document() {
        let usb = |url| Some(PageReport::Permission { permission: Permission::Usb, url });
        assert_eq!(PageReport::parse("usb https://a.example/ b"), usb("https://a.example/ b"));
        assert_eq!(PageReport::parse("usb "), usb(""));
        assert_eq!(PageReport::parse(KEPT_SECRET), Some(PageReport::KeptSecret));
        for text in [
            "",
            "usb",
            "secret",
            "secret ",
            "secret kept ",
            "USB https://a.example/",
            "else https://a.example/",
            " usb https://a.example/",
        ] {
            assert_eq!(PageReport::parse(text), None, "{text}");
        }
    }

    #[test]
    fn report_names_scheme_of_link() {
        for scheme in ["tel", "web+shop", "ms-settings"] {
            assert_eq!(PageReport::parse(&format!("link {scheme}")), Some(PageReport::OtherProgram { scheme }));
        }
        for text in ["link", "link ", "link a b", "link tel:", &format!("link {}", "x".repeat(41))] {
            assert_eq!(PageReport::parse(text), None, "{text}");
        }
    }

    #[test]
    fn redirect_names_scheme_of_url_that_is_not_parsed() {
        let scheme = |location| scheme_of_redirect("https://example.com/a", location);
        for (location, expected) in [
            ("steam://[", "steam"),
            ("steam://a b/", "steam"),
            ("android://[x", "android"),
            ("drivefs://[", "drivefs"),
            (" \u{1}St\tea\nm://[", "steam"),
            ("web+a.b-1://[", "web+a.b-1"),
        ] {
            assert_eq!(scheme(location).as_deref(), Some(expected), "{location:?}");
        }
        for location in ["http://[", "HTTPS://a b/", "//[", "1a://[", "a_b://[", "://["] {
            assert_eq!(scheme(location), None, "{location:?}");
        }
        let long = format!("{}://[", "x".repeat(1000));
        assert_eq!(scheme(&long), Some("x".repeat(MAX_SCHEME)));
    }

    #[test]
    fn script_names_each_function_and_quotes_its_own() {
        let script = report_script("a\"b");
        assert_eq!(script.matches(r#"globalThis["a\"b"]"#).count(), 2);
        for (_, name, permission) in FUNCTIONS {
            assert!(script.contains(&format!(r#""{name}","{}""#, permission.as_str())), "{name}");
        }
    }
}
