//! Server of the guard: its listeners, at its own address and at the addresses of sessions, and an accept loop for each.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::guard::EgressGuard;
use browser_shell_core::policy::EgressMode;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::metrics::Metrics;
use browser_shell_system::os::connections::accept;
use browser_shell_system::os::describe;
use browser_shell_system::paths::{PathError, check_folder, session_addresses};
use browser_shell_system::policy_source::PolicySource;

/// Default address of the guard; the image's Chromium is configured to use it.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8119";

/// Number of ports that the system may choose: at a session's address, another program can have it.
const MAX_ATTEMPTS: usize = 16;

/// Timeout for open connections to write their audit lines when the guard stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Error of starting the guard.
#[derive(Debug, Error)]
pub enum EgressError {
    /// The address is reachable from other machines.
    #[error(
        "`{0}` can be reached from other machines, and the guard has no authentication; listen on 127.0.0.1 or [::1]"
    )]
    NotLoopback(SocketAddr),
    /// Listening on the address failed.
    #[error("cannot listen on `{address}`: {}; choose another address with {flag}", describe(error))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Flag that sets the address of the guard.
        flag: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// The folder that names the sessions cannot be trusted or used.
    #[error(transparent)]
    Sessions(#[from] PathError),
}

/// Listeners of a guard, all on the same port.
#[derive(Debug)]
pub struct Listeners {
    /// Address for connections of no session.
    address: SocketAddr,
    own: TcpListener,
    sessions: Vec<(IpAddr, TcpListener)>,
}

impl Listeners {
    /// Returns the guard's own address, with the port that the system chose if it was 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Listens on `address`, and on the first `session_addresses` addresses of sessions, so that no other process can take them
/// before [`serve`]. For port 0, the system chooses one that is free at all of them. `flag` is the one that sets the address.
///
/// # Errors
///
/// See [`EgressError`].
pub async fn bind(address: SocketAddr, flag: &'static str, session_addresses: u8) -> Result<Listeners, EgressError> {
    if !address.ip().is_loopback() {
        return Err(EgressError::NotLoopback(address));
    }
    let attempts = if address.port() == 0 { MAX_ATTEMPTS } else { 1 };
    let mut result = bind_once(address, flag, session_addresses).await;
    for _ in 1..attempts {
        if result.is_ok() {
            break;
        }
        result = bind_once(address, flag, session_addresses).await;
    }
    result
}

async fn bind_once(address: SocketAddr, flag: &'static str, session_addresses: u8) -> Result<Listeners, EgressError> {
    let failed = |address| move |error| EgressError::Listen { address, flag, error };
    let own = TcpListener::bind(address).await.map_err(failed(address))?;
    let address = own.local_addr().map_err(failed(address))?;
    let mut sessions = Vec::new();
    for ip in self::session_addresses(session_addresses) {
        let address = SocketAddr::new(ip.into(), address.port());
        sessions.push((address.ip(), TcpListener::bind(address).await.map_err(failed(address))?));
    }
    Ok(Listeners { address, own, sessions })
}

/// Mode that was logged last. What is wrong with the policy file is logged elsewhere.
#[derive(Debug, Default)]
struct ModeLog(Mutex<Option<EgressMode>>);

impl ModeLog {
    /// Logs the mode if it differs from the one logged last.
    fn log_change(&self, policy: &PolicySource) {
        let mode = policy.current().ok().map(|policy| policy.egress.mode);
        let last = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), mode);
        match mode {
            Some(mode) if last == Some(mode) => {}
            Some(EgressMode::Off) => {
                tracing::warn!("egress.mode is `off`: pages can reach every address except loopback and 0.0.0.0/8");
            }
            Some(mode) => tracing::info!(mode = mode.as_str(), "guarding"),
            None => {}
        }
    }
}

/// State of all accept loops.
#[derive(Debug)]
struct GuardServer {
    guard: EgressGuard,
    mode_log: ModeLog,
    connections: TaskTracker,
    stop: CancellationToken,
}

/// Serves on listeners from [`bind`] until `stop` is canceled. `sessions` is the folder that names the sessions of
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn address_in_use_is_named_with_its_flag() {
        let taken = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = taken.local_addr().expect("an address");
        let error = bind(address, "--egress", 0).await.expect_err("in use").to_string();
        let (start, end) = (format!("cannot listen on `{address}`: "), "; choose another address with --egress");
        assert!(error.starts_with(&start) && error.ends_with(end), "{error}");
    }
}
