//! The debugging pipe: commands on file descriptor 3, answers on 4, each JSON that ends with a NUL byte.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};

use serde_json::Value;

use crate::tabs::Tabs;

/// Answers commands until the pipe is closed or one asks to close.
pub(crate) fn serve(tabs: Tabs) -> io::Result<()> {
    // Opened by name, which needs no unsafe code.
    let mut commands = BufReader::new(OpenOptions::new().read(true).open("/proc/self/fd/3")?);
    let mut answers = OpenOptions::new().write(true).open("/proc/self/fd/4")?;
    let mut connection = tabs.connect();
    loop {
        let mut message = Vec::new();
        if commands.read_until(0, &mut message)? == 0 {
            return Ok(());
        }
        message.pop();
        let command: Value = serde_json::from_slice(&message)?;
        for message in connection.answer(&command) {
            answers.write_all(format!("{message}\0").as_bytes())?;
        }
        if command.get("method").and_then(Value::as_str) == Some("Browser.close") {
            return Ok(());
        }
    }
}
