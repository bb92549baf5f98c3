//! A session's sandbox from its start to its end, and the workspace in it.
//!
//! Decides what is made before agent-browser runs, and how a backend's failure is told from agent-browser's. The policy of the
//! call with which a session begins holds for as long as it lives. Must never run a program that a failed backend left bare.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::backends::{BACKENDS, Backend, Chosen, Machine, Way, backend, choose};
use super::confine;
use super::kernel::Enforcement;
use super::parts::Parts;
use super::plan::{Plan, plan};
use super::policy::{BackendName, Mode, SandboxPolicy};
use super::{Sandbox, SandboxError, outside, resident};
use crate::becoming::{FAILED, failure};
use crate::config::Settings;
use crate::decision::{Code, Decision};
use crate::exec::{ExecError, Program, run};
use crate::output::RawOutput;
use crate::places::{MAX_FILES, Places, SessionPlaces};
use crate::processes::{end_marked, look};
use crate::transport::{find_agent_browser, find_on_path};

/// The most bytes of a template.
const MAX_TEMPLATE: u64 = 64 * 1024 * 1024;

/// Makes the sandboxes of a process.
#[derive(Debug)]
pub struct Sandboxing {
    parts: Parts,
    action_policy: PathBuf,
    template: Option<PathBuf>,
    cdp_port: u16,
    machine: OnceLock<Machine>,
    /// The last that was said about it in the log.
    said: Mutex<Option<String>>,
}

impl From<SandboxError> for Decision {
    fn from(error: SandboxError) -> Self {
        tracing::error!(%error, "a session cannot have the sandbox that the policy wants");
        Self::new(Code::SandboxUnavailable, "the session's sandbox cannot be made")
    }
}

impl Sandboxing {
    /// As the settings say.
    #[must_use]
    pub fn new(settings: &Settings, places: &Places) -> Self {
        Self {
            parts: Parts::find(&find_agent_browser(settings), find_on_path("node").as_deref()),
            action_policy: places.action_policy(),
            template: settings.template.clone(),
            cdp_port: settings.cdp_port,
            machine: OnceLock::new(),
            said: Mutex::default(),
        }
    }

    /// What a backend looks at.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        self.machine.get_or_init(Machine::look)
    }

    /// The plan of a session under a backend.
    #[must_use]
    pub fn plan(&self, policy: &SandboxPolicy, backend: BackendName, places: &SessionPlaces) -> Plan {
        plan(policy, backend, places, &self.parts, &self.action_policy, self.cdp_port)
    }

    /// A session's sandbox, as this policy says. It is not started yet.
    ///
    /// # Errors
    ///
    /// When there is no sandbox as the policy wants it.
    pub async fn make(&self, policy: &SandboxPolicy, places: &SessionPlaces) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let chosen = choose(self.machine(), policy, |name| self.plan(policy, name, places)).await?;
        self.say(&chosen);
        let plan = self.plan(policy, chosen.name, places);
        let backend = backend(chosen.name).ok_or(SandboxError::NotStarted)?;
        Ok(Arc::new(Confined {
            backend,
            machine: self.machine().clone(),
            policy: policy.clone(),
            plan,
            places: places.clone(),
            template: self.template.clone(),
            status: chosen.status(),
            started: AtomicBool::new(false),
            starting: tokio::sync::Mutex::default(),
        }))
    }

    /// What a session would get under this policy, and what each backend could do.
    pub async fn survey(&self, policy: &SandboxPolicy, places: &SessionPlaces) -> Survey {
        let of = |name| self.plan(policy, name, places);
        let mut backends = Vec::new();
        for backend in BACKENDS.iter().filter(|backend| backend.name != BackendName::None) {
            backends.push((backend.name, (backend.probe)(self.machine(), policy, &of(backend.name)).await));
        }
        Survey { chosen: choose(self.machine(), policy, of).await, backends, mode: policy.mode }
    }

    /// Says in the log what holds now, once.
    fn say(&self, chosen: &Chosen) {
        let status = chosen.status();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.as_ref() == Some(&status) {
            return;
        }
        let enforcement = &chosen.enforcement;
        match chosen.name {
            BackendName::None if chosen.off => {
                tracing::warn!("the sandbox is switched off: agent-browser runs with all rights of this server");
            }
            BackendName::None => {
                tracing::warn!(
                    "there is no sandbox on this machine: agent-browser runs with all rights of this server; `browser-shell doctor` says why"
                );
            }
            name if enforcement.missing.is_empty() => tracing::info!(%name, %enforcement, "sessions are confined"),
            name => tracing::warn!(%name, %enforcement, "sessions are not fully confined"),
        }
        *said = Some(status);
    }
}

/// What there is on this machine.
#[derive(Debug)]
pub struct Survey {
    /// What a session would get.
    pub chosen: Result<Chosen, SandboxError>,
    /// How far each backend goes here, or why it cannot run.
    pub backends: Vec<(BackendName, Result<Enforcement, String>)>,
    /// Who shares one.
    pub mode: Mode,
}

/// A sandbox that runs each program through a backend.
struct Confined {
    backend: &'static Backend,
    machine: Machine,
    policy: SandboxPolicy,
    plan: Plan,
    places: SessionPlaces,
    template: Option<PathBuf>,
    status: String,
    started: AtomicBool,
    /// Held while the resident is started, if there is one.
    starting: tokio::sync::Mutex<()>,
}

impl Confined {
    /// Runs a program where the plan holds.
    async fn run_inside(
        &self,
        program: &Program,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<RawOutput, SandboxError> {
        match self.backend.way {
            Way::Wrap(wrap) => {
                let wrapped = wrap(&self.machine, &self.policy, &self.plan, program)
                    .map_err(|why| SandboxError::UnsupportedBackend { name: self.backend.name, why })?;
                Ok(run(&wrapped, timeout, cancel).await?)
            }
            Way::Resident(orders) => {
                let begun = Instant::now();
                let orders = || orders(&self.machine, &self.policy, &self.plan, &self.places);
                let connecting = outside::connect(&self.machine.own, &self.places, &self.starting, orders, cancel);
                let stream = tokio::time::timeout(timeout, connecting)
                    .await
                    .map_err(|_| SandboxError::from(ExecError::TimedOut))??;
                Ok(resident::ask(stream, program, timeout.saturating_sub(begun.elapsed()), cancel).await?)
            }
        }
    }
}

impl std::fmt::Debug for Confined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Confined").field("status", &self.status).field("key", &self.places.key).finish_non_exhaustive()
    }
}

impl Sandbox for Confined {
    fn status(&self) -> &str {
        &self.status
    }

    fn start(&self) -> Result<(), SandboxError> {
        // A rule is for a folder that is there; where it cannot be made, pictures fail later, and say why.
        match self.places.make_files() {
            Ok(0) => {
                if let Some(template) = &self.template {
                    copy(template, &self.places.files)
                        .map_err(|source| ExecError::Start { path: template.clone(), source })?;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "a session without a workspace"),
        }
        self.started.store(true, Ordering::Release);
        Ok(())
    }

    fn execute<'a>(
        &'a self,
        program: &'a Program,
        timeout: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RawOutput, SandboxError>> {
        Box::pin(async move {
            if !self.started.load(Ordering::Acquire) {
                return Err(SandboxError::NotStarted);
            }
            let most = self.policy.runtime.timeout.map_or(Duration::MAX, Duration::from_secs);
            let timeout = timeout.min(most);
            if self.backend.name == BackendName::None {
                return Ok(run(program, timeout, cancel).await?);
            }
            // As it would fail without a backend before it.
            if let Err(error) = rustix::fs::access(&program.path, rustix::fs::Access::EXEC_OK) {
                return Err(ExecError::Start { path: program.path.clone(), source: error.into() }.into());
            }
            let output = self.run_inside(program, timeout, cancel).await?;
            if output.exit_code == i32::from(FAILED)
                && output.stderr.bytes.starts_with(failure(confine::SUBCOMMAND).as_bytes())
            {
                let source = io::Error::other(output.stderr.to_text().trim().to_owned());
                return Err(ExecError::Start { path: program.path.clone(), source }.into());
            }
            Ok(output)
        })
    }

    fn stop(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let ended = end_marked(&self.places.tmp()).await;
            if self.policy.runtime.cleanup_on_exit {
                self.places.remove();
            } else {
                self.places.remove_private();
            }
            ended
        })
    }

    fn is_running(&self) -> bool {
        !look(&self.places.tmp()).marked.is_empty()
    }

    fn keeps_workspace(&self) -> bool {
        !self.policy.runtime.cleanup_on_exit
    }

    fn workspace(&self) -> &Path {
        &self.places.files
    }
}

/// What stands in for the sandbox of a session that has not been made yet: nothing runs in it.
#[derive(Debug)]
pub struct NoSandboxYet;

impl Sandbox for NoSandboxYet {
    fn status(&self) -> &'static str {
        "not-started"
    }

    fn start(&self) -> Result<(), SandboxError> {
        Err(SandboxError::NotStarted)
    }

    fn execute<'a>(
        &'a self,
        _: &'a Program,
        _: Duration,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RawOutput, SandboxError>> {
        Box::pin(std::future::ready(Err(SandboxError::NotStarted)))
    }

    fn stop(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    fn is_running(&self) -> bool {
        false
    }

    fn workspace(&self) -> &Path {
        Path::new("/nonexistent")
    }
}

/// Copies a template: plain files and folders, at most as many as a workspace may hold.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut files, mut bytes) = (0, 0);
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
            files += 1;
            if kind.is_dir() {
                fs::create_dir(&target)?;
                folders.push((entry.path(), target));
            } else if kind.is_file() {
                bytes += entry.metadata()?.len();
                fs::copy(entry.path(), target)?;
            } else {
                return Err(io::Error::other(format!("`{}` is neither a file nor a folder", entry.path().display())));
            }
            if files > MAX_FILES || bytes > MAX_TEMPLATE {
                return Err(io::Error::other(format!(
                    "a template has at most {MAX_FILES} files and folders and {MAX_TEMPLATE} bytes"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs programs as they are, for tests of what comes before and after.
    #[derive(Debug)]
    pub(crate) struct Bare;

    impl Sandbox for Bare {
        fn status(&self) -> &'static str {
            "off"
        }

        fn start(&self) -> Result<(), SandboxError> {
            Ok(())
        }

        fn execute<'a>(
            &'a self,
            program: &'a Program,
            timeout: Duration,
            cancel: &'a CancellationToken,
        ) -> BoxFuture<'a, Result<RawOutput, SandboxError>> {
            Box::pin(async move { Ok(run(program, timeout, cancel).await?) })
        }

        fn stop(&self) -> BoxFuture<'_, bool> {
            Box::pin(std::future::ready(true))
        }

        fn is_running(&self) -> bool {
            false
        }

        fn workspace(&self) -> &Path {
            Path::new("/nonexistent")
        }
    }

    fn confined(root: &Path, name: BackendName, template: Option<PathBuf>) -> Confined {
        let places = SessionPlaces::below(root);
        places.make().expect("made");
        Confined {
            backend: backend(name).expect("there"),
            machine: Machine::look(),
            policy: SandboxPolicy::default(),
            plan: Plan::default(),
            places,
            template,
            status: String::new(),
            started: AtomicBool::new(false),
            starting: tokio::sync::Mutex::default(),
        }
    }

    fn program(path: &str) -> Program {
        Program { path: path.into(), arguments: Vec::new(), environment: Vec::new(), directory: "/".into() }
    }

    #[tokio::test]
    async fn spec_5_2_nothing_runs_before_it_is_started_and_what_is_missing_is_said() {
        let root = tempfile::tempdir().expect("a folder");
        let sandbox = confined(root.path(), BackendName::None, None);
        let (cancel, minute) = (CancellationToken::new(), Duration::from_mins(1));
        let program = program("/bin/sh");
        let refused = sandbox.execute(&program, minute, &cancel).await;
        assert!(matches!(refused, Err(SandboxError::NotStarted)));
        sandbox.start().expect("started");
        assert_eq!(sandbox.execute(&program, minute, &cancel).await.expect("control: ran").exit_code, 0);
        assert!(!sandbox.is_running() && sandbox.workspace().is_dir());
        assert!(sandbox.stop().await);
        assert!(!sandbox.workspace().exists());
        let confined = confined(root.path(), BackendName::Landlock, None);
        confined.start().expect("started");
        let error = confined.execute(&self::program("/nowhere/ab"), minute, &cancel).await.expect_err("refused");
        assert!(error.to_string().starts_with("cannot start `/nowhere/ab`"), "{error}");
    }

    #[test]
    fn spec_5_2_a_workspace_begins_as_a_copy_of_the_template() {
        let root = tempfile::tempdir().expect("a folder");
        let template = root.path().join("template");
        fs::create_dir_all(template.join("a/b")).expect("made");
        fs::write(template.join("a/b/file"), "text").expect("written");
        let sandbox = confined(root.path(), BackendName::None, Some(template.clone()));
        sandbox.start().expect("started");
        let copied = sandbox.workspace().join("a/b/file");
        assert_eq!(fs::read_to_string(&copied).expect("copied"), "text");
        fs::write(&copied, "changed").expect("written");
        sandbox.start().expect("started again");
        assert_eq!(fs::read_to_string(&copied).expect("there"), "changed", "it is copied once");
        assert_eq!(fs::read_to_string(template.join("a/b/file")).expect("there"), "text");
    }

    #[test]
    fn spec_5_2_a_template_with_a_link_or_too_much_is_refused() {
        for make in [
            (|template: &Path| std::os::unix::fs::symlink("/etc/passwd", template.join("x")).expect("linked"))
                as fn(&Path),
            |template| {
                for number in 0..=MAX_FILES {
                    fs::write(template.join(number.to_string()), "").expect("written");
                }
            },
        ] {
            let root = tempfile::tempdir().expect("a folder");
            let template = root.path().join("template");
            fs::create_dir(&template).expect("made");
            make(&template);
            let sandbox = confined(root.path(), BackendName::None, Some(template));
            assert!(sandbox.start().is_err());
        }
    }
}
