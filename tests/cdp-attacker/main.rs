//! A stand-in for a compromised agent-browser: it sends what a script asks to the debugging port that it was given.
//!
//! It starts in place of agent-browser, inside its sandbox and with its arguments: `--session KEY --cdp PORT --json
//! SUBCOMMAND ARGUMENTS`. The last argument of `fill` is the script, a JSON list of steps. Other subcommands answer like
//! a well-behaved page. It has no daemon, and keeps nothing between two calls but what runs in the background.
//!
//! | step | effect | reply |
//! |---|---|---|
//! | `{"http": "GET /json/list"}` | sends a request; `port`, `headers` | `status`, `body` |
//! | `{"connect": PORT}` | opens a TCP connection; `address` | `connected` |
//! | `{"ws": "browser"}` | opens a WebSocket: of the browser, by path or by URL; `port`, `headers`, `as` | `connected` |
//! | `{"send": {"method": ..}}` | sends a command: `params`, `session`; with `until`, again until it evaluates to true | the answer with its `result` or `error` |
//! | `{"text": ".."}` | sends a text frame, repeated `times`; `closing`, `before`, `after` | the next message |
//! | `{"bytes": [..]}` | sends bytes in a text frame; `binary` sends them in a binary frame | the next message |
//! | `{"fragments": [".."]}` | sends one message in several frames | the next message |
//! | `{"flood": {"method": ..}}` | sends a command `times` times and reads nothing | `sent` |
//! | `{"event": "METHOD"}` | waits for an event | its `params` |
//! | `{"search": ["TEXT", ..]}` | searches every message that has arrived | `methods` of events; `found`: the messages with each text |
//! | `{"sleep": MS}` | waits | `slept` |
//! | `{"touch": "NAME"}` | creates a file in the temporary folder | `touched` |
//! | `{"wait": "NAME"}` | waits until there is such a file | `found` |
//! | `{"background": [..]}` | runs steps in a process that outlives the call; `to` is the file for their replies | `started` |
//! | `{"replies": "NAME"}` | waits for the replies of such a process | `steps` |
//!
//! Every step may have `within` (milliseconds, 5000), `on` (the name of a WebSocket; the newest by default), and `let`:
//! names for values of its reply, as JSON pointers. `$NAME` in a later step is replaced by such a value. A step that
//! fails replies with `failure`, and the next one follows.
//!
//! The answer names the port and lists the reply of each step. Long strings are cut.

#![allow(missing_docs, reason = "a program, not a library")]

mod http;
mod script;
mod socket;

use std::io::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

/// The longest string of a reply, in characters.
const MAX_STRING: usize = 2000;

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    if argv.iter().any(|arg| arg == "--version" || arg == "-V") {
        return print("agent-browser 0.41.2", 0);
    }
    let (mut port, mut operands, mut rest) = (None, Vec::new(), argv.iter());
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--cdp" => port = rest.next().and_then(|port| port.parse().ok()),
            "--session" => drop(rest.next()),
            flag if flag.starts_with("--") => {}
            _ => operands.push(arg.as_str()),
        }
    }
    let Some(port) = port else { return fail("there is no `--cdp PORT`") };
    match operands[..] {
        ["fill", _, text] => match serde_json::from_str::<Vec<Value>>(text) {
            Ok(steps) => {
                let mut replies = script::run(port, steps);
                replies.iter_mut().for_each(shorten);
                succeed(&json!({"port": port, "steps": replies}))
            }
            Err(error) => fail(&format!("the script is not a list of steps: {error}")),
        },
        ["background", to, text] => match serde_json::from_str(text) {
            Ok(steps) => script::run_to_file(port, steps, to).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
            Err(error) => fail(&format!("the script is not a list of steps: {error}")),
        },
        ["open", url] => succeed(&json!({"title": "A page", "url": url})),
        ["snapshot", ..] => succeed(&json!({"snapshot": "", "refs": {}, "origin": "about:blank"})),
        ["close", ..] => succeed(&json!({"closed": true})),
        _ => fail("the stand-in has no such subcommand"),
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(MAX_STRING) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

fn succeed(data: &Value) -> ExitCode {
    print(&json!({"success": true, "data": data, "error": null}).to_string(), 0)
}

fn fail(error: &str) -> ExitCode {
    print(&json!({"success": false, "data": null, "error": error}).to_string(), 1)
}

/// Ignores errors, because the reader may be gone.
fn print(line: &str, code: u8) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    ExitCode::from(code)
}
