//! Commands `browser-shell policy explain`, `check` and `schema`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use crate::cli::output::{CliError, exit_code, print_json, print_text};
use crate::cli::process::single_thread_executor;
use crate::cli::services::state_problems;
use browser_shell_core::auth::Subject;
use browser_shell_core::decision::Decision;
use browser_shell_core::policy::connection::Destination;
use browser_shell_core::policy::{Problem, file};
use browser_shell_core::session_id::SessionId;
use browser_shell_core::session_id::TenantId;
use browser_shell_system::config::Settings;
use browser_shell_system::os::dns::{Dns, decide_url};
use browser_shell_system::policy_source::{PolicyError, PolicySource};

#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// Show the decision on a URL or a connection, with its rule and the rule's location in the file
    ///
    /// Reads the policy file and resolves the name as a call would, or the egress guard. Exits with 0 if the policy allows it and
    /// with 77 if the policy refuses it.
    #[command(after_help = "Examples:
  browser-shell policy explain https://example.com
  browser-shell policy explain --address 10.0.0.1:8080
  browser-shell policy explain --session mail-1 https://mail.example.com
  browser-shell policy explain --json --policy ./my-policy.json example.com")]
    Explain {
        /// URL, as an agent would write it
        #[arg(required_unless_present = "address", conflicts_with = "address")]
        url: Option<String>,
        /// Explain a connection instead, as the egress guard decides it: an IP address or a host name; the default port is 443
        #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_destination)]
        address: Option<Destination>,
        /// Decide for this session, with the sections of `sessions` that match it; without it, none of them applies
        #[arg(long, value_name = "ID", value_parser = parse_session)]
        session: Option<SessionId>,
        /// Subject that the session belongs to, where `access.sessions` is `own`
        #[arg(long, value_name = "SUBJECT", requires = "session", value_parser = parse_subject)]
        subject: Option<Subject>,
        /// Print the decision as JSON
        #[arg(long)]
        json: bool,
    },
    /// Validate a policy file and list every problem with its location
    ///
    /// The saved states that `browser.state` names are read and checked as well, as a session that begins with one does it: run this as the
    /// user of the server. Exits with 0 if all is valid, else with 1.
    #[command(after_help = "Examples:
  browser-shell policy check ./my-policy.json
  browser-shell policy check --without-files ./my-policy.json")]
    Check {
        /// Policy file
        file: PathBuf,
        /// Report what a server with credentials refuses, too
        #[arg(long)]
        with_credentials: bool,
        /// Leave out the files that it names, such as on another machine
        #[arg(long)]
        without_files: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of policy files
    Schema,
}

pub(super) fn run(settings: &Settings, command: &PolicyCommand) -> Result<ExitCode, CliError> {
    match command {
        PolicyCommand::Explain { url, address, session, subject, json } => {
            let owned = |id: SessionId| match subject {
                Some(subject) => id.owned_by(subject.clone()),
                None => id,
            };
            let session = session.clone().map(owned);
            let source = PolicySource::open(settings.policy.as_deref())?;
            let decision = explain(&source, url.as_deref(), address.as_ref(), session.as_ref())?;
            print_explanation(&decision, &source, session.as_ref(), *json)?;
            Ok(if decision.is_allowed() { ExitCode::SUCCESS } else { exit_code(77) })
        }
        PolicyCommand::Check { file, with_credentials, without_files, json } => {
            let (problems, notes) = problems_and_notes(file, *with_credentials, !without_files)?;
            print_check(file, &problems, &notes, *json)
        }
        PolicyCommand::Schema => {
            print_json(&file::schema())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Parses a destination. IPv6 addresses without a port need no brackets.
fn parse_destination(text: &str) -> Result<Destination, String> {
    let authority = match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:443"),
        Err(_) if text.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']')) => text.to_owned(),
        Ok(IpAddr::V4(_)) | Err(_) => format!("{text}:443"),
    };
    Destination::parse_authority(&authority)
        .map_err(|reason| format!("{reason}; write it as `10.0.0.1:8080`, `[::1]:8080` or `example.com:443`"))
}

/// Parses a session id, or the name of a tenant, which is the id of its session.
fn parse_session(text: &str) -> Result<SessionId, String> {
    let tenant = || TenantId::with_dots(text).map(|tenant| tenant.session_id());
    let reason = || format!("`{text}` is not a session id; use 1 to 64 of a-z A-Z 0-9 . _ -");
    SessionId::new(text).or_else(tenant).ok_or_else(reason)
}

/// Parses a subject.
fn parse_subject(text: &str) -> Result<Subject, &'static str> {
    Subject::new(text).ok_or("not a subject; use 1 to 255 bytes without control characters")
}

/// Returns the decision on a URL or a connection, by the policy in force for a session.
fn explain(
    source: &PolicySource,
    url: Option<&str>,
    address: Option<&Destination>,
    session: Option<&SessionId>,
) -> Result<Decision, CliError> {
    let policy = match source.current_for(session) {
        Ok(policy) => policy,
        Err(error) => return Ok(error.into()),
    };
    Ok(single_thread_executor()?.block_on(async {
        let dns = Dns::default();
        match address {
            Some(destination) => {
                browser_shell_egress::decide(
                    &policy,
                    &dns,
                    destination,
                    browser_shell_egress::DEFAULT_ADDRESS.parse().ok(),
                )
                .await
                .0
            }
            None => decide_url(&policy, &dns, url.unwrap_or_default()).await,
        }
    }))
}

fn print_explanation(
    decision: &Decision,
    source: &PolicySource,
    session: Option<&SessionId>,
    json: bool,
) -> Result<(), CliError> {
    if json {
        let mut value = decision.to_json();
        if let Some(object) = value.as_object_mut() {
            object.insert("session".to_owned(), session.map(SessionId::as_str).into());
            let file = source.exists().then(|| source.path().display().to_string());
            object.insert("policy_file".to_owned(), file.into());
        }
        return Ok(print_json(&value)?);
    }
    let file =
        if source.exists() { source.path().display().to_string() } else { "none: the safe defaults apply".to_owned() };
    let address = decision.address.map(|address| address.to_string());
    let rows = [
        ("verdict", Some(if decision.is_allowed() { "allow" } else { "deny" }.to_owned())),
        ("code", Some(decision.code.to_string())),
        ("reason", Some(decision.reason.clone())),
        ("rule at", decision.location.clone()),
        ("session", session.map(ToString::to_string)),
        ("host", decision.host.clone()),
        ("address", address),
        ("advice", Some(decision.code.advice().to_owned()).filter(|advice| !advice.is_empty())),
        ("policy file", Some(file)),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            print_text(&format!("{name:<12} {value}"))?;
        }
    }
    Ok(())
}

/// Returns the problems of a policy file and the notes on it.
fn problems_and_notes(
    path: &Path,
    with_credentials: bool,
    with_files: bool,
) -> Result<(Vec<Problem>, Vec<String>), CliError> {
    let source = PolicySource::new(path.to_owned());
    if !source.exists() {
        return Err(CliError::NoFile(path.to_owned()));
    }
    Ok(match source.current() {
        Ok(policy) => {
            let mut problems = policy.sandbox.problems();
            if with_credentials {
                problems.extend(policy.credential_problems());
            }
            if with_files {
                problems.extend(state_problems(&policy));
            }
            (problems, policy.notes())
        }
        Err(PolicyError::Invalid { problems, .. }) => (problems, Vec::new()),
        Err(error) => (vec![Problem { path: String::new(), message: error.to_string() }], Vec::new()),
    })
}

fn print_check(path: &Path, problems: &[Problem], notes: &[String], json: bool) -> Result<ExitCode, CliError> {
    let valid = problems.is_empty();
    if json {
        let list: Vec<_> =
            problems.iter().map(|problem| json!({ "path": problem.path, "message": problem.message })).collect();
        print_json(&json!({ "valid": valid, "problems": list, "notes": notes }))?;
    } else {
        for problem in problems {
            print_text(&problem.to_string())?;
        }
        for note in notes {
            print_text(&format!("note: {note}"))?;
        }
        let path = path.display();
        print_text(&match problems.len() {
            0 => format!("{path}: valid"),
            1 => format!("{path}: 1 problem"),
            count => format!("{path}: {count} problems"),
        })?;
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
