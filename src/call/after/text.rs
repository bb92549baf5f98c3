//! Text of the answer: removal of typed text and of secrets, rendering of `stdout`, and truncation of both streams.
//!
//! Requirements: 1.6, 1.8.

use std::mem;

use futures::future::BoxFuture;

use crate::call::phases::{AfterStep, AnsweredCall};
use crate::call::request::OutputStyle;
use crate::call::services::OutputPermit;
use browser_shell_core::grammar::Command;
use browser_shell_core::output::{Body, escape_invisible, mask, render_envelope, render_plain, render_text, truncate};
use browser_shell_core::policy::Engine;

/// Step that removes text that the agent typed from the answer.
pub(crate) struct RemoveEcho;

impl AfterStep for RemoveEcho {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        let command = call.validated.as_ref().map(|call| &call.command);
        if let Some(typed) = command.and_then(Command::typed_text) {
            call.reply.body.remove_echo(typed);
        }
        Box::pin(std::future::ready(()))
    }
}

/// Step that masks secrets in both streams.
pub(crate) struct Mask;

impl AfterStep for Mask {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut body = mem::replace(&mut call.reply.body, Body::Empty);
            let stderr = mem::take(&mut call.reply.stderr);
            // Our own code may begin like a key with a value.
            let code = format!("{}: ", call.reply.decision.code);
            let mask = move || {
                body.mask();
                let masked = match stderr.strip_prefix(&code) {
                    Some(reason) => format!("{code}{}", mask::text(reason)),
                    None => mask::text(&stderr).into_owned(),
                };
                (body, masked)
            };
            (call.reply.body, call.reply.stderr) = call.process(mask).await;
        })
    }
}

/// Step that renders `stdout` and truncates both streams to their limit.
///
/// Requirement 1.7.
pub(crate) struct Truncate;

impl AfterStep for Truncate {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let limit = call.context.limits().max_output_chars;
            let is_success = call.reply.exit_code == 0;
            let name = call.command().map_or("", |command| command.row.name);
            let word = call.command().and_then(|command| command.form.word);
            let style = call.context.output_style();
            let is_quoted = call.run.as_ref().is_some_and(|run| run.engine == Some(Engine::Cdp));
            let body = mem::replace(&mut call.reply.body, Body::Empty);
            let stderr = mem::take(&mut call.reply.stderr);
            let render = move || {
                let stdout = match style {
                    OutputStyle::Text if is_success => render_text(&body, name, word, limit),
                    OutputStyle::Plain { .. } if is_success => render_plain(&body, name, word, is_quoted, limit),
                    // The message says what failed.
                    OutputStyle::Plain { .. } => String::new(),
                    OutputStyle::Data => body.render_visible(limit),
                    OutputStyle::Text => body.render(limit),
                    OutputStyle::Envelope => render_envelope(&body, is_success, &stderr, limit),
                };
                let stderr = if style.is_of_agent_browser() { stderr.into() } else { escape_invisible(&stderr) };
                (stdout, truncate::text(&stderr, limit))
            };
            (call.reply.stdout, call.reply.stderr) = call.process(render).await;
            // The output is small now, so the next large one can be processed.
            if let Some(run) = &mut call.run {
                run.output_permit = OutputPermit::default();
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::call::testing::TestPipeline;

    #[tokio::test]
    async fn typed_text_is_removed_before_reply() {
        let pipeline = TestPipeline::new("{}");
        pipeline.answer_with(json!({"filled": true, "value": "hunter2"}));
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["fill", "@e1", "hunter2"]})).await;
        assert_eq!(reply.stdout, "{\"filled\":true}\n");
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["fill", "@e1", "other"]})).await;
        assert!(reply.stdout.contains("hunter2"), "control: other text stays");
    }

    // Requirement 1.8.
    #[tokio::test]
    async fn both_streams_are_masked() {
        let pipeline = TestPipeline::new("{}");
        pipeline.answer_with(json!({"snapshot": "token=hunter2"}));
        assert_eq!(
            pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await.stdout,
            "{\"snapshot\":\"token=***\"}\n"
        );
        pipeline.fail_with("cannot open https://user:hunter2@example.com/");
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!(reply.stderr, "cannot open https://***@example.com/");
    }

    #[tokio::test]
    async fn invisible_text_is_in_no_stream() {
        let hidden = "a\u{e0068}\u{e0069}\u{ad}\u{200b}b \u{1f468}\u{200d}\u{1f469}";
        let call = json!({"session_id": "s", "argv": ["get", "text", "#a"]});
        for style in ["data", "text"] {
            let policy = json!({"output": {"style": style}, "subcommands": {"enable": ["get"]}}).to_string();
            let pipeline = TestPipeline::new(&policy);
            pipeline.answer_with(json!({"text": hidden}));
            let reply = pipeline.call(call.clone()).await;
            assert!(!reply.stdout.contains(['\u{e0068}', '\u{ad}', '\u{200b}']), "{style}: {:?}", reply.stdout);
            assert!(reply.stdout.contains("\u{1f468}\u{200d}\u{1f469}"), "control: {style}: {reply:?}");
            if style == "data" {
                let data: Value = serde_json::from_str(&reply.stdout).expect("JSON");
                assert_eq!(data["text"], hidden, "data is the same");
            } else {
                assert_eq!(reply.stdout, "  ab \u{1f468}\u{200d}\u{1f469}");
            }
            pipeline.fail_with(hidden);
            let reply = pipeline.call(call.clone()).await;
            assert!(reply.stderr.contains('b') && !reply.stderr.contains(['\u{e0068}', '\u{ad}', '\u{200b}']));
        }
    }

    // Requirement 1.7.
    #[tokio::test]
    async fn both_streams_are_truncated_and_data_stays_json() {
        let pipeline = TestPipeline::new(r#"{"limits":{"max_output_chars":1000}}"#);
        pipeline.answer_with(json!({"snapshot": "x".repeat(5000), "refs": {"e1": {"role": "button"}}}));
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert!(reply.stdout.chars().count() <= 1000);
        let data: Value = serde_json::from_str(&reply.stdout).expect("JSON");
        assert_eq!(data["refs"]["e1"]["role"], "button");
        pipeline.fail_with(&"y".repeat(5000));
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!(reply.stderr.chars().count(), 1000);
        pipeline.answer_with(json!({"snapshot": "short"}));
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!(reply.stdout, "{\"snapshot\":\"short\"}\n", "control: a short answer is unchanged");
    }
}
