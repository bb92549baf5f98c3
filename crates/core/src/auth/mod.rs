//! Credentials: tokens, API keys and viewer tickets, and the rights that they give.
//!
//! A credential stands for a [`Principal`]: a [`Subject`] and a [`Scope`]. A request asks for a [`Right`], and the table in
//! [`Right::scope`] says which scope it needs.
//!
//! Invariants: the caller passes the time in; a refusal is a [`Decision`](crate::decision::Decision) that contains no part of
//! the credential.

mod api_key;
mod claims;
mod evidence;
mod jwks;
mod key;
mod key_set;
mod pem;
mod principal;
mod right;
mod scope;
mod token;
mod viewer_ticket;

pub use crate::subject::Subject;
pub use api_key::ApiKeys;
pub use claims::{ClaimRules, TokenRules};
pub use evidence::Evidence;
pub use key_set::KeySet;
pub use principal::Principal;
pub use right::{Right, ScreenContent};
pub use scope::Scope;
pub use viewer_ticket::{TicketUse, ViewerTickets};

#[cfg(test)]
mod test_signer;
#[cfg(test)]
mod tests;
