//! Credentials: tokens, API keys and viewer tickets, and the rights that they give.
//!
//! A credential stands for a [`Principal`]: a [`Subject`] and a [`Scope`]. A request asks for a [`Right`], and the table in
//! [`Right::scope`] says which scope it needs.
//!
//! Invariants: the caller passes the time in; a refusal is a [`Decision`](crate::decision::Decision) that contains no part of
//! the credential.

mod hashed;
mod key;
mod key_set;
mod principal;
mod token;

pub use crate::session_id::Subject;
pub use hashed::{ApiKeys, TicketUse, ViewerTickets};
pub use key_set::KeySet;
pub use principal::{Evidence, Principal, Right, Scope, ScreenContent};
pub use token::{ClaimRules, TokenRules};

#[cfg(test)]
mod test_signer;
#[cfg(test)]
mod tests;
