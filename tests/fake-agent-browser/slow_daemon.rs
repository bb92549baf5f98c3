//! A daemon that listens only after a file `go` appears in its folder, where each of its starts leaves a file.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::actions::sleep_ms;

/// File name of the script that the real daemon is. It need not exist here.
pub(crate) const SCRIPT: &str = "/daemon.js";

/// Returns true if the session's daemon listens. Otherwise starts it and returns false, as the real CLI does after its
/// own timeout.
pub(crate) fn start(argv: &[String], folder: &str) -> Result<bool, String> {
    let session = argv.iter().skip_while(|word| *word != "--session").nth(1).ok_or("no session")?;
    let sockets = std::env::var_os("AGENT_BROWSER_SOCKET_DIR").ok_or("no folder for sockets")?;
    let socket = PathBuf::from(sockets).join(format!("{session}.sock"));
    if UnixStream::connect(&socket).is_ok() {
        return Ok(true);
    }
    // Left by a daemon that was killed.
    let _ = std::fs::remove_file(&socket);
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("setsid");
    command.arg(program).arg(format!("{folder}{SCRIPT}")).arg(socket);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let daemon = command.spawn().map_err(|error| format!("cannot run `setsid`: {error}"))?.id();
    // Before that it may still be `setsid`.
    while !start_file(folder.as_ref(), daemon).exists() {
        sleep_ms(1);
    }
    Ok(false)
}

/// Runs the daemon.
pub(crate) fn run(script: &Path, socket: &Path) -> ExitCode {
    let Some(folder) = script.parent() else { return ExitCode::FAILURE };
    if std::fs::write(start_file(folder, std::process::id()), "").is_err() {
        return ExitCode::FAILURE;
    }
    while !folder.join("go").exists() {
        sleep_ms(5);
    }
    let Ok(listener) = UnixListener::bind(socket) else { return ExitCode::FAILURE };
    for connection in listener.incoming() {
        drop(connection);
    }
    ExitCode::SUCCESS
}

fn start_file(folder: &Path, daemon: u32) -> PathBuf {
    folder.join(format!("start-{daemon}"))
}
