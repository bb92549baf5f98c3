//! Step: a file goes from the session's own folder to where the call wants it in the workspace.
//!
//! It stands behind the landing check, so that nothing of a refused page gets out. agent-browser never writes outside of the
//! session's folder; who else may write to the workspace, and which links they put there, therefore does not matter.

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde_json::Value;

use super::{Call, Files, Reply, Step};
use crate::decision::{Code, Decision};
use crate::output::Body;

/// Carries the file and says where it is.
pub(super) struct Deliver;

impl Step for Deliver {
    fn name(&self) -> &'static str {
        "deliver"
    }

    fn after<'a>(&'a self, call: &'a mut Call, reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Files::Workspace(workspace) = &call.ask.terms.files else { return };
            let (Some(file), Some(destination)) = (call.file.clone(), call.destination.clone()) else { return };
            let source = Own(file);
            if call.lease.is_none() || reply.exit_code != 0 {
                return;
            }
            let workspace = workspace.clone();
            let carried = tokio::task::spawn_blocking(move || workspace.deliver(&source.0, &destination)).await;
            match carried {
                Ok(Ok(path)) => {
                    if let Body::Data(Value::Object(data)) = &mut reply.body {
                        data.insert("path".to_owned(), path.into());
                    }
                }
                Ok(Err(error)) => *reply = Reply::refused(error.into()),
                Err(_) => {
                    *reply = Reply::refused(Decision::new(Code::WorkspaceUnavailable, "the file could not be carried"));
                }
            }
        })
    }
}

/// The file in the session's folder, which goes whatever became of it.
struct Own(PathBuf);

impl Drop for Own {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::super::testing::Bench;
    use super::super::{Ask, Budget, Files, Rendering, Terms};
    use crate::argv::Dialect;
    use crate::decision::{Code, Decision};
    use crate::request::Request;
    use crate::runtime::workspace::Workspace;
    use crate::session_id::SessionId;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn ask(files: Files, argv: &[&str]) -> Ask {
        let session = SessionId::new("s").expect("valid");
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        let timeout = Some(Duration::from_secs(30));
        Ask {
            session: Some(session.clone()),
            word: None,
            request: Some(Ok(Request { session, argv, timeout })),
            terms: Terms { dialect: Dialect::Strict, budget: Budget::Whole, files, rendering: Rendering::Data },
        }
    }

    #[tokio::test]
    async fn spec_4_1_a_file_is_carried_from_the_sessions_folder_to_where_it_was_asked_for() {
        let bench = Bench::new("{}");
        bench.write_pictures(PNG.to_vec());
        let root = tempfile::tempdir().expect("a folder");
        let workspace = Files::Workspace(Workspace::new(root.path().into(), "/workspace".into()).into());
        let reply = bench.ask(ask(workspace.clone(), &["screenshot", "/workspace/shots/a.png"])).await;
        assert_eq!(reply.stdout, r#"{"done":true,"path":"/workspace/shots/a.png"}"#, "{}", reply.stderr);
        assert_eq!(std::fs::read(root.path().join("shots/a.png")).expect("there"), PNG);
        assert_eq!(std::fs::read_dir(bench.workspace().join("s")).expect("read").count(), 0, "nothing stays behind");
        let runs = bench.take_runs();
        let own = format!("screenshot {}/screenshot-", bench.workspace().join("s").display());
        assert!(runs[0].starts_with(&own), "agent-browser writes in the session's own folder: {runs:?}");
        assert_eq!(reply.picture, None, "the file is what was asked for");
        let named = bench.ask(ask(workspace, &["screenshot"])).await;
        assert!(named.stdout.contains(r#""path":"/workspace/screenshot-"#), "{}", named.stdout);
    }

    #[tokio::test]
    async fn spec_4_1_nothing_of_a_refused_page_and_nothing_by_a_link_gets_out() {
        let bench = Bench::new("{}");
        bench.write_pictures(PNG.to_vec());
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["w", "outside"] {
            std::fs::create_dir(root.path().join(folder)).expect("made");
        }
        symlink("../outside", root.path().join("w/link")).expect("linked");
        let workspace = Files::Workspace(Workspace::new(root.path().join("w"), "/workspace".into()).into());
        let screenshot = |path| bench.ask(ask(workspace.clone(), &["screenshot", path]));
        assert_eq!(screenshot("link/a.png").await.decision.code, Code::FileOutside);
        bench.page_is_at("http://10.0.0.1/");
        assert_eq!(screenshot("a.png").await.decision.code, Code::AddressNotPublic);
        assert!(!root.path().join("w/a.png").exists());
        assert_eq!(std::fs::read_dir(root.path().join("outside")).expect("read").count(), 0);
        bench.page_is_at("http://public.test/");
        assert_eq!(screenshot("a.png").await.decision.code, Code::Ok, "control");
        assert!(root.path().join("w/a.png").exists());
        std::fs::remove_dir_all(root.path().join("w")).expect("removed");
        assert_eq!(screenshot("a.png").await.decision.code, Code::WorkspaceUnavailable);
        std::fs::create_dir(root.path().join("w")).expect("made");
        assert_eq!(screenshot("a.png").await.decision.code, Code::Ok, "and when it is there again");
    }

    #[tokio::test]
    async fn spec_4_1_without_a_workspace_a_file_is_refused_before_anything_runs() {
        let bench = Bench::new("{}");
        let nowhere = Files::Nowhere(Decision::new(Code::ArgumentMissing, "whose?").at("cargo_id"));
        assert_eq!(bench.ask(ask(nowhere.clone(), &["screenshot"])).await.decision.code, Code::ArgumentMissing);
        assert!(bench.runs().is_empty());
        assert_eq!(
            bench.ask(ask(nowhere, &["snapshot"])).await.decision.code,
            Code::Ok,
            "control: no file, no question"
        );
    }

    #[tokio::test]
    async fn spec_4_1_a_whole_budget_is_shortened_by_the_policy_and_not_refused() {
        let bench = Bench::new(r#"{"limits":{"max_timeout_sec":5}}"#);
        assert_eq!(bench.ask(ask(Files::Session, &["snapshot"])).await.decision.code, Code::Ok);
        let tool = serde_json::json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": 30});
        assert_eq!(bench.call(tool).await.decision.code, Code::TimeoutInvalid, "control: the tool says so");
    }
}
