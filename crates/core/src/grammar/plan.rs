//! Plan of a command: the commands of agent-browser that carry it out, one after the other.
//!
//! Most commands are one command of agent-browser. The others consist of steps, because no version has an action for
//! them, or not all versions have the same one.
//!
//! Invariants: a step is a command of the grammar or of the [table of steps](super::steps), with values of the planned
//! command, numbers, or a fixed key. A button that a step pressed is released, also after a failure.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::command::{Argument, Command, NamedValue};
use super::compat::COMPAT;
use super::spec::SubcommandSpec;
use super::steps::{MOUSE, SCROLL_INTO_VIEW, STEPS};
use super::table::{AT, COUNT, GRAMMAR, SELECT_TEXT};
use crate::output::{Body, CapturedStream, CommandResult, RawOutput};

/// Keys that select all text of the field that has the focus.
const SELECT_ALL: &str = "Control+a";

/// Properties of agent-browser and of the call that a plan depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanOptions {
    /// `true` if agent-browser is a native program. Others do not drag references.
    pub is_native: bool,
    /// `true` if a snapshot of the interactive elements also lists those that only have a pointer cursor.
    pub has_cursor_elements: bool,
}

/// Remaining steps of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    steps: VecDeque<Step>,
    /// Member of the answer after the last step; `None` if the answer is that of the only step.
    answer: Option<&'static str>,
    is_pressed: bool,
    failure: Option<RawOutput>,
}

/// Step of a plan.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Run(Command),
    /// Moves the pointer to a point of the element whose box the last step read.
    MoveTo(u32, u32),
    Press,
    Release,
}

/// Next step of a plan, or its end.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// Run this command, and pass its output to [`Plan::next`].
    Run(Command),
    /// The command has ended with this output.
    End(RawOutput),
}

impl Plan {
    /// Creates the plan of a command; `None` if it is one command of agent-browser, as it is.
    #[must_use]
    pub fn of(command: &Command, options: PlanOptions) -> Option<Self> {
        let value = |name: &str| command.values_named(name).next();
        let run = |name: &str, word: Option<&str>, values: &[&str]| step(name, word, values).map(Step::Run);
        let (steps, answer): (Vec<Step>, _) = match command.row.name {
            "press" => {
                let count = value(COUNT)?.parse().ok()?;
                (vec![run("press", None, &[value("KEY")?])?; count], "pressed")
            }
            "click" => {
                let (x, y) = command.offset()?;
                let selector = value("SELECTOR")?;
                // The pointer comes first: agent-browser scrolls the element into view, and waits until it is there.
                let steps = vec![
                    run("hover", None, &[selector])?,
                    run("get", Some("box"), &[selector])?,
                    Step::MoveTo(x, y),
                    Step::Press,
                    Step::Release,
                ];
                (steps, "clicked")
            }
            "scroll" => {
                let is_into_view = command.form.flags.is_empty();
                (vec![run(SCROLL_INTO_VIEW, None, &[value("SELECTOR").filter(|_| is_into_view)?])?], "scrolled")
            }
            SELECT_TEXT => {
                (vec![run("focus", None, &[value("SELECTOR")?])?, run("press", None, &[SELECT_ALL])?], "selected")
            }
            "drag" => {
                let mut ends = command.values().map(|(_, text)| text);
                let (source, target) = (ends.next()?, ends.next()?);
                if options.is_native || ![source, target].iter().any(|end| end.starts_with('@')) {
                    return None;
                }
                let over = run("hover", None, &[target])?;
                // A page takes what is dragged only where the pointer has moved twice.
                let steps = vec![run("hover", None, &[source])?, Step::Press, over.clone(), over, Step::Release];
                (steps, "dragged")
            }
            "snapshot" if options.has_cursor_elements && command.has_flag("-i") && !command.has_flag("-C") => {
                let row = COMPAT.iter().find(|row| row.name == "snapshot")?;
                let mut snapshot = Command { row, form: row.forms.first()?, ..command.clone() };
                snapshot.arguments.insert(0, Argument { flag: Some("-C"), value: None });
                return Some(Self::new(vec![Step::Run(snapshot)], None));
            }
            _ => return None,
        };
        Some(Self::new(steps, Some(answer)))
    }

    fn new(steps: Vec<Step>, answer: Option<&'static str>) -> Self {
        Self { steps: steps.into(), answer, is_pressed: false, failure: None }
    }

    /// Returns the next step, after the output of the last one.
    #[must_use]
    pub fn next(&mut self, last: Option<RawOutput>) -> NextStep {
        if let Some(failure) = self.failure.take() {
            return NextStep::End(failure);
        }
        if let Some(output) = last.as_ref().filter(|output| CommandResult::parse(output).exit_code != 0) {
            return self.fail(output.clone());
        }
        let command = match self.steps.pop_front() {
            Some(Step::Run(command)) => Some(command),
            Some(Step::MoveTo(x, y)) => match point(last.as_ref(), x, y) {
                Ok((x, y)) => step(MOUSE, Some("move"), &[&x.to_string(), &y.to_string()]),
                Err(reason) => return self.fail(failure(&reason)),
            },
            Some(Step::Press) => {
                self.is_pressed = true;
                step(MOUSE, Some("down"), &[])
            }
            Some(Step::Release) => {
                self.is_pressed = false;
                step(MOUSE, Some("up"), &[])
            }
            None => {
                let answer = self.answer.map(|member| success(&json!({ member: true })));
                return NextStep::End(answer.or(last).unwrap_or_else(|| failure("nothing was done")));
            }
        };
        command.map_or_else(|| self.fail(failure("this step is not known")), NextStep::Run)
    }

    /// Returns the release of the button if a step has pressed it, for the end of a plan whose last step has no output.
    pub fn release(&mut self) -> Option<Command> {
        std::mem::take(&mut self.is_pressed).then(|| step(MOUSE, Some("up"), &[])).flatten()
    }

    /// Returns the end with this output, or first the release of the button.
    fn fail(&mut self, output: RawOutput) -> NextStep {
        if let Some(release) = self.release() {
            self.failure = Some(output);
            return NextStep::Run(release);
        }
        NextStep::End(output)
    }
}

impl Command {
    /// Returns the command that puts the focus where a `type` types; `None` for other commands.
    #[must_use]
    pub fn focus_for_keys(&self) -> Option<Self> {
        let selector = self.selectors().next().filter(|_| self.row.name == "type")?;
        step("focus", None, &[selector])
    }
}

/// Returns a command of agent-browser with these values, which must follow the grammar.
pub(super) fn step(name: &str, word: Option<&str>, values: &[&str]) -> Option<Command> {
    let row: &'static SubcommandSpec = GRAMMAR.iter().chain(STEPS).find(|row| row.name == name)?;
    let form = row.forms.iter().find(|form| form.word == word && form.mapping.is_some())?;
    let argument = |(positional, text): (&super::spec::Positional, &&str)| Argument {
        flag: None,
        value: Some(NamedValue { name: positional.name, kind: positional.kind, text: (*text).to_owned() }),
    };
    let arguments = form.positionals.iter().zip(values).map(argument).collect();
    Some(Command { row, form, arguments, cli_refusal: None })
}

/// Returns the point of the window that is this far from the corner of the box, or the reason why there is none.
fn point(output: Option<&RawOutput>, x: u32, y: u32) -> Result<(u32, u32), String> {
    let Some(Body::Data(data)) = output.map(|output| CommandResult::parse(output).body) else {
        return Err("the element has no box on the page".to_owned());
    };
    let member = |name| data.pointer(&format!("/box/{name}")).and_then(Value::as_f64);
    let (Some(left), Some(top), Some(width), Some(height)) =
        (member("x"), member("y"), member("width"), member("height"))
    else {
        return Err("the element has no box on the page".to_owned());
    };
    if f64::from(x) >= width || f64::from(y) >= height {
        return Err(format!("`{AT} {x},{y}` is outside the element, which is {width:.0} by {height:.0} pixels"));
    }
    let coordinate = |corner: f64, distance: u32| {
        let sum = (corner + f64::from(distance)).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        (0.0..1e6).contains(&sum).then_some(sum as u32)
    };
    let outside = || format!("`{AT} {x},{y}` is outside the window; scroll the page, or use another point");
    Ok((coordinate(left, x).ok_or_else(outside)?, coordinate(top, y).ok_or_else(outside)?))
}

fn success(data: &Value) -> RawOutput {
    output(0, &json!({ "success": true, "data": data, "error": null }))
}

fn failure(reason: &str) -> RawOutput {
    output(1, &json!({ "success": false, "data": null, "error": reason }))
}

fn output(exit_code: i32, answer: &Value) -> RawOutput {
    let bytes = answer.to_string().into_bytes();
    RawOutput {
        exit_code,
        stdout: CapturedStream { total: bytes.len() as u64, bytes },
        stderr: CapturedStream::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Profile, parse};

    const NODE: PlanOptions = PlanOptions { is_native: false, has_cursor_elements: false };

    fn command(argv: &[&str]) -> Command {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        parse(Profile::Tool, &argv, |_| true).expect("accepted")
    }

    /// Runs a plan and returns its steps and its end. `answer` gives the output of each step.
    fn run(argv: &[&str], options: PlanOptions, answer: impl Fn(&str) -> RawOutput) -> (Vec<String>, RawOutput) {
        let mut plan = Plan::of(&command(argv), options).expect("a plan");
        let (mut steps, mut last) = (Vec::new(), None);
        loop {
            match plan.next(last.take()) {
                NextStep::Run(command) => {
                    let line = command.to_argv().join(" ");
                    last = Some(answer(&line));
                    steps.push(line);
                }
                NextStep::End(output) => return (steps, output),
            }
        }
    }

    fn ok(line: &str) -> RawOutput {
        let is_box = line.starts_with("get box");
        let data = if is_box { json!({"box": {"x": 8.4, "y": 20, "width": 200, "height": 100}}) } else { json!({}) };
        success(&data)
    }

    #[test]
    fn commands_consist_of_these_steps() {
        let native = PlanOptions { is_native: true, ..NODE };
        let cursor = PlanOptions { has_cursor_elements: true, ..NODE };
        let drag = ["hover @e1", "mouse down", "hover #b", "hover #b", "mouse up"];
        let rows: &[(&[&str], PlanOptions, &[&str], &str)] = &[
            (&["press", "Tab", "3"], NODE, &["press Tab", "press Tab", "press Tab"], r#"{"pressed":true}"#),
            (
                &["click", "#c", "--at", "10,20"],
                native,
                &["hover #c", "get box #c", "mouse move 18 40", "mouse down", "mouse up"],
                r#"{"clicked":true}"#,
            ),
            (&["scroll", "@e1"], NODE, &["scrollintoview @e1"], r#"{"scrolled":true}"#),
            (&["select-text", "@e1"], NODE, &["focus @e1", "press Control+a"], r#"{"selected":true}"#),
            (&["drag", "@e1", "#b"], NODE, &drag, r#"{"dragged":true}"#),
            (&["snapshot", "-i", "-c"], cursor, &["snapshot -C -i -c"], "{}"),
        ];
        for (argv, options, expected, data) in rows {
            let (steps, end) = run(argv, *options, ok);
            assert_eq!(steps, *expected, "{argv:?}");
            assert_eq!(CommandResult::parse(&end).body.render(1000).trim(), *data, "{argv:?}");
        }
    }

    #[test]
    fn other_commands_have_no_plan() {
        let native = PlanOptions { is_native: true, ..NODE };
        let rows: &[(&[&str], PlanOptions)] = &[
            (&["press", "Tab"], NODE),
            (&["type", "#c", "a"], native),
            (&["click", "#c"], NODE),
            (&["scroll", "down", "5", "-s", "#a"], NODE),
            (&["scroll"], NODE),
            (&["drag", "#a", "#b"], NODE),
            (&["drag", "@e1", "@e2"], native),
            (&["snapshot", "-i"], NODE),
            (&["snapshot"], PlanOptions { has_cursor_elements: true, ..NODE }),
            (&["open", "https://a.example/"], NODE),
        ];
        for (argv, options) in rows {
            assert_eq!(Plan::of(&command(argv), *options), None, "{argv:?}");
        }
    }

    #[test]
    fn focus_comes_before_keys() {
        let focus = |argv: &[&str]| command(argv).focus_for_keys().map(|focus| focus.to_argv().join(" "));
        assert_eq!(focus(&["type", "@e1", "a"]).as_deref(), Some("focus @e1"));
        assert_eq!(focus(&["fill", "@e1", "a"]), None);
    }

    #[test]
    fn failed_step_ends_plan_and_releases_button() {
        let fails_at =
            |bad: &'static str| move |line: &str| if line.starts_with(bad) { failure("no element") } else { ok(line) };
        let (steps, end) = run(&["drag", "@e1", "@e2"], NODE, fails_at("hover @e2"));
        assert_eq!(steps, ["hover @e1", "mouse down", "hover @e2", "mouse up"]);
        assert_eq!(CommandResult::parse(&end).stderr, "no element");
        let (steps, end) = run(&["drag", "@e1", "@e2"], NODE, fails_at("hover @e1"));
        assert_eq!((steps.len(), end.exit_code), (1, 1), "no button was pressed");
        let (steps, end) = run(&["press", "Tab", "9"], NODE, fails_at("press"));
        assert_eq!((steps.len(), end.exit_code), (1, 1));
    }

    #[test]
    fn button_is_released_once_and_only_if_pressed() {
        let mut plan = Plan::of(&command(&["drag", "@e1", "@e2"]), NODE).expect("a plan");
        let mut run = |last: Option<RawOutput>| {
            let step = plan.next(last);
            let NextStep::Run(command) = step else { panic!("{step:?}") };
            (command.to_argv().join(" "), plan.release().map(|release| release.to_argv().join(" ")))
        };
        assert_eq!(run(None), ("hover @e1".to_owned(), None));
        assert_eq!(run(Some(ok(""))), ("mouse down".to_owned(), Some("mouse up".to_owned())));
        assert_eq!(run(Some(ok(""))), ("hover @e2".to_owned(), None), "it was released");
    }

    #[test]
    fn point_outside_element_or_window_is_not_clicked() {
        for (at, reason) in [("200,5", "200 by 100 pixels"), ("5,100", "outside the element")] {
            let (steps, end) = run(&["click", "#c", "--at", at], NODE, ok);
            assert_eq!(steps, ["hover #c", "get box #c"], "{at}");
            let end = CommandResult::parse(&end);
            assert!(end.exit_code == 1 && end.stderr.contains(reason), "{end:?}");
        }
        for (x, reason) in [(json!(-50), "outside the window"), (Value::Null, "no box")] {
            let answer = |_: &str| success(&json!({"box": {"x": x, "y": 1, "width": 200, "height": 100}}));
            let (_, end) = run(&["click", "#c", "--at", "5,5"], NODE, answer);
            assert!(CommandResult::parse(&end).stderr.contains(reason), "{end:?}");
        }
    }
}
