//! A stand-in for Chromium, for tests of its supervisor: it answers on its debugging pipe or port and shows an empty tab.
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
mod tabs;

use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use self::tabs::Tabs;

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
    let tabs = Tabs::new(&["about:blank"]);
    let served = match port {
        _ if has_pipe => pipe::serve(tabs),
        Some(port) => serve_port(port, tabs),
        None => return ExitCode::from(64),
    };
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Serves the debugging port, as a browser does that another program started.
fn serve_port(port: u16, tabs: Tabs) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(tabs.serve(listener))
}
