//! Stand-in for a viewer: the part of RFB that reading the screen and sending input need.

use std::net::TcpStream;
use std::thread::{self, JoinHandle};

use tokio_tungstenite::tungstenite::{Error, HandshakeError, Message, WebSocket, client};

use super::super::harness::processes::TEST_TIMEOUT;

/// A connected viewer.
pub(super) struct Viewer {
    socket: WebSocket<TcpStream>,
    bytes: Vec<u8>,
    pub(super) size: (u16, u16),
    pub(super) name: String,
}

/// Encodings of a viewer that takes pictures of pages: Tight, a JPEG quality, and changes of size and name.
pub(super) const PICTURES: [i32; 4] = [7, -26, -223, -307];

/// Update of a screen that shows pages.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// No page, but a text.
    Black,
    Jpeg(Vec<u8>),
    Size((u16, u16)),
    Name(String),
}

impl Viewer {
    /// Connects and completes the handshake. The error is the status of the refusal.
    pub(super) fn connect(port: u16, ticket: &str) -> Result<Self, u16> {
        // Raw only.
        Self::connect_with(port, &format!("ticket={ticket}"), &[0])
    }

    /// Connects with a query and encodings.
    pub(super) fn connect_with(port: u16, query: &str, encodings: &[i32]) -> Result<Self, u16> {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let socket = match client(format!("ws://127.0.0.1:{port}/websockify?{query}"), stream) {
            Ok((socket, _)) => socket,
            Err(HandshakeError::Failure(Error::Http(response))) => return Err(response.status().as_u16()),
            Err(error) => panic!("no handshake: {error}"),
        };
        let mut viewer = Self { socket, bytes: Vec::new(), size: (0, 0), name: String::new() };
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
        viewer.name = String::from_utf8(viewer.take(usize::try_from(name).unwrap())).unwrap();
        let list: Vec<u8> = encodings.iter().flat_map(|number| number.to_be_bytes()).collect();
        viewer.give(&[&[2, 0, 0, u8::try_from(encodings.len()).unwrap()][..], &list].concat());
        Ok(viewer)
    }

    /// Gives what nobody reads as little room as there is on this side, so that the connection is full soon.
    pub(super) fn narrow(&self) {
        rustix::net::sockopt::set_socket_recv_buffer_size(self.socket.get_ref(), 4096).unwrap();
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

    /// Asks a screen that shows pages for an update, and returns it.
    pub(super) fn update(&mut self, is_incremental: bool) -> Update {
        let (width, height) = self.size;
        let request = [&[3, u8::from(is_incremental), 0, 0, 0, 0][..], &width.to_be_bytes(), &height.to_be_bytes()];
        self.give(&request.concat());
        let head = self.take(16);
        assert_eq!(head[..2], [0, 0]);
        let others = usize::from(u16::from_be_bytes([head[2], head[3]]) - 1);
        let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let size = (number(8), number(10));
        match i32::from_be_bytes(head[12..].try_into().unwrap()) {
            -223 => {
                self.size = size;
                Update::Size(size)
            }
            -307 => {
                let length = u32::from_be_bytes(self.take(4).try_into().unwrap());
                self.name = String::from_utf8(self.take(usize::try_from(length).unwrap())).unwrap();
                Update::Name(self.name.clone())
            }
            7 => {
                assert_eq!(size, self.size, "the whole screen");
                match self.take(1)[0] {
                    0x80 => {
                        self.take(3);
                        // The points of its text.
                        self.take(others * 16);
                        Update::Black
                    }
                    0x90 => {
                        let mut length = 0;
                        for shift in [0, 7, 14] {
                            let byte = usize::from(self.take(1)[0]);
                            length |= if shift == 14 { byte << shift } else { (byte & 0x7f) << shift };
                            if byte & 0x80 == 0 {
                                break;
                            }
                        }
                        Update::Jpeg(self.take(length))
                    }
                    other => panic!("unknown form {other} of Tight"),
                }
            }
            other => panic!("unknown encoding {other}"),
        }
    }

    /// Returns the picture that the page has now.
    pub(super) fn picture(&mut self) -> Vec<u8> {
        loop {
            if let Update::Jpeg(jpeg) = self.update(false) {
                return jpeg;
            }
        }
    }

    /// Clicks at a point of the screen.
    pub(super) fn click(&mut self, (x, y): (u16, u16)) {
        for buttons in [0, 1, 0] {
            self.give(&[&[5, buttons][..], &x.to_be_bytes(), &y.to_be_bytes()].concat());
        }
    }

    /// Types a character.
    pub(super) fn key(&mut self, character: u8) {
        for down in [1, 0] {
            self.give(&[4, down, 0, 0, 0, 0, 0, character]);
        }
    }

    /// Presses a key and the left button at a point of the screen, and releases neither.
    pub(super) fn hold(&mut self, character: u8, (x, y): (u16, u16)) {
        self.give(&[4, 1, 0, 0, 0, 0, 0, character]);
        self.give(&[&[5, 1][..], &x.to_be_bytes(), &y.to_be_bytes()].concat());
    }

    /// Asks for everything without reading an answer. Returns false if the connection has ended.
    pub(super) fn ask(&mut self) -> bool {
        self.socket.send(Message::binary(self.request_for_all())).is_ok()
    }

    /// Asks for everything so many times in one message, without reading an answer.
    pub(super) fn ask_often(&mut self, times: usize) {
        self.give(&self.request_for_all().repeat(times));
    }

    fn request_for_all(&self) -> Vec<u8> {
        let (width, height) = self.size;
        [&[3, 0, 0, 0, 0, 0][..], &width.to_be_bytes(), &height.to_be_bytes()].concat()
    }

    /// Sends bytes, and returns the code with which the connection is then closed.
    pub(super) fn closed_after(mut self, bytes: &[u8]) -> u16 {
        self.give(bytes);
        self.closed()
    }

    /// Returns the code with which the connection is closed, from a thread that reads and answers pings until then.
    pub(super) fn closed_later(self) -> JoinHandle<u16> {
        thread::spawn(|| self.closed())
    }

    fn closed(mut self) -> u16 {
        loop {
            if let Message::Close(frame) = self.socket.read().expect("a closing frame") {
                return frame.expect("a code").code.into();
            }
        }
    }

    /// Sends bytes in messages of this size.
    pub(super) fn give_in_pieces(&mut self, bytes: &[u8], size: usize) {
        bytes.chunks(size).for_each(|piece| self.give(piece));
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
