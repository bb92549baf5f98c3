//! Classification of failures in raw output, as far as it determines if a command can be repeated.

use super::raw::RawOutput;
use super::result::CommandResult;

/// Start of the CLI's message that its daemon did not start within five seconds, as can happen on a busy machine. The
/// CLI did not send the command.
const DAEMON_START_FAILURE: &str = "Daemon failed to start";

/// Start and part of the message of an `open` that the browser's error page interrupted.
const INTERRUPTED: (&str, &str) =
    ("page.goto: Navigation to ", r#"is interrupted by another navigation to "chrome-error:"#);

/// End of Playwright's message that the browser or page is closed.
const CLOSED: &str = "Target page, context or browser has been closed";

/// Start of that message if Playwright had no page yet, so that the command did not run.
const CLOSED_BEFORE_PAGE: &str = "browserContext.newPage: ";

/// Point at which a command lost its browser or page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// Before the command ran.
    BeforeCommand,
    /// While the command may have run.
    DuringCommand,
}

impl RawOutput {
    /// Returns `true` if the daemon did not start, so that the command did not run.
    #[must_use]
    pub fn is_daemon_start_failure(&self) -> bool {
        self.failed_with(|message| message.starts_with(DAEMON_START_FAILURE))
    }

    /// Returns `true` if the error page of an earlier `open` interrupted this one, so that its page did not open.
    /// Chromium shows the error page shortly after it reports the failure.
    #[must_use]
    pub fn is_interrupted_navigation(&self) -> bool {
        self.failed_with(|message| message.starts_with(INTERRUPTED.0) && message.contains(INTERRUPTED.1))
    }

    /// Returns the point at which the command lost its browser or page, if it did. The daemon notices the end of the
    /// browser with a delay.
    #[must_use]
    pub fn disconnect(&self) -> Option<Disconnect> {
        let is_closed = |message: &str| message.lines().next().is_some_and(|line| line.ends_with(CLOSED));
        if self.failed_with(|message| message.starts_with(CLOSED_BEFORE_PAGE) && is_closed(message)) {
            Some(Disconnect::BeforeCommand)
        } else {
            self.failed_with(is_closed).then_some(Disconnect::DuringCommand)
        }
    }

    /// Returns `true` if the command failed with a short message that matches. Only the start of a message is reliable,
    /// because text of the page can follow.
    fn failed_with(&self, matches: impl Fn(&str) -> bool) -> bool {
        let is_short = self.stdout.bytes.len() < 4096 && self.stdout.bytes.starts_with(b"{");
        self.exit_code != 0 && is_short && matches(&CommandResult::parse(self).stderr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::raw::CapturedStream;
    use serde_json::json;

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

    #[test]
    fn lost_browser_connection_is_detected() {
        let disconnect = |exit_code, error: &str| {
            output(exit_code, &json!({"success": false, "data": null, "error": error}).to_string()).disconnect()
        };
        let message = "Target page, context or browser has been closed";
        assert_eq!(disconnect(1, &format!("browserContext.newPage: {message}")), Some(Disconnect::BeforeCommand));
        assert_eq!(disconnect(1, &format!("locator.click: {message}\nCall log:")), Some(Disconnect::DuringCommand));
        assert_eq!(disconnect(1, "locator.click: Timeout"), None);
        assert_eq!(disconnect(0, message), None);
        assert_eq!(disconnect(1, &format!("the page says\n{message}")), None);
    }
}
