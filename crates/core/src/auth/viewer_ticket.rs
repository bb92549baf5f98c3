//! Viewer tickets: short-lived credentials for an address that a browser opens, where no header can be sent.
//!
//! A ticket loads the viewer's page once and opens the screen once. The screen ends it.
//!
//! Invariants: tickets are known by their hash only. Their number is bounded, and a guess leaves nothing behind.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::auth::principal::Principal;
use crate::decision::{Code, Decision};
use crate::shares::Share;

/// Use of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketUse {
    /// Loading the viewer's page.
    Page,
    /// Opening the screen.
    Screen,
}

/// Tickets that can be used.
#[derive(Debug, Default)]
pub struct ViewerTickets(HashMap<[u8; 32], ViewerTicket>);

#[derive(Debug)]
struct ViewerTicket {
    principal: Principal,
    end: Duration,
    has_loaded_page: bool,
}

impl ViewerTickets {
    /// Adds a ticket for a principal, valid until `end`. Times are relative to any fixed one.
    ///
    /// # Errors
    ///
    /// `too-many-tickets` if there are too many, of this subject or of all.
    pub fn add(&mut self, ticket: &str, principal: Principal, now: Duration, end: Duration) -> Result<(), Decision> {
        self.0.retain(|_, ticket| now < ticket.end);
        let of_subject = self.0.values().filter(|ticket| ticket.principal.subject == principal.subject).count();
        let too_many = |_| Decision::new(Code::TooManyTickets, "too many tickets have not been used");
        Share::TICKETS.admit(of_subject, self.0.len()).map_err(too_many)?;
        self.0.insert(digest(ticket), ViewerTicket { principal, end, has_loaded_page: false });
        Ok(())
    }

    /// Returns the principal of a ticket and takes this use from it.
    ///
    /// # Errors
    ///
    /// `ticket-invalid` for an unknown ticket, an expired one, and one that was used in this way or for the screen.
    pub fn redeem(&mut self, ticket: &str, purpose: TicketUse, now: Duration) -> Result<Principal, Decision> {
        let refused = || Decision::new(Code::TicketInvalid, "the ticket is unknown, expired or used");
        let digest = digest(ticket);
        let found = self.0.get_mut(&digest).ok_or_else(refused)?;
        if now >= found.end || purpose == TicketUse::Screen {
            let removed = self.0.remove(&digest).ok_or_else(refused)?;
            return if now < removed.end { Ok(removed.principal) } else { Err(refused()) };
        }
        if std::mem::replace(&mut found.has_loaded_page, true) {
            return Err(refused());
        }
        Ok(found.principal.clone())
    }

    /// Returns the number of tickets that are held.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.0.len()
    }
}

fn digest(ticket: &str) -> [u8; 32] {
    Sha256::digest(ticket.as_bytes()).into()
}
