//! Plain HTTP requests, byte for byte as the script asks.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Opens a connection to a port of this machine.
pub(crate) fn connect(address: Option<&str>, port: u16, within: Duration) -> Result<TcpStream, String> {
    let address: IpAddr = match address {
        Some(text) => text.parse().map_err(|_| format!("`{text}` is not an address"))?,
        None => Ipv4Addr::LOCALHOST.into(),
    };
    let failed = |error: std::io::Error| format!("cannot connect to port {port}: {error}");
    let stream = TcpStream::connect_timeout(&SocketAddr::new(address, port), within).map_err(failed)?;
    stream.set_read_timeout(Some(within)).map_err(failed)?;
    stream.set_write_timeout(Some(within)).map_err(failed)?;
    Ok(stream)
}

/// Sends a request such as `GET /json/list` and returns status and body.
pub(crate) fn request(port: u16, line: &str, headers: Option<&Value>, within: Duration) -> Result<Value, String> {
    let mut stream = connect(None, port, within)?;
    let mut head = format!("{line} HTTP/1.1\r\n");
    let given = headers.and_then(Value::as_object);
    if given.is_none_or(|headers| !headers.contains_key("Host")) {
        let _ = write!(head, "Host: 127.0.0.1:{port}\r\n");
    }
    for (name, value) in given.into_iter().flatten() {
        let _ = write!(head, "{name}: {}\r\n", value.as_str().unwrap_or_default());
    }
    head.push_str("Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).map_err(|error| format!("cannot send the request: {error}"))?;
    let answer = read_answer(&mut stream);
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("no answer to `{line}`: {answer}"))?;
    let status: Option<u16> = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = serde_json::from_str(body).unwrap_or_else(|_| Value::from(body));
    Ok(json!({"status": status, "body": body}))
}

/// Reads to the end of the body, or to the end of the connection.
fn read_answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        answer.extend(buffer.get(..length).unwrap_or_default());
        // Chromium's server keeps a connection open, whatever the request says.
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lines = head.lines().filter_map(|line| line.split_once(':'));
            let expected = lines
                .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .find_map(|(_, length)| length.trim().parse::<usize>().ok());
            if expected.is_some_and(|expected| body.len() >= expected) {
                break;
            }
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}
