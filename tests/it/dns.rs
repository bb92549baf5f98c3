//! Name resolution (spec [2.5]) with a DNS server in the test.
//!
//! `resolv.conf` has no ports, so the server needs port 53 of a loopback address, which requires the test network.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use browser_shell::testing::{Dns, LookupError};
use hickory_resolver::proto::op::{Message, MessageType, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, CNAME};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tempfile::TempDir;

/// Returns the DNS server's response to a query, or `None` for silence.
fn answer(query: &Message) -> Option<Message> {
    let question = query.queries.first()?;
    let (name, asked) = (question.name().clone(), question.query_type());
    let label = name.iter().next().map(|label| String::from_utf8_lossy(label).to_lowercase()).unwrap_or_default();
    let mut reply = Message::response(query.metadata.id, query.metadata.op_code);
    reply.metadata.message_type = MessageType::Response;
    reply.metadata.recursion_desired = true;
    reply.metadata.recursion_available = true;
    reply.add_query(question.clone());
    let v4 = |a: [u8; 4]| RData::A(A(a.into()));
    let v6 = |text: &str| RData::AAAA(AAAA(text.parse().unwrap()));
    let is_v4 = asked == RecordType::A;
    let data = match (label.as_str(), is_v4) {
        ("only4" | "both" | "servfail6" | "silent6" | "private6", true) => vec![v4([93, 184, 215, 14])],
        ("private6", false) => vec![v6("fd00::1")],
        ("both" | "only6", false) => vec![v6("2606:4700::1")],
        ("many", true) => (1..=20).map(|last| v4([93, 184, 215, last])).collect(),
        ("alias", _) => {
            let target = Name::from_ascii("both.test.").unwrap();
            reply.add_answer(Record::from_rdata(name, 1, RData::CNAME(CNAME(target.clone()))));
            let data = if is_v4 { v4([93, 184, 215, 14]) } else { v6("2606:4700::1") };
            reply.add_answer(Record::from_rdata(target, 1, data));
            return Some(reply);
        }
        ("servfail6", false) | ("broken", _) => {
            reply.metadata.response_code = ResponseCode::ServFail;
            Vec::new()
        }
        ("silent6", false) | ("silent", _) => return None,
        ("only4" | "only6" | "many" | "nothing", _) => Vec::new(),
        _ => {
            reply.metadata.response_code = ResponseCode::NXDomain;
            Vec::new()
        }
    };
    for data in data {
        reply.add_answer(Record::from_rdata(name.clone(), 1, data));
    }
    Some(reply)
}

/// The last octet of the next server's address.
static NEXT: AtomicU8 = AtomicU8::new(10);

/// The resolver under test, with its files and a DNS server.
struct TestResolver {
    folder: TempDir,
    dns: Dns,
}

impl TestResolver {
    fn start() -> Self {
        assert!(std::env::var_os("BROWSER_SHELL_TEST_NETWORK").is_some(), "this test needs port 53: run ./dev test");
        let address = IpAddr::from([127, 53, 0, NEXT.fetch_add(1, Ordering::Relaxed)]);
        let socket = UdpSocket::bind(SocketAddr::new(address, 53)).unwrap();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok((length, client)) = socket.recv_from(&mut bytes) {
                let query = Message::from_vec(&bytes[..length]).unwrap();
                if let Some(reply) = answer(&query) {
                    socket.send_to(&reply.to_vec().unwrap(), client).unwrap();
                }
            }
        });
        let folder = TempDir::new().unwrap();
        let conf = format!("nameserver {address}\noptions timeout:1 attempts:1\nsearch search.test\n");
        std::fs::write(folder.path().join("resolv.conf"), conf).unwrap();
        std::fs::write(folder.path().join("hosts"), "93.184.215.77 inhosts.test InHosts4\n").unwrap();
        let file = |name: &str| -> PathBuf { folder.path().join(name) };
        let dns = Dns::with_files(file("resolv.conf"), file("hosts"));
        Self { folder, dns }
    }

    fn lookup(&self, name: &str) -> Result<Vec<String>, LookupError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut found: Vec<_> = runtime.block_on(self.dns.lookup(name))?.iter().map(ToString::to_string).collect();
        found.sort();
        Ok(found)
    }
}

// Requirement 2.5.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn all_addresses_of_both_families_are_returned() {
    let net = TestResolver::start();
    assert_eq!(net.lookup("only4.test").unwrap(), ["93.184.215.14"]);
    assert_eq!(net.lookup("only6.test").unwrap(), ["2606:4700::1"]);
    assert_eq!(net.lookup("both.test").unwrap(), ["2606:4700::1", "93.184.215.14"]);
    assert_eq!(net.lookup("BOTH.TEST").unwrap().len(), 2, "names are case-insensitive");
    assert_eq!(
        net.lookup("private6.test").unwrap(),
        ["93.184.215.14", "fd00::1"],
        "the private address must be included"
    );
    assert_eq!(net.lookup("alias.test").unwrap(), ["2606:4700::1", "93.184.215.14"], "through an alias");
    assert_eq!(net.lookup("many.test").unwrap().len(), 20);
}

// Requirement 2.5.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn partial_dns_answer_is_an_error() {
    let net = TestResolver::start();
    assert!(matches!(net.lookup("nothing.test"), Err(LookupError::NoAddress)));
    assert!(matches!(net.lookup("unknown.test"), Err(LookupError::NoAddress)));
    assert!(matches!(net.lookup("broken.test"), Err(LookupError::Failed(_))));
    assert!(matches!(net.lookup("servfail6.test"), Err(LookupError::Failed(_))), "one family failed");
    assert!(net.lookup("silent6.test").is_err(), "one family is silent");
    assert!(net.lookup("silent.test").is_err());
    assert!(net.lookup("only4.test").is_ok(), "control: the server must work");
}

// Requirement 2.5.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn hosts_file_is_used() {
    let net = TestResolver::start();
    assert_eq!(net.lookup("inhosts.test").unwrap(), ["93.184.215.77"]);
    assert_eq!(net.lookup("INHOSTS4").unwrap(), ["93.184.215.77"], "names without a dot, in any case");
    std::fs::write(net.folder.path().join("hosts"), "10.0.0.9 both.test\n").unwrap();
    assert_eq!(net.lookup("both.test").unwrap(), ["10.0.0.9"], "the change must take effect and override DNS");
    assert!(net.lookup("inhosts.test").is_err());
    std::fs::write(net.folder.path().join("resolv.conf"), "nameserver 127.53.255.255\noptions timeout:1 attempts:1\n")
        .unwrap();
    assert_eq!(net.lookup("both.test").unwrap(), ["10.0.0.9"], "without DNS too");
    assert!(net.lookup("only4.test").is_err(), "the change of resolv.conf must take effect");
}
