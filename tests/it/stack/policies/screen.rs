//! A screen with a window manager, and the person's keyboard and mouse: Xvnc, used as noVNC does.
//!
//! Input must arrive as real input events, because CDP input bypasses the browser's shortcuts and dialogs.

use std::{
    fs::File,
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::harness::processes;

/// Keys other than letters, by their X11 names.
pub(super) const CONTROL: u32 = 0xffe3;
pub(super) const SHIFT: u32 = 0xffe1;
pub(super) const ENTER: u32 = 0xff0d;
pub(super) const ESCAPE: u32 = 0xff1b;
pub(super) const F12: u32 = 0xffc9;

/// A running screen of 1280 by 800 pixels, ended on drop.
#[derive(Debug)]
pub(super) struct Screen {
    // In this order: the window manager ends before its display.
    manager: Child,
    server: Child,
    stream: UnixStream,
    pub(super) display: String,
    _home: TempDir,
}

impl Screen {
    pub(super) fn start() -> Self {
        let home = TempDir::with_prefix("screen").unwrap();
        let socket = home.path().join("vnc");
        let log = || File::create(home.path().join("screen.log")).unwrap();
        // The kernel ends each program together with the test.
        let program = |name: &str| {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "TERM", name]).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
            command.env("HOME", home.path()).stdin(Stdio::null()).stderr(log());
            command
        };
        let mut server = program("Xvnc")
            .args(["-displayfd", "1", "-SecurityTypes", "None", "-geometry", "1280x800"])
            // The sockets belong to the test network or to this test's folder. The usual ones below /tmp are shared
            // with the machine, where another test network may use the same display number.
            .args(["-nolock", "-ac", "-listen", "tcp", "-nolisten", "unix", "-nolisten", "local", "-rfbport", "-1"])
            .arg("-rfbunixpath")
            .arg(&socket)
            .stdout(Stdio::piped())
            .spawn()
            .expect("cannot start `setpriv`: run tests/e2e/setup");
        // Xvnc prints the free display number once it is ready.
        let mut number = Vec::new();
        let mut output = server.stdout.take().unwrap();
        let mut byte = [0];
        while output.read(&mut byte).unwrap() > 0 && byte != *b"\n" {
            number.extend(byte);
        }
        assert!(!number.is_empty(), "Xvnc printed no display: install tigervnc-standalone-server");
        let display = format!("127.0.0.1:{}", String::from_utf8(number).unwrap());
        let manager = program("openbox").stdout(log()).env("DISPLAY", &display).spawn().unwrap();
        let stream = processes::wait_for("the VNC socket", || UnixStream::connect(&socket).ok());
        let mut screen = Self { manager, server, stream, display, _home: home };
        screen.shake_hands();
        screen
    }

    /// Completes the RFB 3.8 handshake without a password, shared with other viewers.
    fn shake_hands(&mut self) {
        let mut version = [0; 12];
        self.stream.read_exact(&mut version).unwrap();
        self.stream.write_all(&version).unwrap();
        let mut count = [0];
        self.stream.read_exact(&mut count).unwrap();
        self.stream.read_exact(&mut vec![0; usize::from(count[0])]).unwrap();
        self.stream.write_all(&[1]).unwrap();
        let mut result = [0; 4];
        self.stream.read_exact(&mut result).unwrap();
        assert_eq!(result, [0; 4], "Xvnc must accept the viewer");
        self.stream.write_all(&[1]).unwrap();
    }

    fn key(&mut self, key: u32, down: bool) {
        let mut message = vec![4, u8::from(down), 0, 0];
        message.extend(key.to_be_bytes());
        self.stream.write_all(&message).unwrap();
    }

    /// Presses keys together, as in Control+Shift+I.
    pub(super) fn press(&mut self, keys: &[u32]) {
        for key in keys {
            self.key(*key, true);
        }
        for key in keys.iter().rev() {
            self.key(*key, false);
        }
    }

    pub(super) fn write(&mut self, text: &str) {
        for letter in text.chars() {
            self.press(&[u32::from(letter)]);
        }
    }

    /// Clicks in the middle of the screen, which is inside the page.
    pub(super) fn click(&mut self) {
        let [x, y] = [640_u16, 500].map(u16::to_be_bytes);
        for buttons in [0, 1, 0] {
            self.stream.write_all(&[5, buttons, x[0], x[1], y[0], y[1]]).unwrap();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // SIGTERM, so that they remove their files below /tmp.
        for child in [&mut self.manager, &mut self.server] {
            processes::signal(i32::try_from(child.id()).unwrap(), rustix::process::Signal::TERM);
            drop(child.wait());
        }
    }
}
