//! Authentication of HTTP requests: JSON Web Tokens, API keys and viewer tickets.
//!
//! [`Authenticator`] turns the credential of a request into a principal, or into the answer that refuses it. The rules are in
//! [`browser_shell_core::auth`].
//!
//! Invariants: a request is refused unless exactly one credential of the server gives the right; no credential is logged.

mod authenticator;
mod challenge;
mod credential;
mod credentials;
mod key_file;
mod refusal;
mod tickets;

pub use authenticator::{Authenticator, require};
pub(crate) use challenge::METADATA_PATH;
pub use credentials::{CredentialSettings, CredentialsError};
pub use refusal::AuthRefusal;

#[cfg(test)]
#[path = "../../../crates/core/src/auth/test_signer.rs"]
mod test_signer;
#[cfg(test)]
mod tests;
