//! Re-execution: this program started again as one of its helpers, by a hidden first argument.
//!
//! Helpers are recognized before the command-line parser runs: every run of agent-browser goes through one, and parsing would
//! be paid each time.
//!
//! Invariants: a helper that fails ends with its own exit code, and its message begins with [`failure_prefix`], so that a
//! server can distinguish its failure from that of the program that it should have become.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use browser_shell_core::output::escape_for_log;
use serde::de::DeserializeOwned;

/// Exit code of a helper that could not become the other program: `EX_OSERR`.
pub const EXEC_FAILED: u8 = 71;

/// Error of a helper's configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The argument is missing.
    #[error("no configuration")]
    Missing,
    /// The argument is not the helper's configuration as JSON.
    #[error("invalid configuration: {0}")]
    Invalid(#[from] serde_json::Error),
}

/// The arguments after the hidden one.
pub type HelperArguments<'a> = &'a mut dyn Iterator<Item = OsString>;

/// A helper: a hidden first argument and what runs for it.
pub struct Helper {
    /// The hidden first argument.
    pub subcommand: &'static str,
    /// The work. A helper that becomes another program returns only after a failure.
    pub run: fn(HelperArguments<'_>) -> Result<(), Box<dyn Error>>,
    /// The exit code after a failure.
    pub failure_code: u8,
}

/// Returns what the message of a failed helper begins with.
#[must_use]
pub fn failure_prefix(subcommand: &str) -> String {
    format!("browser-shell {subcommand}: ")
}

/// Parses a helper's configuration from its next argument.
///
/// # Errors
///
/// If the argument is missing or invalid.
pub fn parse_config<T: DeserializeOwned>(arguments: HelperArguments<'_>) -> Result<T, ConfigError> {
    let text = arguments.next().ok_or(ConfigError::Missing)?;
    Ok(serde_json::from_slice(text.as_encoded_bytes())?)
}

/// Runs the helper that these arguments name, this program's own name first. Returns `None` if they name none.
pub fn dispatch(arguments: impl IntoIterator<Item = OsString>, helpers: &[Helper]) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    let subcommand = arguments.nth(1)?;
    let helper = helpers.iter().find(|helper| subcommand == helper.subcommand)?;
    let Err(error) = (helper.run)(&mut arguments) else { return Some(ExitCode::SUCCESS) };
    let _ = writeln!(std::io::stderr(), "{}{}", failure_prefix(helper.subcommand), escape_for_log(&error.to_string()));
    Some(ExitCode::from(helper.failure_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELPERS: &[Helper] = &[
        Helper { subcommand: "succeed", run: |_| Ok(()), failure_code: 1 },
        Helper {
            subcommand: "need-argument",
            run: |arguments| arguments.next().map(|_| ()).ok_or_else(|| "no argument".into()),
            failure_code: EXEC_FAILED,
        },
    ];

    #[test]
    fn dispatch_runs_the_named_helper_and_nothing_else() {
        let code = |line: &[&str]| dispatch(line.iter().map(OsString::from), HELPERS);
        assert_eq!(code(&["x", "succeed"]), Some(ExitCode::SUCCESS));
        assert_eq!(code(&["x", "need-argument", "a"]), Some(ExitCode::SUCCESS));
        assert_eq!(code(&["x", "need-argument"]), Some(ExitCode::from(EXEC_FAILED)));
        for line in [&[][..], &["x"], &["x", "mcp"], &["x", "--", "succeed"], &["succeed"]] {
            assert_eq!(code(line), None, "{line:?}");
        }
    }
}
