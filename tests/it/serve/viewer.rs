//! Stand-in for a viewer: the part of RFB that reading the screen and sending input need.

use std::net::TcpStream;

use tokio_tungstenite::tungstenite::{Error, HandshakeError, Message, WebSocket, client};

use super::super::harness::processes::TEST_TIMEOUT;

/// A connected viewer.
pub(super) struct Viewer {
    socket: WebSocket<TcpStream>,
    bytes: Vec<u8>,
    pub(super) size: (u16, u16),
}

impl Viewer {
    /// Connects and completes the handshake. The error is the status of the refusal.
    pub(super) fn connect(port: u16, ticket: &str) -> Result<Self, u16> {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let socket = match client(format!("ws://127.0.0.1:{port}/websockify?ticket={ticket}"), stream) {
            Ok((socket, _)) => socket,
            Err(HandshakeError::Failure(Error::Http(response))) => return Err(response.status().as_u16()),
            Err(error) => panic!("no handshake: {error}"),
        };
        let mut viewer = Self { socket, bytes: Vec::new(), size: (0, 0) };
        assert_eq!(viewer.take(12), b"RFB 003.008\n");
        viewer.give(b"RFB 003.008\n");
        assert_eq!(viewer.take(2), [1, 1], "no authentication of the display's own");
        viewer.give(&[1]);
        assert_eq!(viewer.take(4), [0; 4]);
        // Not shared, which would disconnect the others.
        viewer.give(&[0]);
        let first = viewer.take(24);
        viewer.size = (u16::from_be_bytes([first[0], first[1]]), u16::from_be_bytes([first[2], first[3]]));
        let name = u32::from_be_bytes(first[20..24].try_into().unwrap());
        viewer.take(usize::try_from(name).unwrap());
        // Raw only.
        viewer.give(&[2, 0, 0, 1, 0, 0, 0, 0]);
        Ok(viewer)
    }

    /// Returns the colors of one line of the screen, each as red, green and blue.
    pub(super) fn read_line(&mut self, y: u16) -> Vec<[u8; 3]> {
        let width = self.size.0;
        let parts = [&[3, 0, 0, 0][..], &y.to_be_bytes(), &width.to_be_bytes(), &[0, 1]];
        self.give(&parts.concat());
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
        let count = u16::from_be_bytes(self.take(3)[1..].try_into().unwrap());
        let mut line = Vec::new();
        for _ in 0..count {
            let head = self.take(12);
            let sides = [4, 6].map(|at| usize::from(u16::from_be_bytes([head[at], head[at + 1]])));
            let pixels = self.take(sides[0] * sides[1] * 4);
            line.extend(pixels.chunks(4).map(|pixel| [pixel[2], pixel[1], pixel[0]]));
        }
        line
    }

    /// Types a character.
    pub(super) fn key(&mut self, character: u8) {
        for down in [1, 0] {
            self.give(&[4, down, 0, 0, 0, 0, 0, character]);
        }
    }

    /// Sends bytes, and returns the code with which the connection is then closed.
    pub(super) fn closed_after(mut self, bytes: &[u8]) -> u16 {
        self.give(bytes);
        loop {
            if let Message::Close(frame) = self.socket.read().expect("a closing frame") {
                return frame.expect("a code").code.into();
            }
        }
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
