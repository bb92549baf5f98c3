//! Services that all calls of a process share.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::call::output_worker::OutputWorker;
use crate::call::pages::Pages;
use crate::session::Sessions;
use browser_shell_agent_browser::Transport;
use browser_shell_browser::EnsureBrowser;
use browser_shell_browser::gate::ControlGate;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::metrics::{Gauges, Metrics};
use browser_shell_system::os::dns::Dns;
use browser_shell_system::policy_source::PolicySource;

/// Services that all calls of a process share.
pub struct Services {
    /// Source of the policy.
    pub policy: PolicySource,
    /// Name resolution.
    pub dns: Dns,
    /// Sessions of this process.
    pub sessions: Sessions,
    /// Transport to agent-browser.
    pub transport: Arc<dyn Transport>,
    /// Control gate that the sessions' agent-browsers connect to.
    pub gate: Arc<ControlGate>,
    /// Starts Chromium when a call needs it; `None` where another program starts it.
    pub ensure_browser: Option<Arc<dyn EnsureBrowser>>,
    /// Pages that sessions have opened.
    pub pages: Pages,
    /// Audit log.
    pub audit: AuditLog,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Tasks that continue after a reply.
    pub background: TaskTracker,
    /// Worker for large outputs.
    pub output_worker: OutputWorker,
}

impl Services {
    /// Returns the text of `/metrics`, with the state of the browser and the number of its starts.
    pub(crate) fn metrics_text(&self, browser: BrowserHealth, browser_starts: u64) -> String {
        self.metrics.to_text(&Gauges {
            sessions: self.sessions.len(),
            subjects: self.sessions.by_subject(),
            contexts: self.gate.contexts(),
            browser_is_up: browser == BrowserHealth::Ready,
            browser_starts,
            gate_refusals: self.gate.refusals(),
            policy_is_in_force: self.policy.current().is_ok(),
            audit_is_writing: self.audit.is_writing(),
            audit_lines_lost: self.audit.lost(),
        })
    }
}
