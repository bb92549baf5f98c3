//! Rules of the processes that become Chromium: the ports that it can connect to and listen on, the system calls that would lead
//! past these rules, its debugging pipe and its files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::json;
use tempfile::TempDir;

use super::harness::processes::{descendants_of, wait_for};
use super::harness::server::{PROGRAM, free_port};

/// The first version of Landlock with rules for TCP.
const WITH_TCP: u8 = 4;

/// Runs a bash script in place of Chromium. It may connect to one port.
fn launched(connect: u16, landlock: u8, script: &str) -> Output {
    launched_program(connect, landlock, false, &["/bin/bash", "-c", &format!("exec >&4; {script}")])
}

/// Runs a program in place of Chromium, which may use all files and connect to one port. Its output is that of file descriptor 4.
fn launched_program(connect: u16, landlock: u8, seccomp: bool, program: &[&str]) -> Output {
    let files = json!({"execute": ["/"], "write": ["/"], "change": ["/"]});
    let orders = json!({"connect": [connect], "files": files, "landlock": landlock, "seccomp": seccomp}).to_string();
    let mut command = Command::new(PROGRAM);
    command.args(["launch", &orders]).args(program).stdin(Stdio::null()).env_clear();
    command.output().unwrap()
}

// Requirement 5.1.
#[test]
#[ignore = "needs bash and Python: run ./dev test"]
fn launched_program_connects_only_to_guard() {
    let guard = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let (guard, other) = (guard.local_addr().unwrap().port(), other.local_addr().unwrap().port());
    let script = |port: u16| format!("exec 5<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let is_connected = |output: &Output| output.stdout == b"connected\n";
    assert!(is_connected(&launched(guard, WITH_TCP, &script(guard))), "control: the guard's port must be reachable");
    let refused = launched(guard, WITH_TCP, &script(other));
    assert!(!is_connected(&refused) && !refused.status.success(), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Permission denied"), "{refused:?}");
    assert!(is_connected(&launched(guard, 0, &script(other))), "control: without the rule it must connect");
    // Child processes are under the same rule.
    let below = launched(guard, WITH_TCP, &format!("/bin/bash -c '{}' || echo refused", script(other)));
    assert_eq!(below.stdout, b"refused\n", "{below:?}");
}

// Requirement 5.1.
#[test]
#[ignore = "needs bash and Python: run ./dev test"]
fn launched_program_listens_on_no_port() {
    let port = free_port();
    let script = format!(
        "exec /usr/bin/python3 -I -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", {port})); print(\"bound\")'"
    );
    let refused = launched(1, WITH_TCP, &script);
    assert!(
        refused.stdout.is_empty() && String::from_utf8_lossy(&refused.stderr).contains("Permission"),
        "{refused:?}"
    );
    assert_eq!(launched(1, 0, &script).stdout, b"bound\n", "control: without the rule it must listen");
}

/// Tries every way to send something, and prints the result of each: `ok` or the name of an error.
const WAYS: &str = r"
import ctypes, errno, os, socket, sys
sys.stdout = os.fdopen(4, 'w')
tcp, udp = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), '')
def made(*arguments):
    with socket.socket(*arguments): pass
def connected(*arguments):
    with socket.socket(*arguments) as s:
        s.connect(('127.0.0.1', tcp)); s.send(b'x')
def datagram(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as s: s.sendto(b'x', (address, udp))
def first_data(send):
    with socket.socket() as s: send(s, 0x20000000, ('127.0.0.1', tcp))
def option():
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, 30, 1)
        s.connect(('127.0.0.1', tcp)); s.send(b'x')
buffer = ctypes.create_string_buffer(256)
ways = {
    'tcp': lambda: connected(),
    'mptcp': lambda: connected(socket.AF_INET, socket.SOCK_STREAM, 262),
    'sendto with data': lambda: first_data(lambda s, flags, to: s.sendto(b'x', flags, to)),
    'sendmsg with data': lambda: first_data(lambda s, flags, to: s.sendmsg([b'x'], [], flags, to)),
    'option for data': option,
    'udp': lambda: datagram(socket.AF_INET, '127.0.0.1'),
    'udp over ipv6': lambda: made(socket.AF_INET6, socket.SOCK_DGRAM),
    'netlink': lambda: made(socket.AF_NETLINK, socket.SOCK_RAW),
    'raw': lambda: made(socket.AF_INET, socket.SOCK_RAW, 1),
    'packet': lambda: made(socket.AF_PACKET, socket.SOCK_RAW),
    'vsock': lambda: made(40, socket.SOCK_STREAM),
    'smc': lambda: made(43, socket.SOCK_STREAM),
    'io_uring': lambda: call(425, 4, buffer),
    'unix': lambda: made(socket.AF_UNIX),
    'unix datagram': lambda: made(socket.AF_UNIX, socket.SOCK_DGRAM),
    'pair': lambda: [s.close() for s in socket.socketpair()],
}
for name, way in ways.items():
    try: way(); result = 'ok'
    except OSError as error: result = errno.errorcode[error.errno]
    print(name, result, sep=': ')
";

/// Returns the result of each way, with or without the rules, and the number of bytes that arrived over TCP and UDP.
fn ways_out(landlock: u8, seccomp: bool) -> (BTreeMap<String, String>, usize) {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let ports = [tcp_port.to_string(), udp_port.to_string()];
    let ran = launched_program(1, landlock, seccomp, &["/usr/bin/python3", "-I", "-c", WAYS, &ports[0], &ports[1]]);
    assert!(ran.status.success(), "{ran:?}");
    let text = String::from_utf8(ran.stdout).unwrap();
    let results =
        text.lines().map(|line| line.split_once(": ").unwrap()).map(|(name, result)| (name.into(), result.into()));
    // The program has ended, so whatever it sent is here.
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let mut arrived = udp.recv(&mut [0; 16]).unwrap_or_default();
    while let Ok((mut stream, _)) = tcp.accept() {
        stream.set_nonblocking(false).unwrap();
        arrived += 1 + stream.read_to_end(&mut Vec::new()).unwrap_or_default();
    }
    (results.collect(), arrived)
}

// Requirement 5.1.
#[test]
#[ignore = "needs Python and the kernel's parts: run ./dev test"]
fn launched_program_sends_nothing_past_guard() {
    let (inside, arrived) = ways_out(WITH_TCP, true);
    for (name, result) in &inside {
        let expected = match name.as_str() {
            "tcp" => "EACCES",
            "io_uring" => "ENOSYS",
            "unix" | "unix datagram" | "pair" => "ok",
            _ => "EPERM",
        };
        assert_eq!(result, expected, "{name}: {inside:#?}");
    }
    assert_eq!(arrived, 0, "{inside:#?}");
    let (outside, arrived) = ways_out(0, false);
    for name in ["tcp", "sendto with data", "sendmsg with data", "option for data", "udp", "netlink", "unix", "pair"] {
        assert_eq!(outside[name], "ok", "control, {name}: {outside:#?}");
    }
    // Not in every kernel. Inside, the filter refuses it before the kernel notices.
    assert!(["ok", "EPROTONOSUPPORT", "ENOPROTOOPT"].contains(&&*outside["mptcp"]), "control: {outside:#?}");
    assert!(arrived >= 9, "control: {arrived}, {outside:#?}");
    // The rule for TCP alone does not cover datagrams, and the filter alone does not cover TCP.
    assert_eq!(ways_out(WITH_TCP, false).0["udp"], "ok", "control");
    assert_eq!(ways_out(0, true).0["tcp"], "ok", "control");
}

// Requirement 5.1.
#[test]
#[ignore = "needs bash and Python: run ./dev test"]
fn launched_program_has_pipe_instead_of_standard_streams() {
    let script = "cat; cat <&3 >&4; echo to standard output; readlink /proc/$$/fd/0 /proc/$$/fd/1 >&4";
    let mut command = Command::new(PROGRAM);
    let orders = json!({"connect": [], "landlock": 0, "seccomp": false}).to_string();
    command.args(["launch", &orders, "/bin/bash", "-c", script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).env_clear().spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"command\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "command\n/dev/null\n/dev/null\n");
}

/// Debian's Chromium, started by the helper for the Chromium of the base, with one port as its proxy and its own sandbox.
struct Chromium {
    process: Child,
    _home: TempDir,
}

impl Chromium {
    fn launch(guard: u16) -> Self {
        let home = TempDir::with_prefix("chromium").unwrap();
        // With its sandbox, Chromium does not start as root.
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let user: &[&str] = &["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"];
        let user = if rustix::process::geteuid().is_root() { user } else { &["env"] };
        let port = free_port();
        let config = json!({"connect": [guard], "bind": [port]}).to_string();
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).args([PROGRAM, "launch-external", &config, "/usr/bin/chromium", "--headless=new"]);
        command.args(["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--proxy-bypass-list=<-loopback>"]);
        command.arg(format!("--proxy-server=http://127.0.0.1:{guard}"));
        command.arg(format!("--remote-debugging-port={port}"));
        command.arg(format!("--user-data-dir={}", home.path().join("profile").display()));
        command.arg("http://shop.example.com/page").env_clear().env("PATH", "/usr/bin:/bin");
        command.env("HOME", home.path()).process_group(0);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { process, _home: home }
    }

    fn id(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    /// Returns the status of a renderer, once there is one whose filters are set.
    fn renderer_status(&self) -> String {
        wait_for("a renderer with its filters", || {
            let renderers =
                descendants_of(self.id()).into_iter().filter(|process| process.command.contains("--type=renderer"));
            let statuses =
                renderers.filter_map(|process| fs::read_to_string(format!("/proc/{}/status", process.id)).ok());
            statuses.into_iter().find(|status| status.contains("Seccomp:\t2"))
        })
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(Pid::from_raw(self.id()).unwrap(), Signal::KILL);
        drop(self.process.wait());
    }
}

/// Answers requests as a proxy until one asks for this path.
fn serve_until(listener: &TcpListener, path: &str) {
    const PAGE: &str = "<script>fetch('/script-ran')</script>";
    loop {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let length = stream.read(&mut head).unwrap_or_default();
        let found = String::from_utf8_lossy(&head[..length]).contains(path);
        let reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}",
            PAGE.len()
        );
        // Chromium may have closed the connection.
        drop(stream.write_all(reply.as_bytes()));
        if found {
            return;
        }
    }
}

fn number_of(status: &str, name: &str) -> usize {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("no {name} in {status}"))
        .trim()
        .parse()
        .unwrap()
}

// Requirement 5.1.
#[test]
#[ignore = "needs Chromium: run ./dev test"]
fn chromium_under_rules_keeps_its_own_sandbox() {
    let guard = TcpListener::bind("127.0.0.1:0").unwrap();
    let chromium = Chromium::launch(guard.local_addr().unwrap().port());
    serve_until(&guard, "/script-ran");
    let browser = fs::read_to_string(format!("/proc/{}/status", chromium.id())).unwrap();
    assert_eq!(number_of(&browser, "NoNewPrivs:"), 1);
    assert_eq!(number_of(&browser, "Seccomp_filters:"), 1, "{browser}");
    // A renderer has Chromium's filter too, and a process namespace of its own, in which it has another id.
    let renderer = chromium.renderer_status();
    assert!(number_of(&renderer, "Seccomp_filters:") > 1, "{renderer}");
    let ids = |status: &str| {
        status.lines().find_map(|line| line.strip_prefix("NSpid:")).map(|ids| ids.split_whitespace().count())
    };
    assert!(ids(&renderer) > ids(&browser), "{renderer}");
}

/// Prints a page to a file in the profile, with the rules or without them.
fn print_to(option: &str, name: &str, confined: bool) -> Vec<u8> {
    let home = TempDir::with_prefix("chromium").unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let file = home.path().join("profile").join(name);
    let helper = [PROGRAM, "launch-external", r#"{"connect":[],"bind":[]}"#];
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "54321", "--regid", "54321", "--clear-groups"]);
    command.args(if confined { &helper[..] } else { &[] });
    command.args(["/usr/bin/chromium", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
    command.arg(format!("--user-data-dir={}", home.path().join("profile").display()));
    // The header of a page has the time, and the file's size depends on its digits.
    command.args(["--no-pdf-header-footer", &format!("--{option}={}", file.display())]);
    command.env_clear().env("HOME", home.path());
    let page = "<body style='font:300px monospace'>W<b style='font-family:serif'>i";
    command.arg(format!("data:text/html,{page}")).env("PATH", "/usr/bin:/bin");
    let ran = command.stdin(Stdio::null()).output().unwrap();
    fs::read(&file).unwrap_or_else(|_| panic!("{ran:?}"))
}

// Requirement 5.1.
#[test]
#[ignore = "needs Chromium and root: run ./dev test"]
fn chromium_under_rules_prints_the_same_as_without() {
    let (inside, outside) = (print_to("screenshot", "page.png", true), print_to("screenshot", "page.png", false));
    assert!(inside.starts_with(b"\x89PNG") && inside == outside, "{} and {} bytes", inside.len(), outside.len());
    let (inside, outside) = (print_to("print-to-pdf", "page.pdf", true), print_to("print-to-pdf", "page.pdf", false));
    assert!(inside.starts_with(b"%PDF") && inside.len() == outside.len(), "{} and {}", inside.len(), outside.len());
}
