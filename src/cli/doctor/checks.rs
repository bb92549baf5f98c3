//! Checks of agent-browser, the browser, the policy file, folders and DNS.

use std::io;
use std::path::Path;

use crate::agent_browser::supported;
use crate::audit::AuditLog;
use crate::browser::cdp::{Browser, BrowserError};
use crate::cli::doctor::check::Check;
use crate::cli::services::DefaultPolicy;
use crate::config::Settings;
use crate::installation::detect::Kind;
use crate::installation::locate::{find_agent_browser, find_on_path};
use crate::os::dns::{Dns, LookupError};
use crate::os::io_error::describe;
use crate::paths::Paths;
use crate::policy_source::PolicySource;
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::Engine;

/// Name that the DNS check resolves.
const WELL_KNOWN_NAME: &str = "example.com";

pub(super) fn engine(named: Option<Engine>, default: Engine) -> Check {
    let found = match named {
        Some(engine) => format!("{engine}, by the policy"),
        None => format!("{default}, because the policy names none"),
    };
    Check::passed("engine", found)
}

pub(super) async fn agent_browser(settings: &Settings) -> Check {
    let path = find_agent_browser(settings);
    let kind = match Kind::of(&path) {
        Kind::Native { interpreter: Some(_) } => "one native program",
        Kind::Native { interpreter: None } => "one native program without libraries",
        Kind::Node => "with a daemon in Node",
    };
    let name = "agent-browser";
    let tested = supported::TESTED.join(" or ");
    let fix = format!("install {tested}, or give its path with --agent-browser");
    match supported::read_version(&path).await {
        Ok(output) if output.exit_code == 0 => {
            let text = output.stdout.to_text();
            let version = text.trim();
            let found = format!("{version} at {}, {kind}", path.display());
            if supported::TESTED.contains(&version) {
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

pub(super) fn node(settings: &Settings) -> Check {
    if Kind::of(&find_agent_browser(settings)).is_native() {
        return Check::passed("node", "not needed by this agent-browser");
    }
    match find_on_path("node") {
        Some(path) => Check::passed("node", path.display().to_string()),
        None => {
            Check::failed("node", "not on PATH", "install Node 20 or newer; the daemon of agent-browser 0.19 needs it")
        }
    }
}

pub(super) async fn browser(port: u16) -> Check {
    match Browser::new(port).version().await {
        Ok(version) => Check::passed("browser", format!("{version} on 127.0.0.1:{port}")),
        Err(error @ BrowserError::Silent(_)) => Check::failed("browser", error.to_string(), "restart Chromium"),
        Err(error) => {
            let fix = format!("start Chromium with --remote-debugging-port={port}, or give its port with --cdp-port");
            Check::failed("browser", error.to_string(), fix)
        }
    }
}

pub(super) fn policy(source: &PolicySource, default: DefaultPolicy) -> Check {
    let path = source.path().display();
    match source.current() {
        Ok(_) if source.exists() => Check::passed("policy", format!("{path} is valid")),
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
    match Paths::open(settings, Profile::Tool) {
        Ok(paths) => {
            let file = paths.action_policy();
            let folder = file.parent().unwrap_or(&file).display();
            Check::passed("socket folder", format!("{folder} is private and its path is short enough"))
        }
        Err(error) => Check::failed(
            "socket folder",
            error.to_string(),
            "give a private folder with a short path with --runtime-dir",
        ),
    }
}

pub(super) fn workspace(settings: &Settings) -> Check {
    let path = &settings.workspace;
    let result = std::fs::create_dir_all(path).and_then(|()| check_writable(path));
    match result {
        Ok(()) => Check::passed("workspace", format!("{} is writable", path.display())),
        Err(error) => {
            let fix = "create the folder and make this user its owner, or choose another folder with --workspace";
            Check::failed("workspace", format!("{}: {}", path.display(), describe(&error)), fix)
        }
    }
}

/// Creates a file in a folder and removes it.
fn check_writable(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".browser-shell-doctor-{}", std::process::id()));
    std::fs::File::create_new(&probe)?;
    std::fs::remove_file(probe)
}

pub(super) fn audit_log(settings: &Settings) -> Check {
    let path = settings.audit.display().to_string();
    if path == "-" {
        return Check::passed("audit log", "standard error");
    }
    match AuditLog::to_file(&settings.audit) {
        Ok(_) => Check::passed("audit log", path),
        Err(error) => {
            Check::failed("audit log", format!("{path}: {}", describe(&error)), "choose another file with --audit")
        }
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
