//! Browser context of a session: its preparation, the saved cookies and storage that it begins with, and its end.
//!
//! Cookies are set over the gate's own connection. Local storage is written by a script in a page of the origin, which the gate
//! answers itself: nothing of it is requested.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use browser_shell_core::policy::{Isolation, Problem, SameSite, StateCookie, StateOrigin, StateSource, StorageState};
use serde_json::{Value, json};

use crate::gate::browser::{Browser, GateError, PageOwner};
use crate::gate::page::Page;
use crate::gate::secret_values::SecretValues;
use crate::gate::session::state::{Context, GateSession};
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::BrowserContextId;
use browser_shell_cdp::protocol::browser::GrantPermissions;
use browser_shell_cdp::protocol::network::{CookieParam, CookiePartitionKey, CookieSameSite, SetCookies};
use browser_shell_cdp::protocol::page::Navigate;
use browser_shell_cdp::protocol::runtime::Evaluate;
use browser_shell_cdp::protocol::target::CreateBrowserContext;
use browser_shell_system::os::{describe, files};

/// URL of the empty page.
pub(super) const BLANK: &str = "about:blank";

/// Maximum size of a file with a state, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

impl GateSession {
    /// Returns true if the session has a context of its own, or gets one.
    pub fn has_own_context(&self) -> bool {
        self.isolation == Isolation::Session
    }

    /// Makes sure that the session has a context with a tab, and begins to show it on the screen.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn prepare(self: &Arc<Self>) -> Result<(), GateError> {
        // A call that gives up must not leave half a context behind.
        to_end(self.clone().prepare_to_end()).await.unwrap_or(Err(GateError::NotRunning))
    }

    async fn prepare_to_end(self: Arc<Self>) -> Result<(), GateError> {
        let gate = self.gate.upgrade().ok_or(GateError::NotRunning)?;
        let browser = gate.browser().await?;
        let preparation = self.preparation.lock().await;
        if !self.is_open() {
            return Err(GateError::NotRunning);
        }
        let known = self.context().filter(|context| context.browser.generation == browser.generation);
        let current = if let Some(current) = known {
            current
        } else {
            let new = self.create_context(&browser).await?;
            *self.lock_context() = Some(new.clone());
            new
        };
        if Self::usable_pages(&current).is_empty() {
            browser.create_page(current.id.as_ref(), BLANK, current.id.is_some()).await?;
        }
        drop(preparation);
        let session = self.clone();
        let shown = tokio::spawn(async move {
            let active = session.active_page();
            let is_restored = match &active {
                Some(page) => gate.windows().restore(&browser, page, current.id.is_some()).await,
                None => false,
            };
            Ok(match session.isolation {
                Isolation::Session => gate.bring_to_front(&session.id, active, &browser).await? || is_restored,
                Isolation::Shared => is_restored,
            })
        });
        *self.lock_shown() = Some(shown);
        Ok(())
    }

    /// Waits until the tab is shown on the screen, as the preparation began to do. Nothing may act on it before: a window that is
    /// minimized draws nothing, and the clipboard may hold what another session put there. Returns true if it was not shown before.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn wait_until_shown(&self) -> Result<bool, GateError> {
        let shown = self.lock_shown().take();
        match shown {
            Some(shown) => shown.await.unwrap_or(Err(GateError::NotRunning)),
            None => Ok(false),
        }
    }

    /// Creates the session's context, or joins the default one.
    async fn create_context(self: &Arc<Self>, browser: &Arc<Browser>) -> Result<Context, GateError> {
        if self.isolation == Isolation::Shared {
            let owner: Arc<dyn PageOwner> = self.clone();
            browser.add_shared(&owner);
            return Ok(Context { browser: browser.clone(), id: None });
        }
        let proxy_server = self.lock_proxy().as_ref().map(|address| format!("http://{}", address.proxy()));
        let proxy_bypass_list = proxy_server.as_ref().map(|_| "<-loopback>");
        let new = CreateBrowserContext { dispose_on_detach: true, proxy_server, proxy_bypass_list };
        let id = browser.root(&new).await?.browser_context_id;
        let owner: Arc<dyn PageOwner> = self.clone();
        browser.add_context(&id, &owner);
        if let Err(error) = self.fill_context(browser, &id).await {
            browser.dispose(&id, None).await;
            return Err(error);
        }
        Ok(Context { browser: browser.clone(), id: Some(id) })
    }

    /// Sets up a new context: its restrictions, its first tab and its saved state.
    async fn fill_context(&self, browser: &Arc<Browser>, id: &BrowserContextId) -> Result<(), GateError> {
        // An empty list grants nothing and lets no page ask, for the clipboard neither.
        let no_permissions = GrantPermissions { permissions: &[], browser_context_id: id };
        // All at once and in this order: Chromium carries them out one after the other, so the tab has the restrictions.
        let ((), _, page) = tokio::try_join!(
            biased;
            async { browser.deny_downloads(Some(id)).await.map_err(GateError::from) },
            async { browser.root(&no_permissions).await.map_err(GateError::from) },
            browser.create_page(Some(id), BLANK, true),
        )?;
        if let Some(gate) = self.gate.upgrade() {
            gate.windows().give(browser, &page).await;
        }
        if let Some(source) = &self.saved_state {
            let state = read_state(source)?;
            // First: what cannot be masked is not loaded.
            let kept = self.lock_secrets().add_saved(&state.secrets());
            kept.map_err(|error| GateError::State(error.to_string()))?;
            load_state(browser, id, &state).await?;
        }
        Ok(())
    }

    /// Ends the endpoint and the context of the session.
    pub(in crate::gate) async fn end(&self) {
        self.stop.cancel();
        for observer in self.observers() {
            observer.session_ended();
        }
        // A call that prepares the context right now ends before it.
        let _preparation = self.preparation.lock().await;
        let context = self.lock_context().take();
        if let Some(Context { browser, id: Some(id) }) = context {
            let address = self.lock_proxy().take();
            browser.dispose(&id, address).await;
        }
    }
}

/// Reads a state.
///
/// # Errors
///
/// Returns an error if the file cannot be used.
fn read_state(source: &StateSource) -> Result<Cow<'_, StorageState>, GateError> {
    match source {
        StateSource::Inline(state) => Ok(Cow::Borrowed(state)),
        StateSource::File(path) => read_file(path).map(Cow::Owned),
    }
}

/// Loads a state into a context.
///
/// # Errors
///
/// Returns an error if Chromium refuses a part: a session does not begin with half a login.
async fn load_state(browser: &Arc<Browser>, context: &BrowserContextId, state: &StorageState) -> Result<(), GateError> {
    let cookies: Vec<_> = state.cookies.iter().map(to_cookie).collect();
    if !cookies.is_empty() {
        let set = SetCookies { cookies, browser_context_id: context };
        browser.root(&set).await.map_err(|error| match error {
            CommandError::Refused { .. } => GateError::State(error.to_string()),
            error => error.into(),
        })?;
    }
    for origin in &state.origins {
        store_origin(browser, context, origin).await?;
    }
    Ok(())
}

/// Reads a state from a file.
fn read_file(path: &std::path::Path) -> Result<StorageState, GateError> {
    parse_file(path).map_err(|problems| GateError::State(problems.into_iter().next().unwrap_or_default()))
}

/// Reads a state from a file.
///
/// # Errors
///
/// Every problem, with the path of the file.
fn parse_file(path: &std::path::Path) -> Result<StorageState, Vec<String>> {
    let problem = |message: String| format!("`{}`: {message}", path.display());
    let bytes = files::read(path, MAX_FILE).map_err(|error| vec![problem(describe(&error))])?;
    let text = String::from_utf8(bytes).map_err(|_| vec![problem("it is not UTF-8".to_owned())])?;
    let all = |problems: Vec<Problem>| problems.iter().map(|one| problem(one.to_string())).collect();
    StorageState::parse(&text).map_err(all)
}

/// Returns every problem that keeps a session from beginning with a state. Chromium, which may refuse a cookie, is not asked.
#[must_use]
pub fn problems_of_state(source: &StateSource) -> Vec<String> {
    let state = match source {
        StateSource::Inline(state) => Cow::Borrowed(state),
        StateSource::File(path) => match parse_file(path) {
            Ok(state) => Cow::Owned(state),
            Err(problems) => return problems,
        },
    };
    let kept = SecretValues::default().add_saved(&state.secrets());
    kept.err().map(|error| error.to_string()).into_iter().collect()
}

/// Returns a cookie as the protocol has it.
fn to_cookie(cookie: &StateCookie) -> CookieParam<'_> {
    CookieParam {
        name: &cookie.name,
        value: &cookie.value,
        domain: &cookie.domain,
        path: &cookie.path,
        http_only: cookie.http_only,
        secure: cookie.secure,
        expires: cookie.expires,
        same_site: cookie.same_site.map(|same_site| match same_site {
            SameSite::Strict => CookieSameSite::Strict,
            SameSite::Lax => CookieSameSite::Lax,
            SameSite::None => CookieSameSite::None,
        }),
        partition_key: cookie.partition.as_ref().map(|partition| CookiePartitionKey {
            top_level_site: &partition.top_level_site,
            has_cross_site_ancestor: partition.has_cross_site_ancestor,
        }),
    }
}

/// Writes the local storage of an origin in a tab that is closed afterwards.
async fn store_origin(
    browser: &Arc<Browser>,
    context: &BrowserContextId,
    origin: &StateOrigin,
) -> Result<(), GateError> {
    let page = browser.create_page(Some(context), "about:blank", false).await?;
    let result = write_storage(browser, &page, origin).await;
    // agent-browser must not find a tab that closes.
    browser.close_and_wait(&[page]).await;
    result
}

async fn write_storage(browser: &Arc<Browser>, page: &Page, origin: &StateOrigin) -> Result<(), GateError> {
    let url = format!("{}/", origin.origin);
    page.set_answered_locally(Some(url.clone()));
    let session = Some(&page.session);
    if let Some(error) = browser.connection.send(session, &Navigate::to(&url)).await?.error_text {
        return Err(GateError::State(format!("cannot open `{}`: {error}", origin.origin)));
    }
    let items: Vec<_> = origin.local_storage.iter().map(|item| json!([item.name, item.value])).collect();
    let origin_text = Value::from(origin.origin.as_str());
    let items = Value::from(items);
    // The script checks that it runs where it was meant to.
    let script = format!(
        "(() => {{ if (location.origin !== {origin_text}) return false; \
         for (const [name, value] of {items}) localStorage.setItem(name, value); return true; }})()"
    );
    let write = Evaluate { expression: &script, return_by_value: true, ..Evaluate::default() };
    if browser.connection.send(session, &write).await?.value() == Some(true) {
        Ok(())
    } else {
        Err(GateError::State(format!("cannot write the storage of `{}`", origin.origin)))
    }
}

/// Waits for a future that runs to its end, also if the wait is given up. One that is ready at once needs no task of its own, and no
/// other thread.
///
/// Returns `None` if the future panics after its first wait, or the executor shuts down.
pub(in crate::gate) async fn to_end<F>(future: F) -> Option<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut future = Box::pin(future);
    match futures::poll!(&mut future) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => tokio::spawn(future).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use browser_shell_core::decision::{Code, Decision};
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn file_with_a_state_is_read_whole_or_refused_with_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.json");
        let room = usize::try_from(MAX_FILE).expect("small");
        std::fs::write(&path, format!("{{{}}}", " ".repeat(room - 2))).expect("written");
        assert_eq!(read_file(&path).expect("control: the largest file"), StorageState::default());
        std::fs::write(&path, format!("{{{}}}", " ".repeat(room - 1))).expect("written");
        let error = read_file(&path).expect_err("too large");
        let text = error.to_string();
        assert!(text.contains("state.json") && text.contains("larger than 4194304 bytes"), "{text}");
        let decision = Decision::from(error);
        assert_eq!(decision.code, Code::GateUnavailable);
        assert!(decision.reason.starts_with("the saved state of the session cannot be used"), "{decision:?}");
        assert!(!decision.reason.contains("state.json"), "the path is for the log only: {decision:?}");
        let other = Decision::from(GateError::NotRunning);
        assert_eq!((other.code, other.reason.contains("saved state")), (Code::GateUnavailable, false), "control");
        std::fs::write(&path, [b'{', 0xff]).expect("written");
        let text = read_file(&path).expect_err("no text").to_string();
        assert!(text.contains("not UTF-8"), "{text}");
        let text = read_file(&folder.path().join("no.json")).expect_err("missing").to_string();
        assert!(text.contains("no such file"), "{text}");
    }

    #[test]
    fn problems_of_a_state_are_those_of_its_start_and_further() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.json");
        let source = StateSource::File(path.clone());
        std::fs::write(&path, r#"{"cookies":[{"name":"a"}],"origins":[{"origin":"x"}]}"#).expect("written");
        let problems = problems_of_state(&source);
        assert!(problems.len() > 2 && problems.iter().all(|problem| problem.contains("state.json")), "{problems:?}");
        let GateError::State(first) = read_file(&path).expect_err("invalid") else { panic!("another error") };
        assert_eq!(problems.first(), Some(&first));
        let cookies = |count: usize| {
            let value = |number: usize| format!("{number:04}{}", "x".repeat(3000));
            let cookie = |number| json!({ "name": "a", "value": value(number), "domain": "a.example", "path": "/" });
            json!({ "cookies": (0..count).map(cookie).collect::<Vec<_>>() }).to_string()
        };
        std::fs::write(&path, cookies(10)).expect("written");
        assert_eq!(problems_of_state(&source), Vec::<String>::new(), "control");
        std::fs::write(&path, cookies(100)).expect("written");
        let problems = problems_of_state(&source);
        assert!(matches!(&problems[..], [one] if one.contains("more than 262144 bytes together")), "{problems:?}");
        let inline = StateSource::Inline(StorageState::parse(&cookies(100)).expect("valid"));
        assert_eq!(problems_of_state(&inline), problems);
    }

    #[test]
    fn partitioned_cookie_keeps_its_partition() {
        let partition = |members: &str| {
            let text = format!(
                r#"{{"cookies":[{{"name":"a","value":"","domain":"a.example","path":"/","secure":true{members}}}]}}"#
            );
            let state = StorageState::parse(&text).expect("valid");
            let cookie = serde_json::to_value(to_cookie(&state.cookies[0])).expect("JSON");
            cookie.get("partitionKey").cloned()
        };
        let saved = r#","partitionKey":"https://shop.example","_crHasCrossSiteAncestor":false"#;
        let expected = json!({ "topLevelSite": "https://shop.example", "hasCrossSiteAncestor": false });
        assert_eq!(partition(saved), Some(expected));
        assert_eq!(partition(""), None, "control");
    }

    #[tokio::test]
    async fn future_without_a_wait_runs_in_the_task_of_its_caller() {
        assert_eq!(to_end(async { tokio::task::try_id() }).await, Some(None));
        let elsewhere = to_end(async {
            tokio::task::yield_now().await;
            tokio::task::try_id().is_some()
        });
        assert_eq!(elsewhere.await, Some(true), "control");
    }

    #[tokio::test]
    async fn future_runs_to_its_end_without_its_caller() {
        let (go, gone) = oneshot::channel::<()>();
        let (done, end) = oneshot::channel();
        let mut waiting = Box::pin(to_end(async move {
            gone.await.expect("told");
            done.send("done").expect("awaited");
        }));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(waiting);
        go.send(()).expect("it runs");
        assert_eq!(end.await, Ok("done"));
    }
}
