//! Process of a supervised program: Chromium, or the display.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::sync::oneshot;

use browser_shell_system::os::processes::{is_stopped, signal_group};

/// Maximum number of lines of standard error that are kept.
const MAX_LINES: usize = 20;

/// Number of lines that a message shows.
const SHOWN_LINES: usize = 3;

/// Maximum length of a line of standard error; a line without an end must not fill memory.
const MAX_LINE: u64 = 4096;

/// Interval between two looks for a process that is stopped.
const STOPPED_INTERVAL: Duration = Duration::from_secs(1);

/// Number of looks in a row after which a process counts as stopped.
const STOPPED_LOOKS: u32 = 3;

/// Running program, the leader of a process group.
pub(crate) struct SupervisedProcess {
    group: Pid,
    exit: oneshot::Receiver<io::Result<ExitStatus>>,
    stderr: Arc<Mutex<VecDeque<String>>>,
}

impl SupervisedProcess {
    /// Starts a command, whose standard input and output are set, from a thread that lives as long as the process does: the kernel
    /// ends the process when that thread ends.
    ///
    /// # Errors
    ///
    /// Returns the error of the system if the process cannot be started.
    pub(crate) async fn spawn(mut command: Command) -> io::Result<Self> {
        command.stderr(Stdio::piped());
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let (send_id, id) = oneshot::channel();
        let (send_exit, exit) = oneshot::channel();
        let lines = stderr.clone();
        std::thread::spawn(move || {
            let spawned = command.spawn();
            // It holds the child's ends of pipes, which must be open in the child only.
            drop(command);
            let mut child = match spawned {
                Ok(child) => child,
                Err(error) => {
                    let _ = send_id.send(Err(error));
                    return;
                }
            };
            let _ = send_id.send(Ok(child.id()));
            if let Some(stderr) = child.stderr.take() {
                std::thread::spawn(move || keep_last_lines(stderr, &lines));
            }
            let _ = send_exit.send(child.wait());
        });
        let id = id.await.unwrap_or_else(|error| Err(io::Error::other(error)))?;
        let group = Pid::from_raw(id.cast_signed()).ok_or_else(|| io::Error::other("no process id"))?;
        Ok(Self { group, exit, stderr })
    }

    /// Waits until the first process has ended, and returns its exit status for people. Call it once to completion.
    pub(crate) async fn wait(&mut self) -> String {
        match (&mut self.exit).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "lost".to_owned(),
        }
    }

    /// Waits until the first process is stopped by a signal, such as SIGSTOP. It answers nothing then, and does not end by itself.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let id = self.group;
        async move {
            // One that is stopped for a moment, as by a person at a terminal, goes on.
            let mut seen = 0;
            while seen < STOPPED_LOOKS {
                tokio::time::sleep(STOPPED_INTERVAL).await;
                seen = if is_stopped(id) { seen + 1 } else { 0 };
            }
        }
    }

    /// Returns the id of the process group.
    pub(crate) const fn group(&self) -> Pid {
        self.group
    }

    /// Asks the first process to end; it ends the others.
    pub(crate) fn terminate(&self) {
        let _ = rustix::process::kill_process(self.group, Signal::TERM);
    }

    /// Kills every process of the group.
    pub(crate) fn kill_group(&self) {
        signal_group(self.group, Signal::KILL);
    }

    /// Returns the last lines of standard error, for a message.
    pub(crate) fn last_lines(&self) -> String {
        let lines = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let last: Vec<_> = lines.iter().skip(lines.len().saturating_sub(SHOWN_LINES)).map(String::as_str).collect();
        last.join(" / ")
    }
}

fn keep_last_lines(stderr: impl Read, lines: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(count) = Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut line) {
        if count == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}
