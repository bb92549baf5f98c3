//! One call from its arguments to its reply (spec [1.13]).
//!
//! Decides the order of the steps. Each step has one interface, [`Step`], and its own file and test; the list in [`steps`] is
//! the only place that knows them all. Between the steps before and after stands the run itself. A refusal skips the run and
//! the rest of the steps before it; the steps after see every reply, refusals too, so that nothing leaves unmasked or unlogged.

mod ask;
mod audit;
mod check_url;
mod deliver;
mod inject;
mod landing;
mod normalise;
mod picture;
mod shorten;
mod validate;
mod wake;
mod workbench;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::argv::Command;
use crate::audit::AuditLog;
use crate::browser::Browser;
use crate::decision::{Code, Decision};
use crate::dns::Dns;
use crate::exec::ExecError;
use crate::mcp::order::Turn;
use crate::output::{Answer, Body};
use crate::policy::Policy;
use crate::policy_source::{PolicyError, PolicySource};
use crate::request::{DEFAULT_TIMEOUT_SEC, Request};
use crate::session::{Lease, Sessions};
use crate::session_id::SessionId;
use crate::transport::{Invocation, Transport};

pub use ask::{Ask, Budget, Files, Rendering, Terms};
pub use check_url::decide_url;
pub use wake::{Awake, Wake};
pub use workbench::{Place, Workbench};

/// What the command gets at least, however long it took to get there.
const LEAST_TIME: Duration = Duration::from_secs(1);

/// What a step after the run gets at least, however long the command took: what protects must be done.
const LEAST_EXTRA: Duration = Duration::from_secs(2);

/// What all calls share.
pub struct Context {
    /// The policy file.
    pub policy: PolicySource,
    /// Names to addresses.
    pub dns: Dns,
    /// The sessions.
    pub sessions: Sessions,
    /// The way to agent-browser.
    pub transport: Arc<dyn Transport>,
    /// The browser itself.
    pub browser: Browser,
    /// Who starts the browser when it is needed; `None` where that is somebody else's business.
    pub wake: Option<Arc<dyn Wake>>,
    /// Where audit lines go.
    pub audit: AuditLog,
    /// Work that goes on after a reply.
    pub background: TaskTracker,
    /// Where answers are worked on.
    pub answers: Workbench,
}

/// A call on its way.
pub struct Call {
    /// What all calls share.
    pub context: Arc<Context>,
    /// What was asked for.
    pub ask: Ask,
    /// Says when the client takes the call back.
    pub cancel: CancellationToken,
    /// When the call began.
    pub started: Instant,
    /// The policy that was in force when the call began; `None` if the file is not usable.
    pub policy: Option<Arc<Policy>>,
    /// The request, after validation.
    pub request: Option<Request>,
    /// The command, after validation.
    pub command: Option<Command>,
    /// The host that the call is about, for the audit line.
    pub host: Option<String>,
    /// Where the answer is worked on.
    pub place: Place,
    /// A file that the command is going to write.
    pub file: Option<std::path::PathBuf>,
    /// Where in the workspace the file goes afterwards, if it goes there.
    pub destination: Option<String>,
    /// Keeps the browser awake.
    pub awake: Option<Awake>,
    /// The right to the session, while it is held.
    pub lease: Option<Lease>,
    /// The way to agent-browser that the command took.
    pub way: Option<&'static str>,
    /// What the command ran in, and how far that is enforced.
    pub sandbox: Option<String>,
    /// The call's place behind the one before it, until it has queued up for the session.
    pub turn: Option<Turn>,
}

impl Call {
    /// The time-out of the call: what it asks for, else the default, within the policy's limit.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let most = self.policy.as_deref().and_then(|policy| policy.limits.max_timeout_sec).map(Duration::from_secs);
        let asked = self.request.as_ref().and_then(|request| request.timeout);
        asked.unwrap_or(Duration::from_secs(DEFAULT_TIMEOUT_SEC)).min(most.unwrap_or(Duration::MAX))
    }

    /// What the command may still take, after the wait for its turn.
    fn left(&self) -> Duration {
        let timeout = self.timeout();
        match self.ask.terms.budget {
            Budget::Command => timeout,
            Budget::Whole => timeout.saturating_sub(self.started.elapsed()).max(LEAST_TIME.min(timeout)),
        }
    }

    /// What a step after the run may take, of at most this.
    fn extra(&self, most: Duration) -> Duration {
        match self.ask.terms.budget {
            Budget::Command => most,
            Budget::Whole => self.left().clamp(LEAST_EXTRA, most),
        }
    }

    /// The policy of the call: the one of its beginning, so that all of it sees the same. Where the file was not usable then,
    /// what it says now is the answer.
    fn policy(&self) -> Result<Arc<Policy>, PolicyError> {
        self.policy.as_ref().map_or_else(|| self.context.policy.current(), |policy| Ok(policy.clone()))
    }

    /// Runs one more command in the session of the call, for a step that needs to know or change where the page is.
    ///
    /// # Errors
    ///
    /// As [`Transport::run`]; without a lease there is nothing to run in.
    async fn run_extra(&self, command: &Command, timeout: Duration) -> Result<Answer, ExecError> {
        let Some(lease) = &self.lease else { return Err(ExecError::Cancelled) };
        // What protects is finished even if the client no longer waits.
        let cancel = CancellationToken::new();
        let invocation = Invocation {
            session: lease.places(),
            command,
            timeout,
            cancel: &cancel,
            link: lease.link(),
            sandbox: lease.sandbox(),
        };
        self.context.transport.run(invocation).await.map(|raw| Answer::read(&raw))
    }
}

/// A picture to return beside the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The file's bytes, a PNG.
    pub png: Vec<u8>,
    /// Where the file is.
    pub path: std::path::PathBuf,
}

/// A reply in the making.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What was decided.
    pub decision: Decision,
    /// The exit code (spec [1.9]).
    pub exit_code: i32,
    /// What goes to `stdout`, until it is rendered.
    pub body: Body,
    /// The field `stdout`.
    pub stdout: String,
    /// The field `stderr`.
    pub stderr: String,
    /// The picture of a screenshot.
    pub picture: Option<Picture>,
}

impl Reply {
    /// A reply that refuses: what was decided and what to do, nothing else.
    #[must_use]
    pub fn refused(decision: Decision) -> Self {
        let exit_code = decision.code.class().exit_code().unwrap_or(1);
        let stderr = decision.to_string();
        Self { decision, exit_code, body: Body::Empty, stdout: String::new(), stderr, picture: None }
    }

    /// The reply to an answer of agent-browser.
    #[must_use]
    pub fn answered(answer: Answer) -> Self {
        let (code, exit_code, mut stderr) = if answer.is_browser_gone() {
            let exit_code = Code::BrowserUnavailable.class().exit_code().unwrap_or(answer.exit_code);
            (Code::BrowserUnavailable, exit_code, answer.stderr)
        } else if answer.exit_code == 0 {
            (Code::Ok, 0, answer.stderr)
        } else {
            (Code::CommandFailed, answer.exit_code, answer.stderr)
        };
        if code == Code::BrowserUnavailable {
            stderr = format!("{}\n{stderr}", Decision::new(code, "the browser does not answer"));
        }
        Self {
            decision: Decision::new(code, ""),
            exit_code,
            body: answer.body,
            stdout: String::new(),
            stderr,
            picture: None,
        }
    }

    /// The dictionary of the reply: exactly these four members (spec [1.6]).
    #[must_use]
    pub fn to_json(&self, session: Option<&SessionId>) -> Value {
        json!({
            "session_id": session.map_or("", SessionId::as_str),
            "exit_code": self.exit_code,
            "stdout": self.stdout,
            "stderr": self.stderr,
        })
    }

    /// Adds a line to `stderr`.
    fn note(&mut self, line: &str) {
        if !self.stderr.is_empty() && !self.stderr.ends_with('\n') {
            self.stderr.push('\n');
        }
        self.stderr.push_str(line);
    }
}

/// One step of the pipeline. A step that has nothing to do before or after leaves that method out.
pub trait Step: Send + Sync {
    /// Its name, for the log.
    fn name(&self) -> &'static str;

    /// Before the run. An error is a refusal and ends the steps before.
    fn before<'a>(&'a self, _call: &'a mut Call) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// After the run or the refusal.
    fn after<'a>(&'a self, _call: &'a mut Call, _reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// All steps, in order. Masking comes before cutting: half a secret is not recognised any more, and a mask can be longer
/// than what it hides.
#[must_use]
pub fn steps() -> Vec<Box<dyn Step>> {
    vec![
        Box::new(validate::Validate),
        Box::new(check_url::CheckUrl),
        Box::new(inject::Inject),
        Box::new(wake::WakeBrowser),
        Box::new(landing::CheckLanding),
        Box::new(picture::AttachPicture),
        Box::new(deliver::Deliver),
        Box::new(normalise::Normalise),
        Box::new(normalise::Mask),
        Box::new(shorten::Shorten),
        Box::new(audit::Audit),
    ]
}

/// Runs calls.
pub struct Pipeline {
    context: Arc<Context>,
    steps: Vec<Box<dyn Step>>,
}

/// A finished reply and the session it is for.
pub struct Finished {
    /// The reply.
    pub reply: Reply,
    /// The session, if the request named a valid one.
    pub session: Option<SessionId>,
    /// The subcommand, if it is a known word.
    pub subcommand: Option<&'static str>,
}

impl Pipeline {
    /// A pipeline of these steps.
    #[must_use]
    pub fn new(context: Arc<Context>, steps: Vec<Box<dyn Step>>) -> Self {
        Self { context, steps }
    }

    /// What all calls share.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Takes one call to its reply. Whatever happens, there is one, and it has gone through all steps after the run.
    pub async fn call(&self, ask: Ask, cancel: CancellationToken) -> Finished {
        self.call_in_turn(ask, cancel, None).await
    }

    /// The same for a call that must not overtake the one before it.
    pub async fn call_in_turn(&self, ask: Ask, cancel: CancellationToken, mut turn: Option<Turn>) -> Finished {
        if let Some(turn) = &mut turn {
            tokio::select! {
                () = turn.come() => {}
                () = cancel.cancelled() => {}
            }
        }
        let mut call = Call {
            context: self.context.clone(),
            ask,
            cancel,
            started: Instant::now(),
            policy: None,
            request: None,
            command: None,
            host: None,
            place: Place::default(),
            file: None,
            destination: None,
            awake: None,
            lease: None,
            way: None,
            sandbox: None,
            turn,
        };
        let mut reply = match self.before(&mut call).await {
            Ok(()) => run(&mut call).await,
            Err(decision) => Reply::refused(decision),
        };
        // A refused call has no queue to join.
        drop(call.turn.take());
        for step in &self.steps {
            step.after(&mut call, &mut reply).await;
        }
        Finished { reply, subcommand: audit::subcommand(&call), session: call.ask.session }
    }

    async fn before(&self, call: &mut Call) -> Result<(), Decision> {
        for step in &self.steps {
            if let Err(decision) = step.before(call).await {
                tracing::debug!(step = step.name(), code = %decision.code, "refused");
                return Err(decision);
            }
        }
        Ok(())
    }
}

/// The run itself: the session's turn, the file's folder, the command.
async fn run(call: &mut Call) -> Reply {
    let turn = call.turn.take();
    let (Some(request), Some(command)) = (&call.request, &call.command) else {
        return Reply::refused(Decision::new(Code::ArgumentsInvalid, "the request was not validated"));
    };
    let lease =
        match call.context.sessions.lease(&request.session, call.left(), &call.cancel, turn, call.policy()).await {
            Ok(lease) => lease,
            Err(decision) => return Reply::refused(decision),
        };
    if let Some(file) = &call.file
        && let Err(decision) = inject::make_room(lease.places(), file)
    {
        return Reply::refused(decision);
    }
    let timeout = call.left();
    let result = match prepare(call, &lease, timeout).await {
        Ok(left) => {
            let link = lease.link();
            call.sandbox = Some(lease.sandbox().status().to_owned());
            let invocation = Invocation {
                session: lease.places(),
                command,
                timeout: left,
                cancel: &call.cancel,
                link,
                sandbox: lease.sandbox(),
            };
            let result = call.context.transport.run(invocation).await;
            call.way = link.take_way();
            result
        }
        Err(error) => Err(error),
    };
    let closes = command.row.name == "close";
    let reply = match result {
        Ok(raw) if raw.is_without_daemon() => {
            lease.end_processes().await;
            Reply::refused(Decision::new(Code::AgentBrowserUnavailable, "agent-browser's daemon does not start"))
        }
        Ok(raw) => {
            call.place = call.context.answers.place(raw.stdout.bytes.len() + raw.stderr.bytes.len()).await;
            Reply::answered(call.place.work(move || Answer::read(&raw)).await)
        }
        Err(ExecError::NotByCli { later }) => Reply::refused(not_by_cli(command, later)),
        Err(error) => {
            // It is not known how far agent-browser got; what is still running could act later.
            lease.end_processes().await;
            Reply::refused(explain(&error, timeout))
        }
    };
    if closes {
        // Also after a failure: with the browser gone, agent-browser leaves its daemon behind.
        call.context.sessions.close(lease).await;
    } else if matches!(reply.decision.code, Code::TimedOut | Code::Cancelled | Code::BrowserUnavailable) {
        let context = call.context.clone();
        call.context.background.spawn(async move {
            look_after_tabs(&context).await;
            drop(lease);
        });
    } else {
        call.lease = Some(lease);
    }
    reply
}

/// Before a session's first call: a hung tab would keep its daemon from connecting for longer than most calls may take.
/// Gives the time that is left.
async fn prepare(call: &Call, lease: &Lease, timeout: Duration) -> Result<Duration, ExecError> {
    if !lease.is_first() {
        return Ok(timeout);
    }
    let began = Instant::now();
    tokio::select! {
        () = look_after_tabs(&call.context) => {}
        () = call.cancel.cancelled() => return Err(ExecError::Cancelled),
        () = tokio::time::sleep(timeout) => return Err(ExecError::TimedOut),
    }
    Ok(timeout.saturating_sub(began.elapsed()).max(LEAST_TIME))
}

/// Looks for hung tabs. After a call that did not end well its reply does not wait for this; the session's next call does.
async fn look_after_tabs(context: &Context) {
    match context.browser.recover().await {
        Ok(0) => {}
        Ok(count) => tracing::warn!(count, "tabs that gave no sign of life were replaced by an empty one"),
        // Whatever runs next meets the same and says so.
        Err(error) => tracing::debug!(%error, "the tabs cannot be looked after"),
    }
}

/// What a command is refused with whose text only agent-browser's daemon reads as one.
fn not_by_cli(command: &Command, later: bool) -> Decision {
    let refusal = command.refusal_by_cli().cloned();
    let mut refusal = refusal.unwrap_or_else(|| Decision::new(Code::FlagGlobal, "a text is a flag of agent-browser"));
    if later {
        refusal
            .reason
            .push_str(" of a session's first call, and of one after a failure: take a snapshot, then try again");
    }
    refusal
}

/// Seconds with at most two digits behind the point.
fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}

/// An error of the run as a decision. Paths and what the system says go to the log.
fn explain(error: &ExecError, timeout: Duration) -> Decision {
    match error {
        ExecError::TimedOut => Decision::new(
            Code::TimedOut,
            format!("timed out after {} s; what the call started was ended", rounded(timeout)),
        ),
        ExecError::Cancelled => {
            Decision::new(Code::Cancelled, "the client cancelled the call; what it started was ended")
        }
        ExecError::Unknown => Decision::new(
            Code::OutcomeUnknown,
            "the connection to agent-browser was lost, and it is not known whether the command ran",
        ),
        ExecError::Start { .. } | ExecError::Wait(_) | ExecError::NotByCli { .. } => {
            tracing::error!(%error, "agent-browser cannot be run");
            Decision::new(Code::AgentBrowserUnavailable, "agent-browser cannot be started")
        }
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::poll;

    use super::testing::Bench;
    use super::*;

    fn snapshot(session: &str) -> Value {
        json!({ "session_id": session, "argv": ["snapshot"] })
    }

    /// On one thread: whoever blocks it holds up everything.
    #[tokio::test]
    async fn spec_5_2_an_engine_that_does_not_answer_holds_up_its_own_session_only_and_a_call_sees_one_policy() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("e");
        let engine = tokio::net::UnixListener::bind(&socket).expect("bound");
        let docker = json!({ "image": "x", "socket": socket });
        let bench = Bench::new(&json!({"sandbox": {"backend": "docker", "backends": {"docker": docker}}}).to_string());
        let mut hung = pin!(bench.call(snapshot("s")));
        let asked = tokio::select! {
            biased;
            reply = &mut hung => panic!("it did not wait: {reply:?}"),
            asked = engine.accept() => asked.expect("asked"),
        };
        bench.write_policy(r#"{"sandbox":{"enabled":false}}"#);
        let other = tokio::select! {
            biased;
            reply = &mut hung => panic!("it did not wait: {reply:?}"),
            reply = bench.call(snapshot("t")) => reply,
        };
        assert_eq!(other.decision.code, Code::Ok);
        // The next one of the session, whose policy is not the file's any more when the session begins.
        let mut next = pin!(bench.call(snapshot("s")));
        assert!(poll!(&mut next).is_pending(), "it waits for the first");
        bench.write_policy("no policy");
        drop(asked);
        assert_eq!(hung.await.decision.code, Code::SandboxUnavailable, "the engine hung up");
        assert_eq!(next.await.decision.code, Code::Ok);
        assert_eq!(bench.call(snapshot("u")).await.decision.code, Code::PolicyInvalid, "control");
        assert_eq!(bench.runs(), ["snapshot", "snapshot"]);
    }
}
