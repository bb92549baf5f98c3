//! Start of a stopped Chromium before a call that needs it.

use std::time::Duration;

use futures::future::BoxFuture;

use crate::call::phases::{CallContext, ValidatedCall};
use crate::call::step::BeforeStep;
use crate::call::time::rounded_seconds;
use browser_shell_core::decision::{Code, Decision};

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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::call::testing::TestPipeline;
    use browser_shell_browser::{BrowserGuard, EnsureBrowser};
    use serde_json::json;

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
