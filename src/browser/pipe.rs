//! Pipe to the debugging interface of a Chromium that this process starts.

use tokio::net::unix::pipe::{Receiver, Sender};

/// Both ends of this process: messages end with a NUL byte.
#[derive(Debug)]
pub(crate) struct DebugPipe {
    /// Chromium's answers and events.
    pub(crate) reader: Receiver,
    /// Commands for Chromium.
    pub(crate) writer: Sender,
}
