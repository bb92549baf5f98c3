//! Accept loops of the guard, one for each listener.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::EgressError;
use crate::guard::EgressGuard;
use crate::listeners::Listeners;
use crate::mode_log::ModeLog;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::metrics::Metrics;
use browser_shell_system::os::accept::accept;
use browser_shell_system::paths::check_folder;
use browser_shell_system::policy_source::PolicySource;

/// Timeout for open connections to write their audit lines when the guard stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// State of all accept loops.
#[derive(Debug)]
struct GuardServer {
    guard: EgressGuard,
    mode_log: ModeLog,
    connections: TaskTracker,
    stop: CancellationToken,
}

/// Serves on listeners from [`bind`](super::bind) until `stop` is canceled. `sessions` is the folder that names the sessions of
/// the session addresses.
///
/// # Errors
///
/// If others can write to the folder, or it is missing.
pub async fn serve(
    listeners: Listeners,
    sessions: Option<PathBuf>,
    policy: PolicySource,
    audit: AuditLog,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) -> Result<(), EgressError> {
    if let Some(folder) = &sessions {
        check_folder(folder)?;
    }
    let Listeners { address, own, sessions: of_sessions } = listeners;
    tracing::info!(%address, "listening");
    if !of_sessions.is_empty() {
        tracing::info!(count = of_sessions.len(), "listening for sessions");
    }
    let guard = EgressGuard::new(policy, audit, metrics, address, sessions, stop.clone());
    let server = Arc::new(GuardServer { guard, mode_log: ModeLog::default(), connections: TaskTracker::new(), stop });
    server.mode_log.log_change(server.guard.policy());
    let mut loops = JoinSet::new();
    for (ip, listener) in of_sessions {
        loops.spawn(server.clone().accept(listener, Some(ip)));
    }
    server.clone().accept(own, None).await;
    while loops.join_next().await.is_some() {}
    server.connections.close();
    let _ = timeout(SHUTDOWN_TIMEOUT, server.connections.wait()).await;
    Ok(())
}

impl GuardServer {
    /// Accepts connections until the guard stops. `session_address` is the address of the listener, if it is one of a session.
    async fn accept(self: Arc<Self>, listener: TcpListener, session_address: Option<IpAddr>) {
        loop {
            let (stream, _) = tokio::select! {
                accepted = accept(&listener) => accepted,
                () = self.stop.cancelled() => return,
            };
            self.mode_log.log_change(self.guard.policy());
            let server = self.clone();
            self.connections.spawn(async move { server.guard.serve_client(stream, session_address).await });
        }
    }
}
