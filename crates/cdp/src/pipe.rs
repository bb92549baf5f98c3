//! Debugging pipe: the two ends by which a program drives the Chromium that it started.
//!
//! Invariants: Chromium reads commands from file descriptor 3 and writes answers to 4, each a JSON text that ends with a NUL
//! byte. Nobody else can open the pipe, and Chromium ends when its other ends are closed.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use tokio::net::unix::pipe::{Receiver, Sender};

/// Our ends of the debugging pipe of one Chromium.
#[derive(Debug)]
pub struct DebugPipe {
    /// Answers and events.
    pub reader: Receiver,
    /// Commands.
    pub writer: Sender,
}

/// Chromium's ends, which the helper `launch` receives as its standard input and output.
#[derive(Debug)]
pub struct PipeEnds {
    /// Commands.
    pub stdin: Stdio,
    /// Answers and events.
    pub stdout: Stdio,
}

impl DebugPipe {
    /// Creates the pipe. Call it within the executor.
    ///
    /// # Errors
    ///
    /// Returns the error of the system, for example if there are too many open files.
    pub fn open() -> io::Result<(Self, PipeEnds)> {
        let (stdin, commands) = io::pipe()?;
        let (answers, stdout) = io::pipe()?;
        let ours = Self {
            reader: Receiver::from_owned_fd(OwnedFd::from(answers))?,
            writer: Sender::from_owned_fd(OwnedFd::from(commands))?,
        };
        Ok((ours, PipeEnds { stdin: stdin.into(), stdout: stdout.into() }))
    }
}
