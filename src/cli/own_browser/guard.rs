//! Egress guard in the process of a server.

use std::path::PathBuf;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::audit::AuditLog;
use crate::egress::{self, EgressError, Listeners};
use crate::policy_source::PolicySource;

/// Egress guard that runs. It starts before the browser and stops after it.
pub(in crate::cli) struct EgressGuard {
    task: JoinHandle<Result<(), EgressError>>,
    stop: CancellationToken,
}

impl EgressGuard {
    /// Starts a guard on listeners, with the folder that names the sessions of their addresses.
    pub(in crate::cli) fn start(policy: PolicySource, audit: AuditLog, listeners: Listeners, folder: PathBuf) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(egress::serve(listeners, Some(folder), policy, audit, stop.clone()));
        Self { task, stop }
    }

    /// Stops the guard and waits until it has ended.
    pub(in crate::cli) async fn stop(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
}
