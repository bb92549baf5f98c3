//! Credential of a request, by its headers and its query.
//!
//! Invariants: a request with more than one credential is refused, so that no two parties on its way can disagree on which counts.
//! A ticket counts only where no header can be sent: for the viewer's page and the screen.

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use browser_shell_core::auth::{Right, TicketUse};
use browser_shell_core::decision::{Code, Decision};
use url::form_urlencoded;

/// Header with an API key, as the base image has it.
pub(super) const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-aio-api-key");

/// Parameter of the query with a ticket.
const TICKET: &str = "ticket";

/// Credential of a request.
#[derive(PartialEq, Eq)]
pub(super) enum Credential {
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
    pub(super) fn find(right: Right, request: &Parts) -> Result<Self, Decision> {
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
