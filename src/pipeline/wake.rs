//! Step: a browser that sleeps is woken before a call that needs it.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

use super::{Call, Step};
use crate::decision::{Code, Decision};

/// Who starts the browser.
pub trait Wake: Send + Sync {
    /// Sees that the browser runs, and keeps it awake until what this gives is dropped.
    ///
    /// The error is why it does not.
    fn wake(&self) -> BoxFuture<'_, Result<Awake, Decision>>;
}

/// Keeps the browser from being stopped for idleness.
pub struct Awake(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Awake {
    /// Calls this when it is dropped.
    pub fn new(done: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(done)))
    }
}

impl fmt::Debug for Awake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Awake")
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done();
        }
    }
}

/// Wakes the browser, within the time of the call. It is the last step before the run, so that a call that is refused
/// starts nothing.
pub(super) struct WakeBrowser;

impl Step for WakeBrowser {
    fn name(&self) -> &'static str {
        "wake-browser"
    }

    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(async move {
            // Ending a session needs no browser.
            let needed = call.command.as_ref().is_some_and(|command| command.row.name != "close");
            let Some(wake) = call.context.wake.clone().filter(|_| needed) else { return Ok(()) };
            let timeout = call.left();
            call.awake = Some(tokio::select! {
                awake = wake.wake() => awake?,
                () = call.cancel.cancelled() => return Err(Decision::new(Code::Cancelled, "cancelled while the browser started")),
                () = tokio::time::sleep(timeout) => return Err(late(timeout)),
            });
            Ok(())
        })
    }
}

fn late(timeout: Duration) -> Decision {
    let reason = format!("timed out after {} s while the browser started", super::rounded(timeout));
    Decision::new(Code::TimedOut, reason)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::testing::Bench;
    use super::*;
    use serde_json::json;

    /// Counts who is awake; wakes only while it is told to.
    #[derive(Default)]
    struct Sleeper {
        wakes: AtomicUsize,
        awake: Arc<AtomicUsize>,
        refuses: bool,
    }

    impl Wake for Sleeper {
        fn wake(&self) -> BoxFuture<'_, Result<Awake, Decision>> {
            self.wakes.fetch_add(1, Ordering::Relaxed);
            if self.refuses {
                return Box::pin(std::future::ready(Err(Decision::new(Code::BrowserUnavailable, "asleep"))));
            }
            self.awake.fetch_add(1, Ordering::Relaxed);
            let awake = self.awake.clone();
            let done = Awake::new(move || {
                awake.fetch_sub(1, Ordering::Relaxed);
            });
            Box::pin(std::future::ready(Ok(done)))
        }
    }

    #[tokio::test]
    async fn only_a_call_that_runs_wakes_the_browser_and_lets_it_sleep_again() {
        let sleeper = Arc::new(Sleeper::default());
        let bench = Bench::with_wake("{}", sleeper.clone());
        for argv in [json!(["open", "http://10.0.0.1/"]), json!(["eval", "1"]), json!(["close"])] {
            bench.call(json!({"session_id": "s", "argv": argv})).await;
        }
        assert_eq!(sleeper.wakes.load(Ordering::Relaxed), 0);
        bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!((sleeper.wakes.load(Ordering::Relaxed), sleeper.awake.load(Ordering::Relaxed)), (1, 0));
    }

    #[tokio::test]
    async fn a_browser_that_does_not_wake_is_told_and_nothing_runs() {
        let bench = Bench::with_wake("{}", Arc::new(Sleeper { refuses: true, ..Sleeper::default() }));
        let reply = bench.call(json!({"session_id": "s", "argv": ["snapshot"]})).await;
        assert_eq!((reply.decision.code, reply.exit_code), (Code::BrowserUnavailable, 69));
        assert!(bench.runs().is_empty());
    }
}
