//! One request to the wall as bytes, and its answer; and the WebSocket of the
//! screen, spoken to as a viewer does.
//!
//! Nothing here tidies up what a test sends, nor turns an answer that is missing
//! into one that is there.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use serde_json::Value;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client::IntoClientRequest, http::HeaderValue};

use super::super::harness::processes::SAFETY_NET;

/// Where the wall listens.
pub(super) const PORT: u16 = 8080;

const JSON: [&str; 2] = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];

/// What came back; a status of 0 if nothing did, as from a server that is just gone.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("the body is JSON: {self:?}"))
    }
}

/// Sends one request to a port of the namespace. `headers` are lines without their ends.
pub(super) fn send(port: u16, line: &str, headers: &[&str], body: &str) -> Reply {
    let nothing = Reply { status: 0, body: String::new() };
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return nothing;
    };
    stream.set_read_timeout(Some(SAFETY_NET)).unwrap();
    let mut text = format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for header in headers {
        text += header;
        text += "\r\n";
    }
    if !body.is_empty() || line.starts_with("POST") {
        text += "Content-Length: ";
        text += &body.len().to_string();
        text += "\r\n";
    }
    // a server that ends meanwhile is an answer that does not come
    let _ = write!(stream, "{text}\r\n{body}");
    receive(stream).unwrap_or(nothing)
}

/// Reads one answer. Not all servers close the connection after it when they are
/// asked to, so its own length counts if it has one.
fn receive(stream: TcpStream) -> Option<Reply> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let (mut length, mut chunked) = (None, false);
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = header.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok(),
            "transfer-encoding" => chunked = true,
            _ => {}
        }
    }
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    if length.is_none() {
        reader.read_to_end(&mut body).ok()?;
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Reply { status, body: if chunked { unchunked(&body) } else { body } })
}

/// A request to the wall without credentials and without a body.
pub(super) fn ask(line: &str) -> Reply {
    send(PORT, line, &[], "")
}

/// JSON to a path of the wall.
pub(super) fn post(path: &str, headers: &[String], body: &str) -> Reply {
    let headers: Vec<&str> = JSON.into_iter().chain(headers.iter().map(String::as_str)).collect();
    send(PORT, &format!("POST {path}"), &headers, body)
}

fn unchunked(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 || more.len() < size {
            break;
        }
        whole += more.get(..size).unwrap_or_default();
        rest = more.get(size + 2..).unwrap_or_default();
    }
    whole
}

/// A WebSocket to any address of the namespace, with a subprotocol or none; the
/// status of the refusal if there is one.
pub(super) fn websocket(address: &str, protocol: Option<&'static str>) -> Result<WebSocket<TcpStream>, u16> {
    let mut request = address.into_client_request().unwrap();
    let authority = request.uri().authority().unwrap().as_str().to_owned();
    if let Some(protocol) = protocol {
        request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static(protocol));
    }
    let stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(SAFETY_NET)).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => Err(answer.status().as_u16()),
        Err(error) => panic!("no handshake with `{address}`: {error}"),
    }
}

/// A viewer of the screen: as much of VNC's protocol as a look at one pixel needs.
pub(super) struct Viewer {
    socket: WebSocket<TcpStream>,
    bytes: Vec<u8>,
}

impl Viewer {
    /// Connects and shakes hands; the status of the refusal if there is one.
    pub(super) fn connect(query: &str) -> Result<Self, u16> {
        let socket = websocket(&format!("ws://127.0.0.1:{PORT}/websockify{query}"), Some("binary"))?;
        let mut viewer = Self { socket, bytes: Vec::new() };
        assert_eq!(viewer.take(12), b"RFB 003.008\n", "the screen says what it speaks");
        viewer.give(b"RFB 003.008\n");
        let kinds = usize::from(viewer.take(1)[0]);
        assert!(viewer.take(kinds).contains(&1), "the screen asks for no password of its own");
        viewer.give(&[1]);
        assert_eq!(viewer.take(4), [0; 4], "the screen lets us in");
        // shared with others
        viewer.give(&[1]);
        let first = viewer.take(24);
        let name = usize::try_from(u32::from_be_bytes(first[20..].try_into().unwrap())).unwrap();
        viewer.take(name);
        Ok(viewer)
    }

    /// Asks for the first pixel, and waits until it is there.
    pub(super) fn look(&mut self) {
        // SetEncodings: raw alone; FramebufferUpdateRequest: all of 1 by 1
        self.give(&[2, 0, 0, 1, 0, 0, 0, 0]);
        self.give(&[3, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
        loop {
            match self.take(1)[0] {
                0 => break,
                2 => {}
                3 => {
                    let length = self.take(7);
                    self.take(usize::try_from(u32::from_be_bytes(length[3..].try_into().unwrap())).unwrap());
                }
                other => panic!("the screen says {other}, which a viewer would not understand"),
            }
        }
        assert_eq!(self.take(3)[1..], [0, 1], "one rectangle");
        assert_eq!(self.take(12), [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], "the one pixel, raw");
        self.take(4);
    }

    fn give(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).expect("the screen listens");
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.bytes.len() < count {
            match self.socket.read().expect("the screen stays open") {
                Message::Binary(more) => self.bytes.extend_from_slice(&more),
                Message::Close(why) => panic!("the screen was closed: {why:?}"),
                _ => {}
            }
        }
        self.bytes.drain(..count).collect()
    }
}
