//! The image's inside as it will run: `tests/aio-base/run` with `rootfs/` over
//! it, asked from outside, through the wall.
//!
//! Everything here runs inside `tests/e2e/in-test-network`, in a process of its
//! own: the stack has port 9222, which the end-to-end tests use too. Tests that
//! ask the same stack run side by side, the others wait, so many test threads
//! save starts (`--test-threads 16`).
//!
//! A test here must fail, not pass quietly, when one of its parts is missing;
//! and each "no" of the wall has a "yes" beside it.

mod base;
mod egress;
mod flow;
mod key;
mod policies;
mod recovery;
mod request;
mod smoke;
mod wall;
mod watch;
