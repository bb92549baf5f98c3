//! How Chromium is started: its command line, and what holds for its process.
//!
//! Decides the flags and their reasons. Chromium is started through this program's hidden first argument `launch`, which
//! becomes Chromium: the kernel ends it when the runtime ends, however that does, and lets it connect by TCP to the egress
//! guard and to nothing else. Must never start Chromium when a rule that the kernel has could not be set.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use landlock::{ABI, Access, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use serde::{Deserialize, Serialize};

use crate::becoming;
use crate::sandbox::kernel::Kernel;

/// The name of the hidden subcommand.
pub const SUBCOMMAND: &str = "launch";

/// The first version of Landlock's rights with rules for TCP.
const WITH_TCP: u8 = 4;

/// Renderers at the same time, about: with more, tabs share one. A sandbox of the orchestrator has 256 tasks, and a renderer
/// is some fifteen of them.
const RENDERERS: u32 = 4;

/// Flags that always hold.
const FLAGS: &[&str] = &[
    "--headless=new",
    // No page has this origin, and agent-browser sends none: no page may use the debugging port.
    "--remote-allow-origins=http://nobody.invalid",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    // The flag has had two names.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // Nothing but what is opened.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--noerrdialogs",
    "--disable-prompt-on-repost",
    // A page that comes back from this cache does not load, so that going back would be waited for in vain.
    "--disable-back-forward-cache",
    // There is no keyring in a container: cookies are kept with a key of the profile's own.
    "--password-store=basic",
    // Dumps of the browser's memory hold what people typed.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu",
    // /dev/shm of a container is often too small.
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--window-size=1280,800",
    // A page that nobody looks at is what an agent works on.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
];

/// Everything that a start depends on.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub chromium: PathBuf,
    /// The profile's folder.
    pub profile: PathBuf,
    /// A private folder for `HOME` and temporary files.
    pub private: PathBuf,
    /// The port for CDP, on loopback.
    pub cdp_port: u16,
    /// Where the egress guard listens.
    pub guard: SocketAddr,
}

impl Launch {
    /// Chromium's command line. `sandboxed` says whether it has the means to confine its own renderers.
    #[must_use]
    pub fn arguments(&self, sandboxed: bool) -> Vec<OsString> {
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(&self.profile);
        let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
        arguments.extend([
            format!("--remote-debugging-port={}", self.cdp_port).into(),
            format!("--proxy-server=http://{}", self.guard).into(),
            format!("--renderer-process-limit={RENDERERS}").into(),
            profile,
        ]);
        if !sandboxed {
            arguments.push("--no-sandbox".into());
        }
        arguments.push("about:blank".into());
        arguments
    }

    /// The command that becomes Chromium, with an environment made from scratch.
    #[must_use]
    pub fn command(&self, sandboxed: bool) -> Command {
        let landlock = Kernel::ask().landlock;
        let orders = Orders { connect: self.guard.port(), bind: self.cdp_port, landlock };
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(SUBCOMMAND)
            .arg(serde_json::to_string(&orders).unwrap_or_default())
            .arg(&self.chromium)
            .args(self.arguments(sandboxed))
            .env_clear()
            .env("HOME", &self.private)
            .env("TMPDIR", &self.private)
            .env("XDG_CONFIG_HOME", self.private.join("config"))
            .env("XDG_CACHE_HOME", self.private.join("cache"))
            .env("LANG", "C.UTF-8")
            .env("PATH", crate::transport::child_path())
            .current_dir(&self.private)
            .process_group(0);
        // Where fonts and certificates are is the image's business.
        for name in ["FONTCONFIG_FILE", "FONTCONFIG_PATH", "SSL_CERT_FILE", "LD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }
}

/// What a process is told that becomes Chromium, as JSON in its second argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Orders {
    /// The TCP port that may be connected to.
    connect: u16,
    /// The one that may be listened on.
    bind: u16,
    /// The version of Landlock's rights that the kernel has.
    landlock: u8,
}

/// Whether the kernel keeps Chromium from every connection past the guard.
#[must_use]
pub fn is_enforced() -> bool {
    Kernel::ask().landlock >= WITH_TCP
}

/// Runs the subcommand if these arguments ask for it; then it returns only if it failed.
pub fn from_arguments(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    becoming::from_arguments(arguments, SUBCOMMAND, become_program)
}

fn become_program(mut arguments: impl Iterator<Item = OsString>) -> Result<std::convert::Infallible, String> {
    let orders = arguments.next().ok_or("no orders")?;
    let orders: Orders = serde_json::from_slice(orders.as_encoded_bytes()).map_err(|error| error.to_string())?;
    let program = PathBuf::from(arguments.next().ok_or("no program")?);
    let failed = |error: rustix::io::Errno| error.to_string();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    // A dump would be the browser's whole memory.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).map_err(failed)?;
    rustix::thread::set_no_new_privs(true).map_err(failed)?;
    if orders.landlock >= WITH_TCP {
        restrict(orders).map_err(|error| error.to_string())?;
    }
    Err(format!("cannot start `{}`: {}", program.display(), Command::new(&program).args(arguments).exec()))
}

/// Files are not restricted here: what Chromium needs of them changes with each version, and its renderers have no files.
fn restrict(orders: Orders) -> Result<(), landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(ABI::V4))?
        .create()?
        .add_rule(NetPort::new(orders.connect, AccessNet::ConnectTcp))?
        .add_rule(NetPort::new(orders.bind, AccessNet::BindTcp))?
        .restrict_self()
        .map(|_| ())
}

/// The Chromium to start: as set, else the first on PATH.
#[must_use]
pub fn find(set: Option<&Path>) -> Option<PathBuf> {
    let set = set.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    set.or_else(|| ["chromium", "chromium-browser"].into_iter().find_map(crate::transport::find_on_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_5_1_nothing_leads_past_the_guard_and_the_profile_is_the_workspaces() {
        let launch = Launch {
            chromium: "/usr/bin/chromium".into(),
            profile: "/workspace/.browser/profile".into(),
            private: "/run/b/browser".into(),
            cdp_port: 9222,
            guard: "127.0.0.1:8119".parse().expect("an address"),
        };
        let lines = |sandboxed| {
            let arguments = launch.arguments(sandboxed);
            arguments.iter().map(|argument| argument.to_str().expect("text")).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(lines(true));
        assert!(lines(false).contains("--no-sandbox") && !lines(true).contains("--no-sandbox"));
    }

    #[test]
    fn without_orders_nothing_is_started_and_other_arguments_are_for_others() {
        for line in [&["x", "launch"][..], &["x", "launch", "{}", "/bin/true"], &["x", "launch", "", "/bin/true"]] {
            assert!(from_arguments(line.iter().map(OsString::from)).is_some(), "{line:?}");
        }
        for line in [&["x"][..], &["x", "runtime"], &["x", "--", "launch"]] {
            assert!(from_arguments(line.iter().map(OsString::from)).is_none(), "{line:?}");
        }
    }
}
