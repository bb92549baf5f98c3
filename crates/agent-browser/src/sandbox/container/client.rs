//! Client of the sandbox init, used by the server.

use std::io;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::protocol::{ContainerReply, ContainerRequest, read_line, read_stream, write_line};
use browser_shell_core::output::RawOutput;
use browser_shell_system::os::exec::{ExecError, Program};
use browser_shell_system::os::processes::TERM_TIMEOUT;

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
