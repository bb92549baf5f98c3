//! Services that all calls of a process share.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::agent_browser::Transport;
use crate::audit::AuditLog;
use crate::browser::EnsureBrowser;
use crate::browser::health::BrowserHealth;
use crate::call::output_worker::OutputWorker;
use crate::call::pages::Pages;
use crate::gate::ControlGate;
use crate::metrics::{Gauges, Metrics};
use crate::os::dns::Dns;
use crate::policy_source::PolicySource;
use crate::session::Sessions;

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
