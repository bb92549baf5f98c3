//! The backends: the one list, what each needs, and which one is used.
//!
//! Decides by the policy and the machine. A backend says why it cannot be used, in words for the operator; it must never be
//! chosen in silence where it enforces less than another one that is there.

use std::ffi::OsString;
use std::future::ready;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::process::Command;

use super::SandboxError;
use super::confine::Orders;
use super::kernel::{Enforcement, Kernel, Level};
use super::parts::needs;
use super::plan::Plan;
use super::policy::{BackendName, SandboxPolicy};
use super::{engine, outside, srt};
use crate::exec::Program;
use crate::places::SessionPlaces;
use crate::transport::find_on_path;

/// What the backends look at.
#[derive(Clone, Debug)]
pub struct Machine {
    /// What the kernel can do.
    pub kernel: Kernel,
    /// This program's own file.
    pub own: PathBuf,
    /// How it is started from here. This names the very program that runs, whatever has become of its file: a server goes on
    /// when it is replaced by a newer one.
    pub start: PathBuf,
    /// What loads it and is loaded with it, for those that show it a view of files. A static program needs nothing.
    pub needs: Vec<PathBuf>,
}

impl Machine {
    /// Looks at this machine.
    #[must_use]
    pub fn look() -> Self {
        // For a view of files not `/proc/self/exe`: another mount namespace has another `/proc`.
        let own = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        Self { kernel: Kernel::ask(), needs: needs(&own), own, start: "/proc/self/exe".into() }
    }
}

#[cfg(test)]
impl Machine {
    /// One with such a kernel and this program in such a file, for tests; nothing is looked at.
    pub(super) fn with(landlock: u8, own: &str) -> Self {
        Self { kernel: Kernel { landlock, seccomp: true }, own: own.into(), start: own.into(), needs: Vec::new() }
    }
}

/// A way to enforce plans.
pub struct Backend {
    /// Its name.
    pub name: BackendName,
    /// How far it would enforce a plan here, or why it cannot run at all.
    pub probe: Probe,
    /// How programs get into it.
    pub way: Way,
}

/// A look at whether a backend works here. It may take as long as another program or an engine takes to answer, within
/// five seconds, and holds nobody else up.
pub type Probe = for<'a> fn(&'a Machine, &'a SandboxPolicy, &'a Plan) -> BoxFuture<'a, Result<Enforcement, String>>;

/// How long whatever a probe asks may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How programs get into a sandbox.
pub enum Way {
    /// Each by itself: the program that runs another one confined.
    Wrap(fn(&Machine, &SandboxPolicy, &Plan, &Program) -> Result<Program, String>),
    /// Through the session's resident: what starts that.
    Resident(fn(&Machine, &SandboxPolicy, &Plan, &SessionPlaces) -> io::Result<outside::Orders>),
}

/// All backends, the preferred ones first.
pub const BACKENDS: &[Backend] = &[
    Backend {
        name: BackendName::Landlock,
        probe: |machine, _, plan| Box::pin(ready(probe_landlock(machine, plan))),
        way: Way::Wrap(|machine, _, plan, program| Ok(wrap_landlock(machine, plan, program))),
    },
    Backend {
        name: BackendName::Bubblewrap,
        probe: |machine, policy, _| Box::pin(probe_bubblewrap(machine, policy)),
        way: Way::Wrap(wrap_bubblewrap),
    },
    Backend {
        name: BackendName::Srt,
        probe: |machine, policy, plan| Box::pin(srt::probe(machine, policy, plan)),
        way: Way::Resident(srt::orders),
    },
    Backend {
        name: BackendName::Docker,
        probe: |machine, policy, _| Box::pin(engine::probe(machine, policy)),
        way: Way::Resident(engine::orders),
    },
    Backend {
        name: BackendName::None,
        probe: |_, _, _| Box::pin(ready(Ok(NOTHING))),
        way: Way::Wrap(|_, _, _, program| Ok(program.clone())),
    },
];

const NOTHING: Enforcement = Enforcement { level: Level::None, missing: Vec::new() };

/// The backend of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which.
    pub name: BackendName,
    /// How far it enforces the plan.
    pub enforcement: Enforcement,
    /// Whether it was switched off, as opposed to not there.
    pub off: bool,
}

impl Chosen {
    /// As it stands in the audit line: `landlock:full`, `none` or `off`.
    #[must_use]
    pub fn status(&self) -> String {
        match self.name {
            BackendName::None if self.off => "off".to_owned(),
            BackendName::None => "none".to_owned(),
            name => format!("{name}:{}", self.enforcement.level),
        }
    }
}

/// The backend of this name.
#[must_use]
pub fn backend(name: BackendName) -> Option<&'static Backend> {
    BACKENDS.iter().find(|backend| backend.name == name)
}

/// Chooses the backend: the one that the policy names, else the first that enforces everything, else the one that enforces
/// most, else none.
///
/// # Errors
///
/// When the named one cannot run, or full enforcement is required and not to be had.
pub async fn choose(
    machine: &Machine,
    policy: &SandboxPolicy,
    plan: impl Fn(BackendName) -> Plan + Send + Sync,
) -> Result<Chosen, SandboxError> {
    if policy.is_off() {
        if policy.require {
            return Err(SandboxError::Disabled);
        }
        return Ok(Chosen { name: BackendName::None, enforcement: NOTHING, off: true });
    }
    let chosen = match policy.backend {
        Some(name) => {
            let unsupported = |why| SandboxError::UnsupportedBackend { name, why };
            let backend = backend(name).ok_or_else(|| unsupported("there is no such backend".to_owned()))?;
            let enforcement = (backend.probe)(machine, policy, &plan(name)).await.map_err(unsupported)?;
            Chosen { name, enforcement, off: false }
        }
        None => best(machine, policy, plan).await,
    };
    if policy.require && chosen.enforcement.level < Level::Full {
        let why = format!("full enforcement is required, and here it is {}", chosen.enforcement);
        return Err(SandboxError::UnsupportedBackend { name: chosen.name, why });
    }
    Ok(chosen)
}

/// The best of those that need no choice of an operator.
async fn best(machine: &Machine, policy: &SandboxPolicy, plan: impl Fn(BackendName) -> Plan + Send + Sync) -> Chosen {
    let mut best = Chosen { name: BackendName::None, enforcement: NOTHING, off: false };
    for name in [BackendName::Landlock, BackendName::Bubblewrap] {
        let Some(backend) = backend(name) else { continue };
        let Ok(enforcement) = (backend.probe)(machine, policy, &plan(name)).await else { continue };
        if enforcement.level > best.enforcement.level {
            best = Chosen { name, enforcement, off: false };
        }
        if best.enforcement.level == Level::Full {
            break;
        }
    }
    best
}

fn probe_landlock(machine: &Machine, plan: &Plan) -> Result<Enforcement, String> {
    if machine.kernel.landlock == 0 {
        return Err("the kernel has no Landlock, or it is switched off (`landlock` is missing in its parameter `lsm=`), or a seccomp filter of the container hides it".to_owned());
    }
    Ok(Enforcement::without(machine.kernel.missing(plan)))
}

/// The program confines itself and then becomes the other one.
fn wrap_landlock(machine: &Machine, plan: &Plan, program: &Program) -> Program {
    let mut wrapped = program.clone();
    wrapped.path.clone_from(&machine.start);
    wrapped.arguments = confined(machine, plan, program);
    wrapped
}

/// The arguments of this program with which it becomes the other one.
fn confined(machine: &Machine, plan: &Plan, program: &Program) -> Vec<OsString> {
    let mut arguments = Vec::from(Orders::new(plan.clone(), machine.kernel).arguments());
    arguments.push(program.path.clone().into());
    arguments.extend(program.arguments.iter().cloned());
    arguments
}

fn find_bubblewrap(policy: &SandboxPolicy) -> Result<PathBuf, String> {
    let set = policy.backends.bubblewrap.program.clone();
    set.or_else(|| find_on_path("bwrap")).ok_or_else(|| "`bwrap` is not on PATH: install bubblewrap".to_owned())
}

async fn probe_bubblewrap(machine: &Machine, policy: &SandboxPolicy) -> Result<Enforcement, String> {
    let program = find_bubblewrap(policy)?;
    try_namespaces(&program, NAMESPACES, machine).await?;
    // Its own view of files stands in for Landlock's rules for them; ports and system calls have no other guard.
    let kernel = machine.kernel;
    let mut missing = missing_inside(kernel);
    if kernel.landlock < 6 {
        missing.push("rules for abstract sockets".to_owned());
    }
    Ok(Enforcement::without(missing))
}

/// Finds out by a try, with the flags that count and our own program as the one inside, whether bubblewrap can make these.
pub(super) async fn try_namespaces(bwrap: &Path, namespaces: &[&str], machine: &Machine) -> Result<(), String> {
    let trying = Command::new(bwrap)
        .args(namespaces)
        .args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"])
        .arg(&machine.own)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        // Whoever waits for it may give up.
        .kill_on_drop(true)
        .output();
    let tried = tokio::time::timeout(PATIENCE, trying)
        .await
        .map_err(|_| format!("`{}` makes no namespaces within {} s", bwrap.display(), PATIENCE.as_secs()))?
        .map_err(|error| format!("cannot start `{}`: {error}", bwrap.display()))?;
    if !tried.status.success() {
        let said = String::from_utf8_lossy(&tried.stderr);
        let said = said.lines().next().unwrap_or("it does not say why");
        return Err(format!("`{}` cannot make namespaces here: {said}", bwrap.display()));
    }
    Ok(())
}

/// Everything of its own but the network: the browser's port is on the machine's loopback.
const NAMESPACES: &[&str] =
    &["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"];

/// A view of files that holds the plan's and no others, at their own paths; inside, what `landlock` does too.
fn wrap_bubblewrap(
    machine: &Machine,
    policy: &SandboxPolicy,
    plan: &Plan,
    program: &Program,
) -> Result<Program, String> {
    let mut wrapped = program.clone();
    wrapped.path = find_bubblewrap(policy)?;
    let mut arguments: Vec<OsString> = NAMESPACES.iter().map(OsString::from).collect();
    let mut add = |flag: &str, paths: &[&Path]| {
        arguments.push(flag.into());
        arguments.extend(paths.iter().map(|path| OsString::from(path.as_os_str())));
    };
    add("--dev", &[Path::new("/dev")]);
    add("--proc", &[Path::new("/proc")]);
    let inside = |path: &&PathBuf| !path.starts_with("/proc");
    let mut bound: Vec<&Path> = Vec::new();
    for path in plan.read.iter().chain(&plan.execute).chain(&machine.needs).chain([&machine.own]).filter(inside) {
        // What lies in a folder that is there already would need a place to be put in it.
        if !bound.iter().any(|folder| path.starts_with(folder)) {
            add("--ro-bind-try", &[path, path]);
            bound.push(path);
        }
    }
    for path in plan.write.iter().chain(&plan.sockets) {
        add("--bind-try", &[path, path]);
    }
    for path in &plan.fixed {
        add("--ro-bind-try", &[path, path]);
    }
    for path in &plan.hidden {
        // A file is covered by an empty one, a folder by an empty folder; what is not there needs no cover.
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                add("--tmpfs", &[path]);
                add("--remount-ro", &[path]);
            }
            Ok(_) => add("--ro-bind", &[Path::new("/dev/null"), path]),
            Err(_) => {}
        }
    }
    add("--chdir", &[&program.directory]);
    add("--", &[&machine.own]);
    arguments.extend(confined(machine, &plan.behind_a_view(), program));
    wrapped.arguments = arguments;
    Ok(wrapped)
}

/// What a sandbox with a view of files, processes and a network of its own still lacks without these parts of the kernel.
pub(super) fn missing_inside(kernel: Kernel) -> Vec<String> {
    let mut missing = Vec::new();
    if kernel.landlock < 4 {
        missing.push("rules for TCP ports".to_owned());
    }
    if !kernel.seccomp {
        missing.push("a filter for system calls".to_owned());
    }
    missing
}

/// Whether a path can be shown inside: it is there, and not one of the kernel's own.
pub(super) fn near(path: &Path) -> bool {
    !path.starts_with("/proc") && path.exists()
}

/// Adds a path to those that are shown inside, by its name and by the one behind it, if no folder among them holds it already.
pub(super) fn add_to_reads(reads: &mut Vec<PathBuf>, path: &Path) {
    for path in [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten() {
        if near(&path) && !reads.iter().any(|known| path.starts_with(known)) {
            reads.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::file::parse;

    fn machine(landlock: u8) -> Machine {
        Machine::with(landlock, "/own")
    }

    async fn choose_with(landlock: u8, text: &str) -> Result<Chosen, String> {
        // No `bwrap` there, whatever the machine has.
        let text = text.replace('~', r#""backends":{"bubblewrap":{"program":"/nowhere/bwrap"}}"#);
        let policy = parse(&text).expect("valid").sandbox;
        choose(&machine(landlock), &policy, |_| Plan::default()).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn spec_5_2_the_best_backend_is_chosen_and_what_is_missing_is_said() {
        let status = async |landlock, text: &str| choose_with(landlock, text).await.expect("chosen").status();
        assert_eq!(status(6, r#"{"sandbox":{~}}"#).await, "landlock:full");
        assert_eq!(status(3, r#"{"sandbox":{~}}"#).await, "landlock:partial");
        assert_eq!(status(0, r#"{"sandbox":{~}}"#).await, "none", "visibly");
        for off in [r#""enabled":false"#, r#""mode":"disabled""#, r#""backend":"none""#] {
            assert_eq!(status(6, &format!(r#"{{"sandbox":{{{off}}}}}"#)).await, "off");
        }
    }

    #[tokio::test]
    async fn spec_5_2_what_is_required_and_not_to_be_had_is_refused() {
        assert!(choose_with(6, r#"{"sandbox":{"require":true,~}}"#).await.is_ok(), "control");
        for landlock in [0, 1, 3, 5] {
            let error = choose_with(landlock, r#"{"sandbox":{"require":true,~}}"#).await.expect_err("refused");
            assert!(error.contains("full enforcement is required"), "{error}");
        }
        let error = choose_with(0, r#"{"sandbox":{"backend":"landlock"}}"#).await.expect_err("refused");
        assert!(
            error.starts_with("the sandbox backend `landlock` cannot be used: the kernel has no Landlock"),
            "{error}"
        );
        let error = choose_with(6, r#"{"sandbox":{"backend":"bubblewrap",~}}"#).await.expect_err("refused");
        assert!(error.contains("cannot start `/nowhere/bwrap`"), "{error}");
        let error = choose_with(
            6,
            r#"{"sandbox":{"backend":"docker","backends":{"docker":{"image":"x","socket":"/nowhere/s"}}}}"#,
        )
        .await
        .expect_err("refused");
        assert!(error.contains("no engine at `/nowhere/s`"), "{error}");
        let required = SandboxPolicy { require: true, enabled: false, ..SandboxPolicy::default() };
        let refused = choose(&machine(6), &required, |_| Plan::default()).await;
        assert!(matches!(refused, Err(SandboxError::Disabled)));
    }

    async fn until(test: impl Fn() -> bool) {
        while !test() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// On one thread: whoever blocks it holds up everything.
    #[tokio::test]
    async fn a_bubblewrap_that_hangs_holds_up_nobody_else_and_ends_with_the_wait_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (bwrap, pid) = (folder.path().join("bwrap"), folder.path().join("pid"));
        std::fs::write(&bwrap, format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", pid.display())).expect("written");
        std::fs::set_permissions(&bwrap, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("set");
        let text = format!(r#"{{"sandbox":{{"backends":{{"bubblewrap":{{"program":"{}"}}}}}}}}"#, bwrap.display());
        let policy = parse(&text).expect("valid").sandbox;
        let machine = machine(6);
        tokio::select! {
            biased;
            found = probe_bubblewrap(&machine, &policy) => panic!("it did not wait: {found:?}"),
            () = until(|| std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))) => {}
        }
        let id = std::fs::read_to_string(&pid).expect("read");
        let status = Path::new("/proc").join(id.trim()).join("status");
        until(|| std::fs::read_to_string(&status).map_or(true, |text| text.contains("zombie"))).await;
    }

    #[test]
    fn every_name_has_one_backend() {
        for name in BackendName::ALL {
            assert_eq!(BACKENDS.iter().filter(|backend| backend.name == *name).count(), 1, "{name}");
        }
    }

    #[test]
    fn the_program_keeps_its_arguments_environment_and_folder() {
        let program = Program {
            path: "/ab".into(),
            arguments: vec!["--session".into(), "s".into()],
            environment: vec![("TMPDIR".into(), "/t".into())],
            directory: "/d".into(),
        };
        let wrapped = wrap_landlock(&machine(6), &Plan::default(), &program);
        assert_eq!((wrapped.path, wrapped.directory), ("/own".into(), program.directory.clone()));
        assert_eq!(Machine::look().start, PathBuf::from("/proc/self/exe"), "not a path that can be replaced");
        assert_eq!(wrapped.environment, program.environment);
        assert_eq!(wrapped.arguments.get(2..), Some(&["/ab".into(), "--session".into(), "s".into()][..]));
    }
}
