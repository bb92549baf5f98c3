//! Settings of Chromium's profile that keep the person at the screen on web pages: no pages of Chromium itself, no developer tools, no
//! local files, no file dialogs, and no other profile, which would have other settings.
//!
//! The managed policy has the same values (`rootfs/etc/browser/policies/managed`), but only root can install it. Chromium reads each
//! policy as a setting of its own, and a policy wins over a setting.
//!
//! Invariants: the settings are written by the process that becomes Chromium, under its rules for files, so that no link in the profile
//! leads further than Chromium itself gets.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use thiserror::Error;

use browser_shell_system::os::io_error::describe;
use browser_shell_system::os::text_file;

/// Addresses that are closed, as `URLBlocklist` has them. `*` alone does not match Chromium's own schemes.
const BLOCKED: &[&str] = &[
    "*",
    "chrome://*",
    "chrome-extension://*",
    "chrome-untrusted://*",
    "devtools://*",
    "file://*",
    "javascript://*",
    "view-source://*",
];

/// Exceptions, as `URLAllowlist` has them: web pages and their frames, the window's own frame, and the viewer of PDFs.
const ALLOWED: &[&str] = &[
    "http://*",
    "https://*",
    "about:blank",
    "about:srcdoc",
    "blob:*",
    "data:*",
    "chrome://top-chrome",
    "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai",
];

/// Maximum size of a file of settings, in bytes. Chromium's own have some 10 KB.
const MAX_BYTES: u64 = 16 << 20;

/// Reason why the settings could not be written.
#[derive(Debug, Error)]
#[error("cannot write the settings `{}`: {}", path.display(), describe(source))]
pub struct SettingsError {
    path: PathBuf,
    source: io::Error,
}

/// Returns the settings of the profile and of all profiles: the file below the folder of the profile, and names with values.
fn files() -> [(&'static str, Vec<(&'static str, Value)>); 2] {
    let profile = vec![
        ("policy.url_blocklist", json!(BLOCKED)),
        ("policy.url_allowlist", json!(ALLOWED)),
        ("incognito.mode_availability", json!(1)),
        ("printing.enabled", json!(false)),
    ];
    let all = vec![
        ("select_file_dialogs.allowed", json!(false)),
        ("profile.browser_guest_enabled", json!(false)),
        ("profile.add_person_enabled", json!(false)),
    ];
    [("Default/Preferences", profile), ("Local State", all)]
}

/// Writes the settings into the folder of a profile, beside those that are there.
///
/// # Errors
///
/// Returns an error if a file cannot be written. Chromium must not start then.
pub(super) fn write(profile: &Path) -> Result<(), SettingsError> {
    for (file, settings) in files() {
        let path = profile.join(file);
        // Chromium, too, starts anew from a file that it cannot read.
        let known = text_file::read(&path, MAX_BYTES).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut content = known.unwrap_or_default();
        for (name, value) in settings {
            set(&mut content, name, value);
        }
        replace(&path, &Value::Object(content).to_string()).map_err(|source| SettingsError { path, source })?;
    }
    Ok(())
}

/// Sets a value whose name is a path with dots.
fn set(content: &mut Map<String, Value>, name: &str, value: Value) {
    let Some((first, rest)) = name.split_once('.') else {
        content.insert(name.to_owned(), value);
        return;
    };
    let mut inner = match content.remove(first) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    };
    set(&mut inner, rest, value);
    content.insert(first.to_owned(), Value::Object(inner));
}

/// Replaces a file, or a link of its name.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = path.with_extension("new");
    // What an earlier start left.
    let _ = fs::remove_file(&temporary);
    File::create_new(&temporary)?.write_all(text.as_bytes())?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_values_of_the_managed_policy() {
        let file = "../../rootfs/etc/browser/policies/managed/zz-browser-shell.json";
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("the policy");
        let policy: Value = serde_json::from_str(&text).expect("JSON");
        let names = [
            "URLBlocklist",
            "URLAllowlist",
            "IncognitoModeAvailability",
            "PrintingEnabled",
            "AllowFileSelectionDialogs",
            "BrowserGuestModeEnabled",
            "BrowserAddPersonEnabled",
        ];
        let settings: Vec<_> = files().into_iter().flat_map(|(_, settings)| settings).collect();
        assert_eq!(settings.len(), names.len());
        for ((setting, value), name) in settings.iter().zip(names) {
            assert_eq!(*value, policy[name], "{setting}");
        }
    }

    #[test]
    fn settings_are_set_beside_those_of_the_profile() {
        let profile = tempfile::TempDir::new().expect("a folder");
        let path = profile.path().join("Default/Preferences");
        let read = || serde_json::from_slice::<Value>(&fs::read(&path).expect("written")).expect("JSON");
        write(profile.path()).expect("new");
        assert_eq!(read()["policy"]["url_blocklist"], json!(BLOCKED), "control: a new profile");
        let loose = json!({ "policy": { "url_blocklist": [], "other": 1 }, "printing": 7, "zoom": 2 });
        fs::write(&path, loose.to_string()).expect("written");
        write(profile.path()).expect("again");
        let policy = json!({ "url_blocklist": BLOCKED, "url_allowlist": ALLOWED, "other": 1 });
        assert_eq!((&read()["policy"], &read()["zoom"]), (&policy, &json!(2)));
        assert_eq!(read()["printing"], json!({ "enabled": false }));
        fs::write(&path, "[").expect("written");
        write(profile.path()).expect("a broken file");
        assert_eq!(read()["policy"]["url_blocklist"], json!(BLOCKED));
    }

    #[test]
    fn settings_replace_a_link_instead_of_following_it() {
        let (profile, other) =
            (tempfile::TempDir::new().expect("a folder"), tempfile::NamedTempFile::new().expect("a file"));
        let path = profile.path().join("Local State");
        for name in ["Local State", "Local State.new"] {
            std::os::unix::fs::symlink(other.path(), profile.path().join(name)).expect("a link");
        }
        write(profile.path()).expect("written");
        assert!(fs::symlink_metadata(&path).expect("a file").is_file());
        assert_eq!(fs::read(other.path()).expect("read"), b"");
    }
}
