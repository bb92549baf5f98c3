//! Files of a call: a screenshot as a separate content item, and delivery of a file from the session's folder to the workspace.
//!
//! Both steps follow the landing check, so that nothing of a refused page leaves the session. agent-browser never writes
//! outside the session's folder, so links that others create in the workspace do not affect it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use rustix::fs::{Mode, OFlags};
use serde_json::Value;

use crate::call::phases::{AfterStep, AnsweredCall, OutputFile};
use crate::call::reply::{CallReply, ReplyPicture};
use crate::call::request::FileTarget;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::Body;
use browser_shell_system::os::describe;

/// Step that attaches the screenshot to the reply, or notes why it is not attached.
///
/// Requirement 1.5.
pub(crate) struct AttachPicture;

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

impl AfterStep for AttachPicture {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        attach(call);
        Box::pin(std::future::ready(()))
    }
}

fn attach(call: &mut AnsweredCall) {
    let Some(validated) = &call.validated else { return };
    let Some(OutputFile { path, .. }) = &validated.output_file else { return };
    let stays_in_session = matches!(call.context.options.file_target, FileTarget::Session);
    if !stays_in_session || validated.command.row.name != "screenshot" || call.reply.exit_code != 0 {
        return;
    }
    match read(path, call.context.limits().max_image_bytes) {
        Ok(png) => call.reply.picture = Some(ReplyPicture { png, path: path.clone() }),
        Err(note) => call.reply.note(&note),
    }
}

/// Returns the bytes of a picture that has at most `max_bytes`.
///
/// # Errors
///
/// A note for the reply.
fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: &io::Error| format!("the picture cannot be read back: {}", describe(error));
    let file =
        rustix::fs::open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .map_err(|error| unreadable(&error.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err("the picture is not a file".to_owned());
    }
    let size = metadata.len();
    if size > max_bytes {
        return Err(format!(
            "the picture has {size} bytes and is not returned: the limit is {max_bytes}; it is in the session's folder"
        ));
    }
    let mut png = Vec::new();
    file.take(max_bytes).read_to_end(&mut png).map_err(|error| unreadable(&error))?;
    if png.starts_with(PNG_SIGNATURE) {
        Ok(png)
    } else {
        Err("the picture is not a PNG and is not returned".to_owned())
    }
}

/// Step that copies the file to its destination and puts that path into the reply.
pub(crate) struct Deliver;

impl AfterStep for Deliver {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let FileTarget::Workspace(workspace) = &call.context.options.file_target else { return };
            let output_file = call.validated.as_ref().and_then(|call| call.output_file.as_ref());
            let Some(OutputFile { path, destination: Some(destination) }) = output_file else { return };
            let source = RemoveOnDrop(path.clone());
            if call.lease().is_none() || call.reply.exit_code != 0 {
                return;
            }
            let (workspace, destination) = (workspace.clone(), destination.clone());
            let delivered = tokio::task::spawn_blocking(move || workspace.deliver(&source.0, &destination)).await;
            match delivered {
                Ok(Ok(path)) => {
                    if let Body::Data(Value::Object(data)) = &mut call.reply.body {
                        data.insert("path".to_owned(), path.into());
                    }
                }
                Ok(Err(error)) => call.reply = CallReply::refused(error.into()),
                Err(_) => {
                    let decision = Decision::new(Code::WorkspaceUnavailable, "the file could not be delivered");
                    call.reply = CallReply::refused(decision);
                }
            }
        })
    }
}

/// File in the session's folder that is removed however its delivery ends.
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::call::request::{CallOptions, CallRequest, OutputStyle, TimeoutScope};
    use crate::call::testing::TestPipeline;
    use crate::call::workspace::Workspace;
    use browser_shell_core::grammar::Profile;
    use browser_shell_core::request::CallArguments;
    use browser_shell_core::session_id::SessionId;

    // Requirement 1.5.
    #[tokio::test]
    async fn screenshot_is_returned_up_to_size_limit() {
        let pipeline = TestPipeline::new(r#"{"limits":{"max_image_bytes":100}}"#);
        let png = [PNG_SIGNATURE, &[0; 50]].concat();
        pipeline.write_pictures(png.clone());
        let call = || pipeline.call(json!({"session_id": "s", "argv": ["screenshot", "a.png"]}));
        let picture = call().await.picture.expect("a picture");
        assert_eq!(picture.png, png);
        assert_eq!(picture.path, pipeline.workspace().join("s/a.png"));
        pipeline.write_pictures([PNG_SIGNATURE, &[0; 100]].concat());
        let reply = call().await;
        assert_eq!((reply.exit_code, &reply.picture), (0, &None));
        assert!(reply.stderr.contains("108 bytes and is not returned: the limit is 100"), "{}", reply.stderr);
        std::fs::remove_file(pipeline.workspace().join("s/a.png")).expect("removed");
        pipeline.write_no_pictures();
        let reply = call().await;
        assert_eq!(reply.stderr, "the picture cannot be read back: no such file or folder");
        pipeline.write_pictures(b"GIF89a".to_vec());
        assert_eq!(call().await.picture, None, "only PNG files are attached");
    }

    fn request(file_target: FileTarget, argv: &[&str]) -> CallRequest {
        let session = SessionId::new("s").expect("valid");
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        let timeout = Some(Duration::from_secs(30));
        CallRequest {
            session: Some(session.clone()),
            word: None,
            arguments: Ok(CallArguments { session, argv, timeout }),
            options: CallOptions {
                profile: Profile::Strict,
                timeout_scope: TimeoutScope::Whole,
                file_target,
                output_style: OutputStyle::Data,
                ..CallOptions::default()
            },
            principal: None,
        }
    }

    // Requirement 4.1.
    #[tokio::test]
    async fn file_is_delivered_from_session_folder_to_workspace() {
        let pipeline = TestPipeline::new("{}");
        pipeline.write_pictures(PNG_SIGNATURE.to_vec());
        let root = tempfile::tempdir().expect("a folder");
        let workspace = FileTarget::Workspace(Workspace::new(root.path().into(), "/workspace".into()).into());
        let reply = pipeline.send(request(workspace.clone(), &["screenshot", "/workspace/shots/a.png"])).await;
        assert_eq!(reply.stdout, "{\"done\":true,\"path\":\"/workspace/shots/a.png\"}\n", "{}", reply.stderr);
        assert_eq!(std::fs::read(root.path().join("shots/a.png")).expect("there"), PNG_SIGNATURE);
        assert_eq!(
            std::fs::read_dir(pipeline.workspace().join("s")).expect("read").count(),
            0,
            "no file remains in the session"
        );
        let runs = pipeline.take_runs();
        let expected = format!("screenshot {}/screenshot-", pipeline.workspace().join("s").display());
        assert!(runs[0].starts_with(&expected), "agent-browser writes to the session's folder: {runs:?}");
        assert_eq!(reply.picture, None, "only the file was requested");
        let named = pipeline.send(request(workspace, &["screenshot"])).await;
        assert!(named.stdout.contains(r#""path":"/workspace/screenshot-"#), "{}", named.stdout);
    }

    // Requirement 4.1.
    #[tokio::test]
    async fn refused_page_or_link_delivers_no_file() {
        let pipeline = TestPipeline::new("{}");
        pipeline.write_pictures(PNG_SIGNATURE.to_vec());
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["w", "outside"] {
            std::fs::create_dir(root.path().join(folder)).expect("made");
        }
        symlink("../outside", root.path().join("w/link")).expect("linked");
        let workspace = FileTarget::Workspace(Workspace::new(root.path().join("w"), "/workspace".into()).into());
        let screenshot = |path| pipeline.send(request(workspace.clone(), &["screenshot", path]));
        assert_eq!(screenshot("link/a.png").await.decision.code, Code::FileOutside);
        pipeline.set_page_url("http://10.0.0.1/");
        assert_eq!(screenshot("a.png").await.decision.code, Code::AddressNotPublic);
        assert!(!root.path().join("w/a.png").exists());
        assert_eq!(std::fs::read_dir(root.path().join("outside")).expect("read").count(), 0);
        pipeline.set_page_url("http://public.test/");
        assert_eq!(screenshot("a.png").await.decision.code, Code::Ok, "control");
        assert!(root.path().join("w/a.png").exists());
        std::fs::remove_dir_all(root.path().join("w")).expect("removed");
        assert_eq!(screenshot("a.png").await.decision.code, Code::WorkspaceUnavailable);
        std::fs::create_dir(root.path().join("w")).expect("made");
        assert_eq!(screenshot("a.png").await.decision.code, Code::Ok, "the workspace is available again");
    }

    // Requirement 4.1.
    #[tokio::test]
    async fn file_is_refused_before_run_without_workspace() {
        let pipeline = TestPipeline::new("{}");
        let nowhere = FileTarget::Nowhere(Decision::new(Code::ArgumentMissing, "missing").at("cargo_id"));
        assert_eq!(pipeline.send(request(nowhere.clone(), &["screenshot"])).await.decision.code, Code::ArgumentMissing);
        assert!(pipeline.runs().is_empty());
        assert_eq!(
            pipeline.send(request(nowhere, &["snapshot"])).await.decision.code,
            Code::Ok,
            "control: a command without a file"
        );
    }

    // Requirement 4.1.
    #[tokio::test]
    async fn whole_call_timeout_is_capped_by_policy() {
        let pipeline = TestPipeline::new(r#"{"limits":{"max_timeout_sec":5}}"#);
        assert_eq!(pipeline.send(request(FileTarget::Session, &["snapshot"])).await.decision.code, Code::Ok);
        let tool = serde_json::json!({"session_id": "s", "argv": ["snapshot"], "timeout_sec": 30});
        assert_eq!(pipeline.call(tool).await.decision.code, Code::TimeoutInvalid, "control: the tool refuses it");
    }
}
