//! Saved cookies and storage that a session's context begins with.
//!
//! Cookies are set over the gate's own connection. Local storage is written by a script in a page of the origin, which the gate
//! answers itself: nothing of it is requested.

use std::borrow::Cow;
use std::sync::Arc;

use browser_shell_core::policy::{SameSite, StateCookie, StateOrigin, StateSource, StorageState};
use serde_json::{Value, json};

use crate::gate::browser::Browser;
use crate::gate::error::GateError;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::BrowserContextId;
use browser_shell_cdp::protocol::network::{CookieParam, CookieSameSite, SetCookies};
use browser_shell_cdp::protocol::page::Navigate;
use browser_shell_cdp::protocol::runtime::Evaluate;

/// Maximum size of a file with a state, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Reads a state.
///
/// # Errors
///
/// Returns an error if the file cannot be used.
pub(super) fn read(source: &StateSource) -> Result<Cow<'_, StorageState>, GateError> {
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
pub(super) async fn load(
    browser: &Arc<Browser>,
    context: &BrowserContextId,
    state: &StorageState,
) -> Result<(), GateError> {
    let cookies: Vec<_> = state.cookies.iter().map(to_cookie).collect();
    if !cookies.is_empty() {
        browser.root(&SetCookies { cookies, browser_context_id: context }).await?;
    }
    for origin in &state.origins {
        store(browser, context, origin).await?;
    }
    Ok(())
}

/// Reads a state from a file.
fn read_file(path: &std::path::Path) -> Result<StorageState, GateError> {
    let failed = |message: String| GateError::State(format!("`{}`: {message}", path.display()));
    let read = || {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        std::io::Read::read_to_string(&mut std::io::Read::take(file, MAX_FILE), &mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error: std::io::Error| failed(error.to_string()))?;
    StorageState::parse(&text).map_err(|problems| failed(problems.first().map(ToString::to_string).unwrap_or_default()))
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
    }
}

/// Writes the local storage of an origin in a tab that is closed afterwards.
async fn store(browser: &Arc<Browser>, context: &BrowserContextId, origin: &StateOrigin) -> Result<(), GateError> {
    let page = browser.create_page(Some(context), "about:blank", false).await?;
    let result = write(browser, &page, origin).await;
    // agent-browser must not find a tab that closes.
    browser.close_and_wait(&[page]).await;
    result
}

async fn write(browser: &Arc<Browser>, page: &Page, origin: &StateOrigin) -> Result<(), GateError> {
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
