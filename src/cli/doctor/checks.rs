//! Checks of agent-browser, the policy file, folders, DNS and the sandbox with each of its backends.
//!
//! Invariants: nothing is written; a folder or file that a server would make is said to be one.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::cli::doctor::check::Check;
use crate::cli::services::{DefaultPolicy, state_problems};
use browser_shell_agent_browser::installation::find_agent_browser;
use browser_shell_agent_browser::installation::{DAEMON, InstallationKind, package};
use browser_shell_agent_browser::sandbox::SandboxFactory;
use browser_shell_agent_browser::sandbox::host::EnforcementLevel;
use browser_shell_agent_browser::supported;
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::decision::Decision;
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::sandbox::{BackendName, SandboxMode};
use browser_shell_core::policy::{Engine, Isolation};
use browser_shell_core::session_id::SessionId;
use browser_shell_system::config::Settings;
use browser_shell_system::os::describe;
use browser_shell_system::os::dns::{Dns, LookupError};
use browser_shell_system::os::exec::find_on_path;
use browser_shell_system::os::files::is_writable_folder;
use browser_shell_system::paths::Paths;
use browser_shell_system::policy_source::PolicySource;

/// Name that the DNS check resolves.
const WELL_KNOWN_NAME: &str = "example.com";

const SANDBOX: &str = "sandbox";

pub(super) fn engine(named: Option<Engine>, default: Engine) -> Check {
    let found = match named {
        Some(engine) => format!("{engine}, by the policy"),
        None => format!("{default}, because the policy names none"),
    };
    Check::passed("engine", found)
}

pub(super) async fn agent_browser(settings: &Settings) -> Check {
    let path = find_agent_browser(settings);
    let kind = match InstallationKind::of(&path) {
        InstallationKind::Native { interpreter: Some(_) } => "one native program",
        InstallationKind::Native { interpreter: None } => "one native program without libraries",
        InstallationKind::Node => "with a daemon in Node",
    };
    let name = "agent-browser";
    let tested = AgentBrowser::ALL.map(supported::tested);
    let fix = format!("install {}, or give its path with --agent-browser", tested.join(" or "));
    match supported::read_version(&path).await {
        Ok(output) if output.exit_code == 0 => {
            let text = output.stdout.to_text();
            let version = text.trim();
            let found = format!("{version} at {}, {kind}", path.display());
            if version == supported::tested(AgentBrowser::Node) && lacks_daemon(&path) {
                let found = format!("{version} at {}, without the files of its daemon", path.display());
                Check::failed(name, found, "install the npm package as a whole: its folder `dist` is missing")
            } else if tested.iter().any(|tested| tested == version) {
                Check::passed(name, found)
            } else {
                Check::warned(name, format!("{found}; this version is not supported: it was never tested"), fix)
            }
        }
        Ok(output) => {
            let (code, message) = (output.exit_code, output.stderr.to_text());
            Check::failed(name, format!("{} exited with {code}: {}", path.display(), message.trim()), fix)
        }
        Err(error) => Check::failed(name, error.to_string(), fix),
    }
}

/// Returns true if a program of an npm package has no files of a daemon beside it.
fn lacks_daemon(program: &Path) -> bool {
    let Ok(program) = program.canonicalize() else { return false };
    let package = package(&program);
    package.join("package.json").is_file() && !package.join(DAEMON).is_dir()
}

pub(super) fn node(settings: &Settings) -> Check {
    if InstallationKind::of(&find_agent_browser(settings)).agent_browser() == AgentBrowser::Native {
        return Check::passed("node", "not needed by this agent-browser");
    }
    match find_on_path("node") {
        Some(path) => Check::passed("node", path.display().to_string()),
        None => {
            Check::failed("node", "not on PATH", "install Node 20 or newer; the daemon of this agent-browser needs it")
        }
    }
}

pub(super) fn policy(source: &PolicySource, default: DefaultPolicy) -> Check {
    let path = source.path().display();
    match source.current() {
        Ok(policy) if source.exists() => {
            let has_contexts =
                default == DefaultPolicy::Recommended || policy.browser.isolation == Some(Isolation::Session);
            match state_problems(&policy).first().filter(|_| has_contexts) {
                None => Check::passed("policy", format!("{path} is valid")),
                Some(problem) => Check::failed(
                    "policy",
                    format!("{path} is valid, and a saved state that it names cannot be used: {problem}"),
                    format!(
                        "run `browser-shell policy check {path}` as the server's user, and correct the file of the state"
                    ),
                ),
            }
        }
        Ok(_) => {
            let found = match default {
                DefaultPolicy::Safe => "the safe defaults apply",
                DefaultPolicy::Recommended => "the recommended policy, which is built in, applies",
            };
            Check::passed("policy", format!("no file at {path}; {found}"))
        }
        Err(error) => Check::failed(
            "policy",
            error.to_string(),
            format!("run `browser-shell policy check {path}` and correct the file"),
        ),
    }
}

pub(super) fn socket_folder(settings: &Settings) -> Check {
    let name = "socket folder";
    let fix = "give a private folder with a short path with --runtime-dir";
    match Paths::inspect(settings, Profile::Tool) {
        Ok((paths, exists)) => {
            let folder = paths.runtime().display();
            match is_writable_folder(paths.runtime()) {
                Ok(_) if exists => Check::passed(name, format!("{folder} is private and its path is short enough")),
                Ok(_) => Check::passed(name, format!("{folder} would be made, and its path is short enough")),
                Err(error) => Check::failed(name, format!("{folder}: {}", describe(&error)), fix),
            }
        }
        Err(error) => Check::failed(name, error.to_string(), fix),
    }
}

pub(super) fn workspace(settings: &Settings) -> Check {
    let path = settings.workspace.display();
    match is_writable_folder(&settings.workspace) {
        Ok(true) => Check::passed("workspace", format!("{path} is writable")),
        Ok(false) => Check::passed("workspace", format!("{path} would be made")),
        Err(error) => {
            let fix = "create the folder and make this user its owner, or choose another folder with --workspace";
            Check::failed("workspace", format!("{path}: {}", describe(&error)), fix)
        }
    }
}

fn parent(path: &Path) -> io::Result<Option<PathBuf>> {
    Ok(std::path::absolute(path)?.parent().map(Path::to_owned))
}

pub(super) fn audit_log(settings: &Settings) -> Check {
    let path = settings.audit.display().to_string();
    if path == "-" {
        return Check::passed("audit log", "standard error");
    }
    match would_be_made(&settings.audit) {
        Ok(false) => Check::passed("audit log", path),
        Ok(true) => Check::passed("audit log", format!("{path} would be made")),
        Err(error) => {
            Check::failed("audit log", format!("{path}: {}", describe(&error)), "choose another file with --audit")
        }
    }
}

/// Returns false if this user can write to a file, and true if it would be made in its folder. Nothing is changed.
fn would_be_made(file: &Path) -> io::Result<bool> {
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(_) => {
            access(file, Access::WRITE_OK)?;
            return Ok(false);
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    match parent(file)?.map(|folder| is_writable_folder(&folder)).transpose()? {
        Some(true) => Ok(true),
        _ => Err(ErrorKind::NotFound.into()),
    }
}

pub(super) async fn dns() -> Check {
    match Dns::default().lookup(WELL_KNOWN_NAME).await {
        Ok(addresses) => Check::passed("dns", format!("{WELL_KNOWN_NAME} has {} addresses", addresses.len())),
        // A private DNS server may not know the name, and works nevertheless.
        Err(LookupError::NoAddress) => {
            Check::passed("dns", format!("the server answers, and has no address for {WELL_KNOWN_NAME}"))
        }
        Err(error) => {
            let fix = "correct /etc/resolv.conf; without DNS you can open only IP addresses and names in /etc/hosts";
            Check::failed("dns", format!("{WELL_KNOWN_NAME}: {error}"), fix)
        }
    }
}

/// Returns the check of the sandbox where no session runs agent-browser.
pub(super) fn no_sandbox() -> Check {
    Check::passed(SANDBOX, "not needed: it confines agent-browser, which the engine cdp does not run")
}

/// Checks the sandbox of sessions. A backend that cannot run is an error if the policy names it: else a machine needs only one.
pub(super) async fn sandbox(settings: &Settings, policy: &PolicySource) -> Vec<Check> {
    let Ok((paths, _)) = Paths::inspect(settings, Profile::Tool) else {
        return vec![Check::failed(SANDBOX, "the socket folder cannot be used", "fix the socket folder first")];
    };
    let Some(id) = SessionId::new("doctor") else { return Vec::new() };
    let policy = match policy.current() {
        Ok(policy) => policy,
        Err(error) => {
            let fix = "correct the policy file; no session starts until then";
            return vec![Check::failed(SANDBOX, Decision::from(error).reason, fix)];
        }
    };
    let survey = SandboxFactory::new(settings, &paths).survey(&policy.sandbox, &paths.session(&id)).await;
    let chosen = match &survey.chosen {
        Err(error) => {
            let fix = "change sandbox.backend or sandbox.require in the policy file to fit this machine; no session starts until then";
            Check::failed(SANDBOX, error.to_string(), fix)
        }
        Ok(chosen) if chosen.is_off => Check::warned(
            SANDBOX,
            "OFF, as the policy file says: agent-browser has all rights of this user",
            "remove what switches it off from `sandbox` of the policy file: enabled, mode or backend",
        ),
        Ok(chosen) if chosen.enforcement.level == EnforcementLevel::None => Check::failed(
            SANDBOX,
            "none: agent-browser has all rights of this user",
            "use a kernel with Landlock (full enforcement needs Linux 6.12 or newer), or install bubblewrap",
        ),
        Ok(chosen) => {
            let scope =
                if survey.mode == SandboxMode::Shared { "shared by all sessions" } else { "each session its own" };
            let found = format!("{}: {}; {scope}", chosen.name, chosen.enforcement);
            if chosen.enforcement.level == EnforcementLevel::Full {
                Check::passed(SANDBOX, found)
            } else {
                Check::warned(SANDBOX, found, "see docs/how-to/hardening.md for what full enforcement needs")
            }
        }
    };
    let named = policy.sandbox.backend.filter(|_| !policy.sandbox.is_off());
    let backends = survey.backends.into_iter().map(|(name, result)| match result {
        Ok(enforcement) => Check::passed(name_of_backend(name), format!("can run: {enforcement}")),
        Err(reason) if named == Some(name) => Check::failed(
            name_of_backend(name),
            format!("cannot run: {reason}; sandbox.backend of the policy file names it"),
            "make it run, or name another backend",
        ),
        Err(reason) => Check::passed(name_of_backend(name), format!("cannot run: {reason}; not asked for")),
    });
    let notes = policy.sandbox.notes().into_iter().map(|note| Check::passed("- note", note));
    std::iter::once(chosen).chain(backends).chain(notes).collect()
}

const fn name_of_backend(backend: BackendName) -> &'static str {
    match backend {
        BackendName::Landlock => "- landlock",
        BackendName::Bubblewrap => "- bubblewrap",
        BackendName::Srt => "- srt",
        BackendName::Docker => "- docker",
        BackendName::None => "- none",
    }
}
