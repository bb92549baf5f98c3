//! Hosts that log their clients: web sites, bare ports, and a name server.
//!
//! Ports are free ones, because other tests use the usual ones. No request is sent to another machine.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
    sync::{Arc, Mutex},
    thread,
};

/// Addresses of the test network and their names.
pub(super) const SHOP: (Ipv4Addr, &str) = (Ipv4Addr::new(93, 184, 215, 20), "shop.example.com");
pub(super) const NEWS: (Ipv4Addr, &str) = (Ipv4Addr::new(93, 184, 215, 21), "news.example.net");
pub(super) const INTRANET: (Ipv4Addr, &str) = (Ipv4Addr::new(10, 20, 30, 40), "intranet.example.com");
pub(super) const LOCAL: (Ipv4Addr, &str) = (Ipv4Addr::LOCALHOST, "localhost");

/// The log of a host, in order of arrival.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(super) fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(super) fn has(&self, line: &str) -> bool {
        self.lines().iter().any(|seen| seen == line)
    }
}

/// A page of a site: path, header lines, content.
pub(super) type Page = (&'static str, &'static str, Vec<u8>);

/// A web site. Unknown paths return an empty page. The log contains `connection` for each connection, and the path of
/// each request.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) log: Log,
    port: u16,
    name: &'static str,
}

impl Site {
    pub(super) fn start((address, name): (Ipv4Addr, &'static str), pages: Vec<Page>) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("an address of the test network");
        let port = listener.local_addr().unwrap().port();
        let log = serve(listener, move |path| {
            let known = pages.iter().find(|(known, ..)| *known == path);
            known.map_or_else(
                || ("Content-Type: text/html\r\n".to_owned(), EMPTY.to_vec()),
                |(_, header, body)| ((*header).to_owned(), body.clone()),
            )
        });
        Self { log, port, name }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.name, self.port)
    }
}

/// Content of an unknown path.
pub(super) const EMPTY: &[u8] = b"<!doctype html><title>page</title>";

/// Serves the header lines and content that `respond` returns for a path. A header that starts with a status line
/// replaces the default one. The log contains `connection` for each connection, and the path of each request.
pub(super) fn serve(listener: TcpListener, respond: impl Fn(&str) -> (String, Vec<u8>) + Send + Sync + 'static) -> Log {
    let log = Log::default();
    let (respond, seen) = (Arc::new(respond), log.clone());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            seen.add("connection".to_owned());
            let (respond, seen) = (Arc::clone(&respond), seen.clone());
            // A browser may close the connection at any time, so errors are ignored.
            thread::spawn(move || drop(answer(&stream, &*respond, &seen)));
        }
    });
    log
}

fn answer(stream: &TcpStream, respond: &dyn Fn(&str) -> (String, Vec<u8>), log: &Log) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    // A preconnected socket sends nothing.
    let Some(path) = line.split_whitespace().nth(1).map(str::to_owned) else {
        return Ok(());
    };
    log.add(path.clone());
    // The header ends with an empty line.
    while reader.read_line(&mut line)? > 2 {}
    let (header, body) = respond(&path);
    let status = if header.starts_with("HTTP/1.1 ") { "" } else { "HTTP/1.1 200 OK\r\n" };
    let mut out = stream;
    write!(out, "{status}{header}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    out.write_all(&body)
}

/// Binds a UDP port that never responds. The log contains `datagram` for each datagram.
pub(super) fn silent_udp(address: Ipv4Addr, port: u16) -> (Log, u16) {
    let socket = UdpSocket::bind((address, port)).expect("an address of the test network");
    let port = socket.local_addr().unwrap().port();
    let log = Log::default();
    let seen = log.clone();
    thread::spawn(move || {
        while socket.recv_from(&mut [0; 2048]).is_ok() {
            seen.add("datagram".to_owned());
        }
    });
    (log, port)
}

/// Starts a name server for names below `dns.example.com`, which all resolve to the shop. The log contains type and
/// name of each question: `1 a.dns.example.com`.
pub(super) fn name_server(address: Ipv4Addr) -> Log {
    serve_names(address, 60, [SHOP.0; 2])
}

/// Starts a name server that alternates between two addresses, with a TTL of 0.
pub(super) fn alternating_name_server(address: Ipv4Addr, answers: [Ipv4Addr; 2]) -> Log {
    serve_names(address, 0, answers)
}

fn serve_names(address: Ipv4Addr, seconds: u8, answers: [Ipv4Addr; 2]) -> Log {
    let socket = UdpSocket::bind((address, 53)).expect("a loopback address for this test alone");
    let log = Log::default();
    let seen = log.clone();
    thread::spawn(move || {
        let mut packet = [0; 2048];
        while let Ok((length, asker)) = socket.recv_from(&mut packet) {
            let turn = seen.lines().iter().filter(|line| line.starts_with("1 ")).count() % 2;
            if let Some(reply) = reply(&packet[..length], &seen, seconds, answers[turn]) {
                // Errors are ignored, because the client may be gone.
                drop(socket.send_to(&reply, asker));
            }
        }
    });
    log
}

fn reply(packet: &[u8], log: &Log, seconds: u8, to: Ipv4Addr) -> Option<Vec<u8>> {
    let (mut labels, mut at) = (Vec::new(), 12);
    while *packet.get(at)? > 0 {
        let end = at + 1 + usize::from(packet[at]);
        labels.push(String::from_utf8_lossy(packet.get(at + 1..end)?).to_ascii_lowercase());
        at = end;
    }
    let kind = u16::from_be_bytes([*packet.get(at + 1)?, *packet.get(at + 2)?]);
    let name = labels.join(".");
    log.add(format!("{kind} {name}"));
    let known = name.ends_with(".dns.example.com");
    let address = known && kind == 1;
    // The question, flagged as a recursive response.
    let mut reply = packet[..2].to_vec();
    reply.extend([0x81, if known { 0x80 } else { 0x83 }, 0, 1, 0, u8::from(address), 0, 0, 0, 0]);
    reply.extend(packet.get(12..at + 5)?);
    if address {
        // Name pointer, type A, class IN, TTL, four bytes.
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, seconds, 0, 4]);
        reply.extend(to.octets());
    }
    Some(reply)
}
