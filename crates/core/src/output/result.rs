//! Parsing of raw output into a [`CommandResult`].
//!
//! Requirement 1.6.
//!
//! Invariants: a failure never becomes a success, and no part of the request is added.

use serde_json::Value;

use super::body::Body;
use super::normalize::normalize;
use super::raw::RawOutput;
use super::stack::without_stack;
use super::tabs;

/// Parsed output of one command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandResult {
    /// Exit code of the reply.
    pub exit_code: i32,
    /// Content of `stdout`.
    pub body: Body,
    /// Content of `stderr`.
    pub stderr: String,
}

/// Messages of the known versions of agent-browser about a browser that does not respond.
const BROWSER_UNAVAILABLE: &[&str] = &["Failed to connect via CDP", "All CDP discovery methods failed"];

impl CommandResult {
    /// Parses raw output.
    ///
    /// Output that is not the expected JSON becomes text, and so does output that exceeds the capture limit.
    #[must_use]
    pub fn parse(raw: &RawOutput) -> Self {
        let stderr = without_stack(raw.stderr.to_text());
        let parsed = serde_json::from_slice::<Value>(&raw.stdout.bytes)
            .ok()
            .filter(|_| raw.stdout.total == raw.stdout.bytes.len() as u64);
        let Some(Value::Object(mut members)) = parsed else {
            return Self::from_text(raw, stderr);
        };
        let mut data = members.remove("data").unwrap_or(Value::Null);
        normalize(&mut data);
        // The CLI of the pinned version sorts members, so every transport gives the same text.
        data.sort_all_objects();
        match members.get("success").and_then(Value::as_bool) {
            Some(true) => Self { exit_code: raw.exit_code, body: Body::Data(data), stderr },
            Some(false) => {
                let message = match members.get("error") {
                    Some(Value::String(message)) if !message.is_empty() => {
                        tabs::message(message).unwrap_or_else(|| without_stack(message.clone()))
                    }
                    _ => "agent-browser reported a failure without a message".to_owned(),
                };
                let exit_code = if raw.exit_code == 0 { 1 } else { raw.exit_code };
                let body = if data.is_null() { Body::Empty } else { Body::Data(data) };
                Self { exit_code, body, stderr: join_lines(&message, &stderr) }
            }
            None => Self::from_text(raw, stderr),
        }
    }

    /// Creates a result with the output as text.
    fn from_text(raw: &RawOutput, stderr: String) -> Self {
        let text = raw.stdout.to_text();
        let body = if text.is_empty() { Body::Empty } else { Body::Text(text) };
        let has_no_message = raw.exit_code != 0 && stderr.trim().is_empty();
        let stderr =
            if has_no_message { format!("agent-browser ended with exit code {}", raw.exit_code) } else { stderr };
        Self { exit_code: raw.exit_code, body, stderr }
    }

    /// Returns `true` if the command failed because the browser does not respond.
    #[must_use]
    pub fn is_browser_unavailable(&self) -> bool {
        self.exit_code != 0 && BROWSER_UNAVAILABLE.iter().any(|message| self.stderr.contains(message))
    }
}

/// Joins a message and the rest of stderr, on separate lines.
fn join_lines(message: &str, stderr: &str) -> String {
    let stderr = stderr.trim_end();
    if stderr.is_empty() { message.to_owned() } else { format!("{message}\n{stderr}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::raw::CapturedStream;

    fn captured(text: &str) -> CapturedStream {
        CapturedStream { bytes: text.as_bytes().to_vec(), total: text.len() as u64 }
    }

    fn parse(exit_code: i32, stdout: &str, stderr: &str) -> CommandResult {
        CommandResult::parse(&RawOutput { exit_code, stdout: captured(stdout), stderr: captured(stderr) })
    }

    // Requirement 1.6.
    #[test]
    fn agent_browser_output_is_parsed() {
        let rows: &[(i32, &str, &str, i32, &str, &str, &str)] = &[
            (
                0,
                r#"{"success":true,"data":{"clicked":true},"error":null}"#,
                "",
                0,
                "{\"clicked\":true}\n",
                "",
                "success",
            ),
            (0, r#"{"success":true,"data":null,"error":null}"#, "", 0, "null\n", "", "no data"),
            (0, r#"{"success":true}"#, "", 0, "null\n", "", "no member `data`"),
            (1, r#"{"success":false,"data":null,"error":"no element"}"#, "", 1, "", "no element", "failure"),
            (
                0,
                r#"{"success":false,"data":null,"error":"no element"}"#,
                "",
                1,
                "",
                "no element",
                "an exit of 0 becomes 1",
            ),
            (
                1,
                r#"{"success":false,"data":{"a":1},"error":"x"}"#,
                "warn\n",
                1,
                "{\"a\":1}\n",
                "x\nwarn",
                "a failure with data",
            ),
            (1, r#"{"error":"bad","success":false,"type":"unknown_command"}"#, "", 1, "", "bad", "an error of the CLI"),
            (1, r#"{"success":false,"error":""}"#, "", 1, "", "agent-browser reported a failure without a message", ""),
            (0, "agent-browser 1.2.3\n", "", 0, "agent-browser 1.2.3\n", "", "not JSON"),
            (3, "", "boom", 3, "", "boom", "no output"),
            (0, r#"{"other":1}"#, "", 0, r#"{"other":1}"#, "", "other JSON"),
            (0, r#"{"success":"yes"}"#, "", 0, r#"{"success":"yes"}"#, "", "other JSON"),
            (137, r#"{"success":true,"data":1}"#, "", 137, "1\n", "", "killed after its output"),
        ];
        for (exit, stdout, stderr, exit_code, body, error, why) in rows {
            let result = parse(*exit, stdout, stderr);
            assert_eq!(
                (result.exit_code, result.body.render(1000).as_str(), result.stderr.as_str()),
                (*exit_code, *body, *error),
                "{why}"
            );
        }
    }

    // Requirement 1.7.
    #[test]
    fn output_beyond_cap_becomes_text_with_marker() {
        let stdout = CapturedStream { bytes: br#"{"success":true,"data":"xxx"#.to_vec(), total: 1000 };
        let result = CommandResult::parse(&RawOutput { exit_code: 0, stdout, stderr: CapturedStream::default() });
        assert!(result.body.render(1000).ends_with("[... 973 bytes cut]"));
    }

    #[test]
    fn missing_browser_is_detected() {
        assert!(
            parse(1, r#"{"success":false,"error":"Failed to connect via CDP on port 9222"}"#, "")
                .is_browser_unavailable()
        );
        assert!(!parse(1, r#"{"success":false,"error":"no element"}"#, "").is_browser_unavailable());
        let content = r#"{"success":true,"data":{"text":"Failed to connect via CDP"}}"#;
        assert!(!parse(0, content, "").is_browser_unavailable(), "text of the page does not count");
    }
}
