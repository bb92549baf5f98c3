//! `browser-shell policy explain|check|schema`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::{CliError, exit, print_json, small_runtime};
use crate::config::Settings;
use crate::decision::Decision;
use crate::dns::Dns;
use crate::pipeline::decide_url;
use crate::policy::file::{self, Problem};
use crate::policy_source::{PolicyError, PolicySource};

#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// Say whether a URL may be opened, by which rule, and where that rule stands
    ///
    /// Uses the policy file of the settings and looks the name up, as a call would. Exits with 0 if the URL is allowed, with 77
    /// if it is refused.
    Explain {
        /// The URL, as an agent would write it
        url: String,
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
        PolicyCommand::Explain { url, json } => explain(settings, url, *json),
        PolicyCommand::Check { file, json } => check(file, *json),
        PolicyCommand::Schema => {
            io::stdout().write_all(file::SCHEMA.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn explain(settings: &Settings, url: &str, json: bool) -> Result<ExitCode, CliError> {
    let source = PolicySource::new(settings.policy.clone());
    let decision = match source.current() {
        Ok(policy) => small_runtime()?.block_on(decide_url(&policy, &Dns::default(), url)),
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
    if policy.egress.mode.is_some() {
        notes.push("egress.mode is for the egress guard, which is not part of this version: it has no effect yet");
    }
    if !policy.open.http && !policy.open.https {
        notes.push("open.allow_schemes is empty: no page can be opened");
    }
    notes
}
