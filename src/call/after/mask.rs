//! Removal of typed text and of secrets from the answer.
//!
//! Requirements: 1.6, 1.8.

use std::mem;

use futures::future::BoxFuture;

use crate::call::phases::AnsweredCall;
use crate::call::step::AfterStep;
use browser_shell_core::grammar::Command;
use browser_shell_core::output::{Body, mask};

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

#[cfg(test)]
mod tests {
    use crate::call::testing::TestPipeline;
    use serde_json::json;

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
}
