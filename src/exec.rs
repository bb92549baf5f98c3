//! Running one program with a deadline (spec [1.2], [1.7], [1.10], [1.12]).
//!
//! Decides how a child is started, read and ended: an argument vector and an environment made from scratch, output kept up
//! to a cap, its process group ended when time is over or the client has gone. It knows nothing of browsers. There is no
//! shell here, and nothing of this process's environment reaches the child.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::output::{Captured, RawOutput};
use crate::processes::{GRACE, signal_group};

/// How much of each stream is kept. More is read and counted, so that the child does not block, and thrown away.
pub const MAX_STREAM_BYTES: usize = 8 * 1024 * 1024;

/// How long streams may stay open after the child has ended: something it left behind can hold them.
const DRAIN: Duration = Duration::from_millis(500);

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable, as an absolute path.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(Cow<'static, str>, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
}

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The program could not be started.
    #[error("cannot start `{}`: {source}", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The program could not be waited for.
    #[error("lost the program: {0}")]
    Wait(std::io::Error),
    /// Time was over; the process group was ended.
    #[error("the program did not end in time")]
    TimedOut,
    /// The client took the call back; the process group was ended.
    #[error("the call was cancelled")]
    Cancelled,
    /// The command is one that the CLI must not get, and there is no other way now. Nothing was done.
    #[error("the command cannot go through agent-browser's command line")]
    NotByCli {
        /// Whether there is another way once the session has its daemon.
        later: bool,
    },
    /// The action was asked for and no answer came: it may have been done.
    #[error("agent-browser's daemon did not answer")]
    Unknown,
}

/// Runs a program to its end, the end of its time, or the cancellation of the call.
///
/// # Errors
///
/// See [`ExecError`]. After an error nothing of the process group is left running.
pub async fn run(program: &Program, timeout: Duration, cancel: &CancellationToken) -> Result<RawOutput, ExecError> {
    let mut child = spawn(program).map_err(|source| ExecError::Start { path: program.path.clone(), source })?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    // If this future is dropped, the group must not stay.
    let mut guard = GroupGuard(group);
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let finished = async {
        let mut kept = (Captured::default(), Captured::default());
        let status = {
            let streams = async {
                tokio::join!(capture(stdout, &mut kept.0), capture(stderr, &mut kept.1));
            };
            tokio::pin!(streams);
            tokio::select! {
                status = child.wait() => {
                    let _ = tokio::time::timeout(DRAIN, &mut streams).await;
                    status
                }
                () = &mut streams => child.wait().await,
            }
        };
        status.map(|status| RawOutput { exit_code: exit_code(status), stdout: kept.0, stderr: kept.1 })
    };
    let result = tokio::select! {
        // A result that is there wins over a deadline that has just passed.
        biased;
        result = finished => result.map_err(ExecError::Wait),
        () = cancel.cancelled() => Err(ExecError::Cancelled),
        () = tokio::time::sleep(timeout) => Err(ExecError::TimedOut),
    };
    if result.is_err() {
        end_group(&mut child, group).await;
    }
    guard.0 = None;
    result
}

fn spawn(program: &Program) -> std::io::Result<Child> {
    Command::new(&program.path)
        .args(&program.arguments)
        .env_clear()
        .envs(program.environment.iter().map(|(name, value)| (name.as_ref(), value)))
        .current_dir(&program.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// TERM to the group, KILL if it is still there after the grace, then the child is reaped.
async fn end_group(child: &mut Child, group: Option<Pid>) {
    if let Some(group) = group {
        signal_group(group, Signal::TERM);
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        // Also when the leader has gone: others of the group may ignore TERM.
        signal_group(group, Signal::KILL);
    }
    let _ = child.kill().await;
}

/// Ends the group when a run is dropped in the middle.
struct GroupGuard(Option<Pid>);

impl Drop for GroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            signal_group(group, Signal::KILL);
        }
    }
}

/// Reads a stream to its end and keeps what fits.
async fn capture(stream: Option<impl AsyncRead + Unpin>, kept: &mut Captured) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let room = MAX_STREAM_BYTES.saturating_sub(kept.bytes.len()).min(count);
                kept.bytes.extend_from_slice(buffer.get(..room).unwrap_or_default());
                kept.total += count as u64;
            }
        }
    }
}

/// The exit code as a shell reports it: 128 and the signal's number for a death by signal.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::path::Path;

    /// A shell with a script.
    pub(crate) fn shell(script: &str) -> Program {
        Program {
            path: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            directory: "/".into(),
        }
    }

    async fn run_script(script: &str, timeout: Duration) -> Result<RawOutput, ExecError> {
        run(&shell(script), timeout, &CancellationToken::new()).await
    }

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn exit_codes_and_streams() {
        let output = run_script("echo out; echo err >&2; exit 3", LONG).await.expect("ran");
        assert_eq!(
            (output.exit_code, output.stdout.to_text().as_str(), output.stderr.to_text().as_str()),
            (3, "out\n", "err\n")
        );
        assert_eq!(run_script("kill -9 $$", LONG).await.expect("ran").exit_code, 137);
    }

    #[tokio::test]
    async fn spec_1_7_output_is_capped_and_counted() {
        let output = run_script("head -c 20000000 /dev/zero", LONG).await.expect("ran");
        assert_eq!((output.stdout.bytes.len(), output.stdout.total), (MAX_STREAM_BYTES, 20_000_000));
    }

    #[tokio::test]
    async fn spec_1_12_the_environment_is_made_from_scratch() {
        let output = run_script("env; pwd", LONG).await.expect("ran").stdout.to_text();
        let mut lines: Vec<_> =
            output.lines().filter(|line| !line.starts_with("PWD=") && !line.starts_with("_=")).collect();
        lines.sort_unstable();
        assert_eq!(lines, ["/", "PATH=/usr/bin:/bin"]);
    }

    #[tokio::test]
    async fn a_missing_program_is_an_error_with_its_name() {
        let mut program = shell("true");
        program.path = "/nowhere/agent-browser".into();
        let error = run(&program, LONG, &CancellationToken::new()).await.expect_err("refused").to_string();
        assert!(error.starts_with("cannot start `/nowhere/agent-browser`: "), "{error}");
    }

    /// Whether a process is there and has not ended.
    fn alive(pid: &str) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    async fn ends_soon(pid: &str) -> bool {
        for _ in 0..200 {
            if !alive(pid) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    async fn pid_in(file: &Path) -> String {
        for _ in 0..500 {
            if let Ok(text) = std::fs::read_to_string(file)
                && text.ends_with('\n')
            {
                return text.trim().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the script did not write its pid");
    }

    #[tokio::test]
    async fn spec_1_10_a_timeout_ends_the_whole_group_even_if_it_ignores_term() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("pid");
        let script = format!(
            "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 1; done' & wait",
            file.display()
        );
        let error = run_script(&script, Duration::from_secs(2)).await.expect_err("timed out");
        assert!(matches!(error, ExecError::TimedOut));
        assert!(ends_soon(&pid_in(&file).await).await, "the grandchild is gone");
    }

    #[tokio::test]
    async fn spec_1_10_cancelling_and_dropping_end_the_group() {
        for drop_it in [false, true] {
            let dir = tempfile::tempdir().expect("a folder");
            let file = dir.path().join("pid");
            let program = shell(&format!("echo $$ > {}; sleep 600", file.display()));
            let cancel = CancellationToken::new();
            let task = tokio::spawn({
                let cancel = cancel.clone();
                async move { run(&program, LONG, &cancel).await.err() }
            });
            let pid = pid_in(&file).await;
            assert!(alive(&pid), "control: it runs");
            if drop_it {
                task.abort();
            } else {
                cancel.cancel();
                assert!(matches!(task.await.expect("joined"), Some(ExecError::Cancelled)));
            }
            assert!(ends_soon(&pid).await, "dropped: {drop_it}");
        }
    }

    #[tokio::test]
    async fn a_leftover_that_holds_the_streams_does_not_hold_the_answer() {
        let output = run_script("sleep 5 & echo done", LONG).await.expect("ran");
        assert_eq!(output.stdout.to_text(), "done\n");
    }
}
