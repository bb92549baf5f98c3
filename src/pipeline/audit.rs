//! Step: the audit line (spec [1.14]).

use futures::future::BoxFuture;

use super::{Call, Reply, Step};
use crate::argv::globals::FORBIDDEN;
use crate::audit::Entry;

/// Writes one line a call.
pub(super) struct Audit;

impl Step for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn after<'a>(&'a self, call: &'a mut Call, reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        call.context.audit.write(&Entry {
            time: chrono::Utc::now(),
            session: call.ask.session.as_ref().map(super::super::session_id::SessionId::as_str),
            subcommand: subcommand(call),
            code: reply.decision.code,
            host: call.host.as_deref(),
            transport: call.way,
            sandbox: call.sandbox.as_deref(),
            exit_code: reply.exit_code,
            elapsed: call.started.elapsed(),
        });
        Box::pin(std::future::ready(()))
    }
}

/// The subcommand, if it is a word that is known: anything else is text of the agent.
pub(super) fn subcommand(call: &Call) -> Option<&'static str> {
    if let Some(command) = &call.command {
        return Some(command.row.name);
    }
    let name = call.ask.word.as_deref()?;
    let known = call.ask.terms.dialect.row(name).map(|row| row.name);
    known.or_else(|| FORBIDDEN.iter().copied().find(|forbidden| *forbidden == name))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn spec_1_14_one_line_a_call_without_anything_that_was_typed() {
        let bench = Bench::new("{}");
        for arguments in [
            json!({"session_id": "s", "argv": ["open", "http://public.test/secret-path?q=secret-query"]}),
            json!({"session_id": "s", "argv": ["fill", "@e1", "secret-text"]}),
            json!({"session_id": "s", "argv": ["open", "http://10.0.0.1/secret-path"]}),
            json!({"session_id": "s", "argv": ["eval", "secret-code"]}),
            json!({"session_id": "s", "argv": ["secret-subcommand"]}),
            json!({"session_id": "secret id", "argv": ["snapshot"]}),
            json!({}),
        ] {
            bench.call(arguments).await;
        }
        let log = bench.audit();
        assert!(!log.contains("secret"), "{log}");
        // What differs from run to run is checked for its form and then left out of the golden.
        let lines: Vec<_> = log
            .lines()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                let members = line.as_object_mut().expect("an object");
                let time = members.insert("time".into(), "TIME".into()).expect("a time");
                assert!(chrono::DateTime::parse_from_rfc3339(time.as_str().expect("text")).is_ok(), "{time}");
                assert!(members.insert("ms".into(), 0.into()).expect("a duration").is_number());
                line.to_string()
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
