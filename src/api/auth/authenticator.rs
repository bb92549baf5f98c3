//! Authenticator of a server: its credentials, and the decision on a request.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::auth::refusal::Refusal;
use crate::policy_source::PolicySource;
use browser_shell_core::auth::{Principal, Right};

/// Authenticator of a server.
#[derive(Debug)]
pub struct Authenticator {
    policy: PolicySource,
}

impl Authenticator {
    /// Creates an authenticator without credentials, for a server that only this machine reaches: every request has every right.
    #[must_use]
    pub const fn open(policy: PolicySource) -> Self {
        Self { policy }
    }

    /// Returns true if requests need credentials.
    #[must_use]
    pub const fn has_credentials(&self) -> bool {
        false
    }

    /// Returns the principal of a request, if its credentials give the right.
    ///
    /// # Errors
    ///
    /// The answer to send instead.
    pub fn authorize(&self, right: Right, _request: &Parts) -> Result<Principal, Refusal> {
        let principal = Principal::anonymous();
        self.demand(&principal, right)?;
        Ok(principal)
    }

    /// Decides if a principal has another right, such as [`Right::ControlScreen`] on its connection to the screen.
    ///
    /// # Errors
    ///
    /// The answer to send instead.
    pub fn demand(&self, principal: &Principal, right: Right) -> Result<(), Refusal> {
        let forbidden =
            |decision| Refusal { status: StatusCode::FORBIDDEN, decision: Box::new(decision), challenge: None };
        let policy = self.policy.current().map_err(|error| forbidden(error.into()))?;
        principal.demand(right, policy.access.sessions).map_err(forbidden)
    }
}

/// Middleware that lets a request pass if its credentials give the right, and adds its [`Principal`] to the extensions.
pub async fn require(
    State((authenticator, right)): State<(Arc<Authenticator>, Right)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    match authenticator.authorize(right, &parts) {
        Ok(principal) => {
            parts.extensions.insert(principal);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => refusal.into_response(),
    }
}
