//! Hosts of the test network: names, pages and the name server.
//!
//! `tests/e2e/in-test-network` defines the addresses, and the names below must match it. This process serves every
//! page. No file of the machine and no other host is read.

use std::{
    collections::{BTreeSet, HashMap},
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

/// Two public hosts.
pub(crate) const SHOP: &str = "shop.example.com";
pub(crate) const NEWS: &str = "news.example.net";
/// A public host that has only an IPv6 address.
pub(crate) const SIX: &str = "six.example.org";
/// A private host, as in an office network.
pub(crate) const INTRANET: &str = "intranet.example.com";
/// A host with one public and one private address.
pub(crate) const HALF: &str = "half.example.com";
/// A public-looking name that resolves to loopback.
pub(crate) const LOOP: &str = "loop.example.com";

/// A port below 1024 that is not one of the web, on which every host serves the same pages.
pub(crate) const SYSTEM_PORT: u16 = 81;

/// Names that only the name server knows, not the hosts file.
pub(crate) const DNS_PUBLIC: &str = "public.dns.example.com";
pub(crate) const DNS_PRIVATE: &str = "private.dns.example.com";
/// The name server never responds for this name.
pub(crate) const DNS_SILENT: &str = "silent.dns.example.com";
/// The name server reports this name as nonexistent.
pub(crate) const DNS_UNKNOWN: &str = "unknown.dns.example.com";

/// A request that reached the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) host: String,
    pub(crate) path: String,
}

/// Interval between two looks at whether the browser still waits for a held answer.
const LOOK: Duration = Duration::from_millis(20);

/// Answers that a test holds back, by the query of `/held` and `/begun`.
#[derive(Debug, Default)]
struct HeldAnswers {
    state: Mutex<HeldState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct HeldState {
    waiting: Vec<String>,
    released: Vec<String>,
    cut: Vec<String>,
}

impl HeldAnswers {
    /// Waits until the test releases the answer. Returns false if the browser closes the connection before.
    fn hold(&self, name: &str, stream: &TcpStream) -> bool {
        let mut state = self.state.lock().unwrap();
        state.waiting.push(name.to_owned());
        self.changed.notify_all();
        loop {
            if state.released.iter().any(|released| released == name) {
                return true;
            }
            stream.set_nonblocking(true).unwrap();
            let is_closed = !matches!(stream.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
            stream.set_nonblocking(false).unwrap();
            if is_closed {
                state.cut.push(name.to_owned());
                self.changed.notify_all();
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap().0;
        }
    }
}

/// Meetings for which one request waits.
static MEETINGS: (Mutex<BTreeSet<String>>, Condvar) = (Mutex::new(BTreeSet::new()), Condvar::new());

/// The running web server and name server.
#[derive(Debug)]
pub(crate) struct Hosts {
    requests: Arc<Mutex<Vec<Request>>>,
    held: Arc<HeldAnswers>,
}

impl Hosts {
    /// Starts both servers on threads that run as long as the test process.
    pub(crate) fn start() -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let held = Arc::new(HeldAnswers::default());
        // One listener for both families. Without IPv6, only the second address works.
        for port in [80, SYSTEM_PORT] {
            let listener = TcpListener::bind(format!("[::]:{port}"))
                .or_else(|_| TcpListener::bind(format!("0.0.0.0:{port}")))
                .unwrap_or_else(|error| panic!("port {port} of the test network must be free: {error}"));
            let (log, held) = (Arc::clone(&requests), Arc::clone(&held));
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let (log, held) = (Arc::clone(&log), Arc::clone(&held));
                    // A browser may close the connection at any time, so errors are ignored.
                    thread::spawn(move || drop(answer(&stream, &log, &held)));
                }
            });
        }
        let socket = UdpSocket::bind("127.0.0.53:53").expect("port 53 of the test network must be free");
        thread::spawn(move || name_server(&socket));
        Self { requests, held }
    }

    /// Releases the answer to `/held?NAME`, or the rest of `/begun?NAME`.
    pub(crate) fn release(&self, name: &str) {
        self.held.state.lock().unwrap().released.push(name.to_owned());
        self.held.changed.notify_all();
    }

    /// Waits until somebody waits for an answer that is held.
    pub(crate) fn wait_until_asked(&self, name: &str) {
        let state = self.held.state.lock().unwrap();
        let is_asked = |state: &mut HeldState| state.waiting.iter().all(|known| known != name);
        let (state, _) = self.held.changed.wait_timeout_while(state, Duration::from_mins(1), is_asked).unwrap();
        assert!(state.waiting.iter().any(|known| known == name), "nobody asked for `{name}`");
    }

    /// Returns how often somebody asked for an answer that is held, and how often the connection was closed before it.
    pub(crate) fn asked_and_cut(&self, name: &str) -> (usize, usize) {
        let state = self.held.state.lock().unwrap();
        let count = |names: &[String]| names.iter().filter(|known| *known == name).count();
        (count(&state.waiting), count(&state.cut))
    }

    /// Returns the requested paths of one host so far.
    pub(crate) fn paths_of(&self, host: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.host == host).map(|request| request.path.clone()).collect()
    }
}

fn answer(stream: &TcpStream, log: &Mutex<Vec<Request>>, held: &HeldAnswers) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or("/").to_owned();
    let mut host = String::new();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            value.trim().clone_into(&mut host);
        }
    }
    // The browser requests icons by itself, so they are not logged.
    if path != "/favicon.ico" {
        log.lock().unwrap().push(Request { host: host.clone(), path: path.clone() });
    }
    let (route, query) = path.split_once('?').unwrap_or((&path, ""));
    let mut out = stream;
    if let Some(response) = super::gate::pages::response(route) {
        return out.write_all(response.as_bytes());
    }
    match route {
        "/" => page(out, include_str!("../../e2e/pages/shop.html")),
        "/busy" => page(out, include_str!("../../e2e/pages/busy.html")),
        "/stale" => page(out, include_str!("../../e2e/pages/stale.html")),
        "/login" => page(out, include_str!("../../e2e/pages/login.html")),
        "/eight" => page(out, include_str!("../../e2e/pages/eight.html")),
        "/remember" => page(out, include_str!("../../e2e/pages/remember.html")),
        "/tall" => page(out, include_str!("../../e2e/pages/tall.html")),
        "/words" => page(out, include_str!("../../e2e/pages/words.html")),
        "/next" | "/arrived" | "/hello" => page(out, &hello(&host, route)),
        // Answers late, each time that the browser shows it.
        "/late" => {
            thread::sleep(Duration::from_millis(1500));
            page_with(out, "Cache-Control: no-store\r\n", &hello(&host, route))
        }
        // Answers when the test releases it: as a whole, or the rest of a page whose head is there at once.
        "/held" | "/held-nothing" if !held.hold(query, stream) => Ok(()),
        "/held" => page_with(out, "Cache-Control: no-store\r\n", &hello(&host, route)),
        "/held-nothing" => write!(out, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
        "/begun" => {
            write!(
                out,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html><title>Begun</title>"
            )?;
            if held.hold(query, stream) { write!(out, "<h1>The rest</h1>") } else { Ok(()) }
        }
        // A page whose form leads to another one after a number of milliseconds: /form-after?20
        "/form-after" => page(
            out,
            &format!(
                "<!doctype html><title>Form</title><form onsubmit=\"setTimeout(() => location.href='/arrived', {query}); return false\"><button>Send</button></form>"
            ),
        ),
        // A page whose form leads to the address in the query.
        "/form" => page(
            out,
            &format!(
                "<!doctype html><title>Form</title><form onsubmit=\"location.href='{query}'; return false\"><input aria-label=Name><button>Send</button></form>"
            ),
        ),
        // A page in one color: /color?0b7d4f
        "/color" => page(out, &format!("<!doctype html><title>Color</title><body style=\"background: #{query}\">")),
        // Text of the given size in MiB: /big?20
        "/big" => big(out, query.parse().unwrap_or(1)),
        // Redirects by the server (/to) and by the page (/go): /to?http://other/
        "/to" => {
            write!(out, "HTTP/1.1 302 Found\r\nLocation: {query}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        "/go" => page(
            out,
            &format!(
                "<!doctype html><title>Go</title><h1>Go</h1><button id=go onclick=\"location.href='{query}'\">Go</button>"
            ),
        ),
        // Asks for a login: by HTTP authentication with the scheme that the query names, or without one only by its page.
        "/login-wall" => {
            let body = "<!doctype html><title>Login</title><h1>Log in first</h1>";
            let challenge =
                if query.is_empty() { String::new() } else { format!("WWW-Authenticate: {query} realm=\"x\"\r\n") };
            write!(
                out,
                "HTTP/1.1 401 Unauthorized\r\n{challenge}Content-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            )
        }
        // An HTTP error without a page.
        "/no-content" => write!(out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        // Answers when a second request of the same name has arrived: /meet?name
        "/meet" => {
            meet(query);
            page(out, "met")
        }
        // A page that opens the next one in a tab.
        "/later-tab" => page(
            out,
            "<!doctype html><title>Tab</title><button id=open onclick=\"window.open('/meet?later-tab')\">Open</button>",
        ),
        // Accepts the request and never responds. Ends when the browser closes the connection.
        "/never" => {
            let mut rest = [0; 64];
            while reader.read(&mut rest)? > 0 {}
            Ok(())
        }
        _ => write!(out, "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nConnection: close\r\n\r\nnot found"),
    }
}

/// Waits until another thread, of a page or a test, names the same meeting.
pub(crate) fn meet(name: &str) {
    let mut waiting = MEETINGS.0.lock().unwrap();
    if waiting.remove(name) {
        return MEETINGS.1.notify_all();
    }
    waiting.insert(name.to_owned());
    drop(MEETINGS.1.wait_while(waiting, |waiting| waiting.contains(name)));
}

fn page(out: &TcpStream, html: &str) -> std::io::Result<()> {
    page_with(out, "", html)
}

fn page_with(mut out: &TcpStream, headers: &str, html: &str) -> std::io::Result<()> {
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{html}",
        html.len()
    )
}

fn hello(host: &str, route: &str) -> String {
    format!("<!doctype html><title>{host}</title><h1>Hello from {host}</h1><p>This is {route}.</p>")
}

fn big(mut out: &TcpStream, megabytes: usize) -> std::io::Result<()> {
    // "é" makes truncation by bytes differ from truncation by characters.
    let line = format!("<p>{}</p>\n", "text of a very long page, é ".repeat(36));
    let lines = megabytes * 1024 * 1024 / line.len();
    let head = "<!doctype html><meta charset=utf-8><title>Big</title><h1>Big</h1>\n";
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{head}",
        head.len() + lines * line.len()
    )?;
    for _ in 0..lines {
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Answers A queries for the names above. A known name has no records of other types, and other names do not exist.
fn name_server(socket: &UdpSocket) {
    let known: HashMap<&str, [u8; 4]> =
        HashMap::from([(DNS_PUBLIC, [93, 184, 215, 20]), (DNS_PRIVATE, [10, 20, 30, 40])]);
    let mut packet = [0; 1500];
    loop {
        let Ok((length, asker)) = socket.recv_from(&mut packet) else {
            continue;
        };
        let Some((name, end)) = question(&packet[..length]) else {
            continue;
        };
        if name == DNS_SILENT {
            continue;
        }
        let kind = u16::from_be_bytes([packet[end - 4], packet[end - 3]]);
        let address = known.get(name.as_str());
        let answers: u8 = u8::from(address.is_some() && kind == 1);
        let code = if address.is_some() { 0 } else { 3 };
        // The question, flagged as a recursive response.
        let mut reply = packet[..2].to_vec();
        reply.extend([0x81, 0x80 | code, 0, 1, 0, answers, 0, 0, 0, 0]);
        reply.extend(&packet[12..end]);
        if let (Some(address), 1) = (address, answers) {
            // Name pointer, type A, class IN, TTL 60, four bytes.
            reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            reply.extend(address);
        }
        // Errors are ignored, because the client may be gone.
        drop(socket.send_to(&reply, asker));
    }
}

/// Returns the name of a packet's first question and the offset of the question's end.
fn question(packet: &[u8]) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(packet.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
    let end = at + 4;
    (packet.len() >= end).then(|| (labels.join("."), end))
}
