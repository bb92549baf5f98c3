//! Raw output of agent-browser: its streams and its exit code.

/// Output stream of a child process, captured up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    /// Captured bytes.
    pub bytes: Vec<u8>,
    /// Number of bytes that the child wrote.
    pub total: u64,
}

impl CapturedStream {
    /// Returns the text, with a marker if bytes beyond the limit are missing.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let lost = self.total.saturating_sub(self.bytes.len() as u64);
        if lost == 0 { text.into_owned() } else { format!("{text}\n[... {lost} bytes cut]") }
    }
}

/// Exit code and streams of one run of agent-browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawOutput {
    /// Exit code, or 128 plus the signal number if a signal ended the process.
    pub exit_code: i32,
    /// Standard output.
    pub stdout: CapturedStream,
    /// Standard error.
    pub stderr: CapturedStream,
}

impl RawOutput {
    /// Returns the output with a text in place of another, in both streams. A stream that exceeds the capture limit stays.
    #[must_use]
    pub fn replace(mut self, from: &str, to: &str) -> Self {
        for stream in [&mut self.stdout, &mut self.stderr] {
            let is_whole = stream.total == stream.bytes.len() as u64;
            let Ok(text) = std::str::from_utf8(&stream.bytes) else { continue };
            if is_whole && text.contains(from) {
                // Within JSON, the text is part of a string.
                let quoted = serde_json::Value::from(to).to_string();
                let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
                let to = if text.starts_with('{') { inner } else { to };
                stream.bytes = text.replace(from, to).into_bytes();
                stream.total = stream.bytes.len() as u64;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str) -> CapturedStream {
        CapturedStream { bytes: text.as_bytes().to_vec(), total: text.len() as u64 }
    }

    #[test]
    fn text_is_replaced_in_whole_streams_only() {
        let output = |stdout| RawOutput { exit_code: 1, stdout, stderr: stream("about [x]") };
        let replaced = output(stream(r#"{"error":"Action on \"[x]\" timed out"}"#)).replace("[x]", r#"[a="b"]"#);
        assert_eq!(replaced.stdout.to_text(), r#"{"error":"Action on \"[a=\"b\"]\" timed out"}"#);
        assert!(serde_json::from_slice::<serde_json::Value>(&replaced.stdout.bytes).is_ok());
        assert_eq!(replaced.stderr.to_text(), r#"about [a="b"]"#);
        let cut = CapturedStream { total: 100, ..stream("[x]") };
        assert_eq!(output(cut.clone()).replace("[x]", "@e1").stdout, cut);
    }
}
