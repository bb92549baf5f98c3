//! Credentials: tokens, API keys and viewer tickets, and the rights that they give.
//!
//! A credential stands for a [`Principal`]: a [`Subject`] and a [`Scope`]. A request asks for a [`Right`], and the table in
//! [`Right::scope`] says which scope it needs.
//!
//! Invariants: the caller passes the time in; a refusal is a [`Decision`](crate::decision::Decision) that contains no part of
//! the credential.

mod principal;
mod right;
mod scope;

pub use principal::{Principal, Subject};
pub use right::Right;
pub use scope::Scope;
