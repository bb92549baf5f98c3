//! Processing of outputs: parsing, masking and truncation.
//!
//! A small output is processed on the thread where it arrives. Large outputs are processed on a separate thread, one at a
//! time, so that a page that prints millions of values takes neither the time of other sessions nor a multiple of the memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Size in bytes from which an output is large. Below it, all processing takes a few milliseconds.
const LARGE: usize = 256 * 1024;

/// Worker that processes large outputs one at a time.
#[derive(Debug)]
pub struct OutputWorker(Arc<Semaphore>);

impl Default for OutputWorker {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// Permit to process one output, from parsing to truncation. Meanwhile the output takes many times its size in memory. The
/// default is the permit of a small output.
#[derive(Debug, Default)]
pub(super) struct OutputPermit(Option<OwnedSemaphorePermit>);

impl OutputWorker {
    /// Waits until an output of this size can be processed.
    pub(super) async fn permit(&self, bytes: usize) -> OutputPermit {
        if bytes < LARGE {
            return OutputPermit::default();
        }
        // The semaphore is never closed.
        OutputPermit(self.0.clone().acquire_owned().await.ok())
    }
}

impl OutputPermit {
    /// Runs a part of the processing.
    ///
    /// # Panics
    ///
    /// If the work panics.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        if self.0.is_none() {
            return work();
        }
        match tokio::task::spawn_blocking(work).await {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The process is ending, and this call with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, mpsc};

    #[tokio::test]
    async fn large_outputs_are_processed_serially_without_blocking_small() {
        let worker = OutputWorker::default();
        let (go, wait) = mpsc::channel::<()>();
        let work = async |bytes, work: Box<dyn FnOnce() -> usize + Send>| worker.permit(bytes).await.run(work).await;
        let blocked = work(LARGE, Box::new(move || usize::from(wait.recv().is_ok())));
        let running = Arc::new(AtomicUsize::new(0));
        let large = (0..3).map(|_| {
            let running = Arc::clone(&running);
            let count = move || {
                let others = running.fetch_add(1, SeqCst);
                std::thread::yield_now();
                running.fetch_sub(1, SeqCst);
                others
            };
            work(LARGE, Box::new(count))
        });
        let small = async {
            // Runs on the only thread of this test although the worker is in use.
            let small = work(LARGE - 1, Box::new(|| 7)).await;
            go.send(()).expect("the first large one waits");
            small
        };
        let (blocked, small, large) = tokio::join!(blocked, small, futures::future::join_all(large));
        assert_eq!((blocked, small, large), (1, 7, vec![0, 0, 0]));
    }

    #[tokio::test]
    async fn output_processing_panic_propagates_and_frees_slot() {
        let worker = Arc::new(OutputWorker::default());
        let panicking = tokio::spawn({
            let worker = Arc::clone(&worker);
            async move { worker.permit(LARGE).await.run(|| assert_eq!(1, 2)).await }
        });
        assert!(panicking.await.expect_err("it panics").is_panic());
        assert_eq!(worker.permit(LARGE).await.run(|| 1).await, 1, "the permit is free again");
    }
}
