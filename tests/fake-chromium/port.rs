//! The debugging port, for a browser that another program started.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

/// Responds to requests on this port.
pub(crate) fn serve(port: u16, profile: Option<PathBuf>) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    if let Some(profile) = profile {
        let _ = std::fs::create_dir_all(&profile);
        let _ = std::fs::write(profile.join("DevToolsActivePort"), format!("{port}\n/devtools/browser/0\n"));
    }
    let _ = writeln!(std::io::stderr(), "DevTools listening on ws://127.0.0.1:{port}/devtools/browser/0");
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || drop(answer(&stream, port)));
    }
    Ok(())
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
