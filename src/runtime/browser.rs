//! The life of the browser of a runtime that has its own.
//!
//! Decides when Chromium is started, when it is taken for dead, how often it is started again, and when it may sleep. It runs
//! only with its egress guard, on a profile that stays in the workspace. Must never leave a Chromium behind, and never start
//! one while somebody else answers on its port.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use rustix::process::{Pid, Signal};
use thiserror::Error;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::health::{Condition, PATIENCE, SILENCES, TICK, answers};
use super::launch::{self, Launch};
use crate::browser::Browser;
use crate::decision::{Code, Decision};
use crate::pipeline::{Awake, Wake};
use crate::processes::signal_group;

/// How long a start may take.
const START: Duration = Duration::from_mins(1);

/// How often it is looked whether the browser has started.
const LOOK: Duration = Duration::from_millis(50);

/// So many starts within a window are enough; then there is a pause.
const MAX_STARTS: usize = 5;
const WINDOW: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_secs(30);

/// How long it is waited before the second start of a window; twice as long before each further one. What keeps a start from
/// succeeding is often over in a moment, such as the last Chromium's hold on its port.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// How long Chromium has to write its profile when it is told to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// How many lines of what Chromium says are kept, for the log of a start that failed.
const KEPT_LINES: usize = 20;

/// Whether Chromium must be able to confine its own renderers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SandboxChoice {
    /// If the container lets it
    Auto,
    /// Or it does not start
    Require,
}

/// Why a start failed.
#[derive(Debug, Error)]
enum StartError {
    #[error("something else listens on 127.0.0.1:{0}; choose another port with --cdp-port")]
    PortTaken(u16),
    #[error("cannot use the folder `{path}`: {source}")]
    Folder { path: String, source: std::io::Error },
    #[error("`{0}` is a link; the profile must lie in the workspace itself")]
    Link(String),
    #[error("cannot start: {0}")]
    Spawn(std::io::Error),
    #[error("it ended at once ({status}): {said}")]
    Ended { status: String, said: String },
    #[error("it did not answer within {} s", START.as_secs())]
    Silent,
    #[error("the runtime ends")]
    Stopped,
}

/// A running Chromium.
struct Running {
    group: Pid,
    ended: oneshot::Receiver<std::io::Result<ExitStatus>>,
    said: Arc<Mutex<VecDeque<String>>>,
}

/// How one life of the browser ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The runtime ends.
    Stopped,
    /// Nobody used it.
    Idle,
    /// It ended, or did not answer any more.
    Died,
}

/// The browser of a runtime.
pub struct Chromium {
    launch: Launch,
    browser: Browser,
    idle: Duration,
    choice: SandboxChoice,
    condition: Arc<watch::Sender<Condition>>,
    wanted: Notify,
    users: AtomicUsize,
    last_used: Mutex<Instant>,
    sandboxed: AtomicBool,
    starts: AtomicU64,
}

impl Chromium {
    /// Nothing runs yet: [`Self::keep`] does that.
    #[must_use]
    pub fn new(
        launch: Launch,
        idle: Duration,
        choice: SandboxChoice,
        condition: Arc<watch::Sender<Condition>>,
    ) -> Arc<Self> {
        // Chromium refuses to confine its renderers when root starts it.
        let is_root = rustix::process::geteuid().is_root() && choice == SandboxChoice::Auto;
        Arc::new(Self {
            browser: Browser::new(launch.cdp_port),
            launch,
            idle,
            choice,
            condition,
            wanted: Notify::new(),
            users: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            sandboxed: AtomicBool::new(!is_root),
            starts: AtomicU64::new(0),
        })
    }

    /// How often it was started.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Whether Chromium confines its renderers.
    pub fn is_sandboxed(&self) -> bool {
        self.sandboxed.load(Ordering::Relaxed)
    }

    fn set(&self, now: Condition) {
        self.condition.send_if_modified(|last| std::mem::replace(last, now) != now);
    }

    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let last = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        self.users.load(Ordering::Acquire) == 0 && last.elapsed() >= self.idle
    }

    /// Keeps the browser alive until `stop`; then it has ended.
    pub async fn keep(self: Arc<Self>, stop: CancellationToken) {
        let mut recent = VecDeque::new();
        loop {
            self.set(Condition::Starting);
            recent.push_back(Instant::now());
            let end = match self.start(&stop).await {
                Ok(running) => self.watch(running, &stop).await,
                Err(StartError::Stopped) => End::Stopped,
                Err(error) => {
                    tracing::error!(%error, chromium = %self.launch.chromium.display(), "Chromium does not start");
                    End::Died
                }
            };
            match end {
                End::Stopped => break,
                End::Idle => {
                    tracing::info!("Chromium sleeps until the next call");
                    self.set(Condition::Asleep);
                    recent.clear();
                    tokio::select! {
                        () = self.wanted.notified() => {}
                        () = stop.cancelled() => break,
                    }
                }
                End::Died => {
                    recent.retain(|start: &Instant| start.elapsed() < WINDOW);
                    let wait = if recent.len() >= MAX_STARTS {
                        tracing::error!(starts = recent.len(), "Chromium does not stay; it is left alone for a while");
                        self.set(Condition::Gone);
                        recent.clear();
                        PAUSE
                    } else {
                        wait_after(recent.len())
                    };
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = stop.cancelled() => break,
                    }
                }
            }
        }
        self.set(Condition::Gone);
    }

    /// Starts Chromium and waits until it answers.
    async fn start(&self, stop: &CancellationToken) -> Result<Running, StartError> {
        let sandboxed = self.is_sandboxed();
        let result = self.try_start(sandboxed, stop).await;
        match result {
            Err(StartError::Ended { .. }) if sandboxed && self.choice == SandboxChoice::Auto => {
                let running = self.try_start(false, stop).await?;
                tracing::warn!(
                    "Chromium cannot confine its renderers in this container, and runs without; a kernel that lets users make namespaces would let it"
                );
                self.sandboxed.store(false, Ordering::Relaxed);
                Ok(running)
            }
            result => result,
        }
    }

    async fn try_start(&self, sandboxed: bool, stop: &CancellationToken) -> Result<Running, StartError> {
        self.prepare()?;
        self.starts.fetch_add(1, Ordering::Relaxed);
        let mut running = self.spawn(sandboxed).await?;
        let deadline = Instant::now() + START;
        loop {
            if answers(&self.browser).await {
                self.touch();
                return Ok(running);
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    self.end(running).await;
                    return Err(StartError::Stopped);
                }
                status = &mut running.ended => {
                    // What else is of its group must not hold the profile.
                    signal_group(running.group, Signal::KILL);
                    let status = status.map_or_else(|_| "lost".to_owned(), |status| {
                        status.map_or_else(|error| error.to_string(), |status| status.to_string())
                    });
                    return Err(StartError::Ended { status, said: last_words(&running.said) });
                }
                () = tokio::time::sleep(LOOK) => {}
            }
            if Instant::now() > deadline {
                self.end(running).await;
                return Err(StartError::Silent);
            }
        }
    }

    /// The folders, and nobody on the port.
    fn prepare(&self) -> Result<(), StartError> {
        let port = self.launch.cdp_port;
        TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(|_| StartError::PortTaken(port))?;
        for folder in [self.launch.profile.as_path(), self.launch.private.as_path()] {
            let failed = |source| StartError::Folder { path: folder.display().to_string(), source };
            // The profile's folder and the one above it are ours; what lies above them is the orchestrator's.
            for path in folder.parent().into_iter().chain([folder]) {
                match fs::create_dir(path) {
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    result => result.map_err(failed)?,
                }
                let metadata = fs::symlink_metadata(path).map_err(failed)?;
                if !metadata.is_dir() {
                    return Err(StartError::Link(path.display().to_string()));
                }
            }
        }
        // Links with the name of the machine that had the profile last: Chromium would take it for still in use there.
        for name in ["SingletonLock", "SingletonCookie", "SingletonSocket"] {
            let _ = fs::remove_file(self.launch.profile.join(name));
        }
        Ok(())
    }

    /// Starts the process from a thread that lives as long as it does: the kernel ends it when that thread ends.
    async fn spawn(&self, sandboxed: bool) -> Result<Running, StartError> {
        let mut command = self.launch.command(sandboxed);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (started, start) = oneshot::channel();
        let (ending, ended) = oneshot::channel();
        let lines = said.clone();
        std::thread::spawn(move || {
            let mut child = match command.spawn() {
                Ok(child) => child,
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            let _ = started.send(Ok(child.id()));
            if let Some(stderr) = child.stderr.take() {
                std::thread::spawn(move || keep_last(stderr, &lines));
            }
            let _ = ending.send(child.wait());
        });
        let id = start.await.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(StartError::Spawn)?;
        let group = Pid::from_raw(id.cast_signed()).ok_or_else(|| StartError::Spawn(std::io::Error::other("no id")))?;
        Ok(Running { group, ended, said })
    }

    /// Asks the browser for signs of life until it dies, sleeps, or the runtime ends. Then it has ended.
    async fn watch(&self, mut running: Running, stop: &CancellationToken) -> End {
        tracing::info!(
            chromium = %self.launch.chromium.display(),
            sandboxed = self.is_sandboxed(),
            past_the_guard = if launch::is_enforced() { "impossible" } else { "not by its flags" },
            "Chromium runs"
        );
        self.set(Condition::Ready);
        let mut silences = 0;
        let why = loop {
            tokio::select! {
                status = &mut running.ended => {
                    let status = status.map(|status| status.map(|status| status.to_string()));
                    tracing::error!(?status, said = last_words(&running.said), "Chromium ended");
                    self.set(Condition::Starting);
                    signal_group(running.group, Signal::KILL);
                    return End::Died;
                }
                () = stop.cancelled() => break End::Stopped,
                () = tokio::time::sleep(TICK) => {}
            }
            if self.is_idle() {
                // Whoever comes from here on waits for the next start.
                self.set(Condition::Asleep);
                if self.users.load(Ordering::Acquire) == 0 {
                    break End::Idle;
                }
                self.set(Condition::Ready);
            }
            silences = if answers(&self.browser).await { 0 } else { silences + 1 };
            self.set(if silences == 0 { Condition::Ready } else { Condition::Starting });
            if silences >= SILENCES {
                tracing::error!("Chromium does not answer any more, and is started again");
                break End::Died;
            }
        };
        self.end(running).await;
        why
    }

    /// Ends Chromium: kindly first, so that it writes its profile.
    async fn end(&self, mut running: Running) {
        let farewell = async {
            // A signal alone would lose the cookies of the last half minute.
            let asked = tokio::time::timeout(PATIENCE, self.browser.close()).await;
            if !matches!(asked, Ok(Ok(()))) {
                // To its first process, which tells the others.
                let _ = rustix::process::kill_process(running.group, Signal::TERM);
            }
            let _ = (&mut running.ended).await;
        };
        let ended = tokio::time::timeout(FAREWELL, farewell).await.is_ok();
        signal_group(running.group, Signal::KILL);
        if !ended {
            let _ = running.ended.await;
        }
    }
}

/// How long it is waited after so many starts.
fn wait_after(starts: usize) -> Duration {
    let doublings = u32::try_from(starts.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(2_u32.saturating_pow(doublings)).min(PAUSE)
}

fn keep_last(stderr: impl std::io::Read, lines: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    // A line without an end must not fill memory.
    while let Ok(count) = std::io::Read::take(&mut reader, 4096).read_until(b'\n', &mut line) {
        if count == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

fn last_words(said: &Mutex<VecDeque<String>>) -> String {
    let lines = said.lock().unwrap_or_else(PoisonError::into_inner);
    let last: Vec<_> = lines.iter().rev().take(3).rev().map(String::as_str).collect();
    last.join(" / ")
}

/// The profile below a workspace.
#[must_use]
pub fn profile_below(workspace: &Path) -> std::path::PathBuf {
    workspace.join(".browser").join("profile")
}

impl Wake for Arc<Chromium> {
    fn wake(&self) -> BoxFuture<'_, Result<Awake, Decision>> {
        Box::pin(async move {
            let user = self.clone();
            user.users.fetch_add(1, Ordering::AcqRel);
            let awake = Awake::new(move || {
                user.touch();
                user.users.fetch_sub(1, Ordering::AcqRel);
            });
            let mut condition = self.condition.subscribe();
            loop {
                match *condition.borrow_and_update() {
                    Condition::Ready => return Ok(awake),
                    Condition::Asleep => self.wanted.notify_one(),
                    Condition::Starting => {}
                    Condition::Gone => {
                        return Err(Decision::new(Code::BrowserUnavailable, "the browser does not stay up"));
                    }
                }
                if condition.changed().await.is_err() {
                    return Err(Decision::new(Code::BrowserUnavailable, "the runtime ends"));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chromium(root: &Path, script: &str, idle: Duration) -> (Arc<Chromium>, watch::Receiver<Condition>) {
        let program = root.join("chromium");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
        let launch = Launch {
            chromium: program,
            profile: root.join(".browser/profile"),
            private: root.join("r/browser"),
            cdp_port: port,
            guard: "127.0.0.1:1".parse().expect("an address"),
        };
        let (condition, receiver) = watch::channel(Condition::Starting);
        (Chromium::new(launch, idle, SandboxChoice::Require, Arc::new(condition)), receiver)
    }

    #[tokio::test]
    async fn a_profile_behind_a_link_and_a_taken_port_are_refused() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("r")).expect("made");
        let (chromium, _) = chromium(root.path(), "exit 0", Duration::from_mins(1));
        assert!(chromium.prepare().is_ok(), "control");
        fs::remove_dir_all(root.path().join(".browser")).expect("removed");
        fs::create_dir(root.path().join("elsewhere")).expect("made");
        std::os::unix::fs::symlink("elsewhere", root.path().join(".browser")).expect("linked");
        assert!(matches!(chromium.prepare(), Err(StartError::Link(_))));
        fs::remove_file(root.path().join(".browser")).expect("removed");
        let listener = TcpListener::bind(("127.0.0.1", chromium.launch.cdp_port)).expect("bound");
        assert!(matches!(chromium.prepare(), Err(StartError::PortTaken(_))));
        drop(listener);
    }

    #[test]
    fn each_start_waits_longer_than_the_one_before() {
        let waits: Vec<_> = (1..MAX_STARTS).map(|starts| wait_after(starts).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000]);
        assert_eq!(wait_after(usize::MAX), PAUSE);
    }

    #[tokio::test]
    async fn locks_of_another_machine_are_removed() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("r")).expect("made");
        let (chromium, _) = chromium(root.path(), "exit 0", Duration::from_mins(1));
        chromium.prepare().expect("prepared");
        let lock = chromium.launch.profile.join("SingletonLock");
        std::os::unix::fs::symlink("another-machine-17", &lock).expect("linked");
        chromium.prepare().expect("prepared");
        assert!(fs::symlink_metadata(&lock).is_err());
    }
}
