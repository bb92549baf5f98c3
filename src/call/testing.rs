//! Pipeline with a scripted transport, for the tests of the steps.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Parser;
use futures::future::BoxFuture;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent_browser::{Invocation, Transport};
use crate::audit::AuditLog;
use crate::browser::EnsureBrowser;
use crate::call::output_worker::OutputWorker;
use crate::call::pages::Pages;
use crate::call::pipeline::Pipeline;
use crate::call::reply::CallReply;
use crate::call::request::CallRequest;
use crate::call::services::Services;
use crate::config::Settings;
use crate::gate::{ControlGate, GateConfig, IsolationChoice, Upstream, WindowState};
use crate::os::dns::Dns;
use crate::os::exec::ExecError;
use crate::paths::Paths;
use crate::policy_source::PolicySource;
use crate::session::{EngineChoice, Sessions};
use browser_shell_core::gate::Client;
use browser_shell_core::grammar::Profile;
use browser_shell_core::output::{CapturedStream, RawOutput};
use browser_shell_core::policy::{Engine, Isolation};

/// Answers of the transport, and the commands that it received.
#[derive(Default)]
struct Script {
    answer: Mutex<Option<Value>>,
    location: Mutex<Option<String>>,
    picture: Mutex<Option<Vec<u8>>>,
    runs: Mutex<Vec<String>>,
}

struct ScriptedTransport(Arc<Script>);

impl Transport for ScriptedTransport {
    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
        let line = invocation.command.to_argv();
        self.0.runs.lock().expect("not poisoned").push(line.join(" "));
        let location = self.0.location.lock().expect("not poisoned").clone();
        let answer = if line == ["get", "url"] {
            json!({"success": true, "data": {"url": location.unwrap_or_else(|| "about:blank".to_owned())}})
        } else {
            self.0
                .answer
                .lock()
                .expect("not poisoned")
                .clone()
                .unwrap_or_else(|| json!({"success": true, "data": {"done": true}}))
        };
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
    script: Arc<Script>,
    pipeline: Pipeline,
}

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    settings: Settings,
}

impl TestPipeline {
    /// Creates a pipeline with this policy and a browser that cannot be reached.
    pub(crate) fn new(policy: &str) -> Self {
        // Nothing listens on the first port.
        Self::with_browser(policy, 1, None)
    }

    /// Creates a pipeline that starts its browser with `ensure_browser`.
    pub(crate) fn with_ensure_browser(policy: &str, ensure_browser: Arc<dyn EnsureBrowser>) -> Self {
        Self::with_browser(policy, 1, Some(ensure_browser))
    }

    /// Creates a pipeline whose browser has tabs with these URLs.
    pub(crate) async fn with_tabs(policy: &str, urls: &[&str]) -> Self {
        Self::with_browser(policy, fake_chromium(urls).await, None)
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
        let settings = Cli::parse_from(std::iter::once("test".into()).chain(arguments)).settings;
        let paths = Paths::open(&settings, Profile::Tool).expect("opened");
        let script = Arc::new(Script::default());
        let policy = PolicySource::new(path("policy.json"));
        let gate = ControlGate::new(GateConfig {
            upstream: Upstream::Port(cdp_port),
            client: Client::Node,
            isolation: IsolationChoice::ByPolicy(Isolation::Shared),
            addresses: None,
            windows: WindowState::Maximized,
            port: None,
            policy: policy.clone(),
        });
        let services = Services {
            policy,
            dns: Dns::with_files(path("resolv.conf"), path("hosts")),
            sessions: Sessions::new(&settings, paths, gate.clone(), EngineChoice::ByPolicy(Engine::AgentBrowser), true),
            transport: Arc::new(ScriptedTransport(script.clone())),
            gate,
            ensure_browser,
            pages: Pages::default(),
            audit: AuditLog::to_file(&settings.audit).expect("opened"),
            background: TaskTracker::new(),
            output_worker: OutputWorker::default(),
        };
        Self { root, script, pipeline: Pipeline::new(Arc::new(services)) }
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

    /// Answers `get url` with this URL.
    pub(crate) fn set_page_url(&self, url: &str) {
        *self.script.location.lock().expect("not poisoned") = Some(url.to_owned());
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

    /// Returns the audit log.
    pub(crate) fn audit(&self) -> String {
        std::fs::read_to_string(self.root.path().join("audit.jsonl")).expect("read")
    }
}

/// Starts a stand-in for Chromium's debugging port, whose tabs have these URLs. It answers every command.
async fn fake_chromium(urls: &[&str]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let urls = urls.clone();
            tokio::spawn(async move {
                let mut head = [0; 4096];
                let length = stream.peek(&mut head).await.expect("read");
                if !String::from_utf8_lossy(&head[..length]).contains("/devtools/") {
                    let body = json!({ "Browser": "x", "webSocketDebuggerUrl": format!("ws://127.0.0.1:{port}/devtools/browser/x") });
                    let body = body.to_string();
                    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                    let _ = stream.read(&mut head).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    return;
                }
                let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a WebSocket");
                while let Some(Ok(message)) = socket.next().await {
                    let Ok(text) = message.to_text() else { return };
                    let Ok(command) = serde_json::from_str::<Value>(text) else { return };
                    if command["method"] == "Target.setAutoAttach" && command["sessionId"].is_null() {
                        for (number, url) in urls.iter().enumerate() {
                            let info = json!({ "targetId": format!("T{number}"), "type": "page", "url": url, "browserContextId": "C" });
                            let params = json!({ "sessionId": format!("S{number}"), "targetInfo": info });
                            let event = json!({ "method": "Target.attachedToTarget", "params": params });
                            socket.send(Message::text(event.to_string())).await.expect("sent");
                        }
                    }
                    let result = match command["method"].as_str() {
                        // No page has a field.
                        Some("DOM.performSearch") => json!({ "searchId": "1", "resultCount": 0 }),
                        Some("Page.getFrameTree") => {
                            json!({ "frameTree": { "frame": { "id": "F", "loaderId": "L" } } })
                        }
                        _ => json!({}),
                    };
                    let mut answer = json!({ "id": command["id"], "result": result });
                    if let Some(session) = command.get("sessionId") {
                        answer["sessionId"] = session.clone();
                    }
                    socket.send(Message::text(answer.to_string())).await.expect("sent");
                }
            });
        }
    });
    port
}
