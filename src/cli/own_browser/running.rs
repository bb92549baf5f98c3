//! Chromium that a server started, and its egress guard.

use std::sync::Arc;

use crate::cli::own_browser::parts::OwnBrowser;
use crate::cli::task::Task;
use browser_shell_browser::supervisor::ChromiumSupervisor;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::metrics::Metrics;
use browser_shell_system::policy_source::PolicySource;

/// Chromium that runs, and its egress guard, which starts before it and stops after it.
pub(in crate::cli) struct RunningBrowser {
    guard: Task,
    chromium: Task,
}

impl RunningBrowser {
    /// Starts the guard and then the supervisor of Chromium.
    pub(in crate::cli) fn start(
        own: OwnBrowser,
        chromium: Arc<ChromiumSupervisor>,
        policy: PolicySource,
        audit: AuditLog,
        metrics: Arc<Metrics>,
    ) -> Self {
        let guard = Task::start(|stop| async move {
            // A guard that ends early is logged, and Chromium has no connection then.
            let _ = browser_shell_egress::serve(own.listeners, Some(own.folder), policy, audit, metrics, stop).await;
        });
        Self { guard, chromium: Task::start(|stop| chromium.run(stop)) }
    }

    /// Stops both, and waits until they have ended.
    pub(in crate::cli) async fn stop(self) {
        self.chromium.stop().await;
        self.guard.stop().await;
    }
}
