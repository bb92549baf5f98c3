//! Service behind REST and MCP: one command, a batch, the end of a session; with the health, description and metrics of the runtime.
//!
//! Invariants: a call that was started is finished, logged and counted, even if its caller disconnects; nothing here changes a
//! decision of the pipeline; ending a tenant's session cancels all its running calls and no other's; a tenant without calls takes no
//! memory. Requirements 4.1 and 4.2.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api::orchestrator::identity::{RuntimeIdentity, Tenancy, contract_exit_code};
use crate::api::orchestrator::replies::{
    BatchResult, Capabilities, Capability, ExecResult, HealthReply, Meta, RuntimeMeta, StepResult, WorkspaceMeta,
};
use crate::api::orchestrator::requests::{BatchRequest, Caller, ExecCommand, ExecRequest};
use crate::api::orchestrator::skills::Skill;
use crate::call::{CallOptions, CallRequest, OutputStyle, PageAfterClose, Pipeline, TimeoutScope};
use browser_shell_browser::health::BrowserHealth;
use browser_shell_browser::supervisor::ChromiumSupervisor;
use browser_shell_core::decision::Code;
use browser_shell_core::grammar::{Profile, take_json_flag, words};
use browser_shell_core::request::CallArguments;
use browser_shell_core::session_id::TenantId;
use browser_shell_system::audit::milliseconds;

/// Timeout for ending a session.
const DESTROY_TIMEOUT: Duration = Duration::from_secs(30);

/// Name that an orchestrator of this contract expects.
const NAME: &str = "gull";

/// Version of the contract.
const API_VERSION: &str = "v1";

/// Version of the contract's capability `browser`.
const BROWSER_VERSION: &str = "1.0";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runtime of one or several tenants.
pub(crate) struct Runtime {
    /// Pipeline that all calls go through.
    pub pipeline: Arc<Pipeline>,
    /// Tenancy, name and folders.
    pub identity: RuntimeIdentity,
    /// Grammar profile of all commands.
    pub profile: Profile,
    /// State of the browser.
    pub browser_health: watch::Receiver<BrowserHealth>,
    /// Supervisor of the browser, if the runtime starts it.
    pub chromium: Option<Arc<ChromiumSupervisor>>,
    /// Skills that came with the runtime.
    pub skills: Vec<Skill>,
    /// Calls that are running now.
    pub calls: ActiveCalls,
}

impl Runtime {
    /// Returns true if requests are read as by the runtime that this one replaces.
    pub(crate) fn is_lenient(&self) -> bool {
        self.profile == Profile::Compat
    }

    /// Runs one command. Dropping the future cancels it.
    pub(crate) async fn exec(self: &Arc<Self>, request: ExecRequest) -> ExecResult {
        let call = self.calls.enter(&self.identity.tenant_of(&request.caller));
        let cancel = call.token();
        // The call itself goes on to its audit line.
        let _cancel_on_drop = cancel.clone().drop_guard();
        self.run(request.cmd.0, request.timeout, &request.caller, cancel).await
    }

    /// Runs several commands, one after another, within one timeout. Dropping the future cancels them.
    pub(crate) async fn batch(self: &Arc<Self>, request: BatchRequest) -> BatchResult {
        let call = self.calls.enter(&self.identity.tenant_of(&request.caller));
        let cancel = call.token();
        let _cancel_on_drop = cancel.clone().drop_guard();
        let start = Instant::now();
        let total_steps = request.commands.len();
        let mut results = Vec::new();
        for (step_index, ExecCommand(cmd)) in request.commands.into_iter().enumerate() {
            let remaining = request.timeout.saturating_sub(start.elapsed());
            if remaining.is_zero() || cancel.is_cancelled() {
                break;
            }
            let step_start = Instant::now();
            let result = self.run(cmd.clone(), remaining, &request.caller, cancel.clone()).await;
            let has_failed = result.exit_code != 0;
            results.push(StepResult { cmd, result, step_index, duration_ms: milliseconds(step_start.elapsed()) });
            if has_failed && request.stop_on_error {
                break;
            }
        }
        let completed_steps = results.len();
        let success = completed_steps == total_steps && results.iter().all(|step| step.result.exit_code == 0);
        BatchResult { results, total_steps, completed_steps, success, duration_ms: milliseconds(start.elapsed()) }
    }

    /// Ends a session: its running calls, its processes, its files outside of the workspace. Returns whether none is left.
    pub(crate) async fn destroy(self: &Arc<Self>, tenant: &TenantId) -> bool {
        // A runtime of one tenant has no other session.
        if self.identity.tenancy == Tenancy::Single && *tenant != self.identity.tenant {
            return true;
        }
        // Without waiting: a session that hangs is the one that gets deleted.
        self.calls.cancel(tenant);
        let sessions = &self.pipeline.services().sessions;
        if !sessions.is_open(&tenant.session_id()) {
            self.pipeline.services().pages.forget(&tenant.session_id());
            return true;
        }
        let caller = Caller { tenant: Some(tenant.clone()), cargo: None };
        let cancel = self.calls.stop().child_token();
        let result = self.run("close".to_owned(), DESTROY_TIMEOUT, &caller, cancel).await;
        result.exit_code == 0 || !sessions.is_open(&tenant.session_id())
    }

    /// Returns the state of the browser now.
    #[must_use]
    pub(crate) fn browser_health(&self) -> BrowserHealth {
        *self.browser_health.borrow()
    }

    /// Returns the reply of `/health` for a state of the browser.
    #[must_use]
    pub(crate) fn health(&self, health: BrowserHealth) -> HealthReply {
        HealthReply {
            status: health.status(),
            browser_active: health.is_active(),
            browser_ready: health.is_active(),
            session: self.identity.tenant.as_str().to_owned(),
            version: VERSION,
        }
    }

    /// Returns the reply of `/meta`.
    #[must_use]
    pub(crate) fn meta(&self) -> Meta {
        let workspace = self.identity.own_workspace();
        Meta {
            runtime: RuntimeMeta { name: NAME, version: VERSION, api_version: API_VERSION },
            workspace: WorkspaceMeta { mount_path: self.identity.mount.clone() },
            capabilities: Capabilities { browser: Capability { version: BROWSER_VERSION } },
            built_in_skills: self.skills.iter().map(|skill| skill.to_meta(&workspace)).collect(),
        }
    }

    /// Returns the text of `/metrics`.
    #[must_use]
    pub(crate) fn metrics_text(&self) -> String {
        let starts = self.chromium.as_ref().map_or(0, |chromium| chromium.starts());
        // Its token is read at the start only.
        self.pipeline.services().metrics_text(self.browser_health(), starts, true)
    }

    /// Runs one command in a task, so that it is finished and logged even if the caller stops waiting.
    async fn run(
        self: &Arc<Self>,
        cmd: String,
        timeout: Duration,
        caller: &Caller,
        cancel: CancellationToken,
    ) -> ExecResult {
        let request = self.call_request(&cmd, timeout, caller);
        let tenancy = self.identity.tenancy;
        let runtime = self.clone();
        let task = async move { runtime.pipeline.call(request, cancel).await.reply };
        match self.pipeline.services().background.spawn(task).await {
            Ok(reply) => ExecResult {
                exit_code: contract_exit_code(tenancy, reply.decision.code, reply.exit_code),
                stdout: reply.stdout,
                stderr: if reply.decision.code == Code::TimedOut && self.is_lenient() {
                    timeout_text(tenancy, self.limited(timeout))
                } else {
                    reply.stderr
                },
            },
            Err(error) => {
                tracing::error!(%error, "a call ended without a reply");
                ExecResult {
                    stdout: String::new(),
                    stderr: "the call ended without a reply".to_owned(),
                    exit_code: contract_exit_code(tenancy, Code::OutcomeUnknown, 1),
                }
            }
        }
    }

    fn call_request(&self, cmd: &str, timeout: Duration, caller: &Caller) -> CallRequest {
        let session = self.identity.tenant_of(caller).session_id();
        let mut words = words::split(cmd).map_err(|refusal| refusal.at("cmd"));
        let wants_json = words.as_mut().is_ok_and(|argv| take_json_flag(self.profile, argv));
        let word = words.as_ref().ok().and_then(|words| words.first().cloned());
        let arguments = words.map(|argv| CallArguments { session: session.clone(), argv, timeout: Some(timeout) });
        let options = CallOptions {
            profile: self.profile,
            timeout_scope: TimeoutScope::Whole,
            file_target: self.identity.file_target(caller.cargo.as_ref()),
            output_style: if wants_json { OutputStyle::Envelope } else { output_style(self.profile) },
            page_after_close: self.page_after_close(),
        };
        CallRequest { session: Some(session), word, arguments, options, principal: None }
    }

    /// Returns the page that the browser shows after `close`. Only a browser of one tenant loses its page.
    fn page_after_close(&self) -> PageAfterClose {
        if self.is_lenient() && self.identity.tenancy == Tenancy::Single && self.chromium.is_some() {
            PageAfterClose::Blank
        } else {
            PageAfterClose::Same
        }
    }

    /// Returns a timeout within the policy's limit.
    fn limited(&self, timeout: Duration) -> Duration {
        let policy = self.pipeline.services().policy.current().ok();
        let limit = policy.and_then(|policy| policy.limits.max_timeout_sec);
        limit.map_or(timeout, |seconds| timeout.min(Duration::from_secs(seconds)))
    }
}

/// Returns the contract's text for a command that took longer than its timeout.
fn timeout_text(tenancy: Tenancy, timeout: Duration) -> String {
    match tenancy {
        Tenancy::Single => {
            let milliseconds = timeout.as_millis();
            let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
            let fraction = if rest == 0 { String::new() } else { format!(".{rest:03}") };
            format!("Command timed out after {seconds}{fraction}s")
        }
        Tenancy::Shared => "Command timed out".to_owned(),
    }
}

/// Returns the output style of a profile.
const fn output_style(profile: Profile) -> OutputStyle {
    match profile {
        Profile::Tool | Profile::Strict => OutputStyle::Data,
        Profile::Compat => OutputStyle::Text,
    }
}

/// Token and number of calls of each tenant that has calls.
type RunningExecs = Mutex<HashMap<TenantId, (CancellationToken, usize)>>;

/// Running calls of all tenants.
#[derive(Debug, Default)]
pub(crate) struct ActiveCalls {
    running: Arc<RunningExecs>,
    stop: CancellationToken,
}

/// Entry of a running call, removed on drop.
#[derive(Debug)]
struct ActiveExec {
    running: Arc<RunningExecs>,
    tenant: TenantId,
    token: CancellationToken,
}

impl ActiveCalls {
    /// Adds a call of a tenant.
    #[must_use]
    fn enter(&self, tenant: &TenantId) -> ActiveExec {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, count) = running.entry(tenant.clone()).or_insert_with(|| (self.stop.child_token(), 0));
        *count += 1;
        ActiveExec { running: self.running.clone(), tenant: tenant.clone(), token: token.clone() }
    }

    /// Cancels the running calls of a tenant; later ones are not affected.
    pub(crate) fn cancel(&self, tenant: &TenantId) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, _)) = running.remove(tenant) {
            token.cancel();
        }
    }

    /// Cancels all calls, also those that are added later.
    pub(crate) fn cancel_all(&self) {
        self.stop.cancel();
    }

    /// Returns the token that cancels all calls.
    #[must_use]
    pub(crate) const fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

impl ActiveExec {
    /// Returns a token for one part of the call.
    #[must_use]
    fn token(&self) -> CancellationToken {
        self.token.child_token()
    }
}

impl Drop for ActiveExec {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, count)) = running.get_mut(&self.tenant) {
            // After a cancellation the entry belongs to later calls and does not count this one.
            if token.is_cancelled() == self.token.is_cancelled() {
                *count = count.saturating_sub(1);
            }
            if *count == 0 {
                running.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 4.1.
    #[test]
    fn timeout_texts_depend_on_tenancy() {
        for (milliseconds, text) in [(2000, "2s"), (1250, "1.250s"), (10, "0.010s")] {
            let timeout = Duration::from_millis(milliseconds);
            assert_eq!(timeout_text(Tenancy::Single, timeout), format!("Command timed out after {text}"));
            assert_eq!(timeout_text(Tenancy::Shared, timeout), "Command timed out");
        }
    }

    fn id(text: &str) -> TenantId {
        TenantId::new(text).expect("a valid name")
    }

    #[test]
    fn canceling_tenant_cancels_only_its_calls() {
        let calls = ActiveCalls::default();
        let (one, two, other) = (calls.enter(&id("a")), calls.enter(&id("a")), calls.enter(&id("b")));
        calls.cancel(&id("a"));
        assert!(one.token().is_cancelled() && two.token().is_cancelled());
        assert!(!other.token().is_cancelled());
        let later = calls.enter(&id("a"));
        drop((one, two));
        assert!(!later.token().is_cancelled());
        calls.cancel(&id("a"));
        assert!(later.token().is_cancelled(), "dropping canceled calls does not remove later ones");
        calls.cancel_all();
        assert!(other.token().is_cancelled() && calls.enter(&id("c")).token().is_cancelled());
    }

    #[test]
    fn tenant_without_calls_leaves_no_entry() {
        let calls = ActiveCalls::default();
        let count = || calls.running.lock().expect("not poisoned").len();
        let (one, two) = (calls.enter(&id("a")), calls.enter(&id("a")));
        drop(one);
        assert_eq!(count(), 1);
        drop(two);
        assert_eq!(count(), 0);
    }
}
