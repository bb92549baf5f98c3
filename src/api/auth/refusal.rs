//! Answers that refuse a request because of its credentials.

use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use browser_shell_core::decision::Decision;

/// Answer that refuses a request.
#[derive(Clone, Debug)]
pub struct AuthRefusal {
    /// Status: 401 for credentials that count for nothing, 403 for ones that are not enough, 429 for too many tickets.
    pub(super) status: StatusCode,
    /// Reason with its code.
    pub(super) decision: Box<Decision>,
    /// Challenge that tells the client how to get credentials, for 401 and 403.
    pub(super) challenge: Option<HeaderValue>,
}

impl AuthRefusal {
    /// Returns the reason with its code.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

impl IntoResponse for AuthRefusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.decision)).into_response();
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
