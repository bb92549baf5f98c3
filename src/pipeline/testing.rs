//! A pipeline with a transport that answers from memory, for the tests of the steps.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Parser;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Ask, Context, Pipeline, Reply, Wake, Workbench, steps};
use crate::argv::Dialect;
use crate::audit::AuditLog;
use crate::browser::Browser;
use crate::config::Settings;
use crate::dns::Dns;
use crate::exec::ExecError;
use crate::output::{Captured, RawOutput};
use crate::places::Places;
use crate::policy_source::PolicySource;
use crate::session::Sessions;
use crate::transport::{Invocation, Transport};

/// What the transport answers and what it was asked.
#[derive(Default)]
struct Script {
    answer: Mutex<Option<Value>>,
    location: Mutex<Option<String>>,
    picture: Mutex<Option<Vec<u8>>>,
    runs: Mutex<Vec<String>>,
}

struct Scripted(Arc<Script>);

impl Transport for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
        invocation.link.took(self.name());
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
        let stdout = Captured { total: bytes.len() as u64, bytes };
        Box::pin(std::future::ready(Ok(RawOutput { exit_code: 0, stdout, stderr: Captured::default() })))
    }
}

/// A pipeline on a table of its own.
pub(super) struct Bench {
    root: TempDir,
    script: Arc<Script>,
    pipeline: Pipeline,
}

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    settings: Settings,
}

impl Bench {
    pub(super) fn new(policy: &str) -> Self {
        // Nothing listens on the first port.
        Self::with_browser(policy, Browser::new(1), None)
    }

    /// The same with somebody who starts the browser.
    pub(super) fn with_wake(policy: &str, wake: Arc<dyn Wake>) -> Self {
        Self::with_browser(policy, Browser::new(1), Some(wake))
    }

    /// The same with a browser that has these tabs.
    pub(super) fn with_tabs(policy: &str, tabs: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let body = tabs.to_string();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self::with_browser(policy, Browser::new(port), None)
    }

    fn with_browser(policy: &str, browser: Browser, wake: Option<Arc<dyn Wake>>) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let path = |name: &str| root.path().join(name);
        std::fs::write(path("policy.json"), policy).expect("written");
        std::fs::write(
            path("hosts"),
            "93.184.215.14 public.test\n10.0.0.1 private.test\n93.184.215.14 mixed.test\n127.0.0.1 mixed.test\n",
        )
        .expect("written");
        // Nothing answers there: a name that is not in the hosts file has no addresses.
        std::fs::write(path("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n").expect("written");
        let flags =
            [("--policy", "policy.json"), ("--workspace", "w"), ("--runtime-dir", "r"), ("--audit", "audit.jsonl")];
        let arguments = flags.iter().flat_map(|(flag, name)| [(*flag).into(), path(name).into_os_string()]);
        let settings = Cli::parse_from(std::iter::once("test".into()).chain(arguments)).settings;
        let places = Places::open(&settings, Dialect::Tool).expect("opened");
        let script = Arc::new(Script::default());
        let context = Context {
            policy: PolicySource::new(settings.policy.clone()),
            dns: Dns::with_files(path("resolv.conf"), path("hosts")),
            sessions: Sessions::new(&settings, places, true),
            transport: Arc::new(Scripted(script.clone())),
            browser,
            wake,
            audit: AuditLog::to_file(&settings.audit).expect("opened"),
            background: TaskTracker::new(),
            answers: Workbench::default(),
        };
        Self { root, script, pipeline: Pipeline::new(Arc::new(context), steps()) }
    }

    pub(super) async fn call(&self, arguments: Value) -> Reply {
        self.ask(Ask::of_tool(arguments.as_object().expect("an object"))).await
    }

    /// A call of another door.
    pub(super) async fn ask(&self, ask: Ask) -> Reply {
        self.pipeline.call(ask, CancellationToken::new()).await.reply
    }

    /// The command lines that reached the transport.
    pub(super) fn runs(&self) -> Vec<String> {
        self.script.runs.lock().expect("not poisoned").clone()
    }

    /// The same, and forgets them.
    pub(super) fn take_runs(&self) -> Vec<String> {
        std::mem::take(&mut *self.script.runs.lock().expect("not poisoned"))
    }

    pub(super) fn answer_with(&self, data: Value) {
        *self.script.answer.lock().expect("not poisoned") = Some(json!({"success": true, "data": data, "error": null}));
    }

    pub(super) fn fail_with(&self, message: &str) {
        *self.script.answer.lock().expect("not poisoned") =
            Some(json!({"success": false, "data": null, "error": message}));
    }

    pub(super) fn page_is_at(&self, url: &str) {
        *self.script.location.lock().expect("not poisoned") = Some(url.to_owned());
    }

    /// From now on every command that gets a path writes this there.
    pub(super) fn write_pictures(&self, bytes: Vec<u8>) {
        *self.script.picture.lock().expect("not poisoned") = Some(bytes);
    }

    pub(super) fn write_policy(&self, policy: &str) {
        std::fs::write(self.root.path().join("policy.json"), policy).expect("written");
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.path().join("w")
    }

    pub(super) fn audit(&self) -> String {
        std::fs::read_to_string(self.root.path().join("audit.jsonl")).expect("read")
    }
}
