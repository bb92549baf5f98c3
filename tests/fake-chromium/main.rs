//! A stand-in for Chromium, for tests of its supervisor: it responds on its debugging port and reports no open tab.
//!
//! It proves nothing about pages, profiles or Chromium's flags, because it has none of them. It never opens a connection, writes
//! outside its profile folder, or runs for longer than ten minutes.
//!
//! A test controls it by files in the folder that `--control-dir=DIR` names:
//!
//! | file | effect |
//! |---|---|
//! | `starts` | every start appends a line to it |
//! | `hold` | nothing listens on the port while it exists |
//! | `broken` | a start exits at once with code 1 |

#![allow(missing_docs, reason = "a program, not a library")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Limit for processes that a test failed to end.
const MAX_LIFETIME: Duration = Duration::from_mins(10);

fn main() -> ExitCode {
    let value = |flag: &str| std::env::args().find_map(|argument| Some(argument.strip_prefix(flag)?.to_owned()));
    let control_dir = value("--control-dir=").map(PathBuf::from);
    let control_file = |name: &str| control_dir.as_ref().map(|folder| folder.join(name)).filter(|path| path.exists());
    if let Some(path) = control_file("starts")
        && let Ok(mut starts) = std::fs::OpenOptions::new().append(true).open(path)
    {
        let _ = starts.write_all(b"start\n");
    }
    if control_file("broken").is_some() {
        return ExitCode::FAILURE;
    }
    let Some(port) = value("--remote-debugging-port=").and_then(|port| port.parse().ok()) else {
        return ExitCode::from(64);
    };
    std::thread::spawn(|| {
        std::thread::sleep(MAX_LIFETIME);
        std::process::exit(1);
    });
    while control_file("hold").is_some() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) else {
        return ExitCode::FAILURE;
    };
    if let Some(profile) = value("--user-data-dir=") {
        let _ = std::fs::create_dir_all(&profile);
        let _ =
            std::fs::write(Path::new(&profile).join("DevToolsActivePort"), format!("{port}\n/devtools/browser/0\n"));
    }
    let _ = writeln!(std::io::stderr(), "DevTools listening on ws://127.0.0.1:{port}/devtools/browser/0");
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || drop(answer(&stream, port)));
    }
    ExitCode::SUCCESS
}

/// Responds to the requests of one connection until it is closed.
fn answer(stream: &TcpStream, port: u16) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut out = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut header = String::from("-");
        while !header.trim().is_empty() {
            header.clear();
            if reader.read_line(&mut header)? == 0 {
                return Ok(());
            }
        }
        let body = match line.split(' ').nth(1).unwrap_or_default() {
            "/json/version" => format!(
                "{{\"Browser\":\"Stand-in/1.0\",\"Protocol-Version\":\"1.3\",\"webSocketDebuggerUrl\":\"ws://127.0.0.1:{port}/devtools/browser/{}\"}}",
                std::process::id()
            ),
            "/json" | "/json/list" => "[]".to_owned(),
            path if path.starts_with("/json/") => "{}".to_owned(),
            _ => {
                write!(out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
                return Ok(());
            }
        };
        write!(
            out,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}
