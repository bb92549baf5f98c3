//! Steps before the run: validation, the URL policy before a page is opened, the path of a file that a command writes, and the start of
//! a stopped Chromium before a call that needs it.

pub(super) mod validate;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;

use crate::call::phases::{BeforeStep, CallContext, OutputFile, ValidatedCall};
use crate::call::reply::rounded_seconds;
use crate::call::request::FileTarget;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::ValueKind;
use browser_shell_core::policy::url::parse;
use browser_shell_system::os::dns::decide_target;
use browser_shell_system::paths::{MAX_FILES, PathError, SessionPaths};

/// Step that checks the URL of a command and replaces it by the normalized form that was checked.
pub(crate) struct CheckUrl;

impl BeforeStep for CheckUrl {
    fn name(&self) -> &'static str {
        "check-url"
    }

    fn before<'a>(
        &'a self,
        context: &'a mut CallContext,
        call: &'a mut ValidatedCall,
    ) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(async move {
            let Some(url) = call.command.value(|kind| kind == ValueKind::Url) else { return Ok(()) };
            let policy = context.policy(&call.session)?;
            let target = parse(url)?;
            let decision = decide_target(&policy, &context.services.dns, &target).await;
            context.host.clone_from(&decision.host);
            if !decision.is_allowed() {
                return Err(decision);
            }
            call.command.set_value("URL", ValueKind::Url, target.as_str().to_owned());
            Ok(())
        })
    }
}

/// Step that sets an absolute path in the session's folder for every command that writes a file.
///
/// Requirement 1.5.
pub(crate) struct AssignFilePath;

impl BeforeStep for AssignFilePath {
    fn name(&self) -> &'static str {
        "assign-file-path"
    }

    fn before<'a>(
        &'a self,
        context: &'a mut CallContext,
        call: &'a mut ValidatedCall,
    ) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(std::future::ready(assign(context, call)))
    }
}

fn assign(context: &CallContext, call: &mut ValidatedCall) -> Result<(), Decision> {
    let command = &mut call.command;
    let Some((name, kind, ending)) = command.form.positionals.iter().find_map(|positional| match positional.kind {
        ValueKind::FileName(ending) => Some((positional.name, positional.kind, ending)),
        _ => None,
    }) else {
        return Ok(());
    };
    let unique = unique_file_name(command.row.name, ending);
    let requested = command.value(|other| other == kind).map(str::to_owned);
    let (file_name, destination) = match &context.options.file_target {
        FileTarget::Session => (requested.unwrap_or(unique), None),
        // agent-browser writes under a unique name, and the file is then delivered to the requested path.
        FileTarget::Workspace(_) => (unique.clone(), Some(requested.unwrap_or(unique))),
        FileTarget::Nowhere(refusal) => return Err(refusal.clone()),
    };
    let path = context.services.sessions.paths().session(&call.session).files.join(file_name);
    let text =
        path.to_str().ok_or_else(|| Decision::new(Code::WorkspaceUnavailable, "the workspace's path is not UTF-8"))?;
    command.set_value(name, kind, text.to_owned());
    call.output_file = Some(OutputFile { path, destination });
    Ok(())
}

/// Returns a file name that this process has not used before.
fn unique_file_name(subcommand: &str, ending: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let now = chrono::Utc::now().format("%Y%m%d-%H%M%S");
    format!("{subcommand}-{now}-{}{ending}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Creates the session's folder, removes an old file of the same name, and checks that the folder has room for one more.
///
/// # Errors
///
/// `workspace-unavailable` or `workspace-full`.
pub(crate) fn prepare_output_file(paths: &SessionPaths, file: &Path) -> Result<(), Decision> {
    let count = paths.make_files()?;
    match std::fs::symlink_metadata(file) {
        // agent-browser follows links, and a link must not decide where a screenshot is written.
        Ok(metadata) if !metadata.is_file() => {
            Err(Decision::new(Code::WorkspaceUnavailable, "the file name is taken by something that is not a file"))
        }
        Ok(_) => std::fs::remove_file(file).map_err(|source| PathError::Io { path: file.to_owned(), source }.into()),
        Err(_) if count >= MAX_FILES => {
            Err(Decision::new(Code::WorkspaceFull, format!("the session's folder holds {MAX_FILES} files")))
        }
        Err(_) => Ok(()),
    }
}

/// Step that starts Chromium within the time of the call. It is the last step before the run, so that a refused call starts
/// nothing.
pub(crate) struct EnsureBrowserStep;

impl BeforeStep for EnsureBrowserStep {
    fn name(&self) -> &'static str {
        "ensure-browser"
    }

    fn before<'a>(
        &'a self,
        context: &'a mut CallContext,
        call: &'a mut ValidatedCall,
    ) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(async move {
            // Closing a session needs no browser, nor does a local answer.
            let is_needed = !call.command.is_close() && call.command.local_answer().is_none();
            let Some(browser) = context.services.ensure_browser.as_ref().filter(|_| is_needed) else { return Ok(()) };
            let timeout = call.remaining_time(context);
            call.browser_guard = Some(tokio::select! {
                guard = browser.ensure_running() => guard?,
                () = context.cancel.cancelled() => {
                    return Err(Decision::new(Code::Cancelled, "canceled while the browser started"));
                }
                () = tokio::time::sleep(timeout) => return Err(timed_out(timeout)),
            });
            call.browser_instance = browser.instance().await;
            Ok(())
        })
    }
}

fn timed_out(timeout: Duration) -> Decision {
    let reason = format!("timed out after {} s while the browser started", rounded_seconds(timeout));
    Decision::new(Code::TimedOut, reason)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use serde_json::json;

    use super::*;
    use crate::call::request::CallRequest;
    use crate::call::testing::TestPipeline;
    use browser_shell_browser::{BrowserGuard, EnsureBrowser};
    use browser_shell_core::auth::{Principal, Subject};

    #[tokio::test]
    async fn rules_of_a_session_apply_to_its_calls() {
        let pipeline = TestPipeline::new(
            r#"{"open":{"allow_hosts":["8.8.8.8"]},"sessions":[{"match":"u1-*","open":{"allow_hosts":["9.9.9.9"]}}]}"#,
        );
        for (session, url, code) in [
            ("s", "http://8.8.8.8/", 0),
            ("s", "http://9.9.9.9/", 77),
            ("u1-a", "http://8.8.8.8/", 77),
            ("u1-a", "http://9.9.9.9/", 0),
        ] {
            let reply = pipeline.call(json!({"session_id": session, "argv": ["open", url]})).await;
            assert_eq!(reply.exit_code, code, "{session} {url}: {}", reply.stderr);
        }
    }

    #[tokio::test]
    async fn rules_of_a_subject_apply_to_calls_of_its_sessions() {
        let pipeline = TestPipeline::new(
            r#"{"access":{"sessions":"own"},"browser":{"isolation":"session"},"engine":"agent-browser",
            "open":{"allow_hosts":["8.8.8.8"]},
            "sessions":[
                {"match":"u1-*","subject":"ada","open":{"allow_hosts":["9.9.9.9"]}},
                {"match":"b-*","subject":"ada","open":{"allow_about_blank":false}},
                {"match":"e-*","subject":"ada","engine":"cdp"}]}"#,
        );
        let call = async |subject: &str, session: &str, argv: serde_json::Value| {
            let arguments = json!({"session_id": session, "argv": argv});
            let request = CallRequest::of_tool(arguments.as_object().expect("an object"));
            let principal = Principal { subject: Subject::new(subject), ..Principal::anonymous() };
            pipeline.send(request.of_principal(Some(principal))).await
        };
        for (subject, session, url, code) in [
            ("ada", "u1-a", "http://9.9.9.9/", Code::Ok),
            ("ada", "u1-a", "http://8.8.8.8/", Code::HostNotInAllowlist),
            ("bob", "u1-a", "http://9.9.9.9/", Code::HostNotInAllowlist),
            ("bob", "u1-a", "http://8.8.8.8/", Code::Ok),
            ("ada", "s", "http://8.8.8.8/", Code::Ok),
            ("ada", "b-a", "about:blank", Code::AboutBlankNotAllowed),
            ("bob", "b-a", "about:blank", Code::Ok),
        ] {
            let reply = call(subject, session, json!(["open", url])).await;
            assert_eq!(reply.decision.code, code, "{subject} {session} {url}: {}", reply.stderr);
        }
        // Only the engine `cdp` has this form.
        for (subject, is_refused) in [("ada", false), ("bob", true)] {
            let reply = call(subject, "e-a", json!(["wait", "@e1"])).await;
            assert_eq!(reply.decision.code == Code::ArgumentInvalid, is_refused, "{subject}: {}", reply.stderr);
        }
    }

    #[tokio::test]
    async fn refused_url_does_not_reach_browser() {
        let pipeline = TestPipeline::new("{}");
        for (url, code) in [
            ("http://127.0.0.1:8091/", Code::AddressNotPublic),
            ("file:///etc/passwd", Code::SchemeNotAllowed),
            ("http://private.test/", Code::AddressNotPublic),
            ("http://mixed.test/", Code::AddressNotPublic),
            ("http://unknown.test/", Code::NameLookupFailed),
        ] {
            let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", url]})).await;
            assert_eq!((reply.decision.code, reply.exit_code), (code, 77), "{url}");
        }
        assert!(pipeline.runs().is_empty());
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", "PUBLIC.test"]})).await;
        assert_eq!(reply.decision.code, Code::Ok);
        assert_eq!(pipeline.runs(), ["open https://public.test/"], "control: the browser receives the checked form");
    }

    // Requirement 2.1.
    #[tokio::test]
    async fn broken_policy_refuses_every_open_with_reason() {
        let pipeline = TestPipeline::new(r#"{"open":{"allow_hostz":[]}}"#);
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", "https://93.184.215.14/"]})).await;
        assert_eq!(reply.exit_code, 77);
        assert!(reply.stderr.starts_with("policy-invalid at open.allow_hostz: "), "{}", reply.stderr);
        pipeline.write_policy("{}");
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", "https://93.184.215.14/"]})).await;
        assert_eq!(reply.exit_code, 0, "control: corrected without a restart");
    }

    // Requirement 1.5.
    #[tokio::test]
    async fn screenshot_is_written_to_session_folder() {
        let pipeline = TestPipeline::new(r#"{"subcommands":{"enable":["pdf"]}}"#);
        let files = pipeline.workspace().join("s");
        for (argv, expected) in [
            (json!(["screenshot", "a.png"]), format!("screenshot {}/a.png", files.display())),
            (json!(["screenshot", "#main", "a.png"]), format!("screenshot #main {}/a.png", files.display())),
            (json!(["pdf", "a.pdf"]), format!("pdf {}/a.pdf", files.display())),
        ] {
            pipeline.call(json!({"session_id": "s", "argv": argv})).await;
            assert_eq!(pipeline.take_runs().first(), Some(&expected));
        }
        pipeline.call(json!({"session_id": "s", "argv": ["screenshot"]})).await;
        pipeline.call(json!({"session_id": "s", "argv": ["screenshot", "button"]})).await;
        let runs = pipeline.take_runs();
        assert!(runs[0].starts_with(&format!("screenshot {}/screenshot-", files.display())), "{runs:?}");
        let last = runs.iter().rfind(|run| run.starts_with("screenshot")).expect("ran");
        assert!(last.starts_with(&format!("screenshot button {}/screenshot-", files.display())), "{last}");
    }

    #[tokio::test]
    async fn links_and_full_folders_are_refused() {
        let pipeline = TestPipeline::new("{}");
        let files = pipeline.workspace().join("s");
        std::fs::create_dir_all(&files).expect("made");
        std::os::unix::fs::symlink("/etc/passwd", files.join("a.png")).expect("linked");
        let call = |name: &str| pipeline.call(json!({"session_id": "s", "argv": ["screenshot", name]}));
        assert_eq!(call("a.png").await.decision.code, Code::WorkspaceUnavailable);
        assert!(pipeline.runs().is_empty());
        for number in 1..MAX_FILES {
            std::fs::write(files.join(format!("{number}.png")), "").expect("written");
        }
        assert_eq!(call("new.png").await.decision.code, Code::WorkspaceFull);
        assert_ne!(call("1.png").await.decision.code, Code::WorkspaceFull, "control: an existing file can be replaced");
    }

    // Requirement 1.9.
    #[tokio::test]
    async fn full_volume_is_busy_and_leaves_no_partial_file() {
        let pipeline = TestPipeline::new("{}");
        let file = pipeline.workspace().join("s/a.png");
        let call = |argv: serde_json::Value| pipeline.call(json!({"session_id": "s", "argv": argv}));
        for message in [
            "ENOSPC: no space left on device, write",
            "Failed to save screenshot to /w/s/a.png: No space left on device (os error 28)",
        ] {
            pipeline.write_pictures(b"half".to_vec());
            pipeline.fail_with(message);
            let reply = call(json!(["screenshot", "a.png"])).await;
            assert_eq!((reply.decision.code, reply.exit_code), (Code::WorkspaceFull, 75), "{}", reply.stderr);
            assert!(reply.stderr.starts_with("workspace-full: ") && reply.stdout.is_empty(), "{}", reply.stderr);
            assert!(!file.exists(), "a partial file must not remain");
            assert_eq!(
                call(json!(["click", "@e1"])).await.decision.code,
                Code::CommandFailed,
                "control: it writes no file"
            );
        }
        pipeline.fail_with("EACCES: permission denied, open '/w/s/a.png'");
        assert_eq!(call(json!(["screenshot", "a.png"])).await.decision.code, Code::CommandFailed, "control");
    }

    // Requirement 1.9.
    #[tokio::test]
    async fn page_behind_http_authentication_asks_for_login() {
        let pipeline = TestPipeline::new("{}");
        let open = || pipeline.call(json!({"session_id": "s", "argv": ["open", "http://public.test/"]}));
        for message in [
            "page.goto: net::ERR_INVALID_AUTH_CREDENTIALS at http://public.test/\nCall log:\n  - navigating",
            "Navigation failed: net::ERR_INVALID_AUTH_CREDENTIALS",
        ] {
            pipeline.fail_with(message);
            let reply = open().await;
            assert_eq!((reply.decision.code, reply.exit_code), (Code::LoginRequired, 1), "{}", reply.stderr);
            assert!(reply.stderr.starts_with("login-required: the site asks for a login"), "{}", reply.stderr);
        }
        pipeline.fail_with("Navigation failed: net::ERR_CONNECTION_REFUSED");
        assert_eq!(open().await.decision.code, Code::CommandFailed, "control");
    }

    /// Browser that counts starts and guards.
    #[derive(Default)]
    struct FakeBrowser {
        starts: AtomicUsize,
        guards: Arc<AtomicUsize>,
        refuses: bool,
    }

    impl EnsureBrowser for FakeBrowser {
        fn ensure_running(&self) -> BoxFuture<'_, Result<BrowserGuard, Decision>> {
            self.starts.fetch_add(1, Ordering::Relaxed);
            if self.refuses {
                return Box::pin(std::future::ready(Err(Decision::new(Code::BrowserUnavailable, "stopped"))));
            }
            self.guards.fetch_add(1, Ordering::Relaxed);
            let guards = self.guards.clone();
            let guard = BrowserGuard::new(move || {
                guards.fetch_sub(1, Ordering::Relaxed);
            });
            Box::pin(std::future::ready(Ok(guard)))
        }
    }

    #[tokio::test]
    async fn only_running_calls_start_and_hold_the_browser() {
        let browser = Arc::new(FakeBrowser::default());
        let pipeline = TestPipeline::with_ensure_browser("{}", browser.clone());
        for argv in [json!(["open", "http://10.0.0.1/"]), json!(["eval", "1"]), json!(["close"])] {
            pipeline.call(json!({"session_id": "s", "argv": argv})).await;
        }
        assert_eq!(browser.starts.load(Ordering::Relaxed), 0);
        pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!((browser.starts.load(Ordering::Relaxed), browser.guards.load(Ordering::Relaxed)), (1, 0));
    }

    #[tokio::test]
    async fn browser_start_failure_is_reported_and_nothing_runs() {
        let pipeline =
            TestPipeline::with_ensure_browser("{}", Arc::new(FakeBrowser { refuses: true, ..FakeBrowser::default() }));
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!((reply.decision.code, reply.exit_code), (Code::BrowserUnavailable, 69));
        assert!(pipeline.runs().is_empty());
    }
}
