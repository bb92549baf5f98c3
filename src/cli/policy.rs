//! `browser-shell policy explain|check|schema`.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::{CliError, exit, print_json, small_runtime};
use crate::config::Settings;
use crate::decision::Decision;
use crate::dns::Dns;
use crate::egress;
use crate::pipeline::decide_url;
use crate::policy::EgressMode;
use crate::policy::connection::Destination;
use crate::policy::file::{self, Problem};
use crate::policy_source::{PolicyError, PolicySource};
use crate::sandbox::policy::BackendName;

#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// Say whether a URL may be opened or a connection made, by which rule, and where that rule stands
    ///
    /// Uses the policy file of the settings and looks the name up, as a call would, or the egress guard. Exits with 0 if it is
    /// allowed, with 77 if it is refused.
    Explain {
        /// The URL, as an agent would write it
        #[arg(required_unless_present = "address", conflicts_with = "address")]
        url: Option<String>,
        /// A connection instead, as the egress guard decides it: an address or a host; without a port it is 443
        #[arg(long, value_name = "HOST[:PORT]", value_parser = destination)]
        address: Option<Destination>,
        /// Print the decision as JSON
        #[arg(long)]
        json: bool,
    },
    /// Validate a policy file and list every problem with its place
    ///
    /// Exits with 0 if the file is valid, else with 1.
    Check {
        /// The file
        file: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of policy files
    Schema,
}

pub(super) fn run(settings: &Settings, command: &PolicyCommand) -> Result<ExitCode, CliError> {
    match command {
        PolicyCommand::Explain { url, address, json } => explain(settings, url.as_deref(), address.as_ref(), *json),
        PolicyCommand::Check { file, json } => check(file, *json),
        PolicyCommand::Schema => {
            io::stdout().write_all(file::SCHEMA.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Where a connection would go. IPv6 addresses may stand without brackets if there is no port.
fn destination(text: &str) -> Result<Destination, String> {
    let authority = match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:443"),
        Err(_) if text.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']')) => text.to_owned(),
        Ok(IpAddr::V4(_)) | Err(_) => format!("{text}:443"),
    };
    Destination::parse_authority(&authority)
        .map_err(|why| format!("{why}; write it as `10.0.0.1:8080`, `[::1]:8080` or `example.com:443`"))
}

fn explain(
    settings: &Settings,
    url: Option<&str>,
    address: Option<&Destination>,
    json: bool,
) -> Result<ExitCode, CliError> {
    let source = PolicySource::new(settings.policy.clone());
    let decision = match source.current() {
        Ok(policy) => small_runtime()?.block_on(async {
            let dns = Dns::default();
            match address {
                Some(to) => egress::route::decide(&policy, &dns, to, egress::DEFAULT_ADDRESS.parse().ok()).await.0,
                None => decide_url(&policy, &dns, url.unwrap_or_default()).await,
            }
        }),
        Err(error) => error.into(),
    };
    if json {
        let mut value = decision.to_json();
        if let Some(object) = value.as_object_mut() {
            let file = source.exists().then(|| source.path().display().to_string());
            object.insert("policy_file".to_owned(), file.into());
        }
        print_json(&value)?;
    } else {
        print_decision(&decision, &source)?;
    }
    Ok(if decision.is_allowed() { ExitCode::SUCCESS } else { exit(77) })
}

fn print_decision(decision: &Decision, source: &PolicySource) -> Result<(), CliError> {
    let file =
        if source.exists() { source.path().display().to_string() } else { "none: the safe defaults apply".to_owned() };
    let address = decision.address.map(|address| address.to_string());
    let rows = [
        ("verdict", Some(if decision.is_allowed() { "allow" } else { "deny" }.to_owned())),
        ("code", Some(decision.code.to_string())),
        ("reason", Some(decision.reason.clone())),
        ("rule at", decision.place.clone()),
        ("host", decision.host.clone()),
        ("address", address),
        ("advice", Some(decision.code.advice().to_owned()).filter(|advice| !advice.is_empty())),
        ("policy file", Some(file)),
    ];
    let mut out = io::stdout().lock();
    for (name, value) in rows {
        if let Some(value) = value {
            writeln!(out, "{name:<12} {value}")?;
        }
    }
    Ok(())
}

fn check(path: &std::path::Path, json: bool) -> Result<ExitCode, CliError> {
    let source = PolicySource::new(path.to_owned());
    if !source.exists() {
        let source = io::Error::from(io::ErrorKind::NotFound);
        return Err(CliError::Read { path: path.display().to_string(), source });
    }
    let (problems, notes) = match source.current() {
        Ok(policy) => (Vec::new(), notes(&policy)),
        Err(PolicyError::Invalid { problems, .. }) => (problems, Vec::new()),
        Err(error) => (vec![Problem { path: String::new(), message: error.to_string() }], Vec::new()),
    };
    let valid = problems.is_empty();
    if json {
        let list: Vec<_> =
            problems.iter().map(|problem| json!({ "path": problem.path, "message": problem.message })).collect();
        print_json(&json!({ "valid": valid, "problems": list, "notes": notes }))?;
    } else {
        let mut out = io::stdout().lock();
        for problem in &problems {
            writeln!(out, "{problem}")?;
        }
        for note in &notes {
            writeln!(out, "note: {note}")?;
        }
        let path = path.display();
        match problems.len() {
            0 => writeln!(out, "{path}: valid")?,
            1 => writeln!(out, "{path}: 1 problem")?,
            count => writeln!(out, "{path}: {count} problems")?,
        }
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is valid and probably not meant.
fn notes(policy: &crate::policy::Policy) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if policy.egress.mode == EgressMode::Off {
        notes.push("egress.mode is `off`: whatever page is open can reach every address but this machine's own");
    }
    if policy.egress.mode == EgressMode::Allowlist
        && policy.open.allow_hosts.is_none()
        && policy.open.allow_host_suffixes.is_none()
    {
        notes.push("egress.mode is `allowlist` and there is no allow list: it is the same as `public`");
    }
    if matches!(policy.sandbox.backend, Some(BackendName::Srt | BackendName::Docker)) {
        notes.push("sandbox.backend: this version drives neither `srt` nor `docker`: no session begins with this file");
    }
    if policy.sandbox.is_off() {
        notes.push("sandbox: it is switched off: agent-browser has all rights of the server's user");
    }
    if !policy.open.http && !policy.open.https {
        notes.push("open.allow_schemes is empty: no page can be opened");
    }
    notes
}
