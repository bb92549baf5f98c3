//! The debugging pipe: commands on file descriptor 3, answers on 4, each JSON that ends with a NUL byte.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};

use serde_json::{Value, json};

/// Answers commands until the pipe is closed or one asks to close.
pub(crate) fn serve() -> io::Result<()> {
    // Opened by name, which needs no unsafe code.
    let mut commands = BufReader::new(OpenOptions::new().read(true).open("/proc/self/fd/3")?);
    let mut answers = OpenOptions::new().write(true).open("/proc/self/fd/4")?;
    let (mut tabs, mut contexts) = (0, 0);
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
            "Target.createBrowserContext" => {
                contexts += 1;
                ("result", json!({"browserContextId": format!("own-{contexts}")}))
            }
            "Target.createTarget" => {
                let context = command.pointer("/params/browserContextId").and_then(Value::as_str);
                ("result", json!({"targetId": attach(&mut answers, &mut tabs, context)?}))
            }
            "Target.setAutoAttach" if command.get("sessionId").is_none() => {
                attach(&mut answers, &mut tabs, None)?;
                ("result", json!({}))
            }
            "Target.attachToTarget" => ("result", json!({"sessionId": "attached"})),
            // Whatever a script does, it has done it.
            "Runtime.evaluate" => ("result", json!({"result": {"type": "boolean", "value": true}})),
            // Its tabs show the document that they were opened with.
            "Page.getFrameTree" => ("result", json!({"frameTree": {"frame": {"id": "empty", "loaderId": "first"}}})),
            "DOM.performSearch" => ("result", json!({"searchId": "1", "resultCount": 0})),
            // It has no pages that could do anything.
            _ => ("result", json!({})),
        };
        let answer = json!({"id": command.get("id"), name: value});
        answers.write_all(format!("{answer}\0").as_bytes())?;
        if method == "Browser.close" {
            return Ok(());
        }
    }
}

/// Reports a new empty tab, and returns its id.
fn attach(answers: &mut impl Write, tabs: &mut usize, context: Option<&str>) -> io::Result<String> {
    *tabs += 1;
    let target = format!("T{tabs}");
    let info = json!({"targetId": target, "type": "page", "url": "about:blank", "browserContextId": context.unwrap_or("default")});
    let params = json!({"sessionId": format!("S{tabs}"), "targetInfo": info});
    let event = json!({"method": "Target.attachedToTarget", "params": params});
    answers.write_all(format!("{event}\0").as_bytes())?;
    Ok(target)
}
