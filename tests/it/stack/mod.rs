//! The contents of the image, tested from outside through the wall: `tests/aio-base/run` with `rootfs/` installed.
//!
//! All tests run inside `tests/e2e/in-test-network`, in a separate process, because the stack uses port 9222 like the
//! end-to-end tests. Tests of the same stack run in parallel and others wait, so many test threads save starts
//! (`--test-threads 16`).
//!
//! A test must fail, not pass silently, if a program is missing. Each refusal of the wall has a control that
//! succeeds.

mod base;
mod browser;
mod demo;
mod display;
mod egress;
mod flow;
mod hosts;
mod key;
mod long;
mod policies;
mod recovery;
mod request;
mod sharing;
mod smoke;
mod viewer;
mod wall;
