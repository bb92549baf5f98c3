//! Values of secret fields of a session's pages, which no answer may contain.
//!
//! The fields are found in all frames and shadow trees, closed ones too. Once seen, a value stays secret for as long as the
//! session lives: a page may show it later as text. Values are read in a world of the gate's own, whose objects no page can change.
//!
//! Invariant: a field that exists and is not read is an error.

mod entered;
mod error;
mod field;
mod frame;
mod session;

pub use error::SecretsError;
pub use session::Secrets;
