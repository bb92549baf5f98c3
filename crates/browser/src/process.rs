//! Process of a supervised program, which is Chromium or the display, and the delays between starts of one that does not keep running.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use browser_shell_system::os::processes::{is_stopped, signal_group};

/// Maximum number of lines of standard error that are kept.
const MAX_LINES: usize = 20;

/// Number of lines that a message shows.
const SHOWN_LINES: usize = 3;

/// Maximum length of a line of standard error; a line without an end must not fill memory.
const MAX_LINE: u64 = 4096;

/// Maximum time until the standard error of an ended process is read. One that left its group may hold it open for good.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// Interval between two looks for a process that is stopped.
const STOPPED_INTERVAL: Duration = Duration::from_secs(1);

/// Number of looks in a row after which a process counts as stopped.
const STOPPED_LOOKS: u32 = 3;

/// Running program, the leader of a process group.
pub(crate) struct SupervisedProcess {
    group: Pid,
    exit: oneshot::Receiver<io::Result<ExitStatus>>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    /// Cancelled when standard error is read to its end.
    output_end: CancellationToken,
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
        let output_end = CancellationToken::new();
        let at_end = output_end.clone().drop_guard();
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
                std::thread::spawn(move || {
                    let _at_end = at_end;
                    keep_last_lines(stderr, &lines);
                });
            }
            let _ = send_exit.send(child.wait());
        });
        let id = id.await.unwrap_or_else(|error| Err(io::Error::other(error)))?;
        let group = Pid::from_raw(id.cast_signed()).ok_or_else(|| io::Error::other("no process id"))?;
        Ok(Self { group, exit, stderr, output_end })
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

    /// Returns the last lines of standard error of a process that has ended, for a message. Kill its group first, which may hold standard
    /// error open.
    pub(crate) async fn last_lines(&self) -> String {
        // Another thread reads them, maybe after the end of the process was seen.
        let _ = tokio::time::timeout(OUTPUT_TIMEOUT, self.output_end.cancelled()).await;
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

/// Maximum number of starts in a window; then there is a pause.
const MAX_STARTS: usize = 5;

const WINDOW: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_secs(30);

/// Delay before the second start of a window; it doubles before each further one. The cause of a failed start is often gone
/// after a moment, such as the last Chromium's hold on its port.
const FIRST_DELAY: Duration = Duration::from_millis(250);

/// Starts within the current window.
#[derive(Debug, Default)]
pub(crate) struct RecentStarts(Vec<Instant>);

/// Delay before the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    /// Short delay within a window.
    Short(Duration),
    /// Pause after too many starts.
    Pause(Duration),
}

impl RecentStarts {
    /// Records a start.
    pub(crate) fn record(&mut self) {
        self.0.push(Instant::now());
    }

    /// Forgets all starts.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the delay before the next start. A pause begins a new window.
    pub(crate) fn next_delay(&mut self) -> Delay {
        self.0.retain(|start| start.elapsed() < WINDOW);
        if self.0.len() >= MAX_STARTS {
            self.clear();
            return Delay::Pause(PAUSE);
        }
        Delay::Short(delay_after(self.0.len()))
    }
}

/// Returns the delay after a number of starts.
fn delay_after(starts: usize) -> Duration {
    let doublings = u32::try_from(starts.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(PAUSE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[tokio::test]
    async fn last_lines_are_whole_when_the_process_has_ended() {
        let ended = async |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
            let mut process = SupervisedProcess::spawn(command).await.unwrap();
            assert_eq!(process.wait().await, "exit status: 3");
            process
        };
        for _ in 0..50 {
            let process = ended("echo first >&2; echo last >&2; exit 3").await;
            process.kill_group();
            assert_eq!(process.last_lines().await, "first / last");
        }
        // A process that holds standard error open delays the message, and no more.
        let process = ended("echo last >&2; sleep 600 & exit 3").await;
        assert_eq!(process.last_lines().await, "last");
        process.kill_group();
    }

    #[test]
    fn start_delay_grows_with_each_attempt() {
        let mut starts = RecentStarts::default();
        let delays: Vec<_> = (0..MAX_STARTS)
            .map(|_| {
                starts.record();
                starts.next_delay()
            })
            .collect();
        let short = |milliseconds| Delay::Short(Duration::from_millis(milliseconds));
        assert_eq!(delays, [short(250), short(500), short(1000), short(2000), Delay::Pause(PAUSE)]);
        starts.record();
        assert_eq!(starts.next_delay(), short(250), "a pause begins a new window");
        assert_eq!(delay_after(usize::MAX), PAUSE);
    }
}
