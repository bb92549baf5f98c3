//! `browser-shell doctor`.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{CliError, print_json, small_runtime, start_log};
use crate::agent_browser::Kind;
use crate::argv::Dialect;
use crate::audit::AuditLog;
use crate::browser::{Browser, BrowserError};
use crate::config::{Settings, TransportChoice};
use crate::decision::Decision;
use crate::dns::{Dns, LookupError};
use crate::egress::{self, Status};
use crate::places::Places;
use crate::policy_source::PolicySource;
use crate::sandbox::Sandboxing;
use crate::sandbox::kernel::Level;
use crate::sandbox::policy::{BackendName, Mode};
use crate::session_id::SessionId;
use crate::transport::{find_agent_browser, find_on_path, proof};

#[derive(Args, Debug)]
pub(super) struct DoctorArguments {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,

    /// Where the egress guard should be
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = egress::DEFAULT_ADDRESS)]
    egress: SocketAddr,
}

/// One line: what was looked at, what was found, and the fix if it is bad.
struct Finding {
    name: &'static str,
    found: Result<String, (String, String)>,
}

/// The name that is looked up to see whether DNS works.
const WELL_KNOWN_NAME: &str = "example.com";

pub(super) fn run(settings: &Settings, options: &DoctorArguments) -> Result<ExitCode, CliError> {
    start_log(tracing::Level::ERROR, io::stderr);
    let findings = small_runtime()?.block_on(async {
        let mut findings = vec![
            agent_browser(settings).await,
            node(settings),
            transport(settings).await,
            browser(settings.cdp_port).await,
            guard(options.egress, settings).await,
            policy(settings),
            sockets(settings),
            workspace(settings),
            audit(settings),
            dns().await,
        ];
        findings.extend(sandbox(settings).await);
        findings
    });
    let all_ok = findings.iter().all(|finding| finding.found.is_ok());
    if options.json {
        let list: Vec<_> = findings.iter().map(to_json).collect();
        print_json(&json!({ "ok": all_ok, "checks": list }))?;
    } else {
        print_for_people(&findings)?;
    }
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn to_json(finding: &Finding) -> Value {
    match &finding.found {
        Ok(found) => json!({ "name": finding.name, "ok": true, "found": found, "fix": null }),
        Err((found, fix)) => json!({ "name": finding.name, "ok": false, "found": found, "fix": fix }),
    }
}

fn print_for_people(findings: &[Finding]) -> Result<(), CliError> {
    let colour = io::stdout().is_terminal();
    let paint = |text: &str, code: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let mut out = io::stdout().lock();
    for finding in findings {
        match &finding.found {
            Ok(found) => writeln!(out, "{}   {:<14} {found}", paint("ok", "32"), finding.name)?,
            Err((found, fix)) => {
                writeln!(out, "{}  {:<14} {found}", paint("bad", "31"), finding.name)?;
                writeln!(out, "     {:<14} fix: {fix}", "")?;
            }
        }
    }
    Ok(())
}

fn finding(name: &'static str, found: Result<String, (String, String)>) -> Finding {
    Finding { name, found }
}

async fn agent_browser(settings: &Settings) -> Finding {
    let path = find_agent_browser(settings);
    let fix = "install agent-browser 0.41.2 or 0.19.0, or say where it is with --agent-browser".to_owned();
    let kind = match Kind::of(&path) {
        Kind::Native { interpreter: Some(_) } => "one native program",
        Kind::Native { interpreter: None } => "one native program without libraries",
        Kind::Node => "with a daemon in Node",
    };
    let found = match proof::said_version(&path).await {
        Ok(output) if output.exit_code == 0 => {
            Ok(format!("{} at {}, {kind}", output.stdout.to_text().trim(), path.display()))
        }
        Ok(output) => {
            Err((format!("{} ends with {}: {}", path.display(), output.exit_code, output.stderr.to_text().trim()), fix))
        }
        Err(error) => Err((error.to_string(), fix)),
    };
    finding("agent-browser", found)
}

fn node(settings: &Settings) -> Finding {
    if Kind::of(&find_agent_browser(settings)).is_native() {
        return finding("node", Ok("not needed by this agent-browser".to_owned()));
    }
    let found = find_on_path("node").map(|path| path.display().to_string());
    let missing = || {
        ("not on PATH".to_owned(), "install Node 20 or newer: the daemon of agent-browser 0.19 runs on it".to_owned())
    };
    finding("node", found.ok_or_else(missing))
}

async fn transport(settings: &Settings) -> Finding {
    let every = "every call starts agent-browser";
    let found = match settings.transport {
        TransportChoice::Cli => format!("cli: {every}"),
        TransportChoice::Auto => match proof::prove(&find_agent_browser(settings)).await {
            Ok(proof) => {
                format!("auto: after a session's first call its daemon is spoken to, proved with {}", proof.version)
            }
            // It works all the same, only slower.
            Err(why) => format!("auto: {every}, since {why}"),
        },
    };
    finding("transport", Ok(found))
}

async fn browser(port: u16) -> Finding {
    let found = match Browser::new(port).version().await {
        Ok(version) => Ok(format!("{version} on 127.0.0.1:{port}")),
        Err(error @ BrowserError::Silent(_)) => Err((error.to_string(), "restart Chromium".to_owned())),
        Err(error) => {
            let fix = format!("start Chromium with --remote-debugging-port={port}, or give its port with --cdp-port");
            Err((error.to_string(), fix))
        }
    };
    finding("browser", found)
}

/// The egress guard, and whether the browser uses it. Its managed policy is not seen from here, only its flags.
async fn guard(address: SocketAddr, settings: &Settings) -> Finding {
    let flags = Browser::new(settings.cdp_port).flags().await.ok();
    let words = [format!("--proxy-server=http://{address}"), "--proxy-bypass-list=<-loopback>".to_owned()];
    let used = flags.map(|flags| words.iter().all(|word| flags.contains(word.as_str())));
    let found = match (egress::ask_status(address).await, used) {
        (Status::Mode(mode), Some(true)) => Ok(format!("{mode}, on {address}; the browser was started with it")),
        (Status::Mode(mode), None) => {
            Ok(format!("{mode}, on {address}; the browser cannot be asked whether it uses it"))
        }
        (Status::Mode(mode), Some(false)) => Err((
            format!("{mode}, on {address}, but the browser was not started with it"),
            format!("start Chromium with --proxy-server=http://{address} '--proxy-bypass-list=<-loopback>'"),
        )),
        (Status::Closed, _) => Err((
            format!("on {address} every connection is refused, since the policy file is not valid"),
            format!("run `browser-shell policy check {}` and correct the file", settings.policy.display()),
        )),
        (Status::Absent, Some(true)) => Err((
            format!("nothing answers on {address}, so the browser reaches nothing"),
            "start `browser-shell egress`".to_owned(),
        )),
        (Status::Absent, _) => Ok(format!(
            "off: there is none on {address}, so what pages ask for by themselves goes where the browser can"
        )),
    };
    finding("egress guard", found)
}

fn policy(settings: &Settings) -> Finding {
    let source = PolicySource::new(settings.policy.clone());
    let path = source.path().display();
    let found = match source.current() {
        Ok(_) if source.exists() => Ok(format!("{path} is valid")),
        Ok(_) => Ok(format!("no file at {path}: the safe defaults apply")),
        Err(error) => Err((error.to_string(), format!("run `browser-shell policy check {path}` and correct the file"))),
    };
    finding("policy", found)
}

fn sockets(settings: &Settings) -> Finding {
    let found = Places::open(settings, Dialect::Tool).map(|places| {
        let folder = places.action_policy();
        format!("{} is private and short enough", folder.parent().unwrap_or(&folder).display())
    });
    finding(
        "socket folder",
        found.map_err(|error| (error.to_string(), "give a short path of your own with --runtime-dir".to_owned())),
    )
}

/// What sessions are confined by, and below it what each backend could do on this machine.
async fn sandbox(settings: &Settings) -> Vec<Finding> {
    let bad = |what: String, fix: &str| vec![finding("sandbox", Err((what, fix.to_owned())))];
    let Ok(places) = Places::open(settings, Dialect::Tool) else {
        return bad("the socket folder cannot be used".to_owned(), "see there");
    };
    let Some(id) = SessionId::new("doctor") else { return Vec::new() };
    let policy = match PolicySource::new(settings.policy.clone()).current() {
        Ok(policy) => policy,
        Err(error) => {
            return bad(Decision::from(error).reason, "correct the policy file: no session begins until then");
        }
    };
    let survey = Sandboxing::new(settings, &places).survey(&policy.sandbox, &places.session(&id)).await;
    let found = match &survey.chosen {
        Err(error) => Err((
            error.to_string(),
            "no session begins until sandbox.backend and sandbox.require of the policy file fit the machine".to_owned(),
        )),
        Ok(chosen) if chosen.off => {
            Ok("OFF, as the policy file says: agent-browser has all rights of this user".to_owned())
        }
        Ok(chosen) if chosen.enforcement.level == Level::None => Err((
            "none: agent-browser has all rights of this user".to_owned(),
            "use a kernel with Landlock (Linux 6.12 or newer for all of it), or install bubblewrap".to_owned(),
        )),
        Ok(chosen) => {
            let whose = if survey.mode == Mode::Shared { "shared by all sessions" } else { "each session its own" };
            Ok(format!("{}: {}; {whose}", chosen.name, chosen.enforcement))
        }
    };
    let mut findings = vec![finding("sandbox", found)];
    for (name, found) in survey.backends {
        let name = match name {
            BackendName::Landlock => "- landlock",
            BackendName::Bubblewrap => "- bubblewrap",
            BackendName::Srt => "- srt",
            BackendName::Docker => "- docker",
            BackendName::None => "- none",
        };
        // For information: a machine needs one of them, not all.
        let text =
            found.map_or_else(|why| format!("cannot run: {why}"), |enforcement| format!("can run: {enforcement}"));
        findings.push(finding(name, Ok(text)));
    }
    findings
}

fn workspace(settings: &Settings) -> Finding {
    let fix = "make the folder and give it to this user, or choose another one with --workspace".to_owned();
    let path = &settings.workspace;
    let found = std::fs::create_dir_all(path)
        .and_then(|()| can_write(path))
        .map(|()| format!("{} can be written", path.display()));
    finding("workspace", found.map_err(|error| (format!("{}: {error}", path.display()), fix)))
}

/// Whether a file can be made in a folder; none is left there.
fn can_write(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".browser-shell-doctor-{}", std::process::id()));
    std::fs::File::create_new(&probe)?;
    std::fs::remove_file(probe)
}

fn audit(settings: &Settings) -> Finding {
    let path = settings.audit.display().to_string();
    if path == "-" {
        return finding("audit log", Ok("standard error".to_owned()));
    }
    let found = match AuditLog::to_file(&settings.audit) {
        Ok(_) => Ok(path),
        Err(error) => Err((format!("{path}: {error}"), "choose another file with --audit".to_owned())),
    };
    finding("audit log", found)
}

async fn dns() -> Finding {
    let found = match Dns::default().lookup(WELL_KNOWN_NAME).await {
        Ok(addresses) => Ok(format!("{WELL_KNOWN_NAME} has {} addresses", addresses.len())),
        // A private DNS that does not know the name works all the same.
        Err(LookupError::NoAddress) => Ok(format!("the server answers; it has no address for {WELL_KNOWN_NAME}")),
        Err(error) => Err((
            format!("{WELL_KNOWN_NAME}: {error}"),
            "correct /etc/resolv.conf; until then only addresses and names in /etc/hosts can be opened".to_owned(),
        )),
    };
    finding("dns", found)
}
