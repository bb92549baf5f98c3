//! URL policy for the page that the browser shows after a command.
//!
//! The landing URL is the one that the answer reports, decided by the policy as it is now. For an answer that shows the page
//! without its URL, such as a screenshot, it is that of the tab that the session acts on. A refused page is left for about:blank by
//! the browser, with any engine, and nothing of it is returned. By then the browser has already requested that page; only the
//! egress guard prevents the request.
//!
//! Requirement 2.6.

use futures::future::BoxFuture;

use crate::call::phases::{AfterStep, AnsweredCall};
use crate::call::reply::CallReply;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;
use browser_shell_core::output::Body;
use browser_shell_core::policy::Engine;
use browser_shell_core::policy::url::{PageUrl, parse};
use browser_shell_system::os::dns::decide_url;

/// Step that checks the landing URL.
pub(crate) struct CheckLanding;

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
            let urls = match landing_urls(call) {
                Ok(urls) => urls,
                Err(decision) => {
                    call.reply = CallReply::refused(decision);
                    return;
                }
            };
            for url in urls {
                let decision = match decide(call, &url).await {
                    decision if decision.is_allowed() && pdf_url(call).as_ref() == Some(&url) => Decision::new(
                        Code::PdfUnreadable,
                        "the document is a PDF, which the engine `agent-browser` cannot read",
                    ),
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
fn landing_urls(call: &AnsweredCall) -> Result<Vec<String>, Decision> {
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
    let active = call.lease().and_then(|lease| lease.gate()?.active_url());
    let unknown = || Decision::new(Code::PageUnknown, "the URL of the page is not known");
    active.map(|url| vec![url]).ok_or_else(unknown)
}

/// Returns the URL of the active tab if it shows a PDF that the engine cannot read, and the answer is not about tabs only.
fn pdf_url(call: &AnsweredCall) -> Option<String> {
    let is_about_tabs = |command: &Command| command.row.name == TAB && command.form.word != Some(NEW_TAB);
    call.command().filter(|command| !is_about_tabs(command))?;
    call.lease().filter(|lease| lease.engine() == Engine::AgentBrowser)?.gate()?.pdf_url()
}

async fn decide(call: &AnsweredCall, url: &str) -> Decision {
    // Chromium's own pages for "nothing" and "did not load" contain nothing of any host, and a new tab has no URL before its page comes.
    if url.is_empty() || matches!(parse(url), Ok(PageUrl::Blank)) || url.starts_with("chrome-error://") {
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
    let is_left = match call.lease().and_then(|lease| lease.gate()) {
        Some(gate) => gate.leave(url).await,
        None => false,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::call::testing::TestPipeline;
    use browser_shell_core::decision::Code;

    const BLANK: &str = "about:blank";

    // Requirement 2.6.
    #[tokio::test]
    async fn refused_landing_is_left_and_returns_no_content() {
        let pipeline = TestPipeline::new(r#"{"subcommands":{"enable":["get","tab"]}}"#);
        for (argv, data, url) in [
            (json!(["open", "http://public.test/"]), json!({"title": "inside", "url": "URL"}), "http://10.0.0.1/"),
            (json!(["snapshot"]), json!({"snapshot": "inside", "origin": "URL"}), "http://127.0.0.1:8091/v1"),
            (json!(["wait", "--url", "**"]), json!({"url": "URL"}), "http://169.254.169.254/"),
            (json!(["snapshot"]), json!({"snapshot": "inside", "origin": "URL"}), "file:///etc/passwd"),
            (
                json!(["tab"]),
                json!({"tabs": [{"url": "URL", "title": "inside", "active": true}]}),
                "http://192.168.0.1/",
            ),
        ] {
            // A tab that shows a file is no session's.
            let shown = if url.starts_with("file:") { BLANK } else { url };
            pipeline.set_page_url(shown);
            pipeline.answer_with(serde_json::from_str(&data.to_string().replace("URL", url)).expect("JSON"));
            let reply = pipeline.call(json!({"session_id": "s", "argv": argv})).await;
            assert_eq!(reply.exit_code, 77, "{argv} {data}");
            assert!(reply.stdout.is_empty(), "{}", reply.stdout);
            assert!(reply.stderr.contains("left for about:blank"), "{}", reply.stderr);
            assert_eq!((pipeline.page_url().as_str(), pipeline.take_runs().len()), (BLANK, 1), "{argv}");
        }
        pipeline.answer_with(json!({"snapshot": "outside", "origin": "http://public.test/"}));
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!((reply.decision.code, pipeline.take_runs()), (Code::Ok, vec!["snapshot".to_owned()]), "control");
    }

    #[tokio::test]
    async fn content_from_unknown_page_is_withheld() {
        let policy = r#"{"subcommands":{"enable":["get"]}}"#;
        let call = json!({"session_id": "s", "argv": ["get", "text", "body"]});
        let reply = TestPipeline::without_browser(policy).call(call.clone()).await;
        assert_eq!((reply.decision.code, reply.stdout.as_str()), (Code::PageUnknown, ""), "the page is unknown");
        let pipeline = TestPipeline::new(policy);
        pipeline.set_page_url("http://10.0.0.1/");
        let reply = pipeline.call(call.clone()).await;
        assert_eq!((reply.exit_code, reply.stdout.as_str()), (77, ""));
        assert_eq!((pipeline.take_runs(), pipeline.page_url()), (vec!["get text body".to_owned()], BLANK.to_owned()));
        pipeline.set_page_url("http://public.test/");
        assert_eq!(pipeline.call(call).await.exit_code, 0, "control");
    }

    #[tokio::test]
    async fn content_is_decided_by_the_tab_that_it_is_of() {
        let (allowed, refused) = ("http://public.test/", "http://10.0.0.1/");
        for (tabs, exit_code) in [(&[allowed][..], 0), (&[allowed, refused], 0), (&[refused, allowed], 77)] {
            let pipeline = TestPipeline::with_tabs(r#"{"subcommands":{"enable":["get"]}}"#, tabs);
            let reply = pipeline.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
            assert_eq!((reply.exit_code, pipeline.take_runs().len()), (exit_code, 1), "{tabs:?}");
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
