//! Steps: what an answer must not hold (spec [1.6], [1.8]).

use std::mem;

use futures::future::BoxFuture;

use super::{Call, Reply, Step};
use crate::argv::table::Kind;
use crate::output::{Body, mask};

/// Takes text that the agent typed out of the answer.
pub(super) struct Normalise;

impl Step for Normalise {
    fn name(&self) -> &'static str {
        "normalise"
    }

    fn after<'a>(&'a self, call: &'a mut Call, reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        let typed = call.command.as_ref().and_then(|command| command.value(|kind| kind == Kind::MultilineText));
        if let Some(typed) = typed {
            reply.body.remove_echo(typed);
        }
        Box::pin(std::future::ready(()))
    }
}

/// Masks secrets in both streams.
pub(super) struct Mask;

impl Step for Mask {
    fn name(&self) -> &'static str {
        "mask"
    }

    fn after<'a>(&'a self, call: &'a mut Call, reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let (mut body, stderr) = (mem::replace(&mut reply.body, Body::Empty), mem::take(&mut reply.stderr));
            let work = move || {
                body.mask();
                (body, mask::text(&stderr).into_owned())
            };
            (reply.body, reply.stderr) = call.place.work(work).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use serde_json::json;

    #[tokio::test]
    async fn typed_text_is_not_repeated() {
        let bench = Bench::new("{}");
        bench.answer_with(json!({"filled": true, "value": "hunter2"}));
        let reply = bench.call(json!({"session_id": "s", "argv": ["fill", "@e1", "hunter2"]})).await;
        assert_eq!(reply.stdout, r#"{"filled":true}"#);
        let reply = bench.call(json!({"session_id": "s", "argv": ["fill", "@e1", "other"]})).await;
        assert!(reply.stdout.contains("hunter2"), "control: only what was typed goes");
    }

    #[tokio::test]
    async fn spec_1_8_both_streams_are_masked() {
        let bench = Bench::new("{}");
        bench.answer_with(json!({"snapshot": "token=hunter2"}));
        assert_eq!(
            bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await.stdout,
            r#"{"snapshot":"token=***"}"#
        );
        bench.fail_with("cannot open https://user:hunter2@example.com/");
        let reply = bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!(reply.stderr, "cannot open https://***@example.com/");
    }
}
