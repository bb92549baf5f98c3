//! Where answers are read, masked and cut.
//!
//! Decides on which thread that happens. A small answer is worked on where it arrives. A large one is worked on beside the
//! threads that serve everyone, one at a time: a page that prints millions of values costs its own session time, and must never
//! cost the others theirs, or memory several times over.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// An answer of this many bytes is a large one: below, all the work takes a few milliseconds.
const LARGE: usize = 256 * 1024;

/// The bench for large answers, which has one place.
#[derive(Debug)]
pub struct Workbench(Arc<Semaphore>);

impl Default for Workbench {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// Where one answer is worked on, from reading it to cutting it: in between it takes many times its bytes.
#[derive(Debug, Default)]
pub struct Place(Option<OwnedSemaphorePermit>);

impl Workbench {
    /// A place for an answer of so many bytes.
    pub(super) async fn place(&self, bytes: usize) -> Place {
        if bytes < LARGE {
            return Place::default();
        }
        // It is never closed; if it were, the answer would be a small one.
        Place(self.0.clone().acquire_owned().await.ok())
    }
}

impl Place {
    /// Does some of the work.
    pub(super) async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        if self.0.is_none() {
            return work();
        }
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
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
    async fn large_answers_wait_for_each_other_and_hold_nobody_else() {
        let bench = Workbench::default();
        let (go, wait) = mpsc::channel::<()>();
        let work = async |bytes, work: Box<dyn FnOnce() -> usize + Send>| bench.place(bytes).await.work(work).await;
        let blocked = work(LARGE, Box::new(move || usize::from(wait.recv().is_ok())));
        let at_work = Arc::new(AtomicUsize::new(0));
        let others = (0..3).map(|_| {
            let at_work = Arc::clone(&at_work);
            let count = move || {
                let meanwhile = at_work.fetch_add(1, SeqCst);
                std::thread::yield_now();
                at_work.fetch_sub(1, SeqCst);
                meanwhile
            };
            work(LARGE, Box::new(count))
        });
        let small = async {
            // Runs on the only thread of this test although the bench is taken.
            let small = work(LARGE - 1, Box::new(|| 7)).await;
            go.send(()).expect("the large one still waits");
            small
        };
        let (blocked, small, others) = tokio::join!(blocked, small, futures::future::join_all(others));
        assert_eq!((blocked, small, others), (1, 7, vec![0, 0, 0]));
    }

    #[tokio::test]
    async fn a_panic_is_no_answer() {
        let bench = Arc::new(Workbench::default());
        let panicking = tokio::spawn({
            let bench = Arc::clone(&bench);
            async move { bench.place(LARGE).await.work(|| assert_eq!(1, 2)).await }
        });
        assert!(panicking.await.expect_err("it panics").is_panic());
        assert_eq!(bench.place(LARGE).await.work(|| 1).await, 1, "the place is free again");
    }
}
