//! Handshake of a viewer: its version, its security type and its request to share the screen.

use crate::rfb::error::RfbError;

/// Length of a version.
pub(super) const VERSION_LENGTH: usize = 12;

/// Security type without authentication.
const NONE: u8 = 1;

/// `ClientInit` of a viewer that shares the screen. One that does not would disconnect the others.
pub(super) const SHARED: u8 = 1;

/// Next part of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Version, of [`VERSION_LENGTH`] bytes.
    Version,
    /// Security type, of one byte.
    SecurityType,
    /// `ClientInit`, of one byte.
    Init,
    /// The handshake is over.
    Messages,
}

/// Returns the phase after a version. With 3.3 the screen chooses the security type.
///
/// # Errors
///
/// Returns an error for another version.
pub(super) fn after_version(version: &[u8]) -> Result<Phase, RfbError> {
    match version {
        b"RFB 003.008\n" | b"RFB 003.007\n" => Ok(Phase::SecurityType),
        b"RFB 003.003\n" => Ok(Phase::Init),
        _ => Err(RfbError::Version),
    }
}

/// Checks the security type.
///
/// # Errors
///
/// Returns an error for any but the one without authentication.
pub(super) fn check_security_type(kind: u8) -> Result<(), RfbError> {
    if kind == NONE { Ok(()) } else { Err(RfbError::SecurityType(kind)) }
}
