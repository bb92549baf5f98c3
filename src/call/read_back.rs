//! Effect of an act that agent-browser carried out without the elements of the gate.
//!
//! agent-browser says "done" for a date that the browser discarded. So it is asked what the element holds, one question where
//! the act has its effect, and more only where it does not seem to.
//!
//! Invariants: an act whose effect cannot be known counts as done: the element is gone, another document is shown, a dialog is open,
//! or the question has no answer. A version in Node is asked only about elements that it sees, because it waits for others.

use std::time::{Duration, Instant};

use browser_shell_core::element::{Act, Answers, Effect, ElementState, FieldFormat, Verb, effect, is_held};
use browser_shell_core::grammar::{Command, Property};
use browser_shell_core::output::{Body, CommandResult};
use serde_json::Value;

use crate::call::effect::{EFFECT_TIME, EffectReads, has_effect};
use crate::call::execute::execute;
use crate::call::phases::{CallContext, CompletedRun};
use crate::call::time::time_until;
use crate::gate::GateSession;
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Start of the name of a part of a date or time field, in the attribute `pseudo` that Chromium gives it.
const DATE_PART: &str = "-webkit-datetime-edit-";

/// Attribute with the text that such a part shows, unless it is empty.
const PART_VALUE: &str = "aria-valuetext";

/// Longest wait for the id of a document.
const DOCUMENT_TIME: Duration = Duration::from_secs(1);

/// Tab and document of an act whose effect is read.
pub(super) struct ActDocument {
    act: Act,
    document: (String, String),
}

impl ActDocument {
    /// Returns the act of a command with the document that the tab shows, or `None` if no effect of it can be read.
    pub(super) async fn of(command: &Command, lease: &Lease) -> Option<Self> {
        let act = Act::from_command(command).filter(|act| has_effect(act.verb))?;
        let document = shown_document(lease.gate()?).await?;
        Some(Self { act, document })
    }

    /// Returns the kind of the act.
    pub(super) const fn verb(&self) -> Verb {
        self.act.verb
    }

    /// Reads the effect of the act, which has ended.
    pub(super) async fn read_effect(
        &self,
        context: &CallContext,
        command: &Command,
        lease: &Lease,
        deadline: Instant,
        run: &mut CompletedRun,
    ) -> Effect {
        let deadline = deadline.min(Instant::now() + EFFECT_TIME);
        let transport = run.transport;
        let mut reader = Reader { context, command, lease, deadline, run, facts: None };
        let mut last = Effect::Done;
        let mut reads = EffectReads::of(self.act.verb);
        while reads.next().await {
            if lease.gate().is_some_and(|gate| gate.is_loading()) {
                last = Effect::Done;
            } else if let Ok(effect) = reader.effect(&self.act).await {
                last = effect.unwrap_or(Effect::Done);
            } else {
                last = Effect::Done;
                // A question that goes on would hold up the next command.
                lease.end_processes().await;
            }
            if !matches!(last, Effect::None(_)) {
                break;
            }
        }
        run.transport = transport;
        match lease.gate() {
            Some(gate) if last != Effect::Done && shown_document(gate).await.as_ref() != Some(&self.document) => {
                Effect::Done
            }
            _ => last,
        }
    }
}

async fn shown_document(gate: &GateSession) -> Option<(String, String)> {
    tokio::time::timeout(DOCUMENT_TIME, gate.shown_document()).await.ok().flatten()
}

/// The end of the questions: a dialog, the end of the call, or no answer in time.
struct Unanswered;

/// Questions about the element of a command.
struct Reader<'a> {
    context: &'a CallContext,
    command: &'a Command,
    lease: &'a Lease,
    deadline: Instant,
    run: &'a mut CompletedRun,
    /// Answers that stay the same from read to read.
    facts: Option<Answers>,
}

impl Reader<'_> {
    /// Reads the effect once, as far as it can be known.
    async fn effect(&mut self, act: &Act) -> Result<Option<Effect>, Unanswered> {
        if act.verb == Verb::Focus {
            return Ok(self.focus_effect(act).await);
        }
        let is_native = self.context.services.transport.is_native();
        if !is_native && self.ask(Property::IsVisible).await? != Some(Value::Bool(true)) {
            return Ok(None);
        }
        match act.verb {
            Verb::Check | Verb::Uncheck => self.box_effect(act).await,
            Verb::Select => self.option_effect(act).await,
            _ => self.text_effect(act, is_native).await,
        }
    }

    async fn focus_effect(&self, act: &Act) -> Option<Effect> {
        let has_focus = self.lease.gate()?.has_focus().await.ok()?;
        let state = ElementState { tag: "element".to_owned(), has_focus, ..ElementState::default() };
        Some(effect(act, &state, &state))
    }

    async fn box_effect(&mut self, act: &Act) -> Result<Option<Effect>, Unanswered> {
        let is_checked = self.ask(Property::IsChecked).await?.and_then(|state| state.as_bool());
        if is_checked == Some(act.verb == Verb::Check) {
            return Ok(Some(Effect::Done));
        }
        let kind = self.attribute("type").await?;
        let aria_checked = self.attribute("aria-checked").await?;
        Ok(Answers { is_checked, kind, aria_checked, ..Answers::default() }.effect(act))
    }

    async fn option_effect(&mut self, act: &Act) -> Result<Option<Effect>, Unanswered> {
        let Some(value) = self.text(Property::Value).await? else { return Ok(None) };
        if act.options.contains(&value) {
            return Ok(Some(Effect::Done));
        }
        let html = self.text(Property::Html).await?;
        Ok(Answers { value: Some(value), html, ..Answers::default() }.effect(act))
    }

    async fn text_effect(&mut self, act: &Act, is_native: bool) -> Result<Option<Effect>, Unanswered> {
        let value = self.text(Property::Value).await?;
        if value.as_deref().is_some_and(|value| is_held(act, value)) {
            return Ok(Some(Effect::Done));
        }
        let mut answers = match self.facts.take() {
            Some(facts) => facts,
            None => self.facts(value.as_deref(), is_native).await?,
        };
        self.facts = Some(answers.clone());
        if answers.text.is_some() {
            let Some(text) = self.text(Property::Text).await? else { return Ok(None) };
            answers.text = Some(text);
        }
        if answers.part.is_some() {
            answers.part = Some(self.attribute(PART_VALUE).await?.unwrap_or_default());
        }
        answers.value = value;
        Ok(answers.effect(act))
    }

    /// Asks what an element is that does not hold the text. The caller reads the text of an editor, and of a part of a date.
    async fn facts(&mut self, value: Option<&str>, is_native: bool) -> Result<Answers, Unanswered> {
        let mut facts =
            Answers { has_only_field_values: !is_native, kind: self.attribute("type").await?, ..Answers::default() };
        let is_without_value = value.is_none_or(str::is_empty);
        if facts.kind.is_none() && is_without_value {
            let edited = self.attribute("contenteditable").await?;
            if edited.is_some_and(|edited| !edited.eq_ignore_ascii_case("false")) {
                facts.text = Some(String::new());
                return Ok(facts);
            }
            // The native version gives references to the parts alone.
            let part = self.attribute("pseudo").await?.filter(|_| is_native);
            if part.is_some_and(|part| part.starts_with(DATE_PART)) {
                facts.part = Some(String::new());
                return Ok(facts);
            }
        }
        facts.read_only = self.attribute("readonly").await?;
        facts.disabled = self.attribute("disabled").await?;
        let kind = facts.kind.clone().unwrap_or_default().to_ascii_lowercase();
        let state = ElementState { tag: "input".to_owned(), kind, ..ElementState::default() };
        if FieldFormat::of(&state).is_some() || state.kind == "number" {
            for (limit, name) in facts.limits.iter_mut().zip(["min", "max", "step"]) {
                *limit = self.attribute(name).await?;
            }
            return Ok(facts);
        }
        facts.autocomplete = self.attribute("autocomplete").await?;
        facts.max_length = self.attribute("maxlength").await?;
        if facts.kind.is_none() && is_without_value {
            facts.html = self.text(Property::Html).await?;
        }
        Ok(facts)
    }

    async fn attribute(&mut self, name: &'static str) -> Result<Option<String>, Unanswered> {
        self.text(Property::Attribute(name)).await
    }

    async fn text(&mut self, property: Property) -> Result<Option<String>, Unanswered> {
        Ok(self.ask(property).await?.and_then(|value| value.as_str().map(str::to_owned)))
    }

    /// Asks agent-browser for a property of the element. Returns `None` if the element has none, or is gone.
    async fn ask(&mut self, property: Property) -> Result<Option<Value>, Unanswered> {
        let Some(question) = self.command.to_read(property) else { return Ok(None) };
        let timeout = time_until(self.deadline);
        let has_dialog = self.lease.gate().is_some_and(|gate| gate.open_dialog().is_some());
        if timeout.is_zero() || has_dialog || self.context.cancel.is_cancelled() {
            return Ok(None);
        }
        match execute(self.context, &question, self.lease, timeout, self.run).await {
            Ok(Some(raw)) => Ok(match CommandResult::parse(&raw) {
                CommandResult { exit_code: 0, body: Body::Data(mut data), .. } => {
                    data.get_mut(property.member()).map(Value::take).filter(|value| !value.is_null())
                }
                _ => None,
            }),
            // The CLI did not get it.
            Err(ExecError::NotByCli { .. }) => Ok(None),
            Ok(None) | Err(_) => Err(Unanswered),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::call::testing::TestPipeline;

    async fn pipeline(answer: Value) -> TestPipeline {
        let pipeline = TestPipeline::with_tabs("{}", &["http://public.test/"]).await;
        pipeline.answer_with(answer);
        pipeline
    }

    fn questions(pipeline: &TestPipeline) -> Vec<String> {
        let lines = pipeline.runs();
        lines.into_iter().filter(|line| line.ends_with("@e1") || line.starts_with("get attr")).collect()
    }

    #[tokio::test]
    async fn act_with_effect_is_asked_for_its_value_once() {
        let pipeline = pipeline(json!({ "filled": true, "visible": true, "value": "Ada" })).await;
        let reply = pipeline.call(json!({ "session_id": "s", "argv": ["fill", "@e1", "Ada"] })).await;
        assert_eq!((reply.exit_code, questions(&pipeline)), (0, vec!["is visible @e1".into(), "get value @e1".into()]));
        // The questions are no calls.
        assert_eq!(pipeline.audit().lines().count(), 1);
    }

    #[tokio::test]
    async fn act_without_effect_fails_after_several_reads() {
        let pipeline = pipeline(json!({ "checked": false, "visible": true, "value": "checkbox" })).await;
        let reply = pipeline.call(json!({ "session_id": "s", "argv": ["check", "@e1"] })).await;
        assert!(reply.exit_code == 1 && reply.stderr.starts_with("no-effect: "), "{reply:?}");
        let asked = questions(&pipeline).iter().filter(|line| *line == "is checked @e1").count();
        assert_eq!(asked, 15);
    }

    #[tokio::test]
    async fn element_that_is_gone_is_not_asked_for() {
        let pipeline = pipeline(json!({ "checked": false, "visible": false })).await;
        let reply = pipeline.call(json!({ "session_id": "s", "argv": ["check", "@e1"] })).await;
        assert_eq!((reply.exit_code, questions(&pipeline)), (0, vec!["check @e1".into(), "is visible @e1".into()]));
    }

    #[tokio::test]
    async fn failed_act_is_read_back_for_boxes_only() {
        let pipeline = pipeline(Value::Null).await;
        pipeline.fail_with("no element");
        let call = |argv: Value| pipeline.call(json!({ "session_id": "s", "argv": argv }));
        let reply = call(json!(["fill", "@e1", "Ada"])).await;
        assert_eq!((reply.stderr.as_str(), questions(&pipeline)), ("no element", Vec::new()));
        // One that stays as it was is a failure, too.
        let reply = call(json!(["check", "@e1"])).await;
        let asked = vec!["check @e1".to_owned(), "is visible @e1".to_owned()];
        assert_eq!((reply.stderr.as_str(), questions(&pipeline)), ("no element", asked));
    }
}
