//! Steps of a script, run one after the other.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http;
use crate::socket::Socket;

/// The longest time of a step, unless it names another one.
const WITHIN_MS: u64 = 5000;

/// Interval between two evaluations of an expression that is not true yet.
const INTERVAL: Duration = Duration::from_millis(20);

/// Values and connections that earlier steps have left.
struct State {
    port: u16,
    names: BTreeMap<String, Value>,
    sockets: Vec<(String, Socket)>,
}

/// Runs all steps and returns their replies.
pub(crate) fn run(port: u16, steps: Vec<Value>) -> Vec<Value> {
    let mut state = State { port, names: BTreeMap::new(), sockets: Vec::new() };
    steps
        .into_iter()
        .map(|mut step| {
            state.substitute(&mut step);
            let reply = state.step(&step).unwrap_or_else(|failure| json!({ "failure": failure }));
            for (name, pointer) in step.get("let").and_then(Value::as_object).into_iter().flatten() {
                let value = pointer.as_str().and_then(|pointer| reply.pointer(pointer)).cloned().unwrap_or_default();
                state.names.insert(name.clone(), value);
            }
            reply
        })
        .collect()
}

impl State {
    /// Replaces names in every string. A string that is only a name becomes its value, of whatever type.
    fn substitute(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(whole) = text.strip_prefix('$').and_then(|name| self.names.get(name)) {
                    *value = whole.clone();
                    return;
                }
                // A longer name is replaced before its prefix.
                for (name, content) in self.names.iter().rev() {
                    let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
                    *text = text.replace(&format!("${name}"), &content);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.substitute(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.substitute(member)),
            _ => {}
        }
    }

    fn step(&mut self, step: &Value) -> Result<Value, String> {
        let within = Duration::from_millis(step["within"].as_u64().unwrap_or(WITHIN_MS));
        let port = step["port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or(self.port);
        let times = step["times"].as_u64().and_then(|times| times.try_into().ok()).unwrap_or(1);
        let text = |name: &str| step[name].as_str();
        if let Some(line) = text("http") {
            return http::request(port, line, step.get("headers"), within);
        }
        if let Some(port) = step.get("connect") {
            let port = port.as_u64().and_then(|port| port.try_into().ok()).ok_or("`connect` expects a port")?;
            return http::connect(text("address"), port, within).map(|_| json!({"connected": true}));
        }
        if let Some(target) = text("ws") {
            let url = url_of(port, target, within)?;
            let socket = Socket::open(port, &url, step.get("headers"), within)?;
            self.sockets.push((text("as").unwrap_or_default().to_owned(), socket));
            return Ok(json!({"connected": true}));
        }
        if let Some(milliseconds) = step["sleep"].as_u64() {
            std::thread::sleep(Duration::from_millis(milliseconds));
            return Ok(json!({"slept": milliseconds}));
        }
        if let Some(name) = text("touch") {
            std::fs::write(file(name), []).map_err(|error| format!("cannot write `{name}`: {error}"))?;
            return Ok(json!({"touched": name}));
        }
        if let Some(name) = text("wait") {
            return read_when_written(name, within).map(|_| json!({"found": name}));
        }
        if let Some(name) = text("replies") {
            let read =
                |text: String| serde_json::from_str::<Value>(&text).map_err(|error| format!("`{text}`: {error}"));
            return Ok(json!({"port": self.port, "steps": read(read_when_written(name, within)?)?}));
        }
        if let (Some(steps), Some(name)) = (step.get("background"), text("to")) {
            return start(self.port, steps, name).map_err(|error| format!("cannot start a process: {error}"));
        }
        let socket = self.socket(text("on"))?;
        if let Some(command) = step.get("send") {
            let end = Instant::now() + within;
            loop {
                let id = socket.send(command)?;
                let answer = socket.answer(id, within)?;
                if step["until"] != true || !is_untrue(&answer) {
                    return Ok(answer);
                }
                if Instant::now() > end {
                    return Err(format!("still not true: {answer}"));
                }
                std::thread::sleep(INTERVAL);
            }
        }
        if let Some(command) = step.get("flood") {
            let sent = (0..times).take_while(|_| socket.send(command).is_ok()).count();
            return Ok(json!({"sent": sent}));
        }
        if let Some(method) = text("event") {
            return socket.event(method, within);
        }
        if let Some(texts) = step["search"].as_array() {
            return Ok(socket.search(texts));
        }
        if let Some(part) = text("text") {
            let before = text("before").unwrap_or_default();
            let after = text("after").unwrap_or_default();
            let closing = text("closing").unwrap_or_default().repeat(times);
            socket.send_text(format!("{before}{}{closing}{after}", part.repeat(times)))?;
        } else if let Some(bytes) = step.get("bytes") {
            socket.send_as_text(bytes_of(bytes)?)?;
        } else if let Some(bytes) = step.get("binary") {
            socket.send_binary(bytes_of(bytes)?)?;
        } else if let Some(parts) = step["fragments"].as_array() {
            let parts: Vec<_> = parts.iter().map(|part| part.as_str().unwrap_or_default().to_owned()).collect();
            socket.send_fragments(&parts)?;
        } else {
            return Err(format!("not a step: {step}"));
        }
        socket.next_message(within)
    }

    /// Returns the newest socket, or the one of that name.
    fn socket(&mut self, name: Option<&str>) -> Result<&mut Socket, String> {
        let mut newest_first = self.sockets.iter_mut().rev();
        let found = newest_first.find(|(own, _)| name.is_none_or(|name| name == own));
        found.map(|(_, socket)| socket).ok_or_else(|| "there is no such WebSocket".to_owned())
    }
}

/// Returns a file in the temporary folder of the session.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(name)
}

/// Waits until there is a file, and returns its text.
fn read_when_written(name: &str, within: Duration) -> Result<String, String> {
    let end = Instant::now() + within;
    while Instant::now() < end {
        if let Ok(text) = std::fs::read_to_string(file(name)) {
            return Ok(text);
        }
        std::thread::sleep(INTERVAL);
    }
    Err(format!("there is no file `{name}`"))
}

/// Starts a process that runs steps and then writes their replies to a file.
fn start(port: u16, steps: &Value, to: &str) -> std::io::Result<Value> {
    Command::new(std::env::current_exe()?)
        .args(["--cdp", &port.to_string(), "background", to, &steps.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(json!({"started": true}))
}

/// Runs steps and writes their replies to a file, which is complete as soon as it is there.
pub(crate) fn run_to_file(port: u16, steps: Vec<Value>, to: &str) -> std::io::Result<()> {
    let unfinished = file(&format!("{to}.part"));
    std::fs::write(&unfinished, Value::from(run(port, steps)).to_string())?;
    std::fs::rename(unfinished, file(to))
}

/// Returns true if an evaluation says so, or if its page went elsewhere meanwhile. Any other error is final.
fn is_untrue(answer: &Value) -> bool {
    match answer.pointer("/error/message").and_then(Value::as_str) {
        Some(message) => message.contains("navigated") || message.contains("context"),
        None => answer.pointer("/result/result/value") != Some(&Value::Bool(true)),
    }
}

/// Returns the URL of a WebSocket. The browser's is the one that the port names.
fn url_of(port: u16, target: &str, within: Duration) -> Result<String, String> {
    if target != "browser" {
        let is_url = target.starts_with("ws:");
        return Ok(if is_url { target.to_owned() } else { format!("ws://127.0.0.1:{port}{target}") });
    }
    let version = http::request(port, "GET /json/version", None, within)?;
    let url = version.pointer("/body/webSocketDebuggerUrl").and_then(Value::as_str);
    url.map(str::to_owned).ok_or_else(|| format!("the port names no WebSocket: {version}"))
}

/// Returns the bytes of a text, or of a list of numbers.
fn bytes_of(value: &Value) -> Result<Vec<u8>, String> {
    if let Some(text) = value.as_str() {
        return Ok(text.as_bytes().to_vec());
    }
    let byte = |number: &Value| number.as_u64().and_then(|number| u8::try_from(number).ok());
    let bytes = value.as_array().and_then(|numbers| numbers.iter().map(byte).collect());
    bytes.ok_or_else(|| format!("not bytes: {value}"))
}
