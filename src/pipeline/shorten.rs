//! Step: cutting both streams to their limit (spec [1.7]).

use std::mem;

use futures::future::BoxFuture;

use super::{Call, Place, Rendering, Reply, Step};
use crate::argv::Command;
use crate::output::{Body, truncate};
use crate::policy::Policy;

/// Renders `stdout` and cuts both streams.
pub(super) struct Shorten;

impl Step for Shorten {
    fn name(&self) -> &'static str {
        "shorten"
    }

    fn after<'a>(&'a self, call: &'a mut Call, reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        let limit = call.policy.as_deref().map_or(Policy::default().limits, |policy| policy.limits).max_output_chars;
        let is_text = call.command.as_ref().is_some_and(Command::is_answered_in_text);
        let rendering = if is_text { call.ask.terms.rendering } else { Rendering::Data };
        Box::pin(async move {
            let (body, stderr) = (mem::replace(&mut reply.body, Body::Empty), mem::take(&mut reply.stderr));
            let render = move |body: Body| match rendering {
                Rendering::Data => body.render(limit),
                Rendering::Text => body.render_text(limit),
            };
            let work = move || (render(body), truncate::text(&stderr, limit));
            (reply.stdout, reply.stderr) = call.place.work(work).await;
            call.place = Place::default();
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn spec_1_7_both_streams_are_cut_and_data_stays_json() {
        let bench = Bench::new(r#"{"limits":{"max_output_chars":1000}}"#);
        bench.answer_with(json!({"snapshot": "x".repeat(5000), "refs": {"e1": {"role": "button"}}}));
        let reply = bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert!(reply.stdout.chars().count() <= 1000);
        let data: Value = serde_json::from_str(&reply.stdout).expect("JSON");
        assert_eq!(data["refs"]["e1"]["role"], "button");
        bench.fail_with(&"y".repeat(5000));
        let reply = bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!(reply.stderr.chars().count(), 1000);
        bench.answer_with(json!({"snapshot": "short"}));
        let reply = bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!(reply.stdout, r#"{"snapshot":"short"}"#, "control: what fits is not touched");
    }
}
