//! Command line, environment and rules of the display, and the helper `launch-display`, which restricts its own process and becomes the
//! X server.
//!
//! Invariants: the kernel ends the X server when its server ends; it is not started if a rule cannot be set.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::Errno;
use rustix::process::Signal;
use thiserror::Error;

use crate::launch::rules::{FileRules, LaunchRules, RulesError};
use browser_shell_system::confinement::KernelFeatures;
use browser_shell_system::os::describe;
use browser_shell_system::os::exec::{child_path, find_on_path};
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, parse_config};

/// Folder of the sockets of X servers.
pub const SOCKETS: &str = "/tmp/.X11-unix";

/// Folder of the display's lock file, its socket and the keymap that `xkbcomp` compiles: the X server gives no choice.
const TEMPORARY: &str = "/tmp";

/// Folder of compiled keymaps, if root starts the X server.
const KEYMAPS: &str = "/var/lib/xkb";

/// Configuration of the display.
#[derive(Clone, Debug)]
pub struct DisplayConfig {
    /// Path of `Xvnc`.
    pub server: PathBuf,
    /// Private folder. Its paths are fit for sockets.
    pub folder: PathBuf,
    /// Width and height, in pixels.
    pub size: (u16, u16),
}

/// Files of one start of the display.
#[derive(Clone, Debug)]
pub(super) struct DisplayFiles {
    /// Folder with a name that cannot be guessed: no rule of an older kernel keeps a program from a socket whose path it knows.
    pub folder: PathBuf,
    /// Number of the display.
    pub number: u16,
    /// Cookie file.
    pub authority: PathBuf,
    /// Socket of the screen.
    pub socket: PathBuf,
}

impl DisplayFiles {
    /// Returns the files of a start in a folder.
    pub(super) fn new(folder: PathBuf, number: u16) -> Self {
        Self { number, authority: folder.join("authority"), socket: folder.join("screen"), folder }
    }
}

impl DisplayConfig {
    /// Returns the command line of the X server. It takes the number of the display by a lock file. With `-displayfd` it would choose
    /// one itself, but without a lock, and take the socket of another server.
    fn arguments(&self, files: &DisplayFiles) -> Vec<OsString> {
        let (width, height) = self.size;
        let mut arguments: Vec<OsString> = vec![format!(":{}", files.number).into()];
        arguments.extend(["-depth", "24", "-geometry"].map(OsString::from));
        arguments.push(format!("{width}x{height}").into());
        arguments.extend(["-auth".into(), files.authority.clone().into_os_string()]);
        // No port and no abstract socket, which have no folder.
        arguments.extend(
            ["-nolisten", "tcp", "-nolisten", "local", "-rfbport", "-1", "-rfbunixmode", "384"].map(OsString::from),
        );
        arguments.extend(["-rfbunixpath".into(), files.socket.clone().into_os_string()]);
        // The bridge decides who may connect. Viewers that leave early count as failed logins, after which all would be refused.
        arguments.extend(["-SecurityTypes", "None", "-AlwaysShared", "-UseBlacklist=0"].map(OsString::from));
        // A page keeps the size that the agent knows; what is selected is not copied before it is asked for.
        arguments.extend(["-AcceptSetDesktopSize=0", "-SendPrimary=0", "-SetPrimary=0"].map(OsString::from));
        arguments.extend(["-noreset", "-desktop", "browser-shell"].map(OsString::from));
        arguments
    }

    /// Returns the command that starts the helper, with an environment made from scratch.
    pub(super) fn command(&self, files: &DisplayFiles) -> Command {
        let KernelFeatures { landlock, seccomp } = KernelFeatures::detect();
        let mut rules = FileRules::of_system(false);
        rules.add_program(&self.server, &[&self.folder]);
        rules.write.extend([files.folder.clone(), TEMPORARY.into(), KEYMAPS.into()]);
        let rules = LaunchRules { connect: Vec::new(), bind: Vec::new(), files: rules, landlock, seccomp };
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(SUBCOMMAND)
            .arg(serde_json::to_string(&rules).unwrap_or_default())
            .arg(&self.server)
            .args(self.arguments(files))
            .env_clear()
            .env("HOME", &files.folder)
            .env("LANG", "C.UTF-8")
            .env("PATH", child_path())
            .current_dir(&files.folder)
            .process_group(0);
        command
    }
}

/// Returns the X server to start: the configured one if it exists, else the first on PATH.
#[must_use]
pub fn find(configured: Option<&Path>) -> Option<PathBuf> {
    match configured {
        Some(path) => std::path::absolute(path).ok().filter(|path| path.is_file()),
        None => ["Xvnc", "Xtigervnc"].into_iter().find_map(find_on_path),
    }
}

/// Hidden first argument of the helper.
pub const SUBCOMMAND: &str = "launch-display";

/// Reason why the helper did not become the X server.
#[allow(missing_docs, reason = "the message of each variant says it")]
#[derive(Debug, Error)]
pub enum DisplayHelperError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("no program")]
    NoProgram,
    #[error("cannot ask the kernel to end the display with its server: {0}")]
    DeathSignal(#[source] Errno),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error("cannot start `{}`: {}", program.display(), describe(source))]
    Exec { program: PathBuf, source: io::Error },
}

/// Restricts this process and becomes the X server.
///
/// # Errors
///
/// Returns an error if a rule cannot be set or the X server cannot be started. The process must end then.
pub fn run(arguments: HelperArguments<'_>) -> Result<Infallible, DisplayHelperError> {
    let rules: LaunchRules = parse_config(arguments)?;
    let program = PathBuf::from(arguments.next().ok_or(DisplayHelperError::NoProgram)?);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(DisplayHelperError::DeathSignal)?;
    rules.apply()?;
    let source = Command::new(&program).args(arguments).exec();
    Err(DisplayHelperError::Exec { program, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_listens_on_private_socket_only() {
        let config = DisplayConfig { server: "/usr/bin/Xvnc".into(), folder: "/run/b/d".into(), size: (1280, 800) };
        let files = DisplayFiles::new("/run/b/d/0123".into(), 1234);
        let arguments = config.arguments(&files);
        let lines: Vec<_> = arguments.iter().map(|argument| argument.to_str().expect("text")).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
