//! Parts of a server that run until they are told to stop.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Part of a server that runs until it is told to stop.
pub(super) struct Task {
    handle: JoinHandle<()>,
    stop: CancellationToken,
}

impl Task {
    /// Starts the part, which gets the token that tells it to stop.
    pub(super) fn start<F>(run: impl FnOnce(CancellationToken) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = CancellationToken::new();
        Self { handle: tokio::spawn(run(stop.clone())), stop }
    }

    /// Stops the part and waits until it has ended.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        let _ = self.handle.await;
    }
}
