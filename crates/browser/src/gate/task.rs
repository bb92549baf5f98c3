//! Work that goes on when nobody waits for it any more.

use std::future::Future;
use std::task::Poll;

/// Waits for a future that runs to its end, also if the wait is given up. One that is ready at once needs no task of its own, and no
/// other thread.
///
/// Returns `None` if the future panics after its first wait, or the executor shuts down.
pub(super) async fn to_end<F>(future: F) -> Option<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut future = Box::pin(future);
    match futures::poll!(&mut future) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => tokio::spawn(future).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn future_without_a_wait_runs_in_the_task_of_its_caller() {
        assert_eq!(to_end(async { tokio::task::try_id() }).await, Some(None));
        let elsewhere = to_end(async {
            tokio::task::yield_now().await;
            tokio::task::try_id().is_some()
        });
        assert_eq!(elsewhere.await, Some(true), "control");
    }

    #[tokio::test]
    async fn future_runs_to_its_end_without_its_caller() {
        let (go, gone) = oneshot::channel::<()>();
        let (done, end) = oneshot::channel();
        let mut waiting = Box::pin(to_end(async move {
            gone.await.expect("told");
            done.send("done").expect("awaited");
        }));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(waiting);
        go.send(()).expect("it runs");
        assert_eq!(end.await, Ok("done"));
    }
}
