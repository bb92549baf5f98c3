//! Rendering of `stdout`, and truncation of both streams.

use std::mem;

use futures::future::BoxFuture;

use crate::call::options::OutputStyle;
use crate::call::output_worker::OutputPermit;
use crate::call::phases::AnsweredCall;
use crate::call::step::AfterStep;
use browser_shell_core::output::{Body, render_envelope, render_plain, render_text, truncate};
use browser_shell_core::policy::Engine;

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
                    OutputStyle::Data | OutputStyle::Text => body.render(limit),
                    OutputStyle::Envelope => render_envelope(&body, is_success, &stderr, limit),
                };
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
    use crate::call::testing::TestPipeline;
    use serde_json::{Value, json};

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
