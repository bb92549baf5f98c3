//! Scripts for `cdp-attacker`, and their replies.

use std::process::Command;

use serde_json::{Value, json};

use super::attacker;

/// The replies to the steps of a script.
#[derive(Debug)]
pub(super) struct Replies {
    port: u16,
    steps: Vec<Value>,
}

impl Replies {
    /// Reads the data of a call.
    pub(super) fn read(data: Value) -> Self {
        let port = data["port"].as_u64().and_then(|port| port.try_into().ok()).expect("no port in the answer");
        Self { port, steps: data["steps"].as_array().expect("no steps in the answer").clone() }
    }

    /// Runs a script outside of any sandbox.
    #[track_caller]
    pub(super) fn run(port: u16, steps: &Value) -> Self {
        let output = command(Command::new(attacker()), port, steps).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(answer["success"], true, "{answer}");
        Self::read(answer["data"].clone())
    }

    /// Returns the port that the program was given.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the reply to a step, by its number.
    #[track_caller]
    pub(super) fn reply(&self, step: usize) -> &Value {
        self.steps.get(step).unwrap_or_else(|| panic!("no step {step} in {self:#?}"))
    }

    /// Returns the number of steps.
    pub(super) fn count(&self) -> usize {
        self.steps.len()
    }

    /// Returns the result of a command that must have succeeded.
    #[track_caller]
    pub(super) fn result(&self, step: usize) -> &Value {
        self.reply(step).get("result").unwrap_or_else(|| panic!("step {step} should succeed: {self:#?}"))
    }

    /// Returns the value of an evaluation that must have succeeded.
    #[track_caller]
    pub(super) fn value(&self, step: usize) -> &Value {
        &self.result(step)["result"]["value"]
    }

    /// Returns true if a command was answered with an error, or not at all.
    pub(super) fn is_refused(&self, step: usize) -> bool {
        self.reply(step).get("result").is_none()
    }

    /// Returns everything as text.
    pub(super) fn text(&self) -> String {
        Value::from(self.steps.clone()).to_string()
    }
}

/// Completes a command that ends with the attacker.
pub(super) fn command(mut command: Command, port: u16, steps: &Value) -> Command {
    command.args(["--session", "direct", "--cdp", &port.to_string(), "--json", "fill", "@e1", &steps.to_string()]);
    command
}

/// Returns a step that sends a command.
pub(super) fn send(method: &str, params: Value) -> Value {
    json!({"send": {"method": method, "params": params}})
}

/// Returns a step that sends a command on the session named `$PAGE`.
pub(super) fn on_page(method: &str, params: Value) -> Value {
    json!({"send": {"method": method, "params": params, "session": "$PAGE"}})
}

/// Returns a step that evaluates an expression on the session named `$PAGE`.
pub(super) fn evaluate(expression: &str) -> Value {
    on_page("Runtime.evaluate", json!({"expression": expression, "awaitPromise": true, "returnByValue": true}))
}

/// Returns a step that waits until an expression is true on the session named `$PAGE`, or until it fails.
pub(super) fn until(expression: &str) -> Value {
    let mut step = evaluate(expression);
    step["until"] = true.into();
    step["within"] = 60_000.into();
    step
}

/// Returns a step that waits until the session named `$PAGE` has loaded the document at this URL.
pub(super) fn loaded(url: &str) -> Value {
    until(&format!(r#"location.href === {} && document.readyState === "complete""#, json!(url)))
}

/// Returns a step that waits until the session named `$PAGE` has loaded its document, whichever it is.
pub(super) fn settled() -> Value {
    until(r#"document.readyState === "complete""#)
}

/// Returns a step that waits until the test, or another session, names the same meeting. The page must be one of the test network.
pub(super) fn meet(name: &str) -> Value {
    let mut step = evaluate(&format!("fetch('/meet?{name}').then((reply) => reply.text())"));
    step["within"] = 60_000.into();
    step
}

/// Number of steps in [`own_page`].
pub(super) const OWN_PAGE: usize = 3;

/// Returns the steps that attach to the client's own first page, followed by more. They name its target `$TARGET` and
/// its session `$PAGE`.
pub(super) fn own_page(more: &[Value]) -> Value {
    let start = [
        json!({"http": "GET /json/list", "let": {"TARGET": "/body/0/id"}}),
        json!({"ws": "browser"}),
        json!({
            "send": {"method": "Target.attachToTarget", "params": {"targetId": "$TARGET", "flatten": true}},
            "let": {"PAGE": "/result/sessionId"},
        }),
    ];
    Value::from([&start[..], more].concat())
}
