//! Checks of the programs that `browser-shell serve` starts, with the packages that have them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::api::public_port::ViewerFiles;
use crate::cli::doctor::age::with_age;
use crate::cli::doctor::check::Check;
use crate::cli::serve::ScreenChoice;
use browser_shell_browser::display;
use browser_shell_browser::launch;
use browser_shell_system::os::programs::find_on_path;
use browser_shell_system::os::text_file;

/// Folder of the viewer in Debian's package.
const NOVNC: &str = "/usr/share/novnc";

/// Folders of managed policies, by the distributions of Chromium.
const MANAGED: &[&str] = &[
    "/etc/chromium/policies/managed",
    "/etc/chromium-browser/policies/managed",
    "/etc/opt/chrome/policies/managed",
    "/etc/browser/policies/managed",
];

/// Maximum size of a file of policies, in bytes.
const MAX_POLICY: u64 = 1 << 20;

/// Checks everything that the server needs besides agent-browser, with this screen.
pub(super) fn checks(screen: ScreenChoice) -> Vec<Check> {
    match screen {
        ScreenChoice::Xvnc => vec![chromium(), managed_policy(MANAGED), xvnc(), keymaps(), novnc(Path::new(NOVNC))],
        ScreenChoice::Cast => vec![chromium(), novnc(Path::new(NOVNC))],
        ScreenChoice::None => vec![chromium()],
    }
}

fn chromium() -> Check {
    match launch::find(None) {
        Some(path) => with_age(Check::passed("chromium", path.display().to_string()), &path),
        None => {
            Check::failed("chromium", "not on PATH", "install the package chromium, or give its path with --chromium")
        }
    }
}

/// Checks that Chromium finds a policy that closes addresses. People at a display have its menus.
fn managed_policy(folders: &[&str]) -> Check {
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let has_list = |path: &Path| {
        let policy =
            text_file::read(path, MAX_POLICY).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        policy.is_some_and(|policy| policy.get("URLBlocklist").is_some())
    };
    match files.map(|file| file.path()).find(|path| has_list(path)) {
        Some(path) => Check::passed("managed policy", path.display().to_string()),
        None => Check::warned(
            "managed policy",
            "none closes addresses. Settings of the profile keep people at the screen from pages of Chromium, developer tools and file \
             dialogs, but not from what else its menus offer",
            "as root, copy `zz-browser-shell.json` of a release to /etc/chromium/policies/managed/",
        ),
    }
}

fn xvnc() -> Check {
    if let Some(path) = display::find(None) {
        return Check::passed("xvnc", path.display().to_string());
    }
    let fix = "install the package tigervnc-standalone-server, or serve with `--screen cast` or `--screen none`";
    Check::failed("xvnc", "not on PATH", fix)
}

/// Checks the program by which Xvnc makes its keymap when it starts.
fn keymaps() -> Check {
    if let Some(path) = find_on_path("xkbcomp") {
        return Check::passed("xkbcomp", path.display().to_string());
    }
    let fix = "install the package x11-xkb-utils, or serve with `--screen cast` or `--screen none`";
    Check::failed("xkbcomp", "not on PATH", fix)
}

fn novnc(folder: &Path) -> Check {
    match ViewerFiles::read(folder) {
        Ok(_) => Check::passed("novnc", folder.display().to_string()),
        Err(error) => {
            let fix = "install the package novnc, or give its folder with --novnc, or serve with `--screen none`";
            Check::failed("novnc", error.to_string(), fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::Severity;

    #[test]
    fn missing_managed_policy_is_a_warning() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let folders = ["/nonexistent", folder.path().to_str().expect("text")];
        fs::write(folder.path().join("other.json"), r#"{ "ShowHomeButton": true }"#).expect("written");
        assert_eq!(managed_policy(&folders).level, Severity::Warn);
        fs::write(folder.path().join("zz.json"), r#"{ "URLBlocklist": ["*"] }"#).expect("written");
        assert_eq!(managed_policy(&folders).level, Severity::Ok, "control");
    }
}
