//! Result of one check.

use serde_json::{Value, json};

/// Severity of a result, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// As it should be.
    Ok,
    /// Calls work, but with less protection or untested.
    Warn,
    /// Calls do not work, or something that was asked for is missing.
    Bad,
}

impl Severity {
    /// Returns the word of the report.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }

    /// Returns the exit code of a report whose worst level is this one.
    pub(super) const fn exit_code(self) -> u8 {
        match self {
            Self::Ok | Self::Warn => 0,
            Self::Bad => 1,
        }
    }

    /// Returns the color of the word, as a parameter of the terminal's escape sequence.
    pub(super) const fn color(self) -> &'static str {
        match self {
            Self::Ok => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        }
    }
}

/// Result of one check: the state that was found, and how to change it if it is not good.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) level: Severity,
    pub(super) found: String,
    /// Present unless the level is `ok`.
    pub(super) fix: Option<String>,
}

impl Check {
    /// Creates a check that passed.
    pub(super) fn passed(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, level: Severity::Ok, found: found.into(), fix: None }
    }

    /// Creates a check with a warning.
    pub(super) fn warned(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, level: Severity::Warn, found: found.into(), fix: Some(fix.into()) }
    }

    /// Creates a check that failed.
    pub(super) fn failed(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, level: Severity::Bad, found: found.into(), fix: Some(fix.into()) }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "level": self.level.as_str(),
            "ok": self.level == Severity::Ok,
            "found": self.found,
            "fix": self.fix,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_level_decides_the_exit_code() {
        let worst = |levels: &[Severity]| levels.iter().max().map(|level| (level.as_str(), level.exit_code()));
        assert_eq!(worst(&[Severity::Ok, Severity::Ok]), Some(("ok", 0)));
        assert_eq!(worst(&[Severity::Ok, Severity::Warn, Severity::Ok]), Some(("warn", 0)));
        assert_eq!(worst(&[Severity::Bad, Severity::Warn, Severity::Ok]), Some(("bad", 1)));
    }

    #[test]
    fn only_the_level_ok_is_ok_and_has_no_fix() {
        for (check, level, is_ok) in [
            (Check::passed("a", "b"), "ok", true),
            (Check::warned("a", "b", "c"), "warn", false),
            (Check::failed("a", "b", "c"), "bad", false),
        ] {
            let json = check.to_json();
            assert_eq!((json["level"].as_str(), json["ok"].as_bool()), (Some(level), Some(is_ok)));
            assert_eq!(json["fix"].is_null(), is_ok, "{json}");
        }
    }
}
