//! Output of agent-browser: parsing, normalization, masking and truncation, and the classification of failures in raw output, as far as
//! it determines if a command can be repeated.
//!
//! Requirements 1.6, 1.7 and 1.8. [`CommandResult::parse`] parses [`RawOutput`]; the [`Body`] of the result is masked
//! and rendered.

pub mod mask;
mod page_text;
mod plain_reply;
mod result;
mod text_reply;
pub mod truncate;

use crate::decision::{Code, Decision};

pub use page_text::{
    address, collapse_blanks, escape_for_log, escape_for_terminal, escape_invisible, escape_json, indented, quoted,
    word,
};
pub(crate) use page_text::{begin_in_words, is_invisible};
pub use plain_reply::{DOUBT, is_content, render_plain};
pub use result::{Body, CapturedStream, CommandResult, LAST_TAB_STAYS, RawOutput, missing_tab};
pub use text_reply::{render_envelope, render_text};

/// Start of the CLI's message that its daemon did not start within five seconds, as can happen on a busy machine. The
/// CLI did not send the command.
const DAEMON_START_FAILURE: &str = "Daemon failed to start";

/// Start and end of the CLI's message that its daemon ended, or closed the connection, after it was sent the command.
const NO_RESPONSE: (&str, &str) = (
    "Failed to ",
    " (the command reached the daemon but no response came back; it may or may not have run, so it was not retried)",
);

/// Start and part of the message of an `open` that the browser's error page interrupted.
const INTERRUPTED: (&str, &str) =
    ("page.goto: Navigation to ", r#"is interrupted by another navigation to "chrome-error:"#);

/// Errors of Chromium about a page that asks for a login by HTTP authentication.
pub const LOGIN_ERRORS: &[&str] =
    &["net::ERR_INVALID_AUTH_CREDENTIALS", "net::ERR_MISSING_AUTH_CREDENTIALS", "net::ERR_UNSUPPORTED_AUTH_SCHEME"];

/// Starts of Node's messages about a full volume, a full quota, and a file beyond the size limit.
const OUT_OF_SPACE_IN_NODE: &[&str] = &["ENOSPC: ", "EDQUOT: ", "EFBIG: "];

/// Ends of the native program's messages about the same.
const OUT_OF_SPACE_IN_NATIVE: &[&str] = &["(os error 28)", "(os error 122)", "(os error 27)"];

/// Returns the refusal of a site that asks for a login.
#[must_use]
pub fn login_required() -> Decision {
    Decision::new(Code::LoginRequired, "the site asks for a login by HTTP authentication")
}

impl RawOutput {
    /// Returns `true` if the daemon did not start, so that the command did not run.
    #[must_use]
    pub fn is_daemon_start_failure(&self) -> bool {
        self.failed_with(|message| message.starts_with(DAEMON_START_FAILURE))
    }

    /// Returns `true` if the daemon gave no response, so that it is not known whether the command ran.
    #[must_use]
    pub fn is_without_response(&self) -> bool {
        self.failed_with(|message| message.starts_with(NO_RESPONSE.0) && message.ends_with(NO_RESPONSE.1))
    }

    /// Returns `true` if the error page of an earlier `open` interrupted this one, so that its page did not open.
    /// Chromium shows the error page shortly after it reports the failure.
    #[must_use]
    pub fn is_interrupted_navigation(&self) -> bool {
        self.failed_with(|message| message.starts_with(INTERRUPTED.0) && message.contains(INTERRUPTED.1))
    }

    /// Returns `true` if a page was not opened because its site asks for a login by HTTP authentication.
    #[must_use]
    pub fn is_login_required(&self) -> bool {
        self.reports_failure_with(|message| {
            let navigation = message.split_once(": ").filter(|(what, _)| is_navigation(what));
            navigation.is_some_and(|(_, error)| LOGIN_ERRORS.iter().any(|login| starts_with_word(error, login)))
        })
    }

    /// Returns `true` if a command could not write its file because there is no room for it. Meant for commands that write one.
    #[must_use]
    pub fn is_out_of_space(&self) -> bool {
        self.reports_failure_with(|message| {
            let line = message.lines().next().unwrap_or_default();
            let reason =
                line.split_once(": ").filter(|(what, _)| is_playwright_call(what)).map_or(line, |(_, rest)| rest);
            OUT_OF_SPACE_IN_NODE.iter().any(|start| reason.starts_with(start))
                || (line.starts_with("Failed to ") && OUT_OF_SPACE_IN_NATIVE.iter().any(|end| line.ends_with(end)))
        })
    }

    /// Returns `true` if the command failed with a short message that matches. Only the start of a message is reliable,
    /// because text of the page can follow.
    fn failed_with(&self, matches: impl Fn(&str) -> bool) -> bool {
        self.exit_code != 0 && self.reports_failure_with(matches)
    }

    /// Returns `true` if agent-browser reports a failure with a short message that matches, whatever its exit code.
    fn reports_failure_with(&self, matches: impl Fn(&str) -> bool) -> bool {
        let is_short = self.stdout.bytes.len() < 4096 && self.stdout.bytes.starts_with(b"{");
        is_short && {
            let result = CommandResult::parse(self);
            result.exit_code != 0 && matches(&result.stderr)
        }
    }
}

/// Returns `true` for the start of a message about a navigation, of any known version.
fn is_navigation(what: &str) -> bool {
    what == "Navigation failed" || is_playwright_call(what)
}

/// Returns `true` for the name of a method of Playwright, such as `page.goto`.
fn is_playwright_call(what: &str) -> bool {
    what.split_once('.').is_some_and(|(object, method)| {
        [object, method].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic()))
    })
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(exit_code: i32, stdout: &str) -> RawOutput {
        let stdout = CapturedStream { bytes: stdout.as_bytes().to_vec(), total: stdout.len() as u64 };
        RawOutput { exit_code, stdout, stderr: CapturedStream::default() }
    }

    #[test]
    fn daemon_startup_failure_is_detected() {
        let failed = |exit_code, stdout: &str| output(exit_code, stdout).is_daemon_start_failure();
        assert!(failed(1, r#"{"success":false,"error":"Daemon failed to start (socket: /run/x.sock)"}"#));
        assert!(!failed(0, r#"{"success":true,"data":{"text":"Daemon failed to start"}}"#));
        assert!(!failed(1, r#"{"success":false,"error":"the page says: Daemon failed to start"}"#));
        assert!(!failed(1, r#"{"success":false,"data":"Daemon failed to start","error":"no element"}"#));
    }

    #[test]
    fn missing_response_is_detected() {
        let is_missing = |exit_code, error: &str| {
            output(exit_code, &json!({"success": false, "data": null, "error": error}).to_string())
                .is_without_response()
        };
        let message = "Failed to read: Connection reset by peer (os error 104) (the command reached the daemon but no response came back; \
            it may or may not have run, so it was not retried)";
        assert!(is_missing(1, message));
        assert!(!is_missing(0, message));
        assert!(!is_missing(1, &format!("the page says: {message}")));
        assert!(!is_missing(1, &format!("{message} said the page")));
        assert!(!is_missing(1, "Failed to read: Connection reset by peer (os error 104)"));
    }

    #[test]
    fn open_interrupted_by_error_page_is_detected() {
        let interrupted = |exit_code, error: &str| {
            output(exit_code, &json!({"success": false, "data": null, "error": error}).to_string())
                .is_interrupted_navigation()
        };
        let by = |url: &str| {
            format!(
                r#"page.goto: Navigation to "http://a.example/" is interrupted by another navigation to "{url}"
Call log: navigating"#
            )
        };
        assert!(interrupted(1, &by("chrome-error://chromewebdata/")));
        assert!(!interrupted(1, &by("http://b.example/")), "a navigation by the page");
        assert!(!interrupted(0, &by("chrome-error://chromewebdata/")));
        assert!(!interrupted(1, "page.goto: net::ERR_CONNECTION_REFUSED at http://a.example/"));
        assert!(!interrupted(1, &format!("the page says: {}", by("chrome-error://chromewebdata/"))));
    }

    fn failed(exit_code: i32, error: &str) -> RawOutput {
        output(exit_code, &json!({"success": false, "data": null, "error": error}).to_string())
    }

    // Requirement 1.9.
    #[test]
    fn http_authentication_is_detected() {
        let rows = [
            ("page.goto: net::ERR_INVALID_AUTH_CREDENTIALS at http://a.example/\nCall log:\n  - navigating", true),
            ("page.reload: net::ERR_INVALID_AUTH_CREDENTIALS at http://a.example/", true),
            ("Navigation failed: net::ERR_INVALID_AUTH_CREDENTIALS", true),
            ("Navigation failed: net::ERR_UNSUPPORTED_AUTH_SCHEME", true),
            ("Navigation failed: net::ERR_CONNECTION_REFUSED", false),
            ("Navigation failed: net::ERR_INVALID_AUTH_CREDENTIALS_X", false),
            ("page.goto: net::ERR_UNEXPECTED_PROXY_AUTH at http://a.example/", false),
            ("the page says: net::ERR_INVALID_AUTH_CREDENTIALS", false),
            ("page.goto: Timeout 15000ms exceeded at net::ERR_INVALID_AUTH_CREDENTIALS", false),
        ];
        for (error, expected) in rows {
            for exit_code in [0, 1] {
                assert_eq!(failed(exit_code, error).is_login_required(), expected, "{error}");
            }
            assert!(!failed(1, error).is_out_of_space(), "{error}");
        }
        assert!(
            !output(0, r#"{"success":true,"data":"Navigation failed: net::ERR_INVALID_AUTH_CREDENTIALS"}"#)
                .is_login_required()
        );
    }

    // Requirement 1.9.
    #[test]
    fn full_volume_is_detected() {
        let rows = [
            ("ENOSPC: no space left on device, write", true),
            ("ENOSPC: no space left on device, open '/workspace/s/a.png'", true),
            ("locator.screenshot: ENOSPC: no space left on device, write\nCall log:", true),
            ("EDQUOT: disk quota exceeded, write", true),
            ("EFBIG: file too large, write", true),
            ("Failed to save screenshot to /workspace/s/a.png: No space left on device (os error 28)", true),
            ("Failed to save PDF: Disk quota exceeded (os error 122)", true),
            ("Failed to save screenshot to /workspace/s/a.png: Permission denied (os error 13)", false),
            ("EACCES: permission denied, open '/workspace/s/a.png'", false),
            ("Element not found: ENOSPC: no space left on device, write", false),
            ("No element, text=No space left on device (os error 28)", false),
        ];
        for (error, expected) in rows {
            for exit_code in [0, 1] {
                assert_eq!(failed(exit_code, error).is_out_of_space(), expected, "{error}");
            }
            assert!(!failed(1, error).is_login_required(), "{error}");
        }
        assert!(!output(0, r#"{"success":true,"data":"ENOSPC: no space left on device, write"}"#).is_out_of_space());
    }
}
