//! The debugging pipe: commands on file descriptor 3, answers on 4, each JSON that ends with a NUL byte.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};

use serde_json::{Value, json};

/// Answers commands until the pipe is closed or one asks to close.
pub(crate) fn serve() -> io::Result<()> {
    // Opened by name, which needs no unsafe code.
    let mut commands = BufReader::new(OpenOptions::new().read(true).open("/proc/self/fd/3")?);
    let mut answers = OpenOptions::new().write(true).open("/proc/self/fd/4")?;
    loop {
        let mut message = Vec::new();
        if commands.read_until(0, &mut message)? == 0 {
            return Ok(());
        }
        message.pop();
        let command: Value = serde_json::from_slice(&message)?;
        let method = command.get("method").and_then(Value::as_str).unwrap_or_default();
        let (name, value) = match method {
            "Browser.getVersion" => ("result", json!({"product": "Stand-in/1.0", "protocolVersion": "1.3"})),
            "Target.getTargets" => ("result", json!({"targetInfos": []})),
            "Browser.close" => ("result", json!({})),
            _ => ("error", json!({"code": -32601, "message": format!("'{method}' wasn't found")})),
        };
        let answer = json!({"id": command.get("id"), name: value});
        answers.write_all(format!("{answer}\0").as_bytes())?;
        if method == "Browser.close" {
            return Ok(());
        }
    }
}
