//! The bodies of requests, from JSON to values (the orchestrator's contract).
//!
//! Decides about types and ranges and reports all problems at once, each with its place, in the form that clients of the
//! contract know. Unknown fields are ignored, as the contract says; what is named wrongly is never bent into shape. Must
//! never repeat what was sent.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::identity::{CargoId, SandboxId};

/// The range of a command's time-out in seconds, and its default.
pub const EXEC_TIMEOUT: Range = Range { least: 1, most: 300, default: 30 };

/// The same for a whole batch.
pub const BATCH_TIMEOUT: Range = Range { least: 1, most: 600, default: 60 };

/// The most commands of a batch.
pub const MAX_COMMANDS: usize = 100;

/// A range of whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The shortest.
    pub least: u64,
    /// The longest.
    pub most: u64,
    /// What holds when nothing is said.
    pub default: u64,
}

/// One problem of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind it is, a stable word.
    pub kind: &'static str,
    /// Where: field names and positions.
    pub place: Vec<Value>,
    /// What to send instead.
    pub message: String,
}

impl Problem {
    /// The problem as an item of `detail`; `root` is what the place is below, such as `body`.
    #[must_use]
    pub fn to_json(&self, root: &str) -> Value {
        let place: Vec<Value> = std::iter::once(root.into()).chain(self.place.iter().cloned()).collect();
        json!({ "type": self.kind, "loc": place, "msg": self.message })
    }

    /// The problem in words, for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let place: Vec<_> =
            self.place.iter().map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned)).collect();
        if place.is_empty() { self.message.clone() } else { format!("{}: {}", place.join("."), self.message) }
    }
}

/// Which of the session's names a request may, or must, give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// Whether `sandbox_id` must be there.
    pub sandbox_required: bool,
    /// Whether a field that is not known is a problem.
    pub strict: bool,
}

/// One command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// The command, without `agent-browser` before it.
    pub cmd: String,
    /// The time for everything.
    pub timeout: Duration,
    /// Whose it is.
    pub who: Who,
}

/// Several commands to run, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The commands.
    pub commands: Vec<String>,
    /// The time for all of them together.
    pub timeout: Duration,
    /// Whether the first failure ends it.
    pub stop_on_error: bool,
    /// Whose it is.
    pub who: Who,
}

/// The names in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// The sandbox, where several share one runtime.
    pub sandbox: Option<SandboxId>,
    /// Its workspace there.
    pub cargo: Option<CargoId>,
}

/// Reads a body as JSON.
///
/// # Errors
///
/// Where it stops being JSON.
pub fn read(bytes: &[u8]) -> Result<Value, Vec<Problem>> {
    serde_json::from_slice(bytes).map_err(|error| {
        let lines = bytes.split(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let offset = lines.map(|line| line.len() + 1).sum::<usize>() + error.column().saturating_sub(1);
        vec![Problem {
            kind: "json_invalid",
            place: vec![offset.into()],
            message: "the body is no valid JSON".to_owned(),
        }]
    })
}

impl Exec {
    /// Reads a request for one command.
    ///
    /// # Errors
    ///
    /// Every problem.
    pub fn read(value: &Value, names: Names) -> Result<Self, Vec<Problem>> {
        let mut fields = Fields::of(value)?;
        let request = Self {
            cmd: fields.required("cmd", Fields::string).unwrap_or_default(),
            timeout: fields.timeout(EXEC_TIMEOUT),
            who: fields.who(names),
        };
        fields.finish(names, &["cmd", "timeout", "sandbox_id", "cargo_id"], request)
    }
}

impl Batch {
    /// Reads a request for several commands.
    ///
    /// # Errors
    ///
    /// Every problem.
    pub fn read(value: &Value, names: Names) -> Result<Self, Vec<Problem>> {
        let mut fields = Fields::of(value)?;
        let request = Self {
            commands: fields.required("commands", Fields::commands).unwrap_or_default(),
            timeout: fields.timeout(BATCH_TIMEOUT),
            stop_on_error: fields.optional("stop_on_error", Fields::boolean).unwrap_or(true),
            who: fields.who(names),
        };
        fields.finish(names, &["commands", "timeout", "stop_on_error", "sandbox_id", "cargo_id"], request)
    }
}

/// The fields of an object, and what is wrong with them so far.
struct Fields<'a> {
    object: &'a Map<String, Value>,
    problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value) -> Result<Self, Vec<Problem>> {
        match value {
            Value::Object(object) => Ok(Self { object, problems: Vec::new() }),
            _ => Err(vec![Problem { kind: "model_type", place: Vec::new(), message: "must be an object".to_owned() }]),
        }
    }

    fn problem(&mut self, kind: &'static str, place: &[Value], message: impl Into<String>) {
        self.problems.push(Problem { kind, place: place.to_vec(), message: message.into() });
    }

    fn required<T>(
        &mut self,
        name: &'static str,
        read: fn(&mut Self, &'static str, &'a Value) -> Option<T>,
    ) -> Option<T> {
        if let Some(value) = self.object.get(name) {
            read(self, name, value)
        } else {
            self.problem("missing", &[name.into()], "the field is required");
            None
        }
    }

    fn optional<T>(
        &mut self,
        name: &'static str,
        read: fn(&mut Self, &'static str, &'a Value) -> Option<T>,
    ) -> Option<T> {
        self.object.get(name).and_then(|value| read(self, name, value))
    }

    fn string(&mut self, name: &'static str, value: &'a Value) -> Option<String> {
        if let Some(text) = value.as_str() {
            return Some(text.to_owned());
        }
        self.problem("string_type", &[name.into()], "must be a string");
        None
    }

    fn boolean(&mut self, name: &'static str, value: &'a Value) -> Option<bool> {
        if value.is_boolean() {
            return value.as_bool();
        }
        self.problem("bool_type", &[name.into()], "must be true or false");
        None
    }

    fn commands(&mut self, name: &'static str, value: &'a Value) -> Option<Vec<String>> {
        let Some(items) = value.as_array() else {
            self.problem("list_type", &[name.into()], "must be a list of strings");
            return None;
        };
        if items.is_empty() {
            self.problem("too_short", &[name.into()], "must hold at least one command");
        }
        if items.len() > MAX_COMMANDS {
            self.problem("too_long", &[name.into()], format!("must hold at most {MAX_COMMANDS} commands"));
            return None;
        }
        let mut commands = Vec::new();
        for (position, item) in items.iter().enumerate() {
            match item.as_str() {
                Some(text) => commands.push(text.to_owned()),
                None => self.problem("string_type", &[name.into(), position.into()], "must be a string"),
            }
        }
        Some(commands)
    }

    /// A whole number of seconds; `30.0` is one, as some clients print it.
    fn timeout(&mut self, range: Range) -> Duration {
        let default = Duration::from_secs(range.default);
        let Some(value) = self.object.get("timeout") else { return default };
        let place = ["timeout".into()];
        let whole = value.as_f64().filter(|seconds| seconds.fract() == 0.0);
        let Some(seconds) = whole else {
            self.problem("int_type", &place, "must be a whole number of seconds");
            return default;
        };
        #[expect(clippy::cast_precision_loss, reason = "both ends are small")]
        let (least, most) = (range.least as f64, range.most as f64);
        if seconds < least {
            self.problem("greater_than_equal", &place, format!("must be at least {}", range.least));
        } else if seconds > most {
            self.problem("less_than_equal", &place, format!("must be at most {}", range.most));
        } else {
            return Duration::from_secs_f64(seconds);
        }
        default
    }

    fn who(&mut self, names: Names) -> Who {
        let sandbox = self.name("sandbox_id", SandboxId::new);
        let is_absent = self.object.get("sandbox_id").is_none_or(Value::is_null);
        if names.sandbox_required && is_absent {
            self.problem("missing", &["sandbox_id".into()], "the field is required");
        }
        Who { sandbox, cargo: self.name("cargo_id", CargoId::new) }
    }

    /// A name; `null` is none.
    fn name<T>(&mut self, name: &'static str, read: fn(&str) -> Option<T>) -> Option<T> {
        let value = self.object.get(name).filter(|value| !value.is_null())?;
        let text = self.string(name, value)?;
        let found = read(&text);
        if found.is_none() {
            self.problem("string_pattern_mismatch", &[name.into()], format!("must match {}", super::identity::PATTERN));
        }
        found
    }

    fn finish<T>(mut self, names: Names, known: &[&str], request: T) -> Result<T, Vec<Problem>> {
        if names.strict {
            let unknown = self.object.keys().filter(|name| !known.contains(&name.as_str())).count();
            if unknown > 0 {
                let message = format!("unknown fields: {unknown}; the fields are {}", known.join(", "));
                self.problem("extra_forbidden", &[], message);
            }
        }
        if self.problems.is_empty() { Ok(request) } else { Err(self.problems) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Names = Names { sandbox_required: false, strict: false };

    fn problems<T: std::fmt::Debug>(result: Result<T, Vec<Problem>>) -> String {
        let problems = result.expect_err("refused");
        problems.iter().map(|problem| problem.to_json("body").to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn spec_4_1_defaults_and_ranges() {
        let exec = Exec::read(&json!({"cmd": "snapshot", "x": 1, "cargo_id": null}), OPEN).expect("read");
        let who = Who::default();
        assert_eq!(exec, Exec { cmd: "snapshot".into(), timeout: Duration::from_secs(30), who: who.clone() });
        let batch = Batch::read(&json!({"commands": ["a"]}), OPEN).expect("read");
        let expected = Batch { commands: vec!["a".into()], timeout: Duration::from_mins(1), stop_on_error: true, who };
        assert_eq!(batch, expected);
        for (timeout, seconds) in [(json!(1), 1), (json!(300), 300), (json!(30.0), 30)] {
            let exec = Exec::read(&json!({"cmd": "", "timeout": timeout}), OPEN).expect("read");
            assert_eq!(exec.timeout, Duration::from_secs(seconds));
        }
        assert!(Batch::read(&json!({"commands": ["a"], "timeout": 600}), OPEN).is_ok());
    }

    #[test]
    fn spec_4_1_every_problem_is_told_with_its_place_and_nothing_that_was_sent() {
        let shared = Names { sandbox_required: true, strict: false };
        let rows = [
            problems(Exec::read(&json!(["secret"]), OPEN)),
            problems(Exec::read(&json!({"secret": 1}), shared)),
            problems(Exec::read(
                &json!({"cmd": 5, "timeout": "secret", "sandbox_id": "../secret", "cargo_id": 5}),
                OPEN,
            )),
            problems(Exec::read(&json!({"cmd": "a", "timeout": 0}), OPEN)),
            problems(Exec::read(&json!({"cmd": "a", "timeout": 301}), OPEN)),
            problems(Exec::read(&json!({"cmd": "a", "timeout": 1.5}), OPEN)),
            problems(Exec::read(&json!({"cmd": "a", "timeout": true}), OPEN)),
            problems(Exec::read(&json!({"cmd": null}), OPEN)),
            problems(Exec::read(&json!({"cmd": "a", "sandbox_id": null}), shared)),
            problems(Batch::read(&json!({"commands": []}), OPEN)),
            problems(Batch::read(&json!({"commands": "secret", "stop_on_error": 1}), OPEN)),
            problems(Batch::read(&json!({"commands": ["a", 5, null], "timeout": 601}), OPEN)),
            problems(Batch::read(&json!({"commands": vec!["a"; MAX_COMMANDS + 1]}), OPEN)),
            problems(Exec::read(&json!({"cmd": "a", "secret": 1}), Names { sandbox_required: false, strict: true })),
            problems(read(b"{\"cmd\": \"secret\"\n, }")),
        ];
        let text = rows.join("\n\n");
        assert!(!text.contains("secret"), "{text}");
        insta::assert_snapshot!(text);
    }
}
