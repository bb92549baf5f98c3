//! Protocol between the server and the sandbox init, and its client, used by the server: one request and one reply on a Unix
//! socket.
//!
//! Both are one line of JSON. The kept bytes of standard output and standard error follow the reply.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;

use browser_shell_core::output::{CapturedStream, RawOutput};
use browser_shell_system::os::exec::{ExecError, MAX_STREAM_BYTES, Program};
use browser_shell_system::os::processes::TERM_TIMEOUT;

/// The longest line of a request or a reply, in bytes.
const MAX_LINE: u64 = 8 * 1024 * 1024;

/// A program to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ContainerRequest {
    path: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    directory: String,
}

impl ContainerRequest {
    /// Returns the request for a program.
    ///
    /// # Errors
    ///
    /// If a part of it is not UTF-8.
    pub(super) fn new(program: &Program) -> io::Result<Self> {
        let text =
            |text: &OsStr| text.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("an argument is not UTF-8"));
        Ok(Self {
            path: text(program.path.as_os_str())?,
            arguments: program.arguments.iter().map(|argument| text(argument)).collect::<io::Result<_>>()?,
            environment: program
                .environment
                .iter()
                .map(|(name, value)| Ok((name.clone().into_owned(), text(value)?)))
                .collect::<io::Result<_>>()?,
            directory: text(program.directory.as_os_str())?,
        })
    }

    /// Returns the program of the request.
    pub(super) fn into_program(self) -> Program {
        Program {
            path: self.path.into(),
            arguments: self.arguments.into_iter().map(OsString::from).collect(),
            environment: self
                .environment
                .into_iter()
                .map(|(name, value)| (Cow::Owned(name), OsString::from(value)))
                .collect(),
            directory: self.directory.into(),
        }
    }
}

/// The end of a program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ContainerReply {
    /// The program ran.
    Ended {
        /// The exit code.
        code: i32,
        /// The size of standard output.
        stdout: StreamSize,
        /// The size of standard error.
        stderr: StreamSize,
    },
    /// The program could not be run.
    Failed(String),
}

/// The size of an output stream, in bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StreamSize {
    kept: usize,
    total: u64,
}

impl StreamSize {
    /// Returns the size of a stream.
    pub(super) const fn of(captured: &CapturedStream) -> Self {
        Self { kept: captured.bytes.len(), total: captured.total }
    }
}

/// Reads a line of JSON.
///
/// # Errors
///
/// If the peer has closed the connection or sends something else.
pub(super) async fn read_line<T: DeserializeOwned>(read: &mut BufReader<OwnedReadHalf>) -> io::Result<T> {
    let mut line = Vec::new();
    read.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Err(io::Error::other("the sandbox has ended"));
    }
    Ok(serde_json::from_slice(&line)?)
}

/// Writes a line of JSON.
///
/// # Errors
///
/// If the peer has closed the connection.
pub(super) async fn write_line<T: Serialize>(write: &mut OwnedWriteHalf, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    write.write_all(&line).await
}

/// Reads the kept bytes of a stream.
///
/// # Errors
///
/// If they are more than [`MAX_STREAM_BYTES`], or the peer closes the connection before the end.
async fn read_stream(read: &mut BufReader<OwnedReadHalf>, size: &StreamSize) -> io::Result<CapturedStream> {
    if size.kept > MAX_STREAM_BYTES {
        return Err(io::Error::other("the sandbox sends too much output"));
    }
    let mut bytes = vec![0; size.kept];
    read.read_exact(&mut bytes).await?;
    Ok(CapturedStream { bytes, total: size.total })
}

/// Has the sandbox init behind this connection run a program until it ends, the timeout passes, or the call is canceled.
///
/// # Errors
///
/// As for a program without a sandbox. After a timeout or a cancellation, the init has ended the program's process group.
pub async fn run(
    stream: UnixStream,
    program: &Program,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<RawOutput, ExecError> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let finished = async {
        write_line(&mut write, &ContainerRequest::new(program)?).await?;
        match read_line::<ContainerReply>(&mut read).await? {
            ContainerReply::Failed(message) => Err(io::Error::other(message)),
            ContainerReply::Ended { code, stdout, stderr } => Ok(RawOutput {
                exit_code: code,
                stdout: read_stream(&mut read, &stdout).await?,
                stderr: read_stream(&mut read, &stderr).await?,
            }),
        }
    };
    let result = tokio::select! {
        biased;
        result = finished => return result.map_err(ExecError::Wait),
        () = cancel.cancelled() => Err(ExecError::Cancelled),
        () = tokio::time::sleep(timeout) => Err(ExecError::TimedOut),
    };
    // The init closes the connection when the group has ended.
    drop(write);
    let mut rest = tokio::io::sink();
    let _ = tokio::time::timeout(TERM_TIMEOUT * 4, tokio::io::copy(&mut read, &mut rest)).await;
    result
}
