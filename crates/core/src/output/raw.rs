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
