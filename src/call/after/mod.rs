//! Steps after the run or after a refusal. The last one writes the audit line of the call.

pub(super) mod files;
pub(super) mod landing;
pub(super) mod notices;
pub(super) mod secrets;
pub(super) mod text;

use futures::future::BoxFuture;

use crate::call::phases::{AfterStep, AnsweredCall};
use browser_shell_core::auth::Subject;
use browser_shell_core::policy::Engine;
use browser_shell_core::session_id::SessionId;
use browser_shell_system::audit::CallRecord;

/// Step that writes one line for each call.
///
/// Requirement 1.14.
pub(crate) struct Audit;

impl AfterStep for Audit {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        let context = &call.context;
        context.services.audit.write(&CallRecord {
            time: chrono::Utc::now(),
            session: context.session.as_ref().map(SessionId::as_str),
            subject: context.principal.as_ref().and_then(|principal| principal.subject.as_ref()).map(Subject::as_str),
            subcommand: call.subcommand(),
            code: call.reply.decision.code,
            host: context.host.as_deref(),
            engine: call.run.as_ref().and_then(|run| run.engine).map(Engine::as_str),
            sandbox: call.run.as_ref().and_then(|run| run.sandbox.as_deref()),
            exit_code: call.reply.exit_code,
            elapsed: context.started.elapsed(),
        });
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::call::testing::TestPipeline;
    use browser_shell_core::decision::Code;

    // Requirement 1.14.
    #[tokio::test]
    async fn calls_are_refused_while_required_audit_log_fails() {
        let snapshot = || json!({"session_id": "s", "argv": ["snapshot"]});
        for (policy, code) in [("{}", Code::Ok), (r#"{"audit":{"require":true}}"#, Code::AuditUnavailable)] {
            let pipeline = TestPipeline::new(policy);
            let file = pipeline.audit_file();
            std::fs::remove_file(&file).expect("removed");
            std::os::unix::fs::symlink("/dev/full", &file).expect("linked");
            // Nothing can be known about a device before it gets a line.
            assert_eq!(pipeline.call(snapshot()).await.decision.code, Code::Ok);
            pipeline.take_runs();
            let reply = pipeline.call(snapshot()).await;
            assert_eq!(reply.decision.code, code);
            assert_eq!(reply.exit_code == 75, code == Code::AuditUnavailable);
            assert_eq!(pipeline.runs().is_empty(), code == Code::AuditUnavailable, "{policy}");
            std::fs::remove_file(&file).expect("removed");
            assert_eq!(pipeline.call(snapshot()).await.decision.code, Code::Ok, "there is room again");
            assert_eq!(pipeline.audit().lines().count(), 1);
        }
    }

    // Requirement 1.14.
    #[tokio::test]
    async fn audit_line_omits_typed_text() {
        let pipeline = TestPipeline::new("{}");
        for arguments in [
            json!({"session_id": "s", "argv": ["open", "http://public.test/secret-path?q=secret-query"]}),
            json!({"session_id": "s", "argv": ["fill", "@e1", "secret-text"]}),
            json!({"session_id": "s", "argv": ["open", "http://10.0.0.1/secret-path"]}),
            json!({"session_id": "s", "argv": ["eval", "secret-code"]}),
            json!({"session_id": "s", "argv": ["secret-subcommand"]}),
            json!({"session_id": "secret id", "argv": ["snapshot"]}),
            json!({}),
        ] {
            pipeline.call(arguments).await;
        }
        let log = pipeline.audit();
        assert!(!log.contains("secret"), "{log}");
        // Members that differ from run to run are checked for their form and replaced in the golden.
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
