//! Checks of the programs that `browser-shell serve` starts, with the packages that have them.

use std::path::Path;

use crate::api::public_port::ViewerFiles;
use crate::browser::display;
use crate::browser::launch;
use crate::cli::doctor::check::Check;
use crate::cli::serve::ScreenChoice;
use crate::installation::locate::find_on_path;

/// Folder of the viewer in Debian's package.
const NOVNC: &str = "/usr/share/novnc";

/// Checks everything that the server needs besides agent-browser, with this screen.
pub(super) fn checks(screen: ScreenChoice) -> Vec<Check> {
    match screen {
        ScreenChoice::Xvnc => vec![chromium(), xvnc(), keymaps(), novnc(Path::new(NOVNC))],
        ScreenChoice::Cast => vec![chromium(), novnc(Path::new(NOVNC))],
        ScreenChoice::None => vec![chromium()],
    }
}

fn chromium() -> Check {
    match launch::find(None) {
        Some(path) => Check::passed("chromium", path.display().to_string()),
        None => {
            Check::failed("chromium", "not on PATH", "install the package chromium, or give its path with --chromium")
        }
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
