//! Step: where the page really is (spec [2.6]).
//!
//! Decides about the URL that agent-browser reports after a command, by the policy as it is now. For answers that show the
//! page without saying where it is (pictures, texts), it asks first: the browser, and where that is not enough agent-browser.
//! A page that the policy refuses is left for about:blank and nothing of it is returned. This is after the fact: the request
//! to that page was made; the egress guard is what prevents it.

use std::time::Duration;

use futures::future::BoxFuture;

use super::{Call, Reply, Step, decide_url};
use crate::argv::{self, Command, Dialect};
use crate::decision::{Code, Decision};
use crate::output::Body;
use crate::policy::url::{Target, parse};

/// Checks the landing URL.
pub(super) struct CheckLanding;

/// How long leaving a page, or asking where it is, may take.
const EXTRA: Duration = Duration::from_secs(20);

/// Subcommands whose answer shows the page but not its URL.
const BLIND: &[&str] = &["screenshot", "pdf", "get", "is", "find"];

/// The word of the one other form that opens a URL and does not say where it ended up.
const NEW_TAB: &str = "new";

impl Step for CheckLanding {
    fn name(&self) -> &'static str {
        "check-landing"
    }

    fn after<'a>(&'a self, call: &'a mut Call, reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if call.lease.is_none() || !reply.decision.is_allowed() {
                return;
            }
            let urls = match landing_urls(call, reply).await {
                Ok(urls) => urls,
                Err(decision) => {
                    *reply = Reply::refused(decision);
                    return;
                }
            };
            for url in urls {
                let decision = decide(call, &url).await;
                if decision.is_allowed() {
                    if decision.host.is_some() {
                        call.host.clone_from(&decision.host);
                    }
                    continue;
                }
                call.host.clone_from(&decision.host);
                *reply = leave(call, decision).await;
                return;
            }
        })
    }
}

/// What the answer reports, or what agent-browser says when asked. Not knowing where the page is must not show it.
async fn landing_urls(call: &Call, reply: &Reply) -> Result<Vec<String>, Decision> {
    let reported = reply.body.landing_urls();
    let is_blind = |command: &Command| BLIND.contains(&command.row.name) || command.form.word == Some(NEW_TAB);
    let blind = call.command.as_ref().is_some_and(is_blind);
    if !reported.is_empty() || !blind || reply.body == Body::Empty {
        return Ok(reported);
    }
    if let Some(url) = allowed_tabs(call).await {
        return Ok(url);
    }
    let unknown = || Decision::new(Code::PageUnknown, "agent-browser did not say where the page is");
    let ask = argv::parse(Dialect::Tool, &["get".to_owned(), "url".to_owned()], |_| true)?;
    match call.run_extra(&ask, call.extra(EXTRA)).await {
        Ok(answer) if answer.exit_code == 0 => {
            Some(answer.body.landing_urls()).filter(|urls| !urls.is_empty()).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

/// Where the tab is, if there is one; nothing if there are several and all are where the policy allows, since then it does not
/// matter which of them the answer shows. The browser says so in a fraction of the time that agent-browser takes, which is
/// asked if anything is unclear.
async fn allowed_tabs(call: &Call) -> Option<Vec<String>> {
    let mut urls = call.context.browser.urls().await.ok().filter(|urls| !urls.is_empty())?;
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

async fn decide(call: &Call, url: &str) -> Decision {
    // The browser's own pages for "nothing" and "did not load" hold nothing of any host.
    if matches!(parse(url), Ok(Target::Blank)) || url.starts_with("chrome-error://") {
        return Decision::new(Code::Allowed, "an empty page of the browser");
    }
    match call.context.policy.current() {
        Ok(policy) => decide_url(&policy, &call.context.dns, url).await,
        Err(error) => error.into(),
    }
}

/// Leaves a refused page and says so.
async fn leave(call: &Call, decision: Decision) -> Reply {
    let left = match Command::open("about:blank") {
        Some(blank) => call.run_extra(&blank, call.extra(EXTRA)).await.is_ok_and(|answer| answer.exit_code == 0),
        None => false,
    };
    let mut reply = Reply::refused(decision);
    reply.note(if left {
        "the browser came to a page that the policy refuses; it was left for about:blank"
    } else {
        "the browser came to a page that the policy refuses, and leaving it for about:blank failed; open an allowed page next"
    });
    reply
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use crate::decision::Code;
    use serde_json::json;

    #[tokio::test]
    async fn spec_2_6_a_refused_landing_is_left_and_nothing_of_it_is_returned() {
        let bench = Bench::new(r#"{"subcommands":{"enable":["get","tab"]}}"#);
        for (argv, data) in [
            (json!(["open", "http://public.test/"]), json!({"title": "inside", "url": "http://10.0.0.1/"})),
            (json!(["snapshot"]), json!({"snapshot": "inside", "origin": "http://127.0.0.1:8091/v1"})),
            (json!(["wait", "--url", "**"]), json!({"url": "http://169.254.169.254/"})),
            (json!(["snapshot"]), json!({"snapshot": "inside", "origin": "file:///etc/passwd"})),
            (json!(["tab"]), json!({"tabs": [{"url": "http://192.168.0.1/", "title": "inside", "active": true}]})),
        ] {
            bench.answer_with(data.clone());
            let reply = bench.call(json!({"session_id": "s", "argv": argv})).await;
            assert_eq!(reply.exit_code, 77, "{argv} {data}");
            assert!(reply.stdout.is_empty(), "{}", reply.stdout);
            assert!(reply.stderr.contains("left for about:blank"), "{}", reply.stderr);
            assert_eq!(bench.take_runs().last().map(String::as_str), Some("open about:blank"));
        }
        bench.answer_with(json!({"snapshot": "outside", "origin": "http://public.test/"}));
        let reply = bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!((reply.decision.code, bench.take_runs()), (Code::Ok, vec!["snapshot".to_owned()]), "control");
    }

    #[tokio::test]
    async fn pictures_and_texts_are_not_shown_without_knowing_where_they_are_from() {
        let bench = Bench::new(r#"{"subcommands":{"enable":["get"]}}"#);
        bench.page_is_at("http://10.0.0.1/");
        let reply = bench.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
        assert_eq!((reply.exit_code, reply.stdout.as_str()), (77, ""));
        assert_eq!(bench.take_runs(), ["get text body", "get url", "open about:blank"]);
        bench.page_is_at("");
        let reply = bench.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
        assert_eq!((reply.decision.code, reply.stdout.as_str()), (Code::PageUnknown, ""), "nobody knows where it is");
        bench.page_is_at("http://public.test/");
        let reply = bench.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
        assert_eq!(reply.exit_code, 0, "control");
    }

    #[tokio::test]
    async fn the_browser_is_asked_first_and_believed_only_if_every_tab_is_allowed() {
        let tab = |url: &str| json!({"type": "page", "id": "A", "url": url});
        let ask = ["get text body".to_owned(), "get url".to_owned()];
        for (tabs, asked) in [
            (json!([tab("http://public.test/")]), false),
            (json!([tab("http://public.test/"), tab("about:blank")]), false),
            (json!([tab("http://public.test/"), tab("http://10.0.0.1/")]), true),
            (json!([tab("file:///etc/passwd")]), true),
            (json!([{"type": "page", "id": "A"}]), true),
            (json!([]), true),
            (json!({}), true),
        ] {
            let bench = Bench::with_tabs(r#"{"subcommands":{"enable":["get"]}}"#, &tabs);
            bench.page_is_at("http://public.test/");
            let reply = bench.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
            assert_eq!(reply.exit_code, 0, "{tabs}");
            assert_eq!(bench.take_runs(), ask[..if asked { 2 } else { 1 }], "{tabs}");
            bench.page_is_at("http://10.0.0.1/");
            let reply = bench.call(json!({"session_id": "s", "argv": ["get", "text", "body"]})).await;
            assert_eq!(reply.exit_code, if asked { 77 } else { 0 }, "{tabs}");
        }
    }

    #[tokio::test]
    async fn an_empty_or_failed_page_is_no_refusal() {
        let bench = Bench::new(r#"{"open":{"allow_about_blank":false}}"#);
        for url in ["about:blank", "chrome-error://chromewebdata/"] {
            bench.answer_with(json!({"snapshot": "", "origin": url}));
            assert_eq!(bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await.exit_code, 0, "{url}");
        }
    }
}
