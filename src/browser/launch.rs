//! Command line, environment and restrictions of the Chromium that a runtime starts.
//!
//! A helper, this program with the hidden first argument `launch`, restricts itself and then executes Chromium. See
//! `docs/design/chromium-launch.md`.
//!
//! Invariants: the kernel ends Chromium when the runtime ends, and lets it connect to the egress guard and to Unix sockets only,
//! where the kernel has such rules; Chromium is not started if one of them cannot be set. Requirement 5.1.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{ABI, Access, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::os::io_error::describe;
use crate::sandbox::kernel::KernelFeatures;
use crate::sandbox::seccomp::{FilterError, network_filter};

/// Hidden first argument of the helper.
pub(crate) const SUBCOMMAND: &str = "launch";

/// First version of Landlock's ABI with rules for TCP.
const TCP_ABI: u8 = 4;

/// Approximate maximum number of renderers; more tabs share them. A container of the orchestrator has 256 tasks, and a renderer
/// takes about fifteen of them.
const MAX_RENDERERS: u32 = 4;

/// Flags of every start.
const FLAGS: &[&str] = &[
    "--headless=new",
    // No page has this origin, and agent-browser sends none, so no page can use the debugging port.
    "--remote-allow-origins=http://nobody.invalid",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    // The flag has two names in different versions.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // No connections except for pages that were opened.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    // The last one keeps WebRTC from asking for `.local` names by multicast.
    "--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,WebRtcHideLocalIpsWithMdns",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--noerrdialogs",
    "--disable-prompt-on-repost",
    // A page from this cache does not load, so waiting for it after going back would time out.
    "--disable-back-forward-cache",
    // A container has no keyring; cookies are encrypted with a key in the profile.
    "--password-store=basic",
    // Crash dumps contain text that people typed.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu",
    // /dev/shm of a container is often too small.
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--window-size=1280,800",
    // Agents work on pages in the background.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
];

/// Returns true if every start has the flag anyway.
#[must_use]
pub(crate) fn is_fixed_flag(flag: &str) -> bool {
    FLAGS.contains(&flag)
}

/// Configuration of a start.
#[derive(Clone, Debug)]
pub(crate) struct LaunchConfig {
    /// Path of the program.
    pub chromium: PathBuf,
    /// Folder of the profile.
    pub profile: PathBuf,
    /// Private folder for `HOME` and temporary files.
    pub private: PathBuf,
    /// Debugging port on loopback.
    pub cdp_port: u16,
    /// Address of the egress guard.
    pub guard: SocketAddr,
    /// User agent that pages see, instead of Chromium's own.
    pub user_agent: Option<String>,
}

impl LaunchConfig {
    /// Returns Chromium's command line. Chromium uses its renderer sandbox if `sandboxed`.
    #[must_use]
    fn arguments(&self, sandboxed: bool) -> Vec<OsString> {
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(&self.profile);
        let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
        arguments.extend([
            format!("--remote-debugging-port={}", self.cdp_port).into(),
            format!("--proxy-server=http://{}", self.guard).into(),
            // The guard looks names up. Chromium would do so itself for WebRTC, whose candidates are names of a page's choice.
            format!("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {}", self.guard.ip()).into(),
            format!("--renderer-process-limit={MAX_RENDERERS}").into(),
            profile,
        ]);
        arguments.extend(self.user_agent.iter().map(|user_agent| format!("--user-agent={user_agent}").into()));
        if !sandboxed {
            arguments.push("--no-sandbox".into());
        }
        arguments.push("about:blank".into());
        arguments
    }

    /// Returns the command that starts the helper, with an environment made from scratch.
    #[must_use]
    pub(crate) fn command(&self, sandboxed: bool) -> Command {
        let KernelFeatures { landlock, seccomp } = KernelFeatures::detect();
        let config = HelperConfig { connect: self.guard.port(), bind: self.cdp_port, landlock, seccomp };
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(SUBCOMMAND)
            .arg(serde_json::to_string(&config).unwrap_or_default())
            .arg(&self.chromium)
            .args(self.arguments(sandboxed))
            .env_clear()
            .env("HOME", &self.private)
            .env("TMPDIR", &self.private)
            .env("XDG_CONFIG_HOME", self.private.join("config"))
            .env("XDG_CACHE_HOME", self.private.join("cache"))
            .env("LANG", "C.UTF-8")
            // The C library's resolver asks no name server, should Chromium use it in spite of its flags.
            .env("RES_OPTIONS", "attempts:0")
            .env("PATH", crate::installation::locate::child_path())
            .current_dir(&self.private)
            .process_group(0);
        // The image sets the locations of fonts and certificates.
        for name in ["FONTCONFIG_FILE", "FONTCONFIG_PATH", "SSL_CERT_FILE", "LD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }
}

/// Configuration of the helper, as JSON in its second argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HelperConfig {
    /// TCP port that Chromium may connect to.
    connect: u16,
    /// TCP port that Chromium may listen on.
    bind: u16,
    /// Version of the kernel's Landlock ABI.
    landlock: u8,
    /// True if system calls are filtered.
    seccomp: bool,
}

/// Returns true if the kernel prevents connections and datagrams past the guard. The rule for TCP and the filter need each
/// other: each alone leaves ways that only the other one closes.
#[must_use]
pub(crate) fn is_enforced() -> bool {
    let kernel = KernelFeatures::detect();
    kernel.landlock >= TCP_ABI && kernel.seccomp
}

/// Reason why the helper did not become Chromium.
#[derive(Debug, Error)]
pub(crate) enum LaunchError {
    #[error("no {0}")]
    Missing(&'static str),
    #[error("invalid configuration: {0}")]
    Config(#[from] serde_json::Error),
    #[error("cannot restrict the process: {0}")]
    Process(#[from] Errno),
    #[error("cannot restrict connections: {0}")]
    Connections(#[from] landlock::RulesetError),
    #[error("cannot build the system call filter: {0}")]
    Filter(#[from] FilterError),
    #[error("cannot set the system call filter: {0}")]
    ApplyFilter(#[from] seccompiler::Error),
    #[error("cannot start `{}`: {}", program.display(), describe(source))]
    Exec { program: PathBuf, source: io::Error },
}

/// Restricts this process and becomes Chromium.
///
/// # Errors
///
/// Returns an error if a rule cannot be set or Chromium cannot be started. The process must end then.
pub(crate) fn become_program(mut arguments: impl Iterator<Item = OsString>) -> Result<Infallible, LaunchError> {
    let config = arguments.next().ok_or(LaunchError::Missing("configuration"))?;
    let config: HelperConfig = serde_json::from_slice(config.as_encoded_bytes())?;
    let program = PathBuf::from(arguments.next().ok_or(LaunchError::Missing("program"))?);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // A core dump would contain the browser's whole memory.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    rustix::thread::set_no_new_privs(true)?;
    if config.landlock >= TCP_ABI {
        restrict(config)?;
    }
    // Set here, outside Chromium's own filters: the stricter answer counts.
    if config.seccomp {
        seccompiler::apply_filter(&network_filter()?)?;
    }
    let source = Command::new(&program).args(arguments).exec();
    Err(LaunchError::Exec { program, source })
}

/// Restricts TCP. Files are not restricted: Chromium needs different ones in each version, and its renderers have none.
fn restrict(config: HelperConfig) -> Result<(), landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(ABI::V4))?
        .create()?
        .add_rule(NetPort::new(config.connect, AccessNet::ConnectTcp))?
        .add_rule(NetPort::new(config.bind, AccessNet::BindTcp))?
        .restrict_self()
        .map(|_| ())
}

/// Returns the Chromium to start: the configured one, else the first on PATH.
#[must_use]
pub(crate) fn find(configured: Option<&Path>) -> Option<PathBuf> {
    let configured = configured.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    configured
        .or_else(|| ["chromium", "chromium-browser"].into_iter().find_map(crate::installation::locate::find_on_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 5.1.
    #[test]
    fn chromium_flags_use_only_guard_and_workspace_profile() {
        let config = LaunchConfig {
            chromium: "/usr/bin/chromium".into(),
            profile: "/workspace/.browser/profile".into(),
            private: "/run/b/browser".into(),
            cdp_port: 9222,
            guard: "127.0.0.1:8119".parse().expect("an address"),
            user_agent: None,
        };
        let lines = |sandboxed| {
            let arguments = config.arguments(sandboxed);
            arguments.iter().map(|argument| argument.to_str().expect("text")).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(lines(true));
        let agent = LaunchConfig { user_agent: Some("a b".to_owned()), ..config.clone() }.arguments(true);
        assert!(agent.contains(&"--user-agent=a b".into()));
        assert!(lines(false).contains("--no-sandbox") && !lines(true).contains("--no-sandbox"));
    }

    #[test]
    fn launch_helper_requires_config_and_ignores_other_arguments() {
        for line in [&[][..], &["{}", "/bin/true"], &["", "/bin/true"]] {
            assert!(become_program(line.iter().map(OsString::from)).is_err(), "{line:?}");
        }
    }
}
