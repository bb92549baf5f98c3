//! Listener of the guard.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::audit::AuditLog;
use crate::egress::error::EgressError;
use crate::egress::guard::EgressGuard;
use crate::policy_source::PolicySource;

/// Default address of the guard; the image's Chromium is configured to use it.
pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:8119";

/// Timeout for open connections to write their audit lines when the guard stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Pause after a failed accept, such as with too many open files.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Listens on `address`, so that no other process can take it before [`serve`].
///
/// # Errors
///
/// See [`EgressError`].
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, EgressError> {
    if !address.ip().is_loopback() {
        return Err(EgressError::NotLoopback(address));
    }
    TcpListener::bind(address).await.map_err(|error| EgressError::Listen { address, error })
}

/// Serves on a listener from [`bind`] until `stop` is canceled.
///
/// # Errors
///
/// See [`EgressError`].
pub(crate) async fn serve(
    listener: TcpListener,
    policy: PolicySource,
    audit: AuditLog,
    stop: CancellationToken,
) -> Result<(), EgressError> {
    let unspecified = SocketAddr::from(([0, 0, 0, 0], 0));
    let address = listener.local_addr().map_err(|error| EgressError::Listen { address: unspecified, error })?;
    tracing::info!(%address, "listening");
    let guard = Arc::new(EgressGuard::new(policy, audit, address, stop.clone()));
    let mut logged_mode = None;
    guard.log_mode_change(&mut logged_mode);
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                guard.log_mode_change(&mut logged_mode);
                let guard = guard.clone();
                connections.spawn(async move { guard.serve_client(stream).await });
            }
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
    connections.close();
    let _ = timeout(SHUTDOWN_TIMEOUT, connections.wait()).await;
    Ok(())
}
