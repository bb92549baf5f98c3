//! Address of the endpoint of a browser context.

use tokio_util::sync::CancellationToken;

/// Address of the endpoint of a browser context. The endpoint ends when nobody has it.
#[derive(Debug)]
pub struct EndpointAddress {
    /// Port on 127.0.0.1.
    pub port: u16,
    /// Ends the endpoint.
    pub stop: CancellationToken,
}

impl Drop for EndpointAddress {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
