//! The X display of the person's screen: only its user may connect.
//!
//! The tests speak the X protocol themselves, because a client library would look for a cookie.

use std::fs;

use super::{
    base::{Stack, StackKind},
    sharing::acquire,
};

/// Users of the container other than the display's: the server, the guard, and nginx's workers.
const OTHERS: [u32; 3] = [10_079, 10_119, 65_534];
const GEM: u32 = 1_000;

const AUTHORITY: &str = "/run/browser-shell-display/authority";

/// Connects to a display as an X client: the address, and a file with a cookie or `-`. Prints `accepted`, `refused`, or the
/// error of the connection.
const CLIENT: &str = r#"
import socket, struct, sys
address, file = sys.argv[1:]
name = cookie = b""
if file != "-":
    entry = open(file, "rb").read()
    cookie, name = entry[-16:], b"MIT-MAGIC-COOKIE-1"
try:
    if address.startswith("tcp:"):
        display = socket.create_connection(("127.0.0.1", int(address[4:])), 30)
    else:
        display = socket.socket(socket.AF_UNIX)
        display.settimeout(30)
        display.connect(address.replace("@", "\0"))
except OSError as error:
    print(error.__class__.__name__)
    sys.exit()
pad = lambda data: data + bytes(-len(data) % 4)
display.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), len(cookie)) + pad(name) + pad(cookie))
print("accepted" if display.recv(1) == b"\x01" else "refused")
"#;

const SOCKET: &str = "/tmp/.X11-unix/X99";
const ABSTRACT: &str = "@/tmp/.X11-unix/X99";
const TCP: &str = "tcp:6099";

fn connect(stack: &Stack, user: u32, address: &str, cookie: &str) -> String {
    let output = stack.inside_as(user, &["/usr/bin/python3", "-c", CLIENT, address, cookie]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn other_users_cannot_open_display() {
    let stack = acquire(StackKind::Open);
    assert_eq!(connect(&stack, GEM, SOCKET, AUTHORITY), "accepted", "control: the browser's user");
    assert_eq!(connect(&stack, GEM, SOCKET, "/home/gem/.Xauthority"), "accepted", "control: without XAUTHORITY");
    for user in OTHERS {
        assert_eq!(connect(&stack, user, SOCKET, "-"), "PermissionError", "{user}");
        assert_eq!(connect(&stack, user, ABSTRACT, "-"), "ConnectionRefusedError", "{user}");
        assert_eq!(connect(&stack, user, TCP, "-"), "ConnectionRefusedError", "{user}");
        for file in [AUTHORITY, "/home/gem/.Xauthority"] {
            let read = stack.inside_as(user, &["cat", file]);
            assert!(!read.status.success() && read.stdout.is_empty(), "{user}, {file}: {read:?}");
        }
    }
    // The cookie protects without the folder too.
    assert_eq!(connect(&stack, GEM, SOCKET, "-"), "refused");
    assert_eq!(connect(&stack, 0, SOCKET, "-"), "refused");
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn base_alone_gives_every_user_the_display() {
    let stack = acquire(StackKind::WithoutImageEnv);
    for user in OTHERS {
        assert_eq!(connect(&stack, user, SOCKET, "-"), "accepted", "{user}");
        assert_eq!(connect(&stack, user, ABSTRACT, "-"), "accepted", "{user}");
    }
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn display_protection_is_idempotent_and_checked() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    let run = |arguments: &[&str]| stack.inside().arg("/opt/browser-shell/display").args(arguments).output().unwrap();
    assert!(run(&["--check"]).status.success(), "control");

    // As after a restart of the container, with a new cookie, which the running X server takes.
    let old = fs::read(stack.file(AUTHORITY)).unwrap();
    let again = run(&[]);
    assert!(again.status.success(), "{again:?}");
    assert!(!String::from_utf8_lossy(&again.stderr).contains("replaced"), "{again:?}");
    assert_ne!(fs::read(stack.file(AUTHORITY)).unwrap(), old);
    assert_eq!(connect(&stack, GEM, SOCKET, AUTHORITY), "accepted");

    // A server that accepts everyone, as if the base had changed it.
    let server = stack.file("/usr/local/bin/Xvfb");
    fs::copy("/usr/bin/true", &server).unwrap();
    let found = run(&["--check"]);
    assert!(!found.status.success(), "{found:?}");
    assert!(String::from_utf8_lossy(&found.stderr).contains("/usr/local/bin/Xvfb"), "{found:?}");
    fs::remove_file(server).unwrap();
    assert!(run(&["--check"]).status.success(), "control");
}
