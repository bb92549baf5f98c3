//! Viewer tickets of a server: their random text, their clock, and the answer of `POST /tickets`.

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use browser_shell_core::auth::{Principal, Scope, TicketUse, ViewerTickets};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_system::os;

/// Random bytes of a ticket.
const TICKET_BYTES: usize = 32;

/// Viewer tickets of a server.
pub(super) struct Tickets {
    /// Time that a ticket can be used for.
    pub(super) lifetime: Duration,
    started: Instant,
    issued: Mutex<ViewerTickets>,
}

impl Tickets {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { lifetime, started: Instant::now(), issued: Mutex::default() }
    }

    /// Creates a ticket for a principal.
    ///
    /// # Errors
    ///
    /// The error of the system if it has no random bytes; otherwise the refusal of a ticket too many.
    pub(super) fn issue(&self, principal: Principal) -> io::Result<Result<String, Decision>> {
        let ticket = BASE64_URL_SAFE_NO_PAD.encode(os::random_bytes::<TICKET_BYTES>()?);
        let now = self.started.elapsed();
        let mut tickets = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(tickets.add(&ticket, principal, now, now + self.lifetime).map(|()| ticket))
    }

    /// Returns the principal of a ticket and takes this use from it.
    pub(super) fn redeem(&self, ticket: &str, purpose: TicketUse) -> Result<Principal, Decision> {
        let mut tickets = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.redeem(ticket, purpose, self.started.elapsed())
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

/// Returns the principal of a ticket that a principal asks for: its own, or with the smaller scope that the body names.
///
/// # Errors
///
/// `arguments-invalid` for a body that is neither empty nor an object with a scope alone, `scope-insufficient` for a greater scope.
pub(super) fn principal_of(principal: &Principal, body: &[u8]) -> Result<Principal, Decision> {
    if body.is_empty() {
        return Ok(principal.clone());
    }
    let invalid = || {
        let reason = "the body must be empty or `{\"scope\": SCOPE}`, where SCOPE is watch, drive or admin";
        Decision::new(Code::ArgumentsInvalid, reason)
    };
    let document: Value = serde_json::from_slice(body).map_err(|_| invalid())?;
    let members = document.as_object().ok_or_else(invalid)?;
    let scope = members.get("scope").and_then(Value::as_str).and_then(Scope::parse);
    let scope = scope.filter(|_| members.len() == 1).ok_or_else(invalid)?;
    if !principal.scope.is_some_and(|own| own.contains(scope)) {
        return Err(Decision::new(Code::ScopeInsufficient, format!("this needs the scope {scope}")));
    }
    Ok(Principal { scope: Some(scope), ..principal.clone() })
}
