//! URL policy for the page that the browser shows after a command.
//!
//! The landing URL is the one that agent-browser reports, decided by the policy as it is now. For an answer that shows the page
//! without its URL, such as a screenshot, Chromium is asked for it, and agent-browser if that is not enough. A refused page is
//! left for about:blank, and nothing of it is returned. By then the browser has already requested that page; only the egress
//! guard prevents the request.
//!
//! Requirement 2.6.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::agent_browser::Invocation;
use crate::call::options::TimeoutScope;
use crate::call::phases::AnsweredCall;
use crate::call::reply::CallReply;
use crate::call::step::AfterStep;
use crate::os::exec::ExecError;
use crate::url_check::decide_url;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{self, Command, Profile, open_command};
use browser_shell_core::output::{Body, CommandResult};
use browser_shell_core::policy::Engine;
use browser_shell_core::policy::url::{Target, parse};

/// Step that checks the landing URL.
pub(crate) struct CheckLanding;

/// Maximum time for a command of this step.
const EXTRA_COMMAND_TIMEOUT: Duration = Duration::from_secs(20);

/// Minimum time for a command of this step, however long the call took: a refused page must be left.
const MIN_EXTRA_COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// Subcommands whose answer shows the page but not its URL.
const WITHOUT_URL: &[&str] = &["screenshot", "pdf", "get", "is", "find"];

/// Subcommand whose answers are about tabs.
const TAB: &str = "tab";

/// Word of the one other form that opens a URL and does not report the landing.
const NEW_TAB: &str = "new";

impl AfterStep for CheckLanding {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let shows_page = call.reply.decision.is_allowed() || call.reply.decision.code.describes_page();
            if call.lease().is_none() || !shows_page {
                return;
            }
            let urls = match landing_urls(call).await {
                Ok(urls) => urls,
                Err(decision) => {
                    call.reply = CallReply::refused(decision);
                    return;
                }
            };
            for url in urls {
                let decision = match decide(call, &url).await {
                    decision if decision.is_allowed() && pdf_url(call).as_ref() == Some(&url) => {
                        Decision::new(Code::PdfUnreadable, "the document is a PDF, which cannot be read")
                    }
                    decision => decision,
                };
                if decision.is_allowed() {
                    if decision.host.is_some() {
                        call.context.host.clone_from(&decision.host);
                    }
                    continue;
                }
                call.context.host.clone_from(&decision.host);
                call.reply = leave_page(call, &url, decision).await;
                return;
            }
        })
    }
}

/// Returns the URLs that the answer reports, or that of the page where the answer shows it without its URL.
///
/// # Errors
///
/// `page-unknown`: a page of an unknown URL must not be shown.
async fn landing_urls(call: &AnsweredCall) -> Result<Vec<String>, Decision> {
    let reported = call.reply.body.landing_urls();
    let hides_url = |command: &Command| WITHOUT_URL.contains(&command.row.name) || command.form.word == Some(NEW_TAB);
    let describes_page = call.reply.decision.code.describes_page();
    let is_shown = describes_page || (call.command().is_some_and(hides_url) && call.reply.body != Body::Empty);
    if !reported.is_empty() || !is_shown {
        return Ok(reported);
    }
    if let Some(url) = pdf_url(call) {
        return Ok(vec![url]);
    }
    if let Some(urls) = allowed_tabs(call).await {
        return Ok(urls);
    }
    let unknown = || Decision::new(Code::PageUnknown, "the URL of the page is not known");
    if let Some(url) = own_url(call) {
        return Ok(vec![url]);
    }
    let get_url = grammar::parse(Profile::Tool, &["get".to_owned(), "url".to_owned()], |_| true)?;
    match run_command(call, &get_url).await {
        Ok(answer) if answer.exit_code == 0 => {
            Some(answer.body.landing_urls()).filter(|urls| !urls.is_empty()).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

/// Returns the URL of the active tab, which the answer is about where the engine is our own.
fn own_url(call: &AnsweredCall) -> Option<String> {
    let lease = call.lease().filter(|lease| lease.engine() == Engine::Cdp)?;
    lease.gate()?.active_url()
}

/// Returns the URL of the only tab, or an empty list if there are several tabs and the policy allows all of them: then it does
/// not matter which one the answer shows. Returns `None` if anything is unclear and only agent-browser, which is much slower, can
/// report it.
async fn allowed_tabs(call: &AnsweredCall) -> Option<Vec<String>> {
    let mut urls = call.lease()?.gate()?.urls().filter(|urls| !urls.is_empty())?;
    for url in &urls {
        if !decide(call, url).await.is_allowed() {
            return None;
        }
    }
    if urls.len() > 1 {
        urls.clear();
    }
    Some(urls)
}

/// Returns the URL of the active tab if it shows a PDF, and the answer is not about tabs only.
fn pdf_url(call: &AnsweredCall) -> Option<String> {
    let is_about_tabs = |command: &Command| command.row.name == TAB && command.form.word != Some(NEW_TAB);
    call.command().filter(|command| !is_about_tabs(command))?;
    call.lease()?.gate()?.pdf_url()
}

async fn decide(call: &AnsweredCall, url: &str) -> Decision {
    // Chromium's own pages for "nothing" and "did not load" contain nothing of any host.
    if matches!(parse(url), Ok(Target::Blank)) || url.starts_with("chrome-error://") {
        return Decision::new(Code::Allowed, "an empty page of the browser");
    }
    let services = &call.context.services;
    let session = call.validated.as_ref().map(|call| &call.session);
    match services.policy.current_for(session) {
        Ok(policy) => decide_url(&policy, &services.dns, url).await,
        Err(error) => error.into(),
    }
}

/// Leaves a refused page and returns the reply that reports it.
async fn leave_page(call: &AnsweredCall, url: &str, decision: Decision) -> CallReply {
    let is_left = match call.lease().and_then(|lease| lease.gate()).filter(|gate| gate.urls().is_some()) {
        Some(gate) => gate.leave(url).await,
        // Without a browser of the gate, agent-browser has one of its own.
        None => match open_command("about:blank") {
            Some(blank) => run_command(call, &blank).await.is_ok_and(|answer| answer.exit_code == 0),
            None => false,
        },
    };
    let page = if decision.code == Code::PdfUnreadable { "a PDF" } else { "a page that the policy refuses" };
    let mut reply = CallReply::refused(decision);
    reply.note(&if is_left {
        format!("the browser landed on {page}; it was left for about:blank")
    } else {
        format!("the browser landed on {page}, and leaving it for about:blank failed; open an allowed page next")
    });
    reply
}

/// Runs one more command in the session of the call.
///
/// # Errors
///
/// As [`Transport::run`](crate::agent_browser::Transport::run); `Cancelled` without a lease.
pub(super) async fn run_command(call: &AnsweredCall, command: &Command) -> Result<CommandResult, ExecError> {
    let Some(lease) = call.lease() else { return Err(ExecError::Cancelled) };
    // This protection is completed even if the client no longer waits.
    let cancel = CancellationToken::new();
    let invocation = Invocation {
        session: lease.paths(),
        command,
        timeout: extra_command_timeout(call),
        cancel: &cancel,
        state: lease.transport_state(),
        cdp_port: lease.sandbox().browser_port(),
        sandbox: lease.sandbox(),
    };
    call.context.services.transport.run(invocation).await.map(|raw| CommandResult::parse(&raw))
}

/// Returns the time that one more command may take.
fn extra_command_timeout(call: &AnsweredCall) -> Duration {
    match (call.context.options.timeout_scope, &call.validated) {
        (TimeoutScope::Whole, Some(validated)) => {
            validated.remaining_time(&call.context).clamp(MIN_EXTRA_COMMAND_TIMEOUT, EXTRA_COMMAND_TIMEOUT)
        }
        _ => EXTRA_COMMAND_TIMEOUT,
    }
}

#[cfg(test)]
mod tests {
    use crate::call::testing::TestPipeline;
    use browser_shell_core::decision::Code;
    use serde_json::json;

    // Requirement 2.6.
    #[tokio::test]
    async fn refused_landing_is_left_and_returns_no_content() {
        let pipeline = TestPipeline::new(r#"{"subcommands":{"enable":["get","tab"]}}"#);
        for (argv, data) in [
            (json!(["open", "http://public.test/"]), json!({"title": "inside", "url": "http://10.0.0.1/"})),
            (json!(["snapshot"]), json!({"snapshot": "inside", "origin": "http://127.0.0.1:8091/v1"})),
            (json!(["wait", "--url", "**"]), json!({"url": "http://169.254.169.254/"})),
            (json!(["snapshot"]), json!({"snapshot": "inside", "origin": "file:///etc/passwd"})),
            (json!(["tab"]), json!({"tabs": [{"url": "http://192.168.0.1/", "title": "inside", "active": true}]})),
        ] {
            pipeline.answer_with(data.clone());
            let reply = pipeline.call(json!({"session_id": "s", "argv": argv})).await;
            assert_eq!(reply.exit_code, 77, "{argv} {data}");
            assert!(reply.stdout.is_empty(), "{}", reply.stdout);
            assert!(reply.stderr.contains("left for about:blank"), "{}", reply.stderr);
            assert_eq!(pipeline.take_runs().last().map(String::as_str), Some("open about:blank"));
        }
        pipeline.answer_with(json!({"snapshot": "outside", "origin": "http://public.test/"}));
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!((reply.decision.code, pipeline.take_runs()), (Code::Ok, vec!["snapshot".to_owned()]), "control");
    }

    #[tokio::test]
    async fn content_from_unknown_page_is_withheld() {
        let pipeline = TestPipeline::new(r#"{"subcommands":{"enable":["get"]}}"#);
        pipeline.set_page_url("http://10.0.0.1/");
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
        assert_eq!((reply.exit_code, reply.stdout.as_str()), (77, ""));
        assert_eq!(pipeline.take_runs(), ["get text body", "get url", "open about:blank"]);
        pipeline.set_page_url("");
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
        assert_eq!((reply.decision.code, reply.stdout.as_str()), (Code::PageUnknown, ""), "the page is unknown");
        pipeline.set_page_url("http://public.test/");
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
        assert_eq!(reply.exit_code, 0, "control");
    }

    #[tokio::test]
    async fn landing_check_trusts_browser_only_if_all_tabs_are_allowed() {
        let commands = ["get text body".to_owned(), "get url".to_owned()];
        for (tabs, asks_daemon) in [
            (vec!["http://public.test/"], false),
            (vec!["http://public.test/", "about:blank"], false),
            (vec!["http://public.test/", "http://10.0.0.1/"], true),
        ] {
            let pipeline = TestPipeline::with_tabs(r#"{"subcommands":{"enable":["get"]}}"#, &tabs).await;
            pipeline.set_page_url("http://public.test/");
            let reply = pipeline.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
            assert_eq!(reply.exit_code, 0, "{tabs:?}");
            assert_eq!(pipeline.take_runs(), commands[..if asks_daemon { 2 } else { 1 }], "{tabs:?}");
            pipeline.set_page_url("http://10.0.0.1/");
            let reply = pipeline.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
            assert_eq!(reply.exit_code, if asks_daemon { 77 } else { 0 }, "{tabs:?}");
        }
    }

    #[tokio::test]
    async fn empty_or_failed_page_is_not_refused() {
        let pipeline = TestPipeline::new(r#"{"open":{"allow_about_blank":false}}"#);
        for url in ["about:blank", "chrome-error://chromewebdata/"] {
            pipeline.answer_with(json!({"snapshot": "", "origin": url}));
            assert_eq!(pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await.exit_code, 0, "{url}");
        }
    }
}
