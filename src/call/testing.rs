//! Pipeline with a scripted transport, for the tests of the steps.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Parser;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::pipeline::Pipeline;
use crate::call::reply::CallReply;
use crate::call::request::CallRequest;
use crate::call::services::{OutputWorker, Pages, Services};
use crate::session::{EngineChoice, Sessions};
use browser_shell_agent_browser::gateway::Endpoints;
use browser_shell_agent_browser::{Invocation, Transport};
use browser_shell_browser::EnsureBrowser;
use browser_shell_browser::gate::{ChromiumAddress, ControlGate, GateConfig, IsolationChoice, WindowMode};
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::grammar::Profile;
use browser_shell_core::output::{CapturedStream, RawOutput};
use browser_shell_core::policy::{Engine, Isolation};
use browser_shell_system::audit::AuditLog;
use browser_shell_system::config::Settings;
use browser_shell_system::os::dns::Dns;
use browser_shell_system::os::exec::ExecError;
use browser_shell_system::paths::Paths;
use browser_shell_system::policy_source::PolicySource;

#[path = "../../tests/fake-chromium/tabs.rs"]
mod tabs;

/// Answers of the transport, and the commands that it received.
#[derive(Default)]
struct ScriptedAnswers {
    answer: Mutex<Option<Value>>,
    picture: Mutex<Option<Vec<u8>>>,
    runs: Mutex<Vec<String>>,
}

struct ScriptedTransport(Arc<ScriptedAnswers>);

impl Transport for ScriptedTransport {
    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
        let line = invocation.command.to_argv();
        self.0.runs.lock().expect("not poisoned").push(line.join(" "));
        let answer = self.0.answer.lock().expect("not poisoned").clone();
        let answer = answer.unwrap_or_else(|| json!({"success": true, "data": {"done": true}}));
        if let (Some(picture), Some(path)) = (&*self.0.picture.lock().expect("not poisoned"), line.last())
            && path.starts_with('/')
        {
            std::fs::write(path, picture).expect("written");
        }
        let bytes = answer.to_string().into_bytes();
        let stdout = CapturedStream { total: bytes.len() as u64, bytes };
        Box::pin(std::future::ready(Ok(RawOutput { exit_code: 0, stdout, stderr: CapturedStream::default() })))
    }
}

/// Pipeline with its own files, sessions and transport.
pub(crate) struct TestPipeline {
    root: TempDir,
    script: Arc<ScriptedAnswers>,
    tabs: tabs::Tabs,
    pipeline: Pipeline,
}

#[derive(Parser)]
struct CliStandIn {
    #[command(flatten)]
    settings: Settings,
}

impl TestPipeline {
    /// Creates a pipeline with this policy and a browser with one tab.
    pub(crate) fn new(policy: &str) -> Self {
        Self::with_tabs(policy, &["http://public.test/"])
    }

    /// Creates a pipeline whose browser cannot be reached.
    pub(crate) fn without_browser(policy: &str) -> Self {
        // Nothing listens on the first port.
        Self::with_browser(policy, 1, None)
    }

    /// Creates a pipeline that starts its browser with `ensure_browser`.
    pub(crate) fn with_ensure_browser(policy: &str, ensure_browser: Arc<dyn EnsureBrowser>) -> Self {
        Self::with_browser(policy, 1, Some(ensure_browser))
    }

    /// Creates a pipeline whose browser has tabs with these URLs.
    pub(crate) fn with_tabs(policy: &str, urls: &[&str]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let tabs = tabs::Tabs::new(urls);
        tokio::spawn(tabs.clone().serve(listener));
        Self { tabs, ..Self::with_browser(policy, port, None) }
    }

    fn with_browser(policy: &str, cdp_port: u16, ensure_browser: Option<Arc<dyn EnsureBrowser>>) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let path = |name: &str| root.path().join(name);
        std::fs::write(path("policy.json"), policy).expect("written");
        std::fs::write(
            path("hosts"),
            "93.184.215.14 public.test\n10.0.0.1 private.test\n93.184.215.14 mixed.test\n127.0.0.1 mixed.test\n",
        )
        .expect("written");
        // No server answers on this address, so a name that is not in the hosts file has no address.
        std::fs::write(path("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n").expect("written");
        let flags = [("--workspace", "w"), ("--runtime-dir", "r"), ("--audit", "audit.jsonl")];
        let arguments = flags.iter().flat_map(|(flag, name)| [(*flag).into(), path(name).into_os_string()]);
        let settings = CliStandIn::parse_from(std::iter::once("test".into()).chain(arguments)).settings;
        let paths = Paths::open(&settings, Profile::Tool).expect("opened");
        let script = Arc::new(ScriptedAnswers::default());
        let policy = PolicySource::new(path("policy.json"));
        let gate = ControlGate::new(GateConfig {
            upstream: ChromiumAddress::Port(cdp_port),
            isolation: IsolationChoice::ByPolicy(Isolation::Shared),
            addresses: None,
            windows: WindowMode::Maximized,
            policy: policy.clone(),
        });
        let endpoints = Arc::new(Endpoints::new(gate.clone(), AgentBrowser::Node, None));
        let services = Services {
            policy,
            dns: Dns::with_files(path("resolv.conf"), path("hosts")),
            sessions: Sessions::new(&settings, paths, endpoints, EngineChoice::ByPolicy(Engine::AgentBrowser), true),
            transport: Arc::new(ScriptedTransport(script.clone())),
            gate,
            ensure_browser,
            pages: Pages::default(),
            audit: AuditLog::to_file(&settings.audit).expect("opened"),
            metrics: Arc::default(),
            background: TaskTracker::new(),
            output_worker: OutputWorker::default(),
        };
        Self { root, script, tabs: tabs::Tabs::default(), pipeline: Pipeline::new(Arc::new(services)) }
    }

    /// Calls the tool with these arguments.
    pub(crate) async fn call(&self, arguments: Value) -> CallReply {
        self.send(CallRequest::of_tool(arguments.as_object().expect("an object"))).await
    }

    /// Returns the services of the pipeline.
    pub(crate) fn services(&self) -> Arc<Services> {
        self.pipeline.services().clone()
    }

    /// Returns the folder of all its files.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.path().to_owned()
    }

    /// Sends a request of any front end.
    pub(crate) async fn send(&self, request: CallRequest) -> CallReply {
        self.pipeline.call(request, CancellationToken::new()).await.reply
    }

    /// Returns the command lines that reached the transport.
    pub(crate) fn runs(&self) -> Vec<String> {
        self.script.runs.lock().expect("not poisoned").clone()
    }

    /// Returns and forgets the command lines that reached the transport.
    pub(crate) fn take_runs(&self) -> Vec<String> {
        std::mem::take(&mut *self.script.runs.lock().expect("not poisoned"))
    }

    /// Answers later commands with this data.
    pub(crate) fn answer_with(&self, data: Value) {
        *self.script.answer.lock().expect("not poisoned") = Some(json!({"success": true, "data": data, "error": null}));
    }

    /// Answers later commands with a failure.
    pub(crate) fn fail_with(&self, message: &str) {
        *self.script.answer.lock().expect("not poisoned") =
            Some(json!({"success": false, "data": null, "error": message}));
    }

    /// Shows this URL in the first tab.
    pub(crate) fn set_page_url(&self, url: &str) {
        self.tabs.show(0, url);
    }

    /// Returns the URL that the first tab shows.
    pub(crate) fn page_url(&self) -> String {
        self.tabs.urls().remove(0)
    }

    /// Writes these bytes to the path of every later command that has one.
    pub(crate) fn write_pictures(&self, bytes: Vec<u8>) {
        *self.script.picture.lock().expect("not poisoned") = Some(bytes);
    }

    /// Makes commands that should write a file write none.
    pub(crate) fn write_no_pictures(&self) {
        *self.script.picture.lock().expect("not poisoned") = None;
    }

    /// Replaces the policy file.
    pub(crate) fn write_policy(&self, policy: &str) {
        std::fs::write(self.root.path().join("policy.json"), policy).expect("written");
    }

    /// Returns the workspace folder.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("w")
    }

    /// Returns the path of the audit log.
    pub(crate) fn audit_file(&self) -> PathBuf {
        self.root.path().join("audit.jsonl")
    }

    /// Returns the audit log.
    pub(crate) fn audit(&self) -> String {
        std::fs::read_to_string(self.audit_file()).expect("read")
    }
}
