//! Backend `srt`: npm's sandbox runtime, with the sandbox init in it; and the file of srt's own settings, whose rules are added to
//! those of the policy.
//!
//! srt gives the sandbox its own file view, processes and network, with srt's proxies for the domains of the policy.
//!
//! Invariants: srt starts only with the settings file that is written here. A file of settings that cannot be read or understood
//! completely is an error, because srt could have denied something by it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde_json::{Value, json};
use thiserror::Error;

use crate::installation::files::loader_files;
use crate::sandbox::bubblewrap::{NamespaceError, try_namespaces};
use crate::sandbox::container::config::{InitConfig, RelayConfig, RelayStart};
use crate::sandbox::container::init;
use crate::sandbox::host::{Enforcement, SandboxHost, add_readable, is_mountable, missing_inside};
use crate::sandbox::plan::Plan;
use browser_shell_core::policy::file::{MAX_BYTES, parse_srt_settings};
use browser_shell_core::policy::sandbox::{BackendName, FileRule, SandboxPolicy};
use browser_shell_system::os::exec::{child_path, find_on_path};
use browser_shell_system::paths::SessionPaths;
use browser_shell_system::policy_source::home;

/// Ports of srt's proxies in the sandbox: HTTP and SOCKS.
const PROXY_PORTS: [u16; 2] = [3128, 1080];

/// The namespaces that srt has bubblewrap make.
const NAMESPACES: &[&str] = &["--unshare-user", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL"];

/// Programs that srt needs, with Debian's packages.
const REQUIRED_PROGRAMS: &[(&str, &str)] =
    &[("bwrap", "bubblewrap"), ("socat", "socat"), ("rg", "ripgrep"), ("bash", "bash"), ("node", "nodejs")];

/// Reason why srt cannot be used.
#[derive(Debug, Error)]
pub enum SrtError {
    /// The program is missing.
    #[error("`srt` is not on PATH: npm install --global @anthropic-ai/sandbox-runtime")]
    NotInstalled,
    /// The configured program does not exist.
    #[error("there is no `{}`", .0.display())]
    NotFound(PathBuf),
    /// Programs that srt needs are missing.
    #[error("`{}` needs {missing} on PATH", srt.display())]
    MissingPrograms {
        /// The program.
        srt: PathBuf,
        /// The missing programs and their packages.
        missing: String,
    },
    /// bubblewrap cannot make srt's namespaces.
    #[error(transparent)]
    Namespaces(#[from] NamespaceError),
    /// A folder is below `/dev`.
    #[error(
        "srt hides everything below /dev, and `{}` is there: choose another folder with --runtime-dir and --workspace",
        .0.display()
    )]
    BelowDev(PathBuf),
    /// The browser's port cannot be listened on in the sandbox.
    #[error("the browser's port {0} is not available inside: choose one from 1024 on, except srt's own 1080 and 3128")]
    Port(u16),
    /// srt would read a denied path as a pattern.
    #[error("srt cannot deny `{}`, because it takes `*`, `?`, `[` and `]` for wildcards: rename the file, or deny its folder", .0.display())]
    Wildcard(PathBuf),
    /// The settings file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The configuration cannot be written as JSON.
    #[error("cannot write the configuration: {0}")]
    Json(#[from] serde_json::Error),
}

/// srt and the programs that it needs.
#[derive(Debug)]
struct Programs {
    srt: PathBuf,
    bwrap: PathBuf,
    socat: PathBuf,
    rg: PathBuf,
    bash: PathBuf,
}

impl Programs {
    fn find(policy: &SandboxPolicy) -> Result<Self, SrtError> {
        let srt = match &policy.backends.srt_program {
            Some(path) if path.is_file() => path.clone(),
            Some(path) => return Err(SrtError::NotFound(path.clone())),
            None => find_on_path("srt").ok_or(SrtError::NotInstalled)?,
        };
        let find = |name: &str| match (name, &policy.backends.bubblewrap.program) {
            ("bwrap", Some(path)) => Some(path.clone()),
            _ => find_on_path(name),
        };
        let missing: Vec<_> = REQUIRED_PROGRAMS
            .iter()
            .filter(|(name, _)| find(name).is_none())
            .map(|(name, package)| format!("`{name}` (package {package})"))
            .collect();
        if !missing.is_empty() {
            return Err(SrtError::MissingPrograms { srt, missing: missing.join(", ") });
        }
        let path = |name: &str| find(name).unwrap_or_default();
        Ok(Self { srt, bwrap: path("bwrap"), socat: path("socat"), rg: path("rg"), bash: path("bash") })
    }
}

/// Determines how much of a plan srt enforces on this machine.
pub(super) async fn probe(host: &SandboxHost, policy: &SandboxPolicy, plan: &Plan) -> Result<Enforcement, SrtError> {
    let programs = Programs::find(policy)?;
    // The same as srt does, but without the second that Node takes for it.
    try_namespaces(&programs.bwrap, NAMESPACES, host).await?;
    if let Some(path) = plan.write.iter().chain(&plan.sockets).find(|path| path.starts_with("/dev")) {
        return Err(SrtError::BelowDev(path.clone()));
    }
    if let Some(port) = plan.connect.iter().find(|port| PROXY_PORTS.contains(port) || **port < 1024) {
        return Err(SrtError::Port(*port));
    }
    Ok(Enforcement::without(missing_inside(host.kernel, policy, plan)))
}

/// Writes srt's settings file and returns the configuration of the host relay.
pub(super) fn relay_config(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: &Plan,
    paths: &SessionPaths,
) -> Result<RelayConfig, SrtError> {
    let programs = Programs::find(policy)?;
    let denied = plan.masked.iter().chain(&plan.read_only);
    if let Some(path) = denied.into_iter().find(|path| path.to_string_lossy().contains(['*', '?', '[', ']'])) {
        return Err(SrtError::Wildcard(path.clone()));
    }
    let folder = paths.relay_folder();
    let path = folder.join("settings.json");
    fs::write(&path, settings(host, policy, plan, &programs, &folder).to_string())
        .map_err(|source| SrtError::Settings { path: path.clone(), source })?;
    let init_config = serde_json::to_string(&init_config(host, policy, plan, paths))?;
    let text = |path: &OsStr| path.to_string_lossy().into_owned();
    let start = RelayStart::Program {
        line: vec![
            text(programs.srt.as_os_str()),
            "--settings".to_owned(),
            text(path.as_os_str()),
            "--".to_owned(),
            text(host.executable.as_os_str()),
            init::SUBCOMMAND.to_owned(),
            init_config,
        ],
        environment: vec![
            ("PATH".to_owned(), text(&child_path())),
            // Not the session's own folders: programs in the sandbox write there. Also, sockets need short paths.
            ("HOME".to_owned(), text(folder.as_os_str())),
            ("TMPDIR".to_owned(), text(folder.as_os_str())),
            // srt's proxies listen on 127.0.0.1, but its relay connects to `localhost` and tries one address only.
            ("SOCAT_PREFERRED_RESOLVE_IP".to_owned(), "4".to_owned()),
        ],
        directory: paths.cwd(),
    };
    Ok(RelayConfig { sockets: paths.sockets.clone(), port: plan.endpoint, start })
}

/// Returns the configuration of the sandbox init.
fn init_config(host: &SandboxHost, policy: &SandboxPolicy, plan: &Plan, paths: &SessionPaths) -> InitConfig {
    let mut config = InitConfig::new(host, plan, paths);
    config.proxies = !policy.network.allowed_domains.is_empty();
    if config.proxies {
        config.confine.plan.connect.extend(PROXY_PORTS);
    }
    config
}

/// Returns srt's settings file.
fn settings(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: &Plan,
    programs: &Programs,
    relay_folder: &Path,
) -> Value {
    let mut readable = Vec::new();
    let loaders = [&host.loader_files, &loader_files(&programs.bash), &loader_files(&programs.socat)];
    let executables = [&host.executable, &programs.bash, &programs.socat];
    for path in plan.read.iter().chain(&plan.execute).chain(loaders.into_iter().flatten()).chain(executables) {
        add_readable(&mut readable, path);
    }
    // Writable files are readable too, where that is not denied.
    for path in plan.write.iter().chain(&plan.sockets) {
        add_readable(&mut readable, path);
    }
    if !policy.network.allowed_domains.is_empty() {
        // This folder holds the socket of srt's proxies and would be covered otherwise. The proxies require a password.
        add_readable(&mut readable, relay_folder);
    }
    let mut denied = vec![PathBuf::from("/")];
    denied.extend(plan.masked.iter().cloned());
    let writable: Vec<&PathBuf> = plan.write.iter().chain(&plan.sockets).filter(|path| is_mountable(path)).collect();
    json!({
        "network": {
            "allowedDomains": policy.network.allowed_domains,
            "deniedDomains": policy.network.denied_domains,
            "deniedResolvedAddresses": policy.network.denied_addresses,
            "strictAllowlist": true,
            // The sandbox init and agent-browser's daemon listen on Unix sockets. The file view limits which ones can be reached.
            "allowAllUnixSockets": true,
            "allowLocalBinding": policy.network.allow_local_binding,
        },
        "filesystem": {
            "denyRead": denied,
            "allowRead": readable,
            "allowWrite": writable,
            "denyWrite": plan.read_only,
        },
        "ripgrep": { "command": programs.rg },
        "bwrapPath": programs.bwrap,
        "socatPath": programs.socat,
    })
}

/// Reason why a settings file of srt cannot be used.
#[derive(Debug, Error)]
pub enum SrtSettingsError {
    /// The file cannot be read.
    #[error("cannot read srt's settings `{}`, which sandbox.backends.srt.settingsPath names: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file has problems.
    #[error("srt's settings `{}`: {problems}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All problems.
        problems: String,
    },
}

/// Returns the policy with the rules of its settings file, if srt is its backend and it names one.
///
/// # Errors
///
/// If the file cannot be read, or has a problem.
pub(super) fn with_settings_file(policy: &SandboxPolicy) -> Result<Cow<'_, SandboxPolicy>, SrtSettingsError> {
    let Some(path) = policy.backends.srt_settings.as_ref().filter(|_| policy.backend == Some(BackendName::Srt)) else {
        return Ok(Cow::Borrowed(policy));
    };
    if policy.is_off() {
        return Ok(Cow::Borrowed(policy));
    }
    let text = read(path).map_err(|source| SrtSettingsError::Unreadable { path: path.clone(), source })?;
    let settings = parse_srt_settings(&text, home().as_deref()).map_err(|problems| SrtSettingsError::Invalid {
        path: path.clone(),
        problems: problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    })?;
    let mut merged = policy.clone();
    settings.add_to(&mut merged);
    // A program in the sandbox must not change the rules of the next one.
    merged.filesystem.deny_write.push(FileRule::Path(path.clone()));
    Ok(Cow::Owned(merged))
}

fn read(path: &Path) -> io::Result<String> {
    // Opening a pipe must not wait; it is refused below.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
