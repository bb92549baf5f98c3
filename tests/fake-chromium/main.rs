//! A stand-in for Chromium, for tests of its supervisor: it answers on its debugging pipe or port and reports no open tab.
//!
//! It proves nothing about pages, profiles or Chromium's flags, because it has none of them. It never opens a connection, writes
//! outside its profile folder, or runs for longer than ten minutes.
//!
//! A test controls it by files in the folder that `--control-dir=DIR` names:
//!
//! | file | effect |
//! |---|---|
//! | `hold` | nothing is answered while it exists |
//! | `broken` | a start exits at once with code 1 |
//!
//! Every start appends a line to the file `starts` in its profile folder.

#![allow(missing_docs, reason = "a program, not a library")]

mod pipe;
mod port;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Limit for processes that a test failed to end.
const MAX_LIFETIME: Duration = Duration::from_mins(10);

fn main() -> ExitCode {
    let value = |flag: &str| std::env::args().find_map(|argument| Some(argument.strip_prefix(flag)?.to_owned()));
    let control_dir = value("--control-dir=").map(PathBuf::from);
    let is_set = |name: &str| control_dir.as_ref().is_some_and(|folder| folder.join(name).exists());
    let profile = value("--user-data-dir=").map(PathBuf::from);
    if let Some(profile) = &profile
        && let Ok(mut starts) = std::fs::OpenOptions::new().create(true).append(true).open(profile.join("starts"))
    {
        let _ = starts.write_all(b"start\n");
    }
    if is_set("broken") {
        return ExitCode::FAILURE;
    }
    std::thread::spawn(|| {
        std::thread::sleep(MAX_LIFETIME);
        std::process::exit(1);
    });
    while is_set("hold") {
        std::thread::sleep(Duration::from_millis(20));
    }
    let has_pipe = std::env::args().any(|argument| argument == "--remote-debugging-pipe");
    let port = value("--remote-debugging-port=").and_then(|port| port.parse().ok());
    let served = match port {
        _ if has_pipe => pipe::serve(),
        Some(port) => port::serve(port, profile.as_deref().map(Path::to_owned)),
        None => return ExitCode::from(64),
    };
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
