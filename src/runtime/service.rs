//! What a runtime does for its callers, whichever way they came: one command, a batch, the end of a session, its state.
//!
//! Decides how a reply of the pipeline is written for the orchestrator's contract: which exit code, which text. Must never
//! change what was decided.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::body::{Batch, Exec, Who};
use super::browser::Chromium;
use super::calls::Calls;
use super::health::Condition;
use super::identity::{Identity, Mode, SandboxId};
use super::metrics::{Metrics, Now};
use super::skills::Skill;
use crate::argv::{Dialect, words};
use crate::decision::Code;
use crate::pipeline::{Ask, Budget, Finished, Pipeline, Rendering, Terms};
use crate::request::Request;

/// What the runtime calls itself: what an orchestrator of this contract looks for.
const NAME: &str = "gull";

/// The version of the contract, and of its one capability.
const API_VERSION: &str = "v1";
const BROWSER_VERSION: &str = "1.0";

/// How long the end of a session waits for what runs in it.
const DESTROY: Duration = Duration::from_secs(30);

/// What agents may say, and how they are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// The tool's commands and answers, with paths of files below the workspace
    Strict,
    /// What agents of an orchestrator expect: more commands, and text where there is one text to read
    Compat,
}

impl Profile {
    /// The dialect of its commands.
    #[must_use]
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Strict => Dialect::Strict,
            Self::Compat => Dialect::Compat,
        }
    }

    const fn rendering(self) -> Rendering {
        match self {
            Self::Strict => Rendering::Data,
            Self::Compat => Rendering::Text,
        }
    }
}

/// A runtime.
pub struct Runtime {
    /// The one pipeline.
    pub pipeline: Arc<Pipeline>,
    /// Who it is.
    pub identity: Identity,
    /// What may be said.
    pub profile: Profile,
    /// What is known of the browser.
    pub condition: watch::Receiver<Condition>,
    /// The browser, if it is the runtime's own.
    pub chromium: Option<Arc<Chromium>>,
    /// The skills that came with it.
    pub skills: Vec<Skill>,
    /// What is counted.
    pub metrics: Metrics,
    /// What runs.
    pub calls: Calls,
}

/// The reply to one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Executed {
    /// What the command answered.
    pub stdout: String,
    /// What went wrong, and what to do.
    pub stderr: String,
    /// 0 when it was done.
    pub exit_code: i32,
}

/// The reply to one step of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The command as it came.
    pub cmd: String,
    /// Its reply.
    #[serde(flatten)]
    pub executed: Executed,
    /// Which step it was, from 0.
    pub step_index: usize,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// The reply to a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchReply {
    /// The steps that ran.
    pub results: Vec<Step>,
    /// How many there were.
    pub total_steps: usize,
    /// How many ran.
    pub completed_steps: usize,
    /// Whether all ran and all ended with 0.
    pub success: bool,
    /// How long all of it took, in milliseconds.
    pub duration_ms: u64,
}

impl Runtime {
    /// Runs one command. A caller that goes away cancels it.
    pub async fn exec(self: &Arc<Self>, exec: Exec) -> Executed {
        let among = self.calls.enter(&self.identity.sandbox_of(exec.who.sandbox.as_ref()));
        let cancel = among.token();
        // Dropped with this future; the call itself goes on to its audit line.
        let _cancelled = cancel.clone().drop_guard();
        self.run(exec.cmd, exec.timeout, &exec.who, cancel).await
    }

    /// Runs several commands, one after another, within one time.
    pub async fn batch(self: &Arc<Self>, batch: Batch) -> BatchReply {
        let among = self.calls.enter(&self.identity.sandbox_of(batch.who.sandbox.as_ref()));
        let cancel = among.token();
        let _cancelled = cancel.clone().drop_guard();
        let began = Instant::now();
        let total_steps = batch.commands.len();
        let mut results = Vec::new();
        for (step_index, cmd) in batch.commands.into_iter().enumerate() {
            let left = batch.timeout.saturating_sub(began.elapsed());
            if left.is_zero() || cancel.is_cancelled() {
                break;
            }
            let step_began = Instant::now();
            let executed = self.run(cmd.clone(), left, &batch.who, cancel.clone()).await;
            let failed = executed.exit_code != 0;
            results.push(Step { cmd, executed, step_index, duration_ms: milliseconds(step_began.elapsed()) });
            if failed && batch.stop_on_error {
                break;
            }
        }
        let completed_steps = results.len();
        let success = completed_steps == total_steps && results.iter().all(|step| step.executed.exit_code == 0);
        BatchReply { results, total_steps, completed_steps, success, duration_ms: milliseconds(began.elapsed()) }
    }

    /// One command, in a task of its own: it is finished, and logged, whether or not somebody waits for it.
    async fn run(self: &Arc<Self>, cmd: String, timeout: Duration, who: &Who, cancel: CancellationToken) -> Executed {
        let ask = self.ask(&cmd, timeout, who);
        let runtime = self.clone();
        let mode = self.identity.mode;
        let task = async move {
            let began = Instant::now();
            let finished = runtime.pipeline.call(ask, cancel).await;
            runtime.metrics.count_call(finished.subcommand, finished.reply.decision.code, began.elapsed());
            finished
        };
        match self.pipeline.context().background.spawn(task).await {
            Ok(finished) => written(mode, finished),
            Err(error) => {
                tracing::error!(%error, "a call ended without a reply");
                let exit_code = exit_code(mode, Code::OutcomeUnknown, 1);
                Executed { stdout: String::new(), stderr: "the call ended without a reply".to_owned(), exit_code }
            }
        }
    }

    fn ask(&self, cmd: &str, timeout: Duration, who: &Who) -> Ask {
        let session = self.identity.sandbox_of(who.sandbox.as_ref()).session();
        let words = words::split(cmd).map_err(|refusal| refusal.at("cmd"));
        let word = words.as_ref().ok().and_then(|words| words.first().cloned());
        let request = words.map(|argv| Request { session: session.clone(), argv, timeout: Some(timeout) });
        let terms = Terms {
            dialect: self.profile.dialect(),
            budget: Budget::Whole,
            files: self.identity.files(who.cargo.as_ref()),
            rendering: self.profile.rendering(),
        };
        Ask { session: Some(session), word, request: Some(request), terms }
    }

    /// Ends a session: its running calls, its processes, its files outside of the workspace. Whether there is none afterwards.
    pub async fn destroy(self: &Arc<Self>, id: &SandboxId) -> bool {
        // A runtime of one sandbox has no other session to end.
        if self.identity.mode == Mode::Single && *id != self.identity.sandbox {
            return true;
        }
        // What hangs is what gets deleted: nothing is waited for.
        self.calls.cancel(id);
        let sessions = &self.pipeline.context().sessions;
        if !sessions.is_open(&id.session()) {
            return true;
        }
        let who = Who { sandbox: Some(id.clone()), cargo: None };
        let reply = self.run("close".to_owned(), DESTROY, &who, self.calls.stop().child_token()).await;
        reply.exit_code == 0 || !sessions.is_open(&id.session())
    }

    /// What `/health` says.
    #[must_use]
    pub fn health(&self) -> (Condition, Value) {
        let condition = *self.condition.borrow();
        let health = json!({
            "status": condition.status(),
            "browser_active": condition.is_active(),
            "browser_ready": condition == Condition::Ready,
            "session": self.identity.sandbox.as_str(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        (condition, health)
    }

    /// What `/meta` says.
    #[must_use]
    pub fn meta(&self) -> Value {
        let workspace = self.identity.own_workspace();
        let skills: Vec<_> = self.skills.iter().map(|skill| skill.to_json(&workspace)).collect();
        json!({
            "runtime": { "name": NAME, "version": env!("CARGO_PKG_VERSION"), "api_version": API_VERSION },
            "workspace": { "mount_path": self.identity.mount },
            "capabilities": { "browser": { "version": BROWSER_VERSION } },
            "built_in_skills": skills,
        })
    }

    /// What `/metrics` says.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        self.metrics.to_text(Now {
            sessions: self.pipeline.context().sessions.len(),
            condition: *self.condition.borrow(),
            browser_starts: self.chromium.as_ref().map_or(0, |chromium| chromium.starts()),
        })
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A reply as the contract wants it. Refusals keep their own codes, which the contract does not know.
fn written(mode: Mode, finished: Finished) -> Executed {
    let reply = finished.reply;
    Executed {
        exit_code: exit_code(mode, reply.decision.code, reply.exit_code),
        stdout: reply.stdout,
        stderr: reply.stderr,
    }
}

/// The contract has exit codes of its own for what is not the command's fault, one set for each mode.
const fn exit_code(mode: Mode, code: Code, own: i32) -> i32 {
    match (mode, code) {
        (Mode::Single, Code::TimedOut | Code::AgentBrowserUnavailable | Code::OutcomeUnknown | Code::Cancelled) => -1,
        (Mode::Shared, Code::TimedOut) => 124,
        (Mode::Shared, Code::AgentBrowserUnavailable) => 127,
        (Mode::Shared, Code::OutcomeUnknown | Code::Cancelled) => 1,
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_4_1_exit_codes_of_the_contract() {
        for (code, own, single, shared) in [
            (Code::Ok, 0, 0, 0),
            (Code::CommandFailed, 3, 3, 3),
            (Code::TimedOut, 124, -1, 124),
            (Code::AgentBrowserUnavailable, 69, -1, 127),
            (Code::OutcomeUnknown, 1, -1, 1),
            (Code::Cancelled, 130, -1, 1),
            (Code::BrowserUnavailable, 69, 69, 69),
            (Code::FlagGlobal, 64, 64, 64),
            (Code::HostDenied, 77, 77, 77),
            (Code::Busy, 75, 75, 75),
        ] {
            assert_eq!(exit_code(Mode::Single, code, own), single, "{code}");
            assert_eq!(exit_code(Mode::Shared, code, own), shared, "{code}");
        }
    }
}
