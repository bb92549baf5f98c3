//! Errors of a viewer's bytes.

use thiserror::Error;

/// Reason to end the connection of a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RfbError {
    /// The version is none of RFB 3.3, 3.7 and 3.8.
    #[error("the viewer's version of RFB is not supported; use 3.8")]
    Version,
    /// The viewer chose a security type. The screen has none of its own.
    #[error("the viewer chose security type `{0}`; the screen has only `1`, without authentication of its own")]
    SecurityType(u8),
    /// The pixels have another format than those of the pictures.
    #[error("the viewer's pixel format is not supported; use true color with 32 bits")]
    PixelFormat,
    /// The message is in no row of the table.
    #[error("messages of type `{0}` are not passed on")]
    UnknownMessage(u8),
    /// The message is longer than its row allows.
    #[error("a message of type `{0}` is too long")]
    TooLong(u8),
}
