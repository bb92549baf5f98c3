//! Single requests to the wall as raw bytes, and the screen's WebSocket as a viewer uses it.
//!
//! Requests are sent unchanged, and a missing response is never hidden.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use serde_json::Value;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client::IntoClientRequest, http::HeaderValue};

use super::super::harness::processes::TEST_TIMEOUT;

/// The wall's port.
pub(super) const PORT: u16 = 8080;

const JSON: [&str; 2] = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];

/// An HTTP response. The status is 0 without a response, as from a server that has just ended.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) body: String,
}

impl HttpResponse {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("the body is JSON: {self:?}"))
    }
}

/// Sends a request to a port of the namespace. `headers` are lines without line ends.
pub(super) fn send(port: u16, line: &str, headers: &[&str], body: &str) -> HttpResponse {
    send_to(&format!("127.0.0.1:{port}"), port, line, headers, body)
}

/// Sends a request with another Host.
pub(super) fn send_to(host: &str, port: u16, line: &str, headers: &[&str], body: &str) -> HttpResponse {
    let nothing = HttpResponse { status: 0, body: String::new() };
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return nothing;
    };
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let mut text = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for header in headers {
        text += header;
        text += "\r\n";
    }
    if !body.is_empty() || line.starts_with("POST") {
        text += "Content-Length: ";
        text += &body.len().to_string();
        text += "\r\n";
    }
    // A server that ends in the meantime gives no response.
    let _ = write!(stream, "{text}\r\n{body}");
    receive(stream).unwrap_or(nothing)
}

/// Reads one response. Not all servers close the connection when requested, so a Content-Length or chunked encoding
/// determines the end.
fn receive(stream: TcpStream) -> Option<HttpResponse> {
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
    Some(HttpResponse { status, body: if chunked { unchunked(&body) } else { body } })
}

/// Sends a request to the wall without credentials and body.
pub(super) fn request(line: &str) -> HttpResponse {
    send(PORT, line, &[], "")
}

/// Sends JSON to a path of the wall.
pub(super) fn post(path: &str, headers: &[String], body: &str) -> HttpResponse {
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

/// Opens a WebSocket to an address of the namespace, with an optional subprotocol; the error is the status of the
/// refusal.
pub(super) fn websocket(address: &str, protocol: Option<&'static str>) -> Result<WebSocket<TcpStream>, u16> {
    let mut request = address.into_client_request().unwrap();
    let authority = request.uri().authority().unwrap().as_str().to_owned();
    if let Some(protocol) = protocol {
        request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static(protocol));
    }
    let stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => Err(answer.status().as_u16()),
        Err(error) => panic!("no handshake with `{address}`: {error}"),
    }
}

/// A viewer of the screen: the part of the VNC protocol that reading one pixel needs.
pub(super) struct Viewer {
    socket: WebSocket<TcpStream>,
    bytes: Vec<u8>,
}

impl Viewer {
    /// Connects and completes the handshake; the error is the status of the refusal.
    pub(super) fn connect(query: &str) -> Result<Self, u16> {
        let socket = websocket(&format!("ws://127.0.0.1:{PORT}/websockify{query}"), Some("binary"))?;
        let mut viewer = Self { socket, bytes: Vec::new() };
        assert_eq!(viewer.take(12), b"RFB 003.008\n", "unexpected protocol version of the screen");
        viewer.give(b"RFB 003.008\n");
        let kinds = usize::from(viewer.take(1)[0]);
        assert!(viewer.take(kinds).contains(&1), "the screen must not ask for a password");
        viewer.give(&[1]);
        assert_eq!(viewer.take(4), [0; 4], "the screen must accept the viewer");
        // Shared with other viewers.
        viewer.give(&[1]);
        let first = viewer.take(24);
        let name = usize::try_from(u32::from_be_bytes(first[20..].try_into().unwrap())).unwrap();
        viewer.take(name);
        Ok(viewer)
    }

    /// Requests the first pixel and waits for it.
    pub(super) fn read_pixel(&mut self) {
        // SetEncodings with raw only, then FramebufferUpdateRequest for 1 by 1 pixel.
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
                other => panic!("unknown message {other} from the screen"),
            }
        }
        assert_eq!(self.take(3)[1..], [0, 1], "expected one rectangle");
        assert_eq!(self.take(12), [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], "expected one raw pixel");
        self.take(4);
    }

    fn give(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).expect("cannot send to the screen");
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.bytes.len() < count {
            match self.socket.read().expect("cannot read from the screen") {
                Message::Binary(more) => self.bytes.extend_from_slice(&more),
                Message::Close(why) => panic!("the screen was closed: {why:?}"),
                _ => {}
            }
        }
        self.bytes.drain(..count).collect()
    }
}
