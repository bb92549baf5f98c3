//! Authentication of HTTP requests: JSON Web Tokens, API keys and viewer tickets.
//!
//! [`Authenticator`] turns the credentials of a request into a principal, or into the answer that refuses it. The rules are in
//! [`browser_shell_core::auth`].

mod authenticator;
mod refusal;

pub use authenticator::{Authenticator, require};
pub use refusal::Refusal;
