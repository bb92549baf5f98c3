//! Authentication of HTTP requests: JSON Web Tokens, API keys and viewer tickets.
//!
//! [`Authenticator`] turns the credential of a request into a principal, or into the answer that refuses it. The rules are in
//! [`browser_shell_core::auth`].
//!
//! Invariants: a request is refused unless exactly one credential of the server gives the right, so that no two parties on its way
//! can disagree on which counts; a ticket counts only where no header can be sent: for the viewer's page and the screen; no
//! credential is logged.

mod credentials;
mod refusal;
mod tickets;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::api::auth::credentials::Credentials;
use crate::api::auth::refusal::PublicUrl;
use crate::api::auth::tickets::Tickets;
use crate::api::http::SlotHandle;
use crate::call::Services;
use browser_shell_core::auth::{Principal, Right, ScreenContent, TicketUse};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::SessionAccess;

pub(crate) use credentials::CredentialHealth;
pub use credentials::{CredentialSettings, CredentialsError};
pub use refusal::AuthRefusal;
pub(crate) use refusal::METADATA_PATH;

/// Interval between two checks of the credential of an open connection.
const CONFIRM_INTERVAL: Duration = Duration::from_secs(1);

/// Header with an API key, as the base image has it.
pub(crate) const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-aio-api-key");

/// Parameter of the query with a ticket.
const TICKET: &str = "ticket";

/// Authenticator of a server.
pub struct Authenticator {
    services: Arc<Services>,
    credentials: Option<Credentials>,
    public_url: PublicUrl,
    tickets: Tickets,
    screen: ScreenContent,
}

impl Authenticator {
    /// Creates an authenticator. Without credentials, every request has every right: such a server must listen where only this
    /// machine reaches it.
    ///
    /// # Errors
    ///
    /// See [`CredentialsError`].
    pub fn open(services: Arc<Services>, settings: &CredentialSettings) -> Result<Self, CredentialsError> {
        let credentials = Credentials::open(settings)?;
        if credentials.is_some() {
            // A policy file that cannot be used is reported by every call.
            let problems = services.policy.current().unwrap_or_default().credential_problems();
            if !problems.is_empty() {
                return Err(CredentialsError::Policy(problems));
            }
        }
        let public_url = PublicUrl::new(credentials.as_ref().and_then(|credentials| credentials.public_url.clone()));
        let tickets = Tickets::new(Credentials::ticket_lifetime(settings));
        Ok(Self { services, credentials, public_url, tickets, screen: ScreenContent::Windows })
    }

    /// Returns the authenticator of a server whose screen has this content. By default, it shows the windows of all sessions.
    #[must_use]
    pub const fn with_screen(mut self, screen: ScreenContent) -> Self {
        self.screen = screen;
        self
    }

    /// Returns true if requests need credentials.
    #[must_use]
    pub const fn has_credentials(&self) -> bool {
        self.credentials.is_some()
    }

    /// Returns the host of the public URL, with its port if it names one. `None` without credentials.
    #[must_use]
    pub fn public_host(&self) -> Option<String> {
        self.public_url.host()
    }

    /// Returns the principal of a request, if its credential gives the right.
    ///
    /// # Errors
    ///
    /// The answer to send instead, after its audit line was written.
    pub fn authorize(&self, right: Right, request: &Parts) -> Result<Principal, AuthRefusal> {
        let headers = &request.headers;
        let principal =
            self.principal(right, request).map_err(|decision| self.refuse(right, headers, None, decision))?;
        if let Err(decision) = self.check_policy(right).and_then(|()| self.demand(&principal, right)) {
            return Err(self.refuse(right, headers, Some(&principal), *decision));
        }
        if let Some(Err(decision)) =
            request.extensions.get::<SlotHandle>().map(|place| place.recognize(principal.party()))
        {
            return Err(self.refuse(right, headers, Some(&principal), decision));
        }
        // A call has a line of its own, and a page without the screen shows nothing.
        if matches!(right, Right::IssueTicket | Right::WatchScreen) {
            self.services.audit.write_access(Utc::now(), right, principal.subject.as_ref(), Code::Allowed);
        }
        Ok(principal)
    }

    /// Checks that the policy as it is now can be used with credentials. The first one was checked at the start.
    fn check_policy(&self, right: Right) -> Result<(), Box<Decision>> {
        if self.credentials.is_none() || right != Right::CallTool {
            return Ok(());
        }
        match self.services.policy.current().unwrap_or_default().credential_problems().first() {
            None => Ok(()),
            Some(problem) => Err(Box::new(Decision::new(Code::PolicyInvalid, problem.to_string()))),
        }
    }

    /// Decides if a principal has another right, such as [`Right::ControlScreen`] on its connection to the screen.
    ///
    /// # Errors
    ///
    /// The reason for refusing it.
    pub fn demand(&self, principal: &Principal, right: Right) -> Result<(), Box<Decision>> {
        let [any, own] = [SessionAccess::Any, SessionAccess::Own].map(|sessions| right.scope(sessions, self.screen));
        let sessions = if any == own {
            // A policy that cannot be used is then the matter of each call.
            SessionAccess::Any
        } else {
            self.services.policy.current().map_err(|error| Box::new(error.into()))?.access.sessions
        };
        principal.demand(right, sessions, self.screen).map_err(Box::new)
    }

    /// Waits until a principal has a right no more, and writes the audit line of that. A connection that stays open ends then: its
    /// token has expired, its key was removed, or the scope or the policy was changed.
    pub async fn until_lost(&self, principal: &Principal, right: Right) {
        if self.credentials.is_none() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(CONFIRM_INTERVAL).await;
            if let Err(decision) = self.confirm(principal, right) {
                self.withdraw(principal, right, &decision);
                return;
            }
        }
    }

    /// Looks once a second for what no request tells, and never ends. Closes the sessions of each subject whose last API key is removed, logs a
    /// file that cannot be used, which removes nobody, and writes the counts of requests that got no audit line.
    pub async fn watch(&self) {
        let subjects = || self.credentials.as_ref().and_then(Credentials::subjects_with_key);
        let mut known = subjects().unwrap_or_default();
        loop {
            tokio::time::sleep(CONFIRM_INTERVAL).await;
            self.services.audit.write_omitted(Utc::now());
            let _ = self.health();
            let Some(now) = subjects() else { continue };
            let removed: BTreeSet<_> = known.difference(&now).cloned().collect();
            if !removed.is_empty() {
                let services = self.services.clone();
                // Beside the next look: a call that runs may take long.
                tokio::spawn(async move { services.sessions.close_of(&removed).await });
            }
            known = now;
        }
    }

    /// Returns the state of the server's credentials now.
    #[must_use]
    pub(crate) fn health(&self) -> CredentialHealth {
        self.credentials.as_ref().map_or(CredentialHealth::None, Credentials::health)
    }

    /// Writes the audit line of a right that was given and cannot be used, or not any more.
    pub fn withdraw(&self, principal: &Principal, right: Right, decision: &Decision) {
        self.services.audit.write_access(Utc::now(), right, principal.subject.as_ref(), decision.code);
    }

    /// Decides if a principal still has a right, after its request.
    fn confirm(&self, principal: &Principal, right: Right) -> Result<(), Box<Decision>> {
        if let Some(credentials) = &self.credentials {
            credentials.confirm(principal).map_err(Box::new)?;
        }
        self.demand(principal, right)
    }

    /// Returns the policy's rule for the sessions of subjects.
    ///
    /// # Errors
    ///
    /// `policy-invalid`.
    pub fn sessions(&self) -> Result<SessionAccess, Box<Decision>> {
        let policy = self.services.policy.current().map_err(|error| Box::new(error.into()))?;
        Ok(policy.access.sessions)
    }

    /// Returns the answer to a request for the metadata of the resource, if this server accepts tokens.
    #[must_use]
    pub fn metadata(&self, headers: &HeaderMap) -> Option<Response> {
        let tokens = self.credentials.as_ref()?.tokens.as_ref()?;
        let metadata = self.public_url.metadata(headers, tokens.rules.issuer.as_deref())?;
        Some(json_response(&metadata))
    }

    /// Returns the answer to `POST /tickets` of a principal with the right to one: a ticket for the viewer, with the principal's
    /// scope or the smaller one that the body names.
    ///
    /// # Errors
    ///
    /// The answer that refuses it.
    pub fn issue_ticket(
        &self,
        principal: &Principal,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Response, AuthRefusal> {
        let right = Right::IssueTicket;
        let refuse = |decision| self.refuse(right, headers, Some(principal), decision);
        let owner = tickets::principal_of(principal, body).map_err(refuse)?;
        let ticket = match self.tickets.issue(owner) {
            Ok(ticket) => ticket.map_err(refuse)?,
            Err(error) => {
                tracing::error!(%error, "there are no random bytes for a ticket");
                return Ok(StatusCode::INTERNAL_SERVER_ERROR.into_response());
            }
        };
        let answer = json!({ "ticket": ticket, "expires_in": self.tickets.lifetime.as_secs() });
        Ok(json_response(&answer))
    }

    fn principal(&self, right: Right, request: &Parts) -> Result<Principal, Decision> {
        let Some(credentials) = &self.credentials else { return Ok(Principal::anonymous()) };
        match Credential::find(right, request)? {
            Credential::Bearer(token) => credentials.of_bearer(&token),
            Credential::ApiKey(key) => credentials.of_api_key(&key),
            Credential::Ticket(ticket, purpose) => {
                let principal = self.tickets.redeem(&ticket, purpose)?;
                credentials.confirm(&principal)?;
                Ok(principal)
            }
        }
    }

    /// Returns the answer to a request that is refused, and writes its audit line.
    fn refuse(
        &self,
        right: Right,
        headers: &HeaderMap,
        principal: Option<&Principal>,
        decision: Decision,
    ) -> AuthRefusal {
        self.services.metrics.count_access_refusal(decision.code);
        let (audit, code) = (&self.services.audit, decision.code);
        match principal {
            Some(principal) => audit.write_access(Utc::now(), right, principal.subject.as_ref(), code),
            None => audit.write_unknown_access(Utc::now(), right, code),
        }
        let (status, error) = match decision.code {
            Code::CredentialMissing => (StatusCode::UNAUTHORIZED, None),
            Code::CredentialRepeated | Code::ArgumentsInvalid => (StatusCode::BAD_REQUEST, Some("invalid_request")),
            Code::ScopeInsufficient => (StatusCode::FORBIDDEN, Some("insufficient_scope")),
            Code::TooManyTickets | Code::Busy => (StatusCode::TOO_MANY_REQUESTS, None),
            Code::PolicyInvalid => (StatusCode::FORBIDDEN, None),
            _ => (StatusCode::UNAUTHORIZED, Some("invalid_token")),
        };
        let scope = right.scope(self.services.policy.current().unwrap_or_default().access.sessions, self.screen);
        let has_metadata = self.credentials.as_ref().is_some_and(|credentials| credentials.tokens.is_some());
        let error = error.map(|error| (error, decision.reason.as_str()));
        let challenge = self.public_url.challenge(headers, Some(scope), error, has_metadata);
        AuthRefusal { status, decision: Box::new(decision), challenge }
    }
}

fn json_response(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], value.to_string()).into_response()
}

/// Middleware that lets a request pass if its credential gives the right, and adds its [`Principal`] to the extensions.
pub async fn require(
    State((authenticator, right)): State<(Arc<Authenticator>, Right)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    match authenticator.authorize(right, &parts) {
        Ok(principal) => {
            // The handler needs the credential no more, and must not log it.
            parts.headers.remove(AUTHORIZATION);
            parts.headers.remove(API_KEY_HEADER);
            parts.extensions.insert(principal);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Credential of a request.
#[derive(PartialEq, Eq)]
enum Credential {
    /// Bearer token: a JSON Web Token or an API key.
    Bearer(String),
    /// API key.
    ApiKey(String),
    /// Viewer ticket.
    Ticket(String, TicketUse),
}

impl Credential {
    /// Returns the credential of a request for a right.
    ///
    /// # Errors
    ///
    /// `credential-missing` or `credential-repeated`.
    fn find(right: Right, request: &Parts) -> Result<Self, Decision> {
        let bearers = texts(&request.headers, &AUTHORIZATION).map(|value| Self::Bearer(bearer(value).to_owned()));
        let keys = texts(&request.headers, &API_KEY_HEADER).map(|value| Self::ApiKey(value.to_owned()));
        let purpose = match right {
            Right::OpenViewer => Some(TicketUse::Page),
            Right::WatchScreen => Some(TicketUse::Screen),
            Right::CallTool | Right::IssueTicket | Right::ControlScreen => None,
        };
        let query = request.uri.query().unwrap_or_default().as_bytes();
        let tickets = purpose.into_iter().flat_map(|purpose| {
            let values = form_urlencoded::parse(query).filter(|(name, _)| name == TICKET);
            values.map(move |(_, value)| Self::Ticket(value.into_owned(), purpose))
        });
        let mut all = bearers.chain(keys).chain(tickets);
        match (all.next(), all.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Decision::new(Code::CredentialMissing, "the request has no credential")),
            (Some(_), Some(_)) => {
                Err(Decision::new(Code::CredentialRepeated, "the request has more than one credential"))
            }
        }
    }
}

/// Returns all values of a header. One that is not text is empty, and so no credential of the server.
fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default())
}

/// Returns the token of a value `Bearer TOKEN` (RFC 6750 section 2.1), or nothing for another scheme.
fn bearer(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim_matches(' '),
        _ => "",
    }
}

#[cfg(test)]
#[path = "../../../crates/core/src/auth/test_signer.rs"]
mod test_signer;
#[cfg(test)]
mod tests;
