//! Start of Chromium: its command line with its flags and their reasons, its environment, and the helpers that restrict themselves and
//! become it.
//!
//! `docs/design/chromium.md` explains the rules. Requirement 5.1.

pub mod external;
pub mod helper;
pub(crate) mod rules;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::sync::watch;

use self::helper::{HelperConfig, SUBCOMMAND};
use self::rules::{FileRules, LaunchRules};
use crate::display::{RunningDisplay, SOCKETS};
use browser_shell_system::confinement::KernelFeatures;

pub use rules::{confines_files, is_enforced, missing, program_of, runs_under_rules};

/// Approximate maximum number of renderers; more tabs share them. A container of the orchestrator has 256 tasks, and a renderer
/// takes about fifteen of them.
const MAX_RENDERERS: u32 = 4;

/// Variables of the image that Chromium gets, too: the locations of fonts, certificates and libraries.
const KEPT_VARIABLES: [&str; 4] = ["FONTCONFIG_FILE", "FONTCONFIG_PATH", "SSL_CERT_FILE", "LD_LIBRARY_PATH"];

/// Configuration of a start.
#[derive(Clone, Debug)]
pub struct LaunchConfig {
    /// Path of the program.
    pub chromium: PathBuf,
    /// Folder of the profile.
    pub profile: PathBuf,
    /// Private folder for `HOME` and temporary files.
    pub private: PathBuf,
    /// Address of the egress guard.
    pub guard: SocketAddr,
    /// Number of the guard's listeners for sessions: 127.0.1.1 and the following addresses, with the guard's port.
    pub session_addresses: u8,
    /// User agent that pages see, instead of Chromium's own.
    pub user_agent: Option<String>,
    /// Display that shows the windows. Without one, Chromium has none.
    pub display: Option<watch::Receiver<Option<RunningDisplay>>>,
    /// Width and height of windows, and of the screen of a start without a display.
    pub screen_size: (u16, u16),
}

impl LaunchConfig {
    /// Returns Chromium's command line. Chromium uses its renderer sandbox if `sandboxed`.
    #[must_use]
    fn arguments(&self, sandboxed: bool) -> Vec<OsString> {
        let has_display = self.display.is_some();
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(&self.profile);
        let mut arguments: Vec<OsString> = fixed(has_display).map(OsString::from).collect();
        arguments.extend([
            format!("--proxy-server=http://{}", self.guard).into(),
            resolver_rules(self.guard.ip(), self.session_addresses).into(),
            format!("--renderer-process-limit={MAX_RENDERERS}").into(),
            profile,
        ]);
        let (width, height) = self.screen_size;
        arguments.push(format!("--window-size={width},{height}").into());
        arguments.extend(self.user_agent.iter().map(|user_agent| format!("--user-agent={user_agent}").into()));
        if !sandboxed {
            arguments.push("--no-sandbox".into());
        }
        if !has_display {
            arguments.extend([format!("--screen-info={{{width}x{height}}}").into(), "about:blank".into()]);
        }
        arguments
    }

    /// Returns the command that starts the helper, with an environment made from scratch.
    #[must_use]
    pub(crate) fn command(&self, sandboxed: bool, display: Option<&RunningDisplay>) -> Command {
        let kept: Vec<_> =
            KEPT_VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
        let KernelFeatures { landlock, seccomp } = KernelFeatures::detect();
        let mut files = FileRules::of_system(sandboxed);
        files.add_program(&self.chromium, &[&self.private, &self.profile]);
        files.add_variables(&kept);
        files.write.extend([self.profile.clone(), self.private.clone()]);
        if let Some(display) = display {
            files.read.push(display.authority.clone());
            files.sockets.push(SOCKETS.into());
        }
        let rules = LaunchRules { connect: vec![self.guard.port()], bind: Vec::new(), files, landlock, seccomp };
        let config = HelperConfig { rules, profile: Some(self.profile.clone()) };
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
            .env("PATH", browser_shell_system::os::exec::child_path())
            .envs(kept)
            .envs(display.into_iter().flat_map(RunningDisplay::environment))
            .current_dir(&self.private)
            .process_group(0);
        command
    }
}

/// Returns the Chromium to start: the configured one, else the first on PATH.
#[must_use]
pub fn find(configured: Option<&Path>) -> Option<PathBuf> {
    let configured = configured.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    configured
        .or_else(|| ["chromium", "chromium-browser"].into_iter().find_map(browser_shell_system::os::exec::find_on_path))
}

/// Flags of every start.
const FLAGS: &[&str] = &[
    // Commands and answers use file descriptors 3 and 4. No port listens, so no other program can connect.
    "--remote-debugging-pipe",
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
    DISABLED_FEATURES,
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    // Its own requests for the accounts of the profile, which no policy or setting ends, go to a name that nobody has (RFC 6761).
    "--gaia-url=https://accounts.invalid",
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
    // /dev/shm of a container is often too small, and is everyone's.
    "--disable-dev-shm-usage",
    "--mute-audio",
    POINTER,
    RECLAIM,
    // Tabs, loading marks and bubbles of Chromium's own windows change at once, which saves work at each navigation. Pages keep theirs.
    "--animation-duration-scale=0",
    // A bar would say that there is no renderer sandbox, and take a part of the first window.
    "--disable-infobars",
    // Agents work on pages in the background.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
];

/// Features that are off. `WebRtcHideLocalIpsWithMdns` asks for `.local` names by multicast. The two `WebUIOmnibox` popups start
/// two renderers for each window, for a menu that nobody sees.
const DISABLED_FEATURES: &str = "--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,NetworkTimeServiceQuerying,WebRtcHideLocalIpsWithMdns,WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// Flag against a fault of Chromium 156: a collection of garbage ends renderers in which scripts of agent-browser ran, as one of the
/// objects that it may drop has nothing behind it.
const RECLAIM: &str = "--js-flags=--no-reclaim-unmodified-wrappers";

/// Flag by which media queries say that there is a mouse: `HoverType::kHover` and `PointerType::kFine`. Neither a start without a
/// display nor one on Xvnc has a device that Chromium takes for one, and pages would choose their forms for tablets.
const POINTER: &str =
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4";

/// Flag of the size of windows, as a runtime has it.
const RUNTIME_SIZE: &str = "--window-size=1280,800";

/// Flag of a start without a display.
const HEADLESS: &str = "--headless=new";

/// Flags of a start on a display. Without a window manager, a window is where it is put.
const ON_DISPLAY: &[&str] = &[
    "--ozone-platform=x11",
    "--window-position=0,0",
    // The windows are those of sessions.
    "--no-startup-window",
];

/// Returns the flags of every start, with or without a display.
fn fixed(has_display: bool) -> impl Iterator<Item = &'static str> {
    let first: &[&str] = if has_display { ON_DISPLAY } else { &[HEADLESS] };
    first.iter().chain(FLAGS).copied()
}

/// Returns true if every start has the flag anyway.
#[must_use]
pub fn is_fixed_flag(flag: &str) -> bool {
    flag == HEADLESS || flag == RUNTIME_SIZE || FLAGS.contains(&flag)
}

/// Returns the address of the guard's listener for the session with this number, from 1 on.
#[must_use]
const fn session_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, number)
}

/// Returns the flag by which Chromium looks no names up: the guard does. Chromium would do so itself for WebRTC, whose candidates
/// are names of a page's choice. The guard's own addresses are excluded one by one, because names could match a wildcard.
#[must_use]
fn resolver_rules(guard: IpAddr, session_addresses: u8) -> String {
    let mut rules = format!("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {guard}");
    for number in 1..=session_addresses {
        rules.push_str(", EXCLUDE ");
        rules.push_str(&session_address(number).to_string());
    }
    rules
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
            guard: "127.0.0.1:8119".parse().expect("an address"),
            session_addresses: 2,
            user_agent: None,
            display: None,
            screen_size: (1000, 700),
        };
        let text = |config: &LaunchConfig, sandboxed| {
            let arguments = config.arguments(sandboxed);
            arguments.iter().map(|argument| argument.to_str().expect("text")).collect::<Vec<_>>().join("\n")
        };
        let lines = |sandboxed| text(&config, sandboxed);
        insta::assert_snapshot!(lines(true));
        let on_display = LaunchConfig { display: Some(watch::channel(None).1), ..config.clone() };
        insta::assert_snapshot!("on_display", text(&on_display, true));
        let agent = LaunchConfig { user_agent: Some("a b".to_owned()), ..config.clone() }.arguments(true);
        assert!(agent.contains(&"--user-agent=a b".into()));
        assert!(lines(false).contains("--no-sandbox") && !lines(true).contains("--no-sandbox"));
    }
}
