//! Display of a server: an X server that no other program can use, with the screen on a private socket.
//!
//! `Xvnc` is the X server and the server of the screen in one. It listens on no port. Chromium is its only client, without a window
//! manager; viewers come through the bridge in `api/public_port`. `docs/design/serve.md` explains why.
//!
//! Invariants: the display ends with this program, even if it is killed; only who can read its cookie can connect.

pub mod helper;

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::helper::DisplayFiles;
use crate::process::{Delay, RecentStarts, SupervisedProcess};
use browser_shell_system::os;

pub use helper::{DisplayConfig, SOCKETS, find};

/// Timeout for a start.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for the X server to end by itself.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval between checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Timeout of one check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of failed checks in a row after which the display counts as hung.
const MAX_UNANSWERED: u32 = 4;

/// Numbers of displays, from which each start takes one at random: two servers hardly take the same one, and then the lock of the
/// first one ends the second.
const NUMBERS: std::ops::Range<u16> = 1000..60_000;

/// Interval between checks of a display that starts.
const START_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Display that answers.
#[derive(Clone, Debug)]
pub struct RunningDisplay {
    /// Number, which clients connect to.
    number: u16,
    /// Cookie file.
    pub(crate) authority: PathBuf,
    /// Socket of the screen.
    pub socket: PathBuf,
}

impl RunningDisplay {
    /// Returns the variables by which a client connects.
    pub(crate) fn environment(&self) -> [(&'static str, OsString); 2] {
        [("DISPLAY", format!(":{}", self.number).into()), ("XAUTHORITY", self.authority.clone().into_os_string())]
    }
}

/// Reason why a start failed.
#[derive(Debug, Error)]
enum DisplayStartError {
    #[error("cannot use its folder: {0}")]
    Folder(#[source] io::Error),
    #[error("cannot start: {0}")]
    Spawn(#[source] io::Error),
    #[error("it ended at once ({status}): {stderr}")]
    Ended { status: String, stderr: String },
    #[error("it did not answer within {} s", START_TIMEOUT.as_secs())]
    TimedOut,
    #[error("the server stops")]
    Stopped,
}

/// Supervisor of the display of a server.
pub struct DisplaySupervisor {
    config: DisplayConfig,
    running: watch::Sender<Option<RunningDisplay>>,
}

impl DisplaySupervisor {
    /// Creates a supervisor; [`Self::run`] starts the display.
    #[must_use]
    pub fn new(config: DisplayConfig) -> Arc<Self> {
        Arc::new(Self { config, running: watch::Sender::new(None) })
    }

    /// Returns the display that runs, now and later.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Option<RunningDisplay>> {
        self.running.subscribe()
    }

    /// Keeps the display running until `stop` is canceled, and returns when it has ended.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut recent_starts = RecentStarts::default();
        while !stop.is_cancelled() {
            recent_starts.record();
            match self.start(&stop).await {
                Ok((process, running)) => {
                    tracing::info!(number = running.number, "the display runs");
                    let socket = running.socket.clone();
                    self.running.send_replace(Some(running));
                    watch_until_end(process, &socket, &stop).await;
                    self.running.send_replace(None);
                }
                Err(DisplayStartError::Stopped) => break,
                Err(error) => {
                    tracing::error!(%error, server = %self.config.server.display(), "the display does not start");
                }
            }
            let delay = match recent_starts.next_delay() {
                Delay::Short(delay) => delay,
                Delay::Pause(pause) => {
                    tracing::error!(pause_sec = pause.as_secs(), "the display does not keep running");
                    pause
                }
            };
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = stop.cancelled() => break,
            }
        }
        let _ = std::fs::remove_dir_all(&self.config.folder);
    }

    /// Starts the X server and waits until it answers.
    async fn start(&self, stop: &CancellationToken) -> Result<(SupervisedProcess, RunningDisplay), DisplayStartError> {
        let files = self.prepare().map_err(DisplayStartError::Folder)?;
        let mut command = self.config.command(&files);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut process = SupervisedProcess::spawn(command).await.map_err(DisplayStartError::Spawn)?;
        let answer = async {
            while !answers(&files.socket).await {
                tokio::time::sleep(START_POLL_INTERVAL).await;
            }
        };
        let result = tokio::select! {
            biased;
            () = stop.cancelled() => Err(DisplayStartError::Stopped),
            status = process.wait() => {
                // Its children may still have the sockets.
                process.kill_group();
                return Err(DisplayStartError::Ended { status, stderr: process.last_lines().await });
            }
            answered = tokio::time::timeout(START_TIMEOUT, answer) => answered.map_err(|_| DisplayStartError::TimedOut),
        };
        match result {
            Ok(()) => {
                let DisplayFiles { number, authority, socket, .. } = files;
                Ok((process, RunningDisplay { number, authority, socket }))
            }
            Err(error) => {
                shut_down(process).await;
                Err(error)
            }
        }
    }

    /// Creates the folder and the cookie of a start. Those of the last one are removed.
    fn prepare(&self) -> io::Result<DisplayFiles> {
        match std::fs::remove_dir_all(&self.config.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let name = format!("{:016x}", u64::from_be_bytes(os::random_bytes()?));
        let number = NUMBERS.start + u16::from_be_bytes(os::random_bytes()?) % (NUMBERS.end - NUMBERS.start);
        let files = DisplayFiles::new(self.config.folder.join(name), number);
        DirBuilder::new().recursive(true).mode(0o700).create(&files.folder)?;
        write_cookie(&files.authority)?;
        Ok(files)
    }
}

/// Returns true if the server of the screen sends its version.
async fn answers(socket: &Path) -> bool {
    let version = async {
        let mut screen = UnixStream::connect(socket).await.ok()?;
        let mut version = [0; 4];
        screen.read_exact(&mut version).await.ok()?;
        Some(version == *b"RFB ")
    };
    tokio::time::timeout(CHECK_TIMEOUT, version).await.ok().flatten() == Some(true)
}

/// Checks the X server until it ends, hangs or the server stops. It has ended when this returns.
async fn watch_until_end(mut process: SupervisedProcess, socket: &Path, stop: &CancellationToken) {
    let mut unanswered = 0;
    let mut stopped = std::pin::pin!(process.stopped());
    while unanswered < MAX_UNANSWERED {
        tokio::select! {
            status = process.wait() => {
                process.kill_group();
                let stderr = process.last_lines().await;
                tracing::error!(status, stderr, "the display ended");
                return;
            }
            () = &mut stopped => {
                tracing::error!("the display was stopped by a signal, and is restarted");
                process.kill_group();
                process.wait().await;
                return;
            }
            () = stop.cancelled() => return shut_down(process).await,
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
        }
        unanswered = if answers(socket).await { 0 } else { unanswered + 1 };
    }
    tracing::error!("the display stopped answering, and is restarted");
    shut_down(process).await;
}

/// Ends the X server: by request first, so that it removes its lock file, then by force.
async fn shut_down(mut process: SupervisedProcess) {
    process.terminate();
    let ended = tokio::time::timeout(SHUTDOWN_TIMEOUT, process.wait()).await.is_ok();
    process.kill_group();
    if !ended {
        process.wait().await;
    }
}

/// Name of the method in the cookie file.
const METHOD: &[u8] = b"MIT-MAGIC-COOKIE-1";

/// Family of an entry for every display (`FamilyWild`).
const EVERY_DISPLAY: u16 = 0xffff;

/// Writes a new cookie to a file that only this user can read: who can read it can connect (xauth(1)).
///
/// # Errors
///
/// Returns the error of the system if there is no randomness or the file exists.
fn write_cookie(path: &Path) -> io::Result<()> {
    let cookie: [u8; 16] = os::random_bytes()?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(&cookie_entry(&cookie))
}

/// Returns the entry of a cookie: a family and four texts, each with its length in two bytes.
fn cookie_entry(cookie: &[u8]) -> Vec<u8> {
    let mut entry = EVERY_DISPLAY.to_be_bytes().to_vec();
    for text in [b"".as_slice(), b"", METHOD, cookie] {
        entry.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        entry.extend(text);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_file_has_one_entry_for_every_display() {
        let expected = [b"\xff\xff\0\0\0\0\0\x12MIT-MAGIC-COOKIE-1\0\x10".as_slice(), &[7; 16]].concat();
        assert_eq!(cookie_entry(&[7; 16]), expected);
    }
}
