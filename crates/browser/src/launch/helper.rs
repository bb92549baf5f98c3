//! Helper `launch`: restricts its own process, writes the settings of Chromium's profile, passes the debugging pipe on and becomes
//! Chromium.
//!
//! The settings keep the person at the screen on web pages: no pages of Chromium itself, no developer tools, no local files, no file
//! dialogs, and no other profile, which would have other settings. Nobody, and no agent, goes on to a site whose certificate is not
//! valid. The managed policy has the same values (`rootfs/etc/browser/policies/managed`), but only root can install it. Chromium reads
//! each policy as a setting of its own, and a policy wins over a setting.
//!
//! Invariants: the kernel ends Chromium when the runtime ends; Chromium is not started if a rule cannot be set; the settings are written
//! by the process that becomes Chromium, under its rules for files, so that no link in the profile leads further than Chromium itself
//! gets.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::launch::rules::{LaunchRules, RulesError};
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, parse_config};
use browser_shell_system::os::{describe, files};

/// Hidden first argument of the helper.
pub const SUBCOMMAND: &str = "launch";

/// File descriptors from which Chromium reads commands, and to which it writes answers.
const PIPE: [i32; 2] = [3, 4];

/// Maximum size of a file of settings, in bytes. Chromium's own have some 10 KB.
const MAX_BYTES: u64 = 16 << 20;

/// First argument of the helper, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HelperConfig {
    /// Rules that Chromium starts under.
    #[serde(flatten)]
    pub rules: LaunchRules,
    /// Folder of the profile that gets the settings of every start. Absent for a program that is not Chromium.
    #[serde(default)]
    pub profile: Option<PathBuf>,
}

/// Reason why the helper did not become Chromium.
#[allow(missing_docs, reason = "the message of each variant says it")]
#[derive(Debug, Error)]
pub enum LaunchError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("no program")]
    NoProgram,
    #[error("cannot ask the kernel to end Chromium with the runtime: {0}")]
    DeathSignal(#[source] Errno),
    #[error("cannot pass the debugging pipe on: {0}")]
    Pipe(#[source] Errno),
    #[error("file descriptor `{0}` is in use already; start the program without inherited file descriptors")]
    InheritedDescriptor(i32),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot start `{}`: {}", program.display(), describe(source))]
    Exec { program: PathBuf, source: io::Error },
}

/// Restricts this process and becomes Chromium. Standard input and output are the debugging pipe.
///
/// # Errors
///
/// Returns an error if a rule cannot be set or Chromium cannot be started. The process must end then.
pub fn run(arguments: HelperArguments<'_>) -> Result<Infallible, LaunchError> {
    let HelperConfig { rules, profile } = parse_config(arguments)?;
    let program = PathBuf::from(arguments.next().ok_or(LaunchError::NoProgram)?);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(LaunchError::DeathSignal)?;
    pass_pipe_on()?;
    rules.apply()?;
    if let Some(profile) = profile {
        write_settings(&profile)?;
    }
    // These replace the pipe's ends, so that nothing but the debugging interface uses them.
    let source = Command::new(&program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).exec();
    Err(LaunchError::Exec { program, source })
}

/// Duplicates standard input and output to the descriptors of the pipe, which remain open in Chromium.
fn pass_pipe_on() -> Result<(), LaunchError> {
    let [commands, answers] = PIPE;
    keep(rustix::io::dup(io::stdin()).map_err(LaunchError::Pipe)?, commands)?;
    keep(rustix::io::dup(io::stdout()).map_err(LaunchError::Pipe)?, answers)
}

/// Keeps a descriptor open if it has this number, which is the lowest free one unless something was inherited.
fn keep(descriptor: OwnedFd, number: i32) -> Result<(), LaunchError> {
    if descriptor.into_raw_fd() == number { Ok(()) } else { Err(LaunchError::InheritedDescriptor(number)) }
}

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

/// Reason why the settings could not be written.
#[derive(Debug, Error)]
#[error("cannot write the settings `{}`: {}", path.display(), describe(source))]
pub struct SettingsError {
    path: PathBuf,
    source: io::Error,
}

/// Returns the settings of the profile and of all profiles: the file below the folder of the profile, and names with values.
fn settings() -> [(&'static str, Vec<(&'static str, Value)>); 2] {
    let profile = vec![
        ("policy.url_blocklist", json!(BLOCKED)),
        ("policy.url_allowlist", json!(ALLOWED)),
        ("incognito.mode_availability", json!(1)),
        ("printing.enabled", json!(false)),
        // A page whose certificate is not valid stays closed: agents would go on to it as people do.
        ("ssl.error_override_allowed", json!(false)),
        // No person at the screen gives the browser itself an account.
        ("signin.allowed_on_next_startup", json!(false)),
    ];
    let all = vec![
        ("select_file_dialogs.allowed", json!(false)),
        ("profile.browser_guest_enabled", json!(false)),
        ("profile.add_person_enabled", json!(false)),
        // No scheme of HTTP authentication is known: Chromium would ask in a window that takes the tab's input, and nobody answers it.
        ("auth.schemes", json!("")),
    ];
    [("Default/Preferences", profile), ("Local State", all)]
}

/// Writes the settings into the folder of a profile, beside those that are there.
///
/// # Errors
///
/// Returns an error if a file cannot be written. Chromium must not start then.
fn write_settings(profile: &Path) -> Result<(), SettingsError> {
    for (file, settings) in settings() {
        let path = profile.join(file);
        // Chromium, too, starts anew from a file that it cannot read.
        let known = files::read(&path, MAX_BYTES).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
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
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn launch_helper_requires_rules_and_program() {
        let rules = r#"{"connect": [1], "landlock": 0, "seccomp": false}"#;
        for line in [&[][..], &["{}", "/bin/true"], &["", "/bin/true"], &[rules]] {
            let line: Vec<OsString> = line.iter().map(OsString::from).collect();
            assert!(run(&mut line.clone().into_iter()).is_err(), "{line:?}");
        }
    }

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
            "SSLErrorOverrideAllowed",
            "BrowserSignin",
            "AllowFileSelectionDialogs",
            "BrowserGuestModeEnabled",
            "BrowserAddPersonEnabled",
            "AuthSchemes",
        ];
        let settings: Vec<_> = settings().into_iter().flat_map(|(_, settings)| settings).collect();
        assert_eq!(settings.len(), names.len());
        for ((setting, value), name) in settings.iter().zip(names) {
            // Chromium reads this number as a setting that is true or false.
            let expected = if name == "BrowserSignin" { json!(policy[name] != 0) } else { policy[name].clone() };
            assert_eq!(*value, expected, "{setting}");
        }
    }

    #[test]
    fn settings_are_set_beside_those_of_the_profile() {
        let profile = tempfile::TempDir::new().expect("a folder");
        let path = profile.path().join("Default/Preferences");
        let read = || serde_json::from_slice::<Value>(&fs::read(&path).expect("written")).expect("JSON");
        write_settings(profile.path()).expect("new");
        assert_eq!(read()["policy"]["url_blocklist"], json!(BLOCKED), "control: a new profile");
        let loose = json!({ "policy": { "url_blocklist": [], "other": 1 }, "printing": 7, "zoom": 2 });
        fs::write(&path, loose.to_string()).expect("written");
        write_settings(profile.path()).expect("again");
        let policy = json!({ "url_blocklist": BLOCKED, "url_allowlist": ALLOWED, "other": 1 });
        assert_eq!((&read()["policy"], &read()["zoom"]), (&policy, &json!(2)));
        assert_eq!(read()["printing"], json!({ "enabled": false }));
        fs::write(&path, "[").expect("written");
        write_settings(profile.path()).expect("a broken file");
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
        write_settings(profile.path()).expect("written");
        assert!(fs::symlink_metadata(&path).expect("a file").is_file());
        assert_eq!(fs::read(other.path()).expect("read"), b"");
    }
}
