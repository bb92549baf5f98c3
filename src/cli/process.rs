//! Setup of the process: privileges, limits, log, executor and signals.

use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::process::ExitCode;

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::output::CliError;
use crate::cli::services::{DefaultPolicy, open_audit, open_policy};
use browser_shell_system::audit::AuditLog;
use browser_shell_system::config::Settings;
use browser_shell_system::os::log::{Stderr, log_lines};
use browser_shell_system::policy_source::PolicySource;

/// Makes new files private and bars child processes from gaining privileges.
pub(super) fn restrict_privileges() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A kernel without this feature is no reason to refuse to start.
    let _ = rustix::thread::set_no_new_privs(true);
}

/// Raises the limit of open files to the maximum: a connection takes two, and the usual limit is 1024.
pub(super) fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it, new connections wait until others end.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Starts the program's log, with color if standard error is a terminal.
pub(super) fn start_log(level: tracing::Level, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) {
    // Clients learn about their own mistakes from the replies; the operator's log leaves them out.
    let filter = Targets::new()
        .with_default(level)
        .with_target("rmcp", tracing::Level::ERROR)
        // Its errors are answers to clients that are gone.
        .with_target("rmcp::service", LevelFilter::OFF);
    let lines = log_lines(writer, io::stderr().is_terminal());
    // The first call in a process wins.
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
}

/// Creates an executor on this thread, for commands that do one thing.
pub(super) fn single_thread_executor() -> Result<Runtime, CliError> {
    Builder::new_current_thread().enable_all().build().map_err(CliError::Executor)
}

/// Creates an executor with a thread for every two cores, up to `max_threads`.
///
/// The server waits more than it computes, and Chromium and agent-browser need the other cores at the same time. On two cores, a second
/// thread is woken for most messages, and adds a tenth to the time of an act.
pub(super) fn multi_thread_executor(max_threads: usize) -> Result<Runtime, CliError> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.div_ceil(2).min(max_threads);
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().map_err(CliError::Executor)
}

/// Runs a server, which gets its policy file and its audit log, until it ends. What still runs then is dropped.
///
/// # Errors
///
/// As `serve`, or an error if the executor cannot start, the policy file does not exist or the audit log cannot be opened.
pub(super) fn run_server(
    max_threads: usize,
    settings: &Settings,
    default: DefaultPolicy,
    serve: impl AsyncFnOnce(PolicySource, AuditLog) -> Result<(), CliError>,
) -> Result<ExitCode, CliError> {
    let (stderr, _flush) = Stderr::open();
    start_log(tracing::Level::INFO, stderr.clone());
    raise_file_limit();
    let executor = multi_thread_executor(max_threads)?;
    let result = executor.block_on(async {
        // First, because the signal ends a process that does not handle it.
        let hangups = Hangups::listen()?;
        let policy = open_policy(settings, default)?;
        let audit = open_audit(settings, Some(stderr))?;
        tokio::spawn(hangups.reopen(audit.clone()));
        tokio::spawn(policy.clone().watch());
        serve(policy, audit).await
    });
    executor.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

/// SIGHUP at a server. It does not end the server, also if no log is rotated.
pub(super) struct Hangups(Signal);

impl Hangups {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// If the system has no handler for it.
    pub(super) fn listen() -> Result<Self, CliError> {
        signal(SignalKind::hangup()).map(Self).map_err(CliError::Executor)
    }

    /// Opens the audit file again at each signal, as programs that rotate logs expect it.
    pub(super) async fn reopen(mut self, audit: AuditLog) {
        while self.0.recv().await.is_some() {
            audit.reopen();
        }
    }
}

/// Cancels the token on SIGTERM or SIGINT, from the call on.
pub(super) fn stop_on_signal(stop: CancellationToken) -> impl Future<Output = ()> + Send {
    stop_on(stop, [SignalKind::terminate(), SignalKind::interrupt()])
}

/// Cancels the token on SIGTERM, SIGINT or SIGHUP, for a program that must end with its terminal or its client.
pub(super) fn stop_on_signal_or_hangup(stop: CancellationToken) -> impl Future<Output = ()> + Send {
    stop_on(stop, [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()])
}

fn stop_on<const N: usize>(stop: CancellationToken, kinds: [SignalKind; N]) -> impl Future<Output = ()> + Send {
    // Now, and not when the future is polled: until then, a signal ends the process without an order.
    let streams: Vec<_> = kinds.map(signal).into_iter().filter_map(Result::ok).collect();
    async move {
        let received = streams.into_iter().map(|mut stream| Box::pin(async move { stream.recv().await }));
        futures::future::select_all(received).await;
        stop.cancel();
    }
}
