//! Result of one check.

use serde_json::{Value, json};

/// Result of one check.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) name: &'static str,
    /// Description of a good state, or the failure.
    pub(super) result: Result<String, Failure>,
}

/// Failed check: the state, and how to fix it.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) found: String,
    pub(super) fix: String,
}

impl Failure {
    pub(super) fn new(found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { found: found.into(), fix: fix.into() }
    }
}

impl Check {
    pub(super) const fn new(name: &'static str, result: Result<String, Failure>) -> Self {
        Self { name, result }
    }

    /// Creates a check that passed.
    pub(super) fn passed(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Ok(found.into()))
    }

    /// Creates a check that failed.
    pub(super) fn failed(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(name, Err(Failure::new(found, fix)))
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.result {
            Ok(found) => json!({ "name": self.name, "ok": true, "found": found, "fix": null }),
            Err(failure) => json!({ "name": self.name, "ok": false, "found": failure.found, "fix": failure.fix }),
        }
    }
}
