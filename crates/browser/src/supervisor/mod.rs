//! Supervisor of the Chromium that a server starts for itself: its starts, health checks, restarts, idle stops and its end.
//!
//! Invariants: no Chromium remains when the supervisor ends; none is started while its profile is behind a link.

mod flood;
mod inspection;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use futures::future::BoxFuture;
use thiserror::Error;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use self::flood::{FLOODED_UNANSWERED, Renderers, UNANSWERED, min_share};
use self::inspection::Processes;
use crate::display::RunningDisplay;
use crate::health::{BrowserGuard, BrowserHealth, EnsureBrowser, HEALTH_INTERVAL, HEALTH_TIMEOUT, MAX_UNANSWERED, set};
use crate::launch::{self, LaunchConfig};
use crate::process::{Delay, RecentStarts, SupervisedProcess};
use browser_shell_cdp::protocol::browser::{Close, GetVersion};
use browser_shell_cdp::{Connection, DebugPipe};

/// Interval between checks of a browser that starts.
const START_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Timeout for Chromium to write its profile and end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of failed starts in a row after which a Chromium counts as broken.
const MAX_FAILED_STARTS: u32 = 3;

/// Timeout for a start.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Requirement on Chromium's renderer sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RendererSandbox {
    /// Use it if the container allows it
    Auto,
    /// Do not start Chromium without it
    Require,
}

/// Reason why a start failed.
#[derive(Debug, Error)]
enum BrowserStartError {
    #[error("cannot use the folder `{path}`: {source}")]
    Folder { path: String, source: io::Error },
    #[error("`{0}` is a link; the profile must be in the workspace itself")]
    Link(String),
    #[error("cannot start: {0}")]
    Spawn(io::Error),
    #[error("it ended at once ({status}): {stderr}")]
    Ended { status: String, stderr: String },
    #[error("it did not answer within {} s", START_TIMEOUT.as_secs())]
    TimedOut,
    #[error("the display does not run")]
    NoDisplay,
    #[error("the server stops")]
    Stopped,
}

/// Texts on standard error by which Chromium says that it cannot use its renderer sandbox. Chromium 156 has the first and the last one in
/// its message where the kernel refuses its user namespaces, as under the default filter of container engines.
const SANDBOX_REFUSALS: [&str; 3] = ["No usable sandbox", "Failed to move to new namespace", "zygote_host"];

impl BrowserStartError {
    /// Returns true if Chromium ended because it cannot use its renderer sandbox, and not for another reason or before it was Chromium.
    fn is_sandbox_refusal(&self) -> bool {
        matches!(self, Self::Ended { stderr, .. } if SANDBOX_REFUSALS.iter().any(|text| stderr.contains(text)))
    }
}

/// Reason why a run of the browser ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunEnd {
    /// The server stops.
    Stopped,
    /// No call has used the browser for a while.
    Idle,
    /// The browser ended or stopped answering.
    Failed,
}

/// Chromium that answers.
struct RunningChromium {
    process: SupervisedProcess,
    connection: Arc<Connection>,
}

/// Supervisor of the browser of a server.
pub struct ChromiumSupervisor {
    config: LaunchConfig,
    /// Time without a call after which the browser is stopped, if it ever is.
    idle_timeout: Option<Duration>,
    renderer_sandbox: RendererSandbox,
    /// True if Chromium is started with its renderer sandbox.
    is_sandboxed: AtomicBool,
    starts: AtomicU64,
    health: Arc<watch::Sender<BrowserHealth>>,
    /// Connection to the Chromium that runs.
    connection: watch::Sender<Option<Arc<Connection>>>,
    /// Reason of the last failed start, once several in a row have failed.
    broken: watch::Sender<Option<String>>,
    /// Request to start a browser that was stopped for idleness.
    wake_request: Notify,
    usage: Usage,
}

impl ChromiumSupervisor {
    /// Creates a supervisor; [`Self::run`] starts the browser.
    #[must_use]
    pub fn new(
        config: LaunchConfig,
        idle_timeout: Option<Duration>,
        renderer_sandbox: RendererSandbox,
        health: Arc<watch::Sender<BrowserHealth>>,
        connection: watch::Sender<Option<Arc<Connection>>>,
    ) -> Arc<Self> {
        // Chromium refuses to use its sandbox when root starts it.
        let is_root = rustix::process::geteuid().is_root() && renderer_sandbox == RendererSandbox::Auto;
        Arc::new(Self {
            config,
            idle_timeout,
            renderer_sandbox,
            is_sandboxed: AtomicBool::new(!is_root),
            starts: AtomicU64::new(0),
            health,
            connection,
            broken: watch::Sender::new(None),
            wake_request: Notify::new(),
            usage: Usage::default(),
        })
    }

    /// Returns the number of starts.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Waits until three starts in a row have failed, and returns the reason of the last one.
    pub async fn broken(&self) -> String {
        let mut broken = self.broken.subscribe();
        broken.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    /// Keeps the browser running until `stop` is canceled, and returns when it has ended.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut recent_starts = RecentStarts::default();
        let mut failed_starts = 0;
        loop {
            set(&self.health, BrowserHealth::Starting);
            recent_starts.record();
            let end = match self.start(&stop).await {
                Ok(chromium) => {
                    failed_starts = 0;
                    self.connection.send_replace(Some(chromium.connection.clone()));
                    let end = self.watch(chromium, &stop).await;
                    self.connection.send_replace(None);
                    end
                }
                Err(BrowserStartError::Stopped) => RunEnd::Stopped,
                Err(error) => {
                    tracing::error!(%error, chromium = %self.config.chromium.display(), "Chromium does not start");
                    failed_starts += 1;
                    if failed_starts == MAX_FAILED_STARTS {
                        self.broken.send_replace(Some(error.to_string()));
                    }
                    RunEnd::Failed
                }
            };
            match end {
                RunEnd::Stopped => break,
                RunEnd::Idle => {
                    tracing::info!("Chromium is stopped until the next call");
                    set(&self.health, BrowserHealth::Idle);
                    recent_starts.clear();
                    tokio::select! {
                        () = self.wake_request.notified() => {}
                        () = stop.cancelled() => break,
                    }
                }
                RunEnd::Failed => {
                    let delay = match recent_starts.next_delay() {
                        Delay::Short(delay) => delay,
                        Delay::Pause(pause) => {
                            tracing::error!(pause_sec = pause.as_secs(), "Chromium does not keep running");
                            set(&self.health, BrowserHealth::Unavailable);
                            pause
                        }
                    };
                    tokio::select! {
                        () = tokio::time::sleep(delay) => {}
                        () = stop.cancelled() => break,
                    }
                }
            }
        }
        set(&self.health, BrowserHealth::Unavailable);
    }

    /// Starts Chromium and waits until it answers.
    async fn start(&self, stop: &CancellationToken) -> Result<RunningChromium, BrowserStartError> {
        let sandboxed = self.is_sandboxed.load(Ordering::Relaxed);
        match self.try_start(sandboxed, stop).await {
            Err(error) if sandboxed && self.renderer_sandbox == RendererSandbox::Auto && error.is_sandbox_refusal() => {
                let chromium = self.try_start(false, stop).await?;
                tracing::warn!(
                    "Chromium cannot use its renderer sandbox in this container, and runs without it; it needs a kernel that lets users create namespaces"
                );
                self.is_sandboxed.store(false, Ordering::Relaxed);
                Ok(chromium)
            }
            result => result,
        }
    }

    async fn try_start(&self, sandboxed: bool, stop: &CancellationToken) -> Result<RunningChromium, BrowserStartError> {
        prepare(&self.config)?;
        let display = self.wait_for_display(stop).await?;
        self.starts.fetch_add(1, Ordering::Relaxed);
        let (pipe, theirs) = DebugPipe::open().map_err(BrowserStartError::Spawn)?;
        let mut command = self.config.command(sandboxed, display.as_ref());
        command.stdin(theirs.stdin).stdout(theirs.stdout);
        let mut process = SupervisedProcess::spawn(command).await.map_err(BrowserStartError::Spawn)?;
        let connection = browser_shell_cdp::over_pipe(pipe);
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    shut_down(RunningChromium { process, connection }).await;
                    return Err(BrowserStartError::Stopped);
                }
                status = process.wait() => {
                    // Other processes of the group would hold the profile.
                    process.kill_group();
                    return Err(BrowserStartError::Ended { status, stderr: process.last_lines().await });
                }
                is_ready = answers(&connection) => {
                    if is_ready {
                        self.usage.touch();
                        return Ok(RunningChromium { process, connection });
                    }
                }
            }
            // The pipe is closed a moment before the process has ended.
            tokio::time::sleep(START_POLL_INTERVAL).await;
            if Instant::now() > deadline {
                shut_down(RunningChromium { process, connection }).await;
                return Err(BrowserStartError::TimedOut);
            }
        }
    }

    /// Waits until the display runs, if Chromium has one.
    async fn wait_for_display(&self, stop: &CancellationToken) -> Result<Option<RunningDisplay>, BrowserStartError> {
        let Some(display) = &self.config.display else { return Ok(None) };
        let mut display = display.clone();
        let running = async { display.wait_for(Option::is_some).await.ok().and_then(|running| running.clone()) };
        tokio::select! {
            running = tokio::time::timeout(START_TIMEOUT, running) => match running {
                Ok(Some(running)) => Ok(Some(running)),
                _ => Err(BrowserStartError::NoDisplay),
            },
            () = stop.cancelled() => Err(BrowserStartError::Stopped),
        }
    }

    /// Checks the browser until it fails, is idle or the server stops. The browser has ended when this returns.
    async fn watch(&self, mut chromium: RunningChromium, stop: &CancellationToken) -> RunEnd {
        tracing::info!(
            chromium = %self.config.chromium.display(),
            sandboxed = self.is_sandboxed.load(Ordering::Relaxed),
            past_the_guard = if launch::is_enforced() { "impossible" } else { "not by its flags" },
            other_files = if launch::confines_files() { "impossible" } else { "as its user" },
            "Chromium runs"
        );
        set(&self.health, BrowserHealth::Ready);
        let (mut unanswered, mut max_unanswered) = (0_u32, MAX_UNANSWERED);
        let mut renderers = None;
        let mut processes = Processes::of(chromium.process.group());
        let mut stopped = std::pin::pin!(chromium.process.stopped());
        let end = loop {
            tokio::select! {
                () = &mut stopped => {
                    tracing::error!("Chromium was stopped by a signal, and is restarted");
                    set(&self.health, BrowserHealth::Starting);
                    chromium.process.kill_group();
                    chromium.process.wait().await;
                    return RunEnd::Failed;
                }
                status = chromium.process.wait() => {
                    set(&self.health, BrowserHealth::Starting);
                    chromium.process.kill_group();
                    let stderr = chromium.process.last_lines().await;
                    tracing::error!(status, stderr, "Chromium ended");
                    return RunEnd::Failed;
                }
                () = stop.cancelled() => break RunEnd::Stopped,
                () = tokio::time::sleep(HEALTH_INTERVAL) => {}
            }
            if self.idle_timeout.is_some_and(|timeout| self.usage.is_idle(timeout)) {
                // From here on, new calls wait for the next start.
                set(&self.health, BrowserHealth::Idle);
                if !self.usage.is_in_use() {
                    break RunEnd::Idle;
                }
                set(&self.health, BrowserHealth::Ready);
            }
            let inspection = processes.inspect_if_due();
            for threads in inspection.ended {
                tracing::error!(threads, "a renderer with too many threads was ended");
                chromium.connection.note_flood();
            }
            if inspection.has_lost_zygote {
                tracing::error!(
                    "Chromium can start no renderer any more, since its zygote has ended, and is restarted"
                );
                set(&self.health, BrowserHealth::Starting);
                break RunEnd::Failed;
            }
            unanswered = if answers(&chromium.connection).await { 0 } else { unanswered + 1 };
            set(&self.health, if unanswered == 0 { BrowserHealth::Ready } else { BrowserHealth::Starting });
            if unanswered == 0 {
                (renderers, max_unanswered) = (None, MAX_UNANSWERED);
                continue;
            }
            let renderers = renderers.get_or_insert_with(|| Renderers::of(chromium.process.group()));
            if unanswered.is_multiple_of(UNANSWERED)
                && let Some(share) = renderers.end_busiest(min_share(unanswered))
            {
                tracing::error!(share, "Chromium does not answer, and the renderer that takes most time was ended");
                chromium.connection.note_flood();
                // Chromium takes what it had sent first.
                max_unanswered = unanswered + FLOODED_UNANSWERED;
            }
            if unanswered >= max_unanswered {
                tracing::error!("Chromium stopped answering, and is restarted");
                break RunEnd::Failed;
            }
        };
        shut_down(chromium).await;
        end
    }
}

/// Returns whether Chromium answers within [`HEALTH_TIMEOUT`].
async fn answers(connection: &Connection) -> bool {
    tokio::time::timeout(HEALTH_TIMEOUT, connection.send(None, &GetVersion {})).await.is_ok_and(|answer| answer.is_ok())
}

/// Ends Chromium: by request first, so that it writes its profile, then by signals.
async fn shut_down(chromium: RunningChromium) {
    let RunningChromium { mut process, connection } = chromium;
    let ended = tokio::time::timeout(SHUTDOWN_TIMEOUT, async {
        // A signal alone would lose the cookies of the last half minute.
        if !matches!(tokio::time::timeout(HEALTH_TIMEOUT, connection.send(None, &Close {})).await, Ok(Ok(_))) {
            process.terminate();
        }
        process.wait().await;
    })
    .await
    .is_ok();
    process.kill_group();
    if !ended {
        process.wait().await;
    }
}

impl EnsureBrowser for Arc<ChromiumSupervisor> {
    fn ensure_running(&self) -> BoxFuture<'_, Result<BrowserGuard, Decision>> {
        Box::pin(async move {
            let supervisor = self.clone();
            supervisor.usage.begin();
            let guard = BrowserGuard::new(move || supervisor.usage.end());
            let mut health = self.health.subscribe();
            loop {
                match *health.borrow_and_update() {
                    BrowserHealth::Ready => return Ok(guard),
                    BrowserHealth::Idle => self.wake_request.notify_one(),
                    BrowserHealth::Starting => {}
                    BrowserHealth::Unavailable => {
                        return Err(Decision::new(Code::BrowserUnavailable, "the browser does not keep running"));
                    }
                }
                if health.changed().await.is_err() {
                    return Err(Decision::new(Code::BrowserUnavailable, "the server stops"));
                }
            }
        })
    }

    fn instance(&self) -> BoxFuture<'_, Option<String>> {
        // Every start counts, so no request to the browser is needed.
        Box::pin(std::future::ready(Some(self.starts().to_string())))
    }
}

/// Number of calls that use the browser, and the time of the last use.
#[derive(Debug)]
struct Usage {
    users: AtomicUsize,
    last_use: Mutex<Instant>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { users: AtomicUsize::new(0), last_use: Mutex::new(Instant::now()) }
    }
}

impl Usage {
    /// Sets the time of the last use to now.
    fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns whether a call uses the browser now.
    fn is_in_use(&self) -> bool {
        self.users.load(Ordering::Acquire) > 0
    }

    /// Returns whether no call has used the browser for this time.
    fn is_idle(&self, time: Duration) -> bool {
        let last_use = self.last_use.lock().unwrap_or_else(PoisonError::into_inner);
        !self.is_in_use() && last_use.elapsed() >= time
    }

    /// Counts a call that uses the browser from now on.
    fn begin(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts a call that no longer uses the browser.
    fn end(&self) {
        self.touch();
        self.users.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns the folder of the profile in a workspace.
#[must_use]
pub fn profile_folder(workspace: &Path) -> PathBuf {
    workspace.join(".browser").join("profile")
}

/// Creates the folders.
fn prepare(config: &LaunchConfig) -> Result<(), BrowserStartError> {
    // The profile may be in the private folder.
    for folder in [config.private.as_path(), config.profile.as_path()] {
        let failed = |source| BrowserStartError::Folder { path: folder.display().to_string(), source };
        // The profile's folder and its parent are ours; the folders above them are the orchestrator's.
        for path in folder.parent().into_iter().chain([folder]) {
            match fs::create_dir(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => result.map_err(failed)?,
            }
            let metadata = fs::symlink_metadata(path).map_err(failed)?;
            if !metadata.is_dir() {
                return Err(BrowserStartError::Link(path.display().to_string()));
            }
        }
    }
    // Links that name the host that last used the profile: Chromium would take it for still in use there.
    for name in ["SingletonLock", "SingletonCookie", "SingletonSocket"] {
        let _ = fs::remove_file(config.profile.join(name));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
