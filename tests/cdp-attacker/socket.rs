//! A WebSocket of the debugging interface, and every message that has arrived on it.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::{
    Error, Message, WebSocket, client,
    client::IntoClientRequest,
    handshake::HandshakeError,
    http::{HeaderName, HeaderValue},
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use crate::http;

/// An open WebSocket.
pub(crate) struct Socket {
    inner: WebSocket<TcpStream>,
    last_id: u64,
    /// Events that no step has asked for yet.
    events: Vec<Value>,
    /// Every message that has arrived.
    received: Vec<Value>,
}

impl Socket {
    /// Connects to a URL of this machine.
    pub(crate) fn open(port: u16, url: &str, headers: Option<&Value>, within: Duration) -> Result<Self, String> {
        let stream = http::connect(None, port, within)?;
        let mut request = url.into_client_request().map_err(|error| format!("`{url}`: {error}"))?;
        for (name, value) in headers.and_then(Value::as_object).into_iter().flatten() {
            let name: HeaderName = name.parse().map_err(|_| format!("`{name}` is not the name of a header"))?;
            let value = HeaderValue::from_str(value.as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
            request.headers_mut().insert(name, value);
        }
        match client(request, stream) {
            Ok((inner, _)) => Ok(Self { inner, last_id: 0, events: Vec::new(), received: Vec::new() }),
            Err(HandshakeError::Failure(Error::Http(response))) => {
                Err(format!("status {}", response.status().as_u16()))
            }
            Err(error) => Err(format!("no WebSocket: {error}")),
        }
    }

    /// Sends a command without waiting for its answer. Returns its id.
    pub(crate) fn send(&mut self, command: &Value) -> Result<u64, String> {
        self.last_id += 1;
        let mut message = Map::from_iter([("id".to_owned(), self.last_id.into())]);
        for (name, member) in [("method", "method"), ("params", "params"), ("session", "sessionId")] {
            if let Some(value) = command.get(name) {
                message.insert(member.to_owned(), value.clone());
            }
        }
        self.send_message(Message::text(Value::Object(message).to_string()))?;
        Ok(self.last_id)
    }

    pub(crate) fn send_text(&mut self, text: String) -> Result<(), String> {
        self.send_message(Message::text(text))
    }

    pub(crate) fn send_binary(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        self.send_message(Message::binary(bytes))
    }

    /// Sends bytes in a text frame, valid or not.
    pub(crate) fn send_as_text(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        self.send_message(Message::Frame(Frame::message(bytes, OpCode::Data(Data::Text), true)))
    }

    /// Sends one text message in several frames.
    pub(crate) fn send_fragments(&mut self, parts: &[String]) -> Result<(), String> {
        for (number, part) in parts.iter().enumerate() {
            let kind = if number == 0 { Data::Text } else { Data::Continue };
            let frame = Frame::message(part.clone().into_bytes(), OpCode::Data(kind), number + 1 == parts.len());
            self.send_message(Message::Frame(frame))?;
        }
        Ok(())
    }

    fn send_message(&mut self, message: Message) -> Result<(), String> {
        self.inner.send(message).map_err(|error| format!("cannot send: {error}"))
    }

    /// Waits for the answer to a command. Events before it are kept.
    pub(crate) fn answer(&mut self, id: u64, within: Duration) -> Result<Value, String> {
        let end = Instant::now() + within;
        loop {
            let message = self.read(end)?;
            if message.get("id").and_then(Value::as_u64) == Some(id) {
                return Ok(message);
            }
            self.events.push(message);
        }
    }

    /// Waits for the next message that is not an event.
    pub(crate) fn next_message(&mut self, within: Duration) -> Result<Value, String> {
        let end = Instant::now() + within;
        loop {
            let message = self.read(end)?;
            if message.get("method").is_none() {
                return Ok(message);
            }
            self.events.push(message);
        }
    }

    /// Waits for an event, or takes it from those that have arrived.
    pub(crate) fn event(&mut self, method: &str, within: Duration) -> Result<Value, String> {
        let end = Instant::now() + within;
        loop {
            if let Some(index) =
                self.events.iter().position(|event| event.get("method").is_some_and(|own| own == method))
            {
                return Ok(self.events.remove(index));
            }
            let message = self.read(end)?;
            self.events.push(message);
        }
    }

    /// Returns the methods of all events, and of the messages that contain each text.
    pub(crate) fn search(&self, texts: &[Value]) -> Value {
        let method = |message: &Value| message.get("method").and_then(Value::as_str).unwrap_or("answer").to_owned();
        let found = |text: &Value| {
            let text = text.as_str().unwrap_or_default();
            let messages = self.received.iter().filter(|message| message.to_string().contains(text));
            messages.map(method).collect::<BTreeSet<_>>()
        };
        let methods: BTreeSet<_> = self.received.iter().map(method).collect();
        json!({"methods": methods, "found": texts.iter().map(found).collect::<Vec<_>>()})
    }

    fn read(&mut self, end: Instant) -> Result<Value, String> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("timed out".to_owned());
            }
            drop(self.inner.get_ref().set_read_timeout(Some(left)));
            match self.inner.read() {
                Ok(Message::Text(text)) => {
                    let message: Value =
                        serde_json::from_str(&text).map_err(|error| format!("not JSON: {error}: {text}"))?;
                    self.received.push(message.clone());
                    return Ok(message);
                }
                Ok(Message::Close(frame)) => {
                    return Err(format!("closed: {}", frame.map(|frame| frame.to_string()).unwrap_or_default()));
                }
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(format!("closed: {error}")),
            }
        }
    }
}
